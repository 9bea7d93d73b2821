/// A request whose response body is read while it arrives, and is not stored.
///
///     for try await chunk in await session.streamRequest(url).bytes { … }
///
/// Validators check the response's head before the first byte is delivered. While a reader is slow, the server waits
/// (back pressure). The request is cancelled when its last reader leaves the loop or is cancelled. Retries stop once
/// the first byte has been delivered, so readers never see the start of a body twice, and once ``response()`` has
/// returned, so the bytes belong to its head.
///
/// See <doc:Streams>.
public final class DataStreamRequest: Request {
    @_documentation(visibility: internal)
    public let handle: RequestHandle
    let hub: StreamHub

    init(core: RequestCore, hub: StreamHub) {
        handle = RequestHandle(core: core)
        self.hub = hub
        core.adopt(self)
    }

    /// The body, chunk by chunk, with its content codings decoded.
    ///
    /// Each access creates a separate reader, which gets the bytes that arrive after its creation. Iterating the first
    /// reader starts the request, so create all readers before that.
    ///
    /// A reader that is never iterated blocks the other readers when its buffer is full, until that reader is released.
    /// When the last reader is released, a request in flight is cancelled.
    public var bytes: DataStream { bytes(automaticallyCancelling: true) }

    /// Returns the body, chunk by chunk, like ``bytes``.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when it has no reader any more. If false,
    ///   the request continues, and the rest of the body is discarded unless another reader reads it.
    public func bytes(automaticallyCancelling: Bool) -> DataStream {
        DataStream(StreamReader(self, automaticallyCancelling: automaticallyCancelling))
    }
}

extension DataStreamRequest {
    /// Whether the request or the reading task was cancelled. If so, the reader gets no more bytes.
    var isOverForReader: Bool { hub.isCut.isRaised || Task.isCancelled }
}

/// A streamed body, chunk by chunk.
///
/// If the body is incomplete, iterating throws a ``RequestError`` after the last chunk, or `CancellationError` if the
/// request was cancelled. After a cancellation no chunk is delivered, not even a buffered chunk.
public struct DataStream: AsyncSequence, Sendable {
    let request: DataStreamRequest
    private let automaticallyCancelling: Bool
    private let reserved: Protected<StreamReader?>

    init(_ reader: StreamReader) {
        request = reader.request
        automaticallyCancelling = reader.automaticallyCancelling
        reserved = Protected(reader)
    }

    /// Returns an iterator. The first iterator gets all bytes that have arrived since the sequence was created. Each
    /// later iterator gets only the bytes that arrive after this call.
    public func makeAsyncIterator() -> Iterator {
        let reader = reserved.withLock { $0.take() }
        return Iterator(reader: reader ?? StreamReader(request, automaticallyCancelling: automaticallyCancelling))
    }

    /// An iterator over the body's chunks.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: StreamReader

        /// Waits for the next chunk and returns it. Returns nil at the end of the body.
        public func next() async throws -> Data? { try await reader.next() }
    }
}

/// One reader of a stream, registered from its creation until its release.
final class StreamReader: Sendable {
    let request: DataStreamRequest
    let automaticallyCancelling: Bool
    private let channel: ByteChannel

    init(_ request: DataStreamRequest, automaticallyCancelling: Bool) {
        self.request = request
        self.automaticallyCancelling = automaticallyCancelling
        channel = request.hub.register()
    }

    deinit { leave() }

    func next() async throws -> Data? {
        request.hub.begin(channel)
        request.handle.core.demand()
        do {
            while true {
                try Task.checkCancellation()
                guard let chunk = try await channel.next() else { return nil }
                // Drop a chunk that was in flight when the request was cancelled. The loop then calls `channel.next()`
                // again, which reports the cancellation.
                if !request.isOverForReader { return chunk }
            }
        } catch let error as RequestError where !error.isCancelled {
            throw error
        } catch {
            leave()
            throw CancellationError()
        }
    }

    private func leave() {
        let phase = request.handle.core.read { $0.phase }
        let (isLast, proceed) = request.hub.leave(channel, isStarted: phase != .idle)
        if isLast, automaticallyCancelling, phase != .finished { request.cancel() }
        proceed?()
    }
}
