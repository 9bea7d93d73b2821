/// The final record of an exchange, for validators and serializers. All responses of a request share this record.
public final class CompletedExchange: Sendable {
    /// The last hop; nil if nothing was sent.
    public let hop: Hop?
    /// The body in memory; nil if there is no response, or its body was not kept in memory.
    public let data: Data?
    /// The number of attempts.
    public let attempts: Int
    /// The reason why the exchange failed; nil if it succeeded.
    public let error: RequestError?
    let past: Past
    private let download: Download?

    enum Download: Sendable {
        case file(URL)
        case record(DownloadRecord)
    }

    /// The attempts of the exchange. The last attempt is stored outside of the array, so that an exchange with one
    /// attempt needs no array.
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

    /// Creates the record of an exchange that is known by its last hop or its error alone.
    package convenience init(hop: Hop? = nil, error: RequestError? = nil) {
        self.init(hop: hop, attempts: 0, error: error)
    }

    /// The file of a successful download; nil if the download failed.
    public var fileURL: URL? {
        if case .file(let url) = download { url } else { nil }
    }

    /// The record to resume a failed download with; nil if the download cannot be resumed.
    public var resumeRecord: DownloadRecord? {
        if case .record(let record) = download { record } else { nil }
    }

    /// The request of the last hop.
    public var request: OutgoingRequest? { hop?.request }
    /// The response head of the last hop; nil without a response.
    public var head: ResponseHead? { hop?.head }
    /// The metrics of the last hop.
    public var metrics: TransportMetrics? { hop?.metrics }
    /// The fields that the server sent after the body of the last hop; nil if there were none.
    public var trailers: HTTPHeaders? { hop?.trailers }
    /// The outcome of the session's cache for the last hop; nil without a cache or a response.
    public var cache: CacheOutcome? { hop?.cache }

    /// All attempts in order, with their hops.
    public var history: [Attempt] {
        guard var last = past.last else { return past.earlier }
        last.error = last.error ?? error
        return past.earlier + [last]
    }

    func with(_ data: Data) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error, past: past, download: download)
    }

    func with(_ download: Download) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error, past: past, download: download)
    }

    /// Returns the same exchange without its error.
    package func succeeded() -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, past: past, download: download)
    }

    /// Returns the same exchange with an error that occurred after the exchange was made.
    func failed(with error: RequestError) -> CompletedExchange {
        CompletedExchange(hop: hop, data: data, attempts: attempts, error: error, past: past, download: download)
    }
}

extension CompletedExchange: CustomReflectable {
    /// A mirror without bodies.
    public var customMirror: Mirror {
        Mirror(self, children: ["hop": hop as Any, "attempts": attempts, "error": error as Any])
    }
}

extension Hop {
    /// The codings that the client must decode, in the order in which the server applied them.
    var codings: [String] { head?.codings(for: request) ?? [] }
}

extension RequestError {
    /// Returns the error with facts about the exchange. Facts that the error already contains are kept.
    package func adding(to exchange: CompletedExchange, requestID: RequestID?) -> RequestError {
        let isRefused = code == .unacceptableStatus
        let remarks: (@Sendable () -> [String])? = isRefused ? { @Sendable in exchange.remarks } : nil
        return adding(
            requestID: requestID, method: exchange.request?.method, url: exchange.request?.url, head: exchange.head,
            data: exchange.data, attempts: exchange.attempts,
            remarks: remarks)
    }
}
