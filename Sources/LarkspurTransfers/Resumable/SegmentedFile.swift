/// The partial file of a segmented download. It is written on a thread for files.
///
/// A segment is a range of missing bytes. It is written from its start, which moves up with each chunk. The record
/// beside the partial file names the missing bytes. Bytes are flushed to the disk before the record leaves them out, so
/// the record never claims bytes that a crash or a loss of power can take away.
actor SegmentedFile {
    /// The end of a segment whose length is not known. No file has this length, and sums with it do not overflow.
    private static let openEnd = SegmentLayout.maximumTotal + 1
    /// The number of new bytes after which the record is written.
    private static let saveInterval: UInt64 = 32 << 20

    // Immutable
    private nonisolated let thread: FileThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let target: URL
    private let options: [DownloadOption]
    /// The maximum length of the file.
    private let limit: UInt64
    private let feed: ProgressFeed

    // Isolated to the actor
    private var url = ""
    private var partial: PartialFile?
    /// The version of the file to which the bytes belong; nil if a later request cannot resume from them.
    private(set) var version: DownloadVersion?
    private var total: UInt64?
    /// The missing bytes of each segment.
    private var segments: [Range<UInt64>] = []
    /// The segments that no connection has taken yet.
    private var waiting: [Int] = []
    /// The number of connections that still take segments.
    private var connections = 0
    private var unsaved: UInt64 = 0

    init(_ target: URL, _ options: [DownloadOption], limit: UInt64, _ feed: ProgressFeed, on thread: FileThread) {
        (self.target, self.options, self.limit, self.feed, self.thread) = (target, options, limit, feed, thread)
    }

    // MARK: Before the first byte

    /// Claims the partial file, and divides its missing bytes. Returns false if the file has no bytes of this URL.
    func open(_ url: String, count: Int) throws -> Bool {
        if let (algorithm, hexadecimal) = options.checksum { try algorithm.check(hexadecimal) }
        try options.prepareFolder(of: target)
        self.url = url
        let isFresh = options.contains(.startOver)
        let partial = try PartialFile(claiming: PartialFile.path(for: target.filePath), mode: 0o666) { record in
            !isFresh && record.url == url
        }
        self.partial = partial
        guard !isFresh, partial.file.length > 0, let (version, missing) = known(partial) else { return false }
        try check(version.total)
        // Without a request, the server's file might have changed. Therefore at least the last byte is requested.
        let last = version.total - 1..<version.total
        (self.version, total) = (version, version.total)
        divide(missing.isEmpty ? [last] : missing, count)
        // The record of a plain download would not be true any more when a later segment is written.
        try save(partial)
        return true
    }

    /// Returns the version of the partial file's bytes, and the missing ranges. The bytes may also be the start of the
    /// file, which a plain download has left.
    private func known(_ partial: PartialFile) -> (DownloadVersion, [Range<UInt64>])? {
        if let record = partial.currentRecord {
            guard let total = record.total, record.offset <= total, total <= SegmentLayout.maximumTotal else {
                return nil
            }
            let version = DownloadVersion(validator: record.validator, total: total)
            return (version, record.offset < total ? [record.offset..<total] : [])
        }
        guard let data = FileManager.default.contents(atPath: partial.recordPath),
            let record = try? JSONDecoder().decode(SegmentedDownloadRecord.self, from: data), record.url == url,
            let missing = record.ranges(length: partial.file.length)
        else { return nil }
        return (record.version, missing)
    }

    /// Empties the file, for the bytes of a response that starts at byte 0.
    ///
    /// - Parameters:
    ///   - total: The length of the file; nil if it is not known.
    ///   - validator: The validator with which the file's parts can be requested; nil if there is none.
    ///   - count: The number of segments.
    func begin(total: UInt64?, validator: String?, count: Int) throws {
        if let total { try check(total) }
        let partial = try current()
        try partial.restart(nil)
        self.total = total
        version = if let total, let validator { DownloadVersion(validator: validator, total: total) } else { nil }
        divide([0..<(total ?? Self.openEnd)], version == nil ? 1 : count)
    }

    private func check(_ total: UInt64) throws {
        guard total > limit else { return }
        throw RequestError(
            .contentTooLarge,
            "the file has \(total) bytes, more than the limit of \(limit) bytes; raise options.maximumBodySize to "
                + "allow it")
    }

    private func divide(_ missing: [Range<UInt64>], _ count: Int) {
        segments = SegmentLayout.segments(of: missing, count: count)
        waiting = Array(segments.indices)
        (connections, unsaved) = (0, 0)
        if total != nil { feed.advance(to: received, of: total) }
    }

    // MARK: While bytes arrive

    /// Returns the first segment of each connection.
    func connect(atMost limit: Int) -> [Int] {
        connections = min(limit, waiting.count)
        defer { waiting.removeFirst(connections) }
        return Array(waiting.prefix(connections))
    }

    /// Returns the next segment; nil if no segment waits, so that the connection is not needed any more.
    func take() -> Int? {
        if waiting.isEmpty {
            connections -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Leaves a segment to the other connections. Returns false if this is the last connection.
    func leave(_ segment: Int) -> Bool {
        guard connections > 1 else { return false }
        connections -= 1
        waiting.append(segment)
        return true
    }

    func missing(_ segment: Int) -> Range<UInt64> { segments[segment] }

    var isDivided: Bool { segments.count > 1 }

    /// Appends bytes to a segment. Returns whether the segment is complete.
    ///
    /// - Parameter goesOn: Whether the response also has the bytes of the segments that follow. They are left out.
    ///   Without it, more bytes than the segment has are an error.
    func append(_ bytes: Data, to segment: Int, goesOn: Bool) throws -> Bool {
        let (partial, missing) = (try current(), segments[segment])
        let room = missing.length
        guard UInt64(bytes.count) <= room || goesOn else {
            throw RequestError(
                .unexpectedRange, "the server sent more than the requested bytes up to \(missing.upperBound)")
        }
        let count = min(UInt64(bytes.count), room)
        try bytes.prefix(Int(count)).withUnsafeBytes { try partial.file.write($0, at: missing.lowerBound) }
        segments[segment] = missing.lowerBound + count..<missing.upperBound
        unsaved += count
        feed.advance(to: received, of: total)
        if version != nil, unsaved >= Self.saveInterval { try save(partial) }
        return count == room
    }

    /// Returns whether a segment is complete when its response has ended. A segment of unknown length always is.
    func end(_ segment: Int) -> Bool {
        let missing = segments[segment]
        guard missing.upperBound == Self.openEnd else { return missing.isEmpty }
        total = missing.lowerBound
        segments[segment] = missing.lowerBound..<missing.lowerBound
        feed.advance(to: received, of: total)
        return true
    }

    private var received: UInt64 {
        guard let total else { return segments.first?.lowerBound ?? 0 }
        return total - segments.reduce(0) { $0 + $1.length }
    }

    private func save(_ partial: PartialFile) throws {
        guard let version else { return }
        try partial.file.flush()
        let missing = segments.filter { !$0.isEmpty }
        let record = SegmentedDownloadRecord(url: url, version: version, missing: missing)
        try WritableFile.replace(partial.recordPath, by: JSONEncoder().encode(record))
        unsaved = 0
    }

    // MARK: The end

    /// Checks the complete file, and moves it to its destination.
    func complete() async throws {
        let partial = try current()
        guard segments.allSatisfy(\.isEmpty), partial.file.length == total else {
            throw RequestError(.truncated, "not all \(partial.file.length) bytes of the file were received")
        }
        if let (algorithm, expected) = options.checksum {
            let computed = try await hash(of: partial, algorithm)
            guard computed == expected else {
                throw RequestError(.checksumMismatch, "the file's checksum is \(computed), expected \(expected)")
            }
        }
        try partial.place(at: target.filePath, replacing: options.contains(.removePreviousFile))
        self.partial = nil
    }

    /// Hashes the file. This may take long, so the method yields after each piece, and other files can be written
    /// meanwhile.
    private func hash(of partial: PartialFile, _ algorithm: StreamingHash.Algorithm) async throws -> String {
        var hash = StreamingHash(algorithm)
        var pieces = try FilePieces(of: partial.url)
        while let piece = try pieces.next() {
            piece.withUnsafeBytes { hash.update($0) }
            await Task.yield()
            try Task.checkCancellation()
        }
        return hash.finalize().hexadecimal
    }

    /// Closes the partial file after a failure. The file is removed, unless it is kept and a later request can resume
    /// from it.
    func close(keeping: Bool) {
        guard let partial = partial.take() else { return }
        guard keeping, version != nil, partial.file.length > 0 else { return partial.discard() }
        // If the record cannot be written, because the disk is full, the one before it is still true.
        if unsaved > 0 { try? save(partial) }
        let hasRecord = FileManager.default.fileExists(atPath: partial.recordPath)
        if !hasRecord { partial.discard() }
    }

    private func current() throws -> PartialFile {
        guard let partial else { throw CancellationError() }
        return partial
    }
}
