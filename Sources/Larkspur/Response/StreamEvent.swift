extension DataStreamRequest {
    /// What a handler of a stream is called with: an event, and a way to stop the stream.
    public struct Stream<Value: Sendable>: Sendable {
        /// What has happened.
        public let event: Event<Value>
        /// Stops the stream, from wherever it is kept.
        public let token: CancellationToken

        /// The value, unless there is none in this event.
        public var value: Value? { if case .stream(.success(let value)) = event { value } else { nil } }

        /// Why there is no value, or why the request failed.
        public var error: RequestError? {
            switch event {
            case .stream(.success): nil
            case .stream(.failure(let error)): error
            case .complete(let completion): completion.error
            }
        }

        /// What came of the request, if this is the last event.
        public var completion: Completion? { if case .complete(let completion) = event { completion } else { nil } }

        /// Cancels the request.
        public func cancel() { token.cancel() }
    }

    /// What happens to a stream: values, and at the end one completion.
    public enum Event<Value: Sendable>: Sendable {
        /// The next value, or why one could not be had.
        case stream(Result<Value, RequestError>)
        /// The last event: the request has finished.
        case complete(Completion)
    }

    /// What came of a request whose body was read while it came.
    public struct Completion: Sendable {
        /// The request of the last hop.
        public let request: OutgoingRequest?
        /// The head of the last hop's response.
        public let head: ResponseHead?
        /// The last hop's metrics.
        public let metrics: TransportMetrics?
        /// Why the request failed; nil if it did not.
        public let error: RequestError?
    }

    /// Cancels a request without holding it.
    public struct CancellationToken: Sendable {
        private let action: @Sendable () -> Void

        init(request: DataStreamRequest) {
            action = { [weak request] in _ = request?.cancel() }
        }

        /// Cancels the request.
        public func cancel() { action() }
    }

    /// What came of the request, once it has finished; a cancelled awaiter is told of that at once.
    ///
    ///     let end = await session.streamRequest(url).completion
    ///
    /// Awaiting it starts the request. It waits until the body was taken by those who read it, not until their closures have
    /// worked on it, and from now on for nobody else: where nobody reads, the body is thrown away. So have the readers,
    /// `let bytes = request.bytes`, before it is awaited.
    public var completion: Completion {
        get async {
            hub.expectNobody()
            handle.core.demand()
            return await finished()
        }
    }

    /// - Parameter problem: What a reader found out that the request itself may not have: it can have finished before.
    func finished(with problem: RequestError? = nil) async -> Completion {
        for await _ in handle.core.follow(.responses) {}
        guard let exchange = handle.core.read({ $0.exchange }) else {
            return Completion(request: request, head: head, metrics: metrics, error: .requestCancelled)
        }
        return Completion(
            request: exchange.request, head: exchange.head, metrics: exchange.metrics,
            error: exchange.error ?? problem)
    }
}
