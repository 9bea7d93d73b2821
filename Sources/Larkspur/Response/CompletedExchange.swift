/// What came of an exchange: the record that validators and serializers work on, shared by every response made of it.
public final class CompletedExchange: Sendable {
    /// The last hop's request, or nil if none could be built.
    public let request: OutgoingRequest?
    /// The last hop's response head, or nil if none came.
    public let head: ResponseHead?
    /// The body; nil if there was no response.
    public let data: Data?
    /// The last hop's metrics.
    public let metrics: TransportMetrics?
    /// How many attempts were made.
    public let attempts: Int
    /// Why the exchange failed, if it did.
    public let error: RequestError?

    package init(
        request: OutgoingRequest? = nil, head: ResponseHead? = nil, data: Data? = nil,
        metrics: TransportMetrics? = nil, attempts: Int = 0, error: RequestError? = nil
    ) {
        self.request = request
        self.head = head
        self.data = data
        self.metrics = metrics
        self.attempts = attempts
        self.error = error
    }

    /// The same exchange with an error that was found out about it later.
    func failed(with error: RequestError) -> CompletedExchange {
        CompletedExchange(
            request: request, head: head, data: data, metrics: metrics, attempts: attempts, error: error)
    }
}
