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
    private let past: Past
    private let download: Download?

    enum Download: Sendable {
        case file(URL)
        case record(DownloadRecord)
    }

    /// What came before; kept in parts, because most exchanges have one attempt of one hop.
    struct Past: Sendable {
        var earlier: [Attempt] = []
        var last: Attempt?
    }

    init(
        hop: Hop? = nil, data: Data? = nil, attempts: Int = 0, error: RequestError? = nil, past: Past = Past(),
        download: Download? = nil
    ) {
        self.hop = hop
        self.data = data
        self.attempts = attempts
        self.error = error
        self.past = past
        self.download = download
    }

    /// The file that a download has written; nil if it failed.
    public var fileURL: URL? {
        if case .file(let url) = download { url } else { nil }
    }

    /// What a failed download can be gone on with.
    public var resumeRecord: DownloadRecord? {
        if case .record(let record) = download { record } else { nil }
    }

    /// The last hop's request.
    public var request: OutgoingRequest? { hop?.request }
    /// The last hop's response head, or nil if none came.
    public var head: ResponseHead? { hop?.head }
    /// The last hop's metrics.
    public var metrics: TransportMetrics? { hop?.metrics }

    /// Every attempt, each with its hops, their requests, heads and metrics.
    public var history: [Attempt] {
        guard var last = past.last else { return past.earlier }
        last.error = last.error ?? error
        return past.earlier + [last]
    }

    /// The redirects that the last attempt followed, in order.
    public var redirects: [Hop] {
        past.last?.hops.dropLast().filter { hop in
            hop.head.map { HopPolicy.isRedirect($0, options: hop.request.options) } ?? false
        } ?? []
    }

    func with(_ data: Data) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error, past: past, download: download)
    }

    func with(_ download: Download) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error, past: past, download: download)
    }

    /// The same exchange with an error that was found out about it later.
    func failed(with error: RequestError) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error, past: past, download: download)
    }
}
