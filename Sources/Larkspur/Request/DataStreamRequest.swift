/// A request whose response body is read while it comes, and never kept.
///
///     for try await chunk in await session.streamRequest(url).bytes { … }
///
/// Validators see the response's head before the first byte is handed on. A reader that takes its time stops the peer; one
/// that stops reading, because its loop is left or its task cancelled, cancels the request, if it was the last. Once a
/// byte was handed on no further attempt is made: readers never see the start of a body twice.
public final class DataStreamRequest: Request {
    public let handle: RequestHandle
    let hub: StreamHub

    init(core: RequestCore, hub: StreamHub) {
        handle = RequestHandle(core: core)
        self.hub = hub
        core.adopt(self)
    }

    /// The body, chunk by chunk, its content codings undone.
    ///
    /// Each value is a reader of its own, and gets what comes after it was made: have all of them before the first is
    /// iterated, which starts the request. One that is never iterated stops the others when its room is used up, until it
    /// is let go of; with the last of them the body is for nobody, and a request under way is cancelled.
    public var bytes: DataStream { bytes(automaticallyCancelling: true) }

    /// - Parameter automaticallyCancelling: With false the request goes on when its last reader has left, and the rest of
    ///   the body is thrown away unless somebody else comes to read it.
    public func bytes(automaticallyCancelling: Bool) -> DataStream {
        DataStream(StreamReader(self, automaticallyCancelling: automaticallyCancelling))
    }
}

extension DataStreamRequest {
    /// Whether the request, or the task that reads it, was cancelled: the reader is given nothing more.
    var isOverForReader: Bool { hub.isCut.isRaised || Task.isCancelled }
}

/// A streamed body, chunk by chunk. It ends by throwing where the body does not arrive whole: a `RequestError`, or
/// `CancellationError` if the request was cancelled. Nothing is delivered after a cancel, also if it was there already.
public struct DataStream: AsyncSequence, Sendable {
    let request: DataStreamRequest
    private let automaticallyCancelling: Bool
    private let reserved: Protected<StreamReader?>

    init(_ reader: StreamReader) {
        request = reader.request
        automaticallyCancelling = reader.automaticallyCancelling
        reserved = Protected(reader)
    }

    /// The first iterator reads from where the value was made; any further one from now on.
    public func makeAsyncIterator() -> Iterator {
        let reader = reserved.withLock { $0.take() }
        return Iterator(reader: reader ?? StreamReader(request, automaticallyCancelling: automaticallyCancelling))
    }

    /// Reads the body's chunks, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: StreamReader

        public func next() async throws -> Data? { try await reader.next() }
    }
}

/// One reader of a stream: it takes part from its making until it is let go of.
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
                // A chunk that was on its way when the request was cancelled is dropped. The channel gives the reason next.
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
        let isLast = request.hub.leave(channel, isStarted: phase != .idle)
        if isLast, automaticallyCancelling, phase != .finished { request.cancel() }
    }
}
