/// The receiver of a download's body. It writes the body to a partial file on a thread for files, and moves the
/// complete file into place.
///
/// One instance receives the bodies of all attempts. Each attempt requests the bytes that are still missing.
package actor DownloadFile: BodyReceiver {
    private enum Keeping {
        /// Keeps the partial file of a failed request only if a later request can find the file without a new record.
        case ifFound
        case always
    }

    private enum Status {
        case open
        /// The request has ended, and no more bytes will arrive.
        case settled
        case closed
    }

    // Immutable
    package nonisolated var actor: (any Actor)? { self }
    package nonisolated let capacity: UInt64 = 1 << 20
    package nonisolated let budget: BufferBudget? = .downloads
    package nonisolated let canBeginAgain = true
    private nonisolated let thread: FileThread
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let destination: Destination?
    private let options: [DownloadOption]
    private let resumed: DownloadRecord?

    /// The checks of the complete file.
    nonisolated let validations = Protected<[@concurrent @Sendable (URL, CompletedExchange) async throws -> Void]>([])

    // Isolated to the actor
    private var status = Status.open
    private var keeping = Keeping.ifFound
    private var waiters: [CheckedContinuation<DownloadRecord?, Never>] = []
    private var partial: PartialFile?
    /// The record of the partial file that is kept after the request has failed.
    private var leftover: DownloadRecord?
    private var url = ""
    private var placed: URL?
    /// How the current response relates to the bytes of the partial file.
    private var answer = Resumption.Answer.all
    private var hash: StreamingHash?

    package init(
        _ destination: Destination?, _ options: [DownloadOption], resuming record: DownloadRecord?,
        on thread: FileThread
    ) {
        self.destination = destination
        self.options = options
        self.thread = thread
        resumed = record
    }

    // MARK: Before a request is sent

    package func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest {
        do {
            try checkOpen()
            // An earlier attempt moved its file into place, but a serializer then failed, and a retrier requested this
            // attempt.
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
        case .file(let url): try options.prepareFolder(of: url)
        case .suggested(let folder):
            try options.prepareFolder(of: folder.appendingPathComponent("name"), checking: false)
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
        // The default limit for the decoded size protects memory, but a download writes its bytes to disk. The default
        // limit for the ratio still applies.
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

    // MARK: While the body arrives

    package func begin(_ exchange: CompletedExchange) async throws {
        guard let hop = exchange.hop, let head = hop.head else { return }
        let partial = try current()
        answer = hop.request.options.resumption?.answer(in: head) ?? .all
        switch answer {
        case .rest, .nothing: break
        case .unusable:
            // Only a response that middleware has made gets here. If the transport delivers such a range, the pipeline
            // repeats the request from byte 0 and does not call this function.
            throw RequestError(.unexpectedRange, "the server's range does not continue the partial file")
        case .all:
            // An error page must not replace the bytes of a partial file that can still be resumed.
            guard hop.request.options.resumption == nil || (200..<300).contains(head.status) else {
                throw RequestError(
                    .unacceptableStatus,
                    "the request for the rest of the file was answered with status \(head.status)")
            }
            guard head.status != 206 || hop.request.headers["Range"] != nil else {
                throw RequestError(
                    .unexpectedRange, "the server sent a part of the file, but the request was for all of it")
            }
            if case .suggested(let folder) = destination?.kind {
                let name = SuggestedName.of(head, from: hop.request.url)
                try options.prepareFolder(of: folder.appendingPathComponent(name))
            }
            try partial.restart(DownloadRecord(of: hop, url: url, partialFile: partial.url))
        }
        try await beginHash(of: partial)
    }

    /// Hashes the bytes that the partial file already has. This may take long, so the method yields after each piece,
    /// and other files can be written meanwhile.
    private func beginHash(of partial: PartialFile) async throws {
        guard let algorithm = options.checksum?.algorithm else { return }
        hash = StreamingHash(algorithm)
        guard partial.file.length > 0 else { return }
        var pieces = try FilePieces(of: partial.url)
        while let piece = try pieces.next() {
            piece.withUnsafeBytes { hash?.update($0) }
            await Task.yield()
            try checkOpen()
        }
    }

    package func receive(_ bytes: Data) throws {
        guard answer != .nothing else { return }  // the body of a 416 response
        try current().file.append(bytes)
        bytes.withUnsafeBytes { hash?.update($0) }
    }

    package func finish(
        _ exchange: CompletedExchange, _ error: (any Error)?, telling tell: @Sendable (RequestEvent) -> Void
    ) async throws {
        if let error { throw error }
        let partial = try current()
        if case .rest(let total) = answer, partial.file.length != total {
            let count = partial.file.length
            guard count > total else {
                throw RequestError(
                    .truncated, "the server sent no more than \(count) of \(total) bytes")
            }
            try partial.restart(nil)
            throw RequestError(.unexpectedRange, "the server sent more than the \(total) bytes of the file")
        }
        if let computed = hash.take()?.finalize().hexadecimal, let expected = options.checksum?.hexadecimal,
            computed != expected
        {
            // Without the restart, the next attempt would resume from the bytes that do not match.
            try partial.restart(nil)
            throw RequestError(.checksumMismatch, "the file's checksum is \(computed), expected \(expected)")
        }
        try await validate(partial, exchange)
        let target = try await target(of: exchange, partial.url)
        try checkOpen()
        try partial.place(at: target.filePath, replacing: options.contains(.removePreviousFile))
        placed = target
        self.partial = nil
        // The event is reported here and not by the pipeline. The request may be cancelled before the pipeline
        // continues, and monitors get no event after a request has finished.
        tell(.placeFile(FileEvent(target, size: partial.file.length, of: exchange)))
    }

    private func validate(_ partial: PartialFile, _ exchange: CompletedExchange) async throws {
        for validation in validations.withLock({ $0 }) {
            do { try await validation(partial.url, exchange) } catch {
                try checkOpen()
                // The next attempt must not resume from the refused bytes.
                try partial.restart(nil)
                throw RequestError(wrapping: error, as: .validationFailed, stage: .validating)
            }
            try checkOpen()
        }
    }

    private func target(of exchange: CompletedExchange, _ temporary: URL) async throws -> URL {
        guard let head = exchange.head, let request = exchange.request else { return temporary }
        switch destination?.kind {
        case nil: return temporary
        case .file(let url): return url
        case .suggested(let folder): return folder.appendingPathComponent(SuggestedName.of(head, from: request.url))
        case .custom(let choose):
            let url = try await choose(temporary, head)
            if url != temporary { try options.prepareFolder(of: url) }
            return url
        }
    }

    // MARK: The end

    package func result(_ exchange: CompletedExchange) -> CompletedExchange {
        guard let error = exchange.error else { return placed.map { exchange.with(.file($0)) } ?? exchange }
        settle(error)
        return leftover.map { exchange.with(.record($0)) } ?? exchange
    }

    /// Closes the partial file, and removes the file unless it is kept. This happens before the failure is reported, so
    /// the caller's next request can use the file at once.
    private func settle(_ error: RequestError?) {
        status = .settled
        guard let partial = partial.take() else { return }
        if let error, let record = partial.currentRecord, keeps(after: error) {
            leftover = record
        } else {
            partial.discard()
        }
    }

    /// Returns whether to keep the partial file. Unless `keeping` is `.always`, a later request must be able to find
    /// the file, and its bytes must be valid.
    private func keeps(after error: RequestError) -> Bool {
        if keeping == .always { return true }
        guard ![.cancelled, .checksumMismatch, .contentTooLarge].contains(error.code) else { return false }
        if case .file = destination?.kind { return true }
        return resumed != nil
    }

    package nonisolated func end(_ error: RequestError?) {
        // The task is unstructured, because the end of a request must not wait for the disk. Each download starts one
        // such task.
        Task { await close(error) }
    }

    private func close(_ error: RequestError?) {
        settle(error)
        // The request has failed after its file was complete. The caller never learns the path of this temporary file.
        if error != nil, destination == nil, let placed { try? FileManager.default.removeItem(at: placed) }
        status = .closed
        for waiter in waiters { waiter.resume(returning: leftover) }
        waiters = []
    }

    package func keepPartialFile() { keeping = .always }

    /// Waits until the download's last file operation is done. Returns the record of the partial file; nil if the file
    /// is not kept.
    package func closed() async -> DownloadRecord? {
        if status == .closed { return leftover }
        return await withCheckedContinuation { waiters.append($0) }
    }

    private func checkOpen() throws {
        if status != .open { throw CancellationError() }
    }

    private func current() throws -> PartialFile {
        guard let partial else { throw CancellationError() }
        return partial
    }
}
