/// One serializer's answer: its value or why there is none, with everything about the exchange.
public struct DataResponse<Value: Sendable>: Sendable {
    /// The exchange that was serialized.
    public let exchange: CompletedExchange
    /// The value, or why there is none.
    public let result: Result<Value, RequestError>
    /// How long the serializer took.
    public let serializationDuration: Duration

    package init(
        exchange: CompletedExchange, result: Result<Value, RequestError>, serializationDuration: Duration = .zero
    ) {
        self.exchange = exchange
        self.result = result
        self.serializationDuration = serializationDuration
    }

    /// The request of the last hop; its `urlRequest` is Foundation's value of it.
    public var request: OutgoingRequest? { exchange.request }
    /// The response head as it came, with order, repeats and bytes.
    public var head: ResponseHead? { exchange.head }
    /// The body, its content codings undone; nil if there is none in memory.
    public var data: Data? { exchange.data }
    /// The last hop's metrics; `attempts` has those of all others.
    public var metrics: TransportMetrics? { exchange.metrics }
    /// Every attempt, each with its hops, their requests, heads and metrics.
    public var attempts: [Attempt] { exchange.history }
    /// The redirects that were followed, in order.
    public var redirects: [Hop] { exchange.redirects }

    /// The response head as Foundation's value, made when asked for.
    public var response: HTTPURLResponse? {
        guard let head, let request else { return nil }
        return head.httpURLResponse(url: request.url)
    }

    /// The value, if there is one.
    public var value: Value? {
        if case .success(let value) = result { value } else { nil }
    }

    /// Why there is no value, if there is none.
    public var error: RequestError? {
        if case .failure(let error) = result { error } else { nil }
    }
}

extension DataResponse {
    private func with<Other: Sendable>(_ result: Result<Other, RequestError>) -> DataResponse<Other> {
        DataResponse<Other>(exchange: exchange, result: result, serializationDuration: serializationDuration)
    }

    /// The same response with another value.
    public func map<Other: Sendable>(_ transform: (Value) -> Other) -> DataResponse<Other> {
        with(result.map(transform))
    }

    /// The same response with another value; what the closure throws is its error, with all that is known of the exchange.
    public func tryMap<Other: Sendable>(_ transform: (Value) throws -> Other) -> DataResponse<Other> {
        with(result.flatMap { value in Result { try transform(value) }.mapError(wrapped) })
    }

    /// The same response with another error.
    public func mapError(_ transform: (RequestError) -> RequestError) -> DataResponse<Value> {
        with(result.mapError(transform))
    }

    /// The same response with another error; what the closure throws takes its place, with all that is known of the exchange.
    public func tryMapError(_ transform: (RequestError) throws -> RequestError) -> DataResponse<Value> {
        mapError { error in
            do { return try transform(error) } catch { return wrapped(error) }
        }
    }

    private func wrapped(_ error: any Error) -> RequestError {
        RequestError(wrapping: error, as: .serializationFailed, stage: .serializing)
            .adding(to: exchange, requestID: nil)
    }
}
