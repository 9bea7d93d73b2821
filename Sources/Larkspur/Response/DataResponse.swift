/// One serializer's answer: its value or why there is none, with everything about the exchange.
public struct DataResponse<Value: Sendable>: Sendable {
    /// The exchange that was serialized.
    public let exchange: CompletedExchange
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
    public var data: Data? { exchange.data }
    public var metrics: TransportMetrics? { exchange.metrics }

    /// The response head as Foundation's value, made when asked for.
    public var response: HTTPURLResponse? {
        guard let head, let request else { return nil }
        return head.httpURLResponse(url: request.url)
    }

    public var value: Value? {
        if case .success(let value) = result { value } else { nil }
    }

    public var error: RequestError? {
        if case .failure(let error) = result { error } else { nil }
    }
}

extension DataResponse: CustomStringConvertible {
    public var description: String {
        switch result {
        case .success(let value): "success: \(value)"
        case .failure(let error): "failure: \(error)"
        }
    }
}
