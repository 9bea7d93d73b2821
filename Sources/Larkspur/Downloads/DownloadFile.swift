/// A download's receiver: writes the body through to a partial file, on a thread for files, and puts it in its place
/// when it is whole.
///
/// It outlives attempts. Each of them asks for what the ones before have not brought.
actor DownloadFile: BodyReceiver {
    private enum Keeping {
        /// What a later request will find by itself.
        case ifFound
        case always
    }

    private enum Life {
        case open
        /// The request has failed, and nothing more comes.
        case settled
        case closed
    }

    // Immutable
    nonisolated var actor: (any Actor)? { self }
    nonisolated let capacity: UInt64 = 1 << 20
    nonisolated let budget: BufferBudget? = .downloads
    nonisolated let canBeginAgain = true
    private nonisolated let thread: FileThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let destination: Destination?
    private let options: [DownloadOption]
    private let resumed: DownloadRecord?

    // The actor's
    private var life = Life.open
    private var keeping = Keeping.ifFound
    private var waiters: [CheckedContinuation<DownloadRecord?, Never>] = []
    private var partial: PartialFile?
    /// What a failure has left of the partial file, which is given up then.
    private var left: DownloadRecord?
    private var url = ""
    private var placed: URL?
    /// What the response under way brings: nothing if the partial file is whole already.
    private var answer = Resumption.Answer.all
    private var hash: StreamingHash?

    init(
        _ destination: Destination?, _ options: [DownloadOption], resuming record: DownloadRecord?,
        on thread: FileThread
    ) {
        self.destination = destination
        self.options = options
        self.thread = thread
        resumed = record
    }

    // MARK: Before a request is sent

    func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest {
        do {
            try checkOpen()
            // A serializer has failed, and a retrier wants everything anew: the last attempt's file was never there.
            if let placed { try? FileManager.default.removeItem(at: placed) }
            placed = nil
            if let (algorithm, hexadecimal) = options.checksum { try algorithm.check(hexadecimal) }
            self.url = url.text
            if partial == nil { try claim() }
            return try askingForRest(request, of: current())
        } catch {
            throw RequestError(wrapping: error, as: .fileUnwritable, stage: .building, about: request)
        }
    }

    private func claim() throws {
        switch destination?.kind {
        case .file(let url): try prepareFolder(of: url)
        case .suggested(let folder): try prepareFolder(of: folder.appendingPathComponent("name"), checking: false)
        case .custom, nil: break
        }
        let path = try resumed.map { try $0.partialFile.filePath } ?? destination?.partialPath
        let mode: mode_t = destination?.isTemporary ?? true ? 0o600 : 0o666
        partial = try PartialFile(claiming: path ?? Destination.temporaryPath, mode: mode) { record in
            resumed?.isOfSame(as: record) ?? (!options.contains(.startOver) && record.url == url)
        }
    }

    private func askingForRest(_ request: OutgoingRequest, of partial: PartialFile) -> OutgoingRequest {
        var request = request
        // The limit is for what is kept in memory. The ratio stays.
        if request.options.decodingLimits == nil {
            request.options.decodingLimits = DecodingLimits()
            request.options.decodingLimits?.maximumSize = .max
        }
        guard request.method == .get, request.headers["Range"] == nil, let record = partial.currentRecord else {
            return request
        }
        request.askForRest(Resumption(offset: record.offset, validator: record.validator, total: record.total))
        return request
    }

    private func prepareFolder(of file: URL, checking: Bool = true) throws {
        let path = try file.filePath
        if options.contains(.createIntermediateDirectories) {
            let folder = file.deletingLastPathComponent()
            do { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) } catch {
                throw RequestError(
                    .fileUnwritable, "the folder \(folder.path) cannot be created: \(error)", underlying: error)
            }
        }
        if checking { try FilePlace.check(path, replacing: options.contains(.removePreviousFile)) }
    }

    // MARK: While the body comes

    func begin(_ exchange: CompletedExchange) async throws {
        guard let hop = exchange.hop, let head = hop.head else { return }
        let partial = try current()
        answer = hop.request.options.resumption?.answer(in: head) ?? .all
        switch answer {
        case .rest, .nothing: break
        case .unusable:
            // Asked for anew, unless middleware has made it the answer.
            throw RequestError(.unexpectedRange, "what the server sends does not join the bytes that are there")
        case .all:
            // The page of an error takes the place of no byte that is there to be gone on with.
            guard hop.request.options.resumption == nil || (200..<300).contains(head.status) else {
                throw RequestError(
                    .unacceptableStatus, "the rest of the file was asked for, and the status is \(head.status)")
            }
            guard head.status != 206 || hop.request.headers["Range"] != nil else {
                throw RequestError(.unexpectedRange, "the server sends a part of the file, and was asked for all of it")
            }
            if case .suggested(let folder) = destination?.kind {
                try prepareFolder(of: folder.appendingPathComponent(SuggestedName.of(head, from: hop.request.url)))
            }
            try partial.restart(DownloadRecord(of: hop, url: url, partialFile: partial.url))
        }
        try await beginHash(of: partial)
    }

    /// What is there already is part of the sum. It may take a while, so other files have their turn in between.
    private func beginHash(of partial: PartialFile) async throws {
        guard let algorithm = options.checksum?.algorithm else { return }
        hash = StreamingHash(algorithm.hash)
        guard partial.file.length > 0 else { return }
        var pieces = try FilePieces(of: partial.url)
        while let piece = try pieces.next() {
            piece.withUnsafeBytes { hash?.update($0) }
            await Task.yield()
            try checkOpen()
        }
    }

    func receive(_ bytes: Data) throws {
        guard answer != .nothing else { return }  // it is the page of an error
        try current().file.append(bytes)
        bytes.withUnsafeBytes { hash?.update($0) }
    }

    func finish(_ exchange: CompletedExchange, telling tell: @Sendable (RequestEvent) -> Void) async throws {
        let partial = try current()
        if case .rest(let total) = answer, partial.file.length != total {
            let count = partial.file.length
            guard count > total else {
                throw RequestError(
                    .truncated, "there are \(count) bytes of \(total), and the server sends no more of them")
            }
            try partial.restart(nil)
            throw RequestError(.unexpectedRange, "the server has sent more than the \(total) bytes that the file has")
        }
        if let computed = hash.take()?.finalize().hexadecimal, let expected = options.checksum?.hexadecimal,
            computed != expected
        {
            // Another attempt would only go on with them.
            try partial.restart(nil)
            throw RequestError(.checksumMismatch, "the file's checksum is \(computed), and should be \(expected)")
        }
        let target = try await target(of: exchange, partial.url)
        try checkOpen()
        try partial.place(at: target.filePath, replacing: options.contains(.removePreviousFile))
        placed = target
        self.partial = nil
        // Here and not by the pipeline, which the request may be taken from: a monitor hears of nothing after the finish.
        tell(.placeFile(target))
    }

    private func target(of exchange: CompletedExchange, _ temporary: URL) async throws -> URL {
        guard let head = exchange.head, let request = exchange.request else { return temporary }
        switch destination?.kind {
        case nil: return temporary
        case .file(let url): return url
        case .suggested(let folder): return folder.appendingPathComponent(SuggestedName.of(head, from: request.url))
        case .custom(let choose):
            let url = try await choose(temporary, head)
            if url != temporary { try prepareFolder(of: url) }
            return url
        }
    }

    // MARK: The end

    func result(_ exchange: CompletedExchange) -> CompletedExchange {
        guard let error = exchange.error else { return placed.map { exchange.with(.file($0)) } ?? exchange }
        settle(error)
        return left.map { exchange.with(.record($0)) } ?? exchange
    }

    /// Gives the partial file up, for others to have: whoever learns of a failure may go on with it at once.
    private func settle(_ error: RequestError?) {
        life = .settled
        guard let partial = partial.take() else { return }
        if let error, let record = partial.currentRecord, keeps(after: error) {
            left = record
        } else {
            partial.discard()
        }
    }

    /// What a later request finds is kept, unless nobody wants it or it is not right.
    private func keeps(after error: RequestError) -> Bool {
        if keeping == .always { return true }
        guard ![.cancelled, .checksumMismatch, .contentTooLarge].contains(error.code) else { return false }
        if case .file = destination?.kind { return true }
        return resumed != nil
    }

    nonisolated func end(_ error: RequestError?) {
        // Unstructured, one for each download: whoever ends a request must not wait for the disk.
        Task { await close(error) }
    }

    private func close(_ error: RequestError?) {
        settle(error)
        // Nobody will learn of a temporary file whose request was cancelled after all.
        if error != nil, destination == nil, let placed { try? FileManager.default.removeItem(at: placed) }
        life = .closed
        for waiter in waiters { waiter.resume(returning: left) }
        waiters = []
    }

    func keepPartialFile() { keeping = .always }

    /// Waits until nothing more happens to files; gives what is left of one that is not whole.
    func closed() async -> DownloadRecord? {
        if life == .closed { return left }
        return await withCheckedContinuation { waiters.append($0) }
    }

    private func checkOpen() throws {
        if life != .open { throw CancellationError() }
    }

    private func current() throws -> PartialFile {
        guard let partial else { throw CancellationError() }
        return partial
    }
}
