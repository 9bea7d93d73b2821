extension DataStreamRequest {
    /// The argument of a stream's handler: an event, and a token to cancel the stream.
    public struct Stream<Value: Sendable>: Sendable {
        /// The event.
        public let event: Event<Value>
        /// A token that cancels the stream, and can be kept.
        public let token: CancellationToken

        /// The value; nil if the event has no value.
        public var value: Value? { if case .stream(.success(let value)) = event { value } else { nil } }

        /// The reason why a value is missing or the request failed; nil if the event has no error.
        public var error: RequestError? {
            switch event {
            case .stream(.success): nil
            case .stream(.failure(let error)): error
            case .complete(let completion): completion.error
            }
        }

        /// The outcome of the request; nil before the last event.
        public var completion: Completion? { if case .complete(let completion) = event { completion } else { nil } }

        /// Cancels the request.
        public func cancel() { token.cancel() }
    }

    /// An event of a stream: any number of values, then one completion.
    public enum Event<Value: Sendable>: Sendable {
        /// The next value, or an error in place of a value.
        case stream(Result<Value, RequestError>)
        /// The last event, when the request has finished.
        case complete(Completion)
    }

    /// The outcome of a streaming request.
    public struct Completion: Sendable {
        /// The request of the last hop.
        public let request: OutgoingRequest?
        /// The head of the last hop's response.
        public let head: ResponseHead?
        /// The fields that the server sent after the body of the last hop (trailers); nil if there were none.
        public let trailers: HTTPHeaders?
        /// The last hop's metrics.
        public let metrics: TransportMetrics?
        /// The reason why the request failed; nil if it succeeded.
        public let error: RequestError?
    }

    /// A token that cancels a request, without a strong reference to it.
    public struct CancellationToken: Sendable {
        private let action: @Sendable () -> Void

        init(request: DataStreamRequest) {
            action = { [weak request] in _ = request?.cancel() }
        }

        /// Cancels the request.
        public func cancel() { action() }
    }

    /// The outcome of the request. It is available when the request has finished. If the awaiting task is cancelled,
    /// the property does not wait for the request, and its error is a cancellation.
    ///
    ///     let end = await session.streamRequest(url).completion
    ///
    /// Awaiting the outcome starts the request. The outcome is available after the readers have received the whole
    /// body, but their closures may still be handling the last bytes. A body without readers is discarded, so create
    /// readers before, as in `let bytes = request.bytes`.
    public var completion: Completion {
        get async {
            hub.stopExpectingReaders()
            handle.core.demand()
            return await finished()
        }
    }

    /// Returns the outcome when the request has finished.
    ///
    /// - Parameter problem: The error of a reader. The outcome has this error if the request itself has no error,
    ///   because the request may have finished before the reader failed.
    func finished(with problem: RequestError? = nil) async -> Completion {
        for await _ in handle.core.follow(.heads) {}
        guard let exchange = handle.core.read({ $0.exchange }) else {
            return Completion(request: request, head: head, trailers: nil, metrics: metrics, error: .requestCancelled)
        }
        return Completion(
            request: exchange.request, head: exchange.head, trailers: exchange.trailers, metrics: exchange.metrics,
            error: exchange.error ?? problem)
    }
}
