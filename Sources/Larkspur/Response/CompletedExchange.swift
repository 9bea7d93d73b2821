/// What came of an exchange: the record that validators and serializers work on, shared by every response made of it.
public final class CompletedExchange: Sendable {
    /// The last hop, or nil if there was none.
    public let hop: Hop?
    /// The body; nil if there was no response.
    public let data: Data?
    /// How many attempts were made.
    public let attempts: Int
    /// Why the exchange failed, if it did.
    public let error: RequestError?

    package init(hop: Hop? = nil, data: Data? = nil, attempts: Int = 0, error: RequestError? = nil) {
        self.hop = hop
        self.data = data
        self.attempts = attempts
        self.error = error
    }

    /// The last hop's request.
    public var request: OutgoingRequest? { hop?.request }
    /// The last hop's response head, or nil if none came.
    public var head: ResponseHead? { hop?.head }
    public var metrics: TransportMetrics? { hop?.metrics }

    /// The same exchange with an error that was found out about it later.
    func failed(with error: RequestError) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error)
    }
}
