/// The result of one serializer, with the exchange that was serialized.
public struct DataResponse<Value: Sendable>: Sendable {
    /// The exchange that was serialized.
    public let exchange: CompletedExchange
    /// The value, or the error if there is no value.
    public let result: Result<Value, RequestError>
    /// The time that the serializer took.
    public let serializationDuration: Duration

    package init(
        exchange: CompletedExchange, result: Result<Value, RequestError>, serializationDuration: Duration = .zero
    ) {
        self.exchange = exchange
        self.result = result
        self.serializationDuration = serializationDuration
    }

    /// The request of the last hop. Its `urlRequest` is the `URLRequest` of Foundation.
    public var request: OutgoingRequest? { exchange.request }
    /// The response head as received, with the original order, repetitions and bytes of its fields.
    public var head: ResponseHead? { exchange.head }
    /// The fields that the server sent after the body (trailers); nil if there were none. They are never added to
    /// ``head``. See <doc:TrailersAndInterimResponses>.
    public var trailers: HTTPHeaders? { exchange.trailers }
    /// The body, with its content codings decoded; nil if no body is kept in memory.
    public var data: Data? { exchange.data }
    /// The metrics of the last hop, whose `total` is the time of that hop alone. ``attempts`` has the metrics of all
    /// hops, and ``duration`` their time.
    public var metrics: TransportMetrics? { exchange.metrics }
    /// The time that all hops of all attempts took, with the waits for limits and before retries. The time of user
    /// code, such as adapters and serializers, is not included.
    public var duration: Duration {
        attempts.reduce(.zero) { sum, attempt in
            attempt.hops.reduce(sum + (attempt.delay ?? .zero)) { sum, hop in
                sum + (hop.metrics?.queued ?? .zero) + (hop.metrics?.total ?? .zero)
            }
        }
    }
    /// The outcome of the session's cache for the last hop; nil without a cache or a response.
    public var cache: CacheOutcome? { exchange.cache }
    /// All attempts in order, with their hops.
    public var attempts: [Attempt] { exchange.history }
    /// The redirects that the last attempt followed, in order.
    public var redirects: [Hop] { exchange.redirects }

    /// The value; nil if the request or its serializer failed.
    public var value: Value? {
        if case .success(let value) = result { value } else { nil }
    }

    /// The reason why there is no value; nil if there is a value.
    public var error: RequestError? {
        if case .failure(let error) = result { error } else { nil }
    }
}

extension DataResponse {
    private func with<Other: Sendable>(_ result: Result<Other, RequestError>) -> DataResponse<Other> {
        DataResponse<Other>(exchange: exchange, result: result, serializationDuration: serializationDuration)
    }

    /// Returns the response with a transformed value.
    public func map<Other: Sendable>(_ transform: (Value) -> Other) -> DataResponse<Other> {
        with(result.map(transform))
    }

    /// Returns the response with a transformed value. If the closure throws, the response fails with that error, which
    /// has the request, response and attempts of the exchange.
    public func tryMap<Other: Sendable>(_ transform: (Value) throws -> Other) -> DataResponse<Other> {
        with(result.flatMap { value in Result { try transform(value) }.mapError(wrapped) })
    }

    /// Returns the response with a transformed error.
    public func mapError(_ transform: (RequestError) -> RequestError) -> DataResponse<Value> {
        with(result.mapError(transform))
    }

    /// Returns the response with a transformed error. If the closure throws, the response fails with that error, which
    /// has the request, response and attempts of the exchange.
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
