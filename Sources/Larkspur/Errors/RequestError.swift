/// Why a request failed: which stage, what kind, and everything known about the exchange at that time.
///
/// It is one stored reference, because it sits in every `Result`. Codes are values, not cases: more may come without
/// breaking a switch anywhere.
public struct RequestError: Error, Sendable {
    /// The stage of an attempt that failed.
    public enum Stage: String, Sendable {
        /// The request is made of its parts, parameters and modifiers.
        case building
        /// Adapters change it.
        case adapting
        /// The transport exchanges it for a response; redirects, middleware and content codings are part of that.
        case sending
        /// Validators judge the response.
        case validating
        /// A serializer makes a value of it.
        case serializing
        /// Retriers are asked about a failure.
        case retrying
    }

    fileprivate struct Content: Sendable {
        var code: Code
        var message: String
        var stage: Stage?
        var requestID: RequestID?
        var method: HTTPMethod?
        var url: RequestURL?
        var head: ResponseHead?
        var responseData: Data?
        var attempts = 0
        var retryRefusal: String?
        var underlying: (any Error)?
    }

    private final class Storage: Sendable {
        let content: Content

        init(_ content: Content) {
            var content = content
            // Words from elsewhere may have several lines; a log takes each for an entry of its own.
            if content.message.contains(where: \.isNewline) {
                content.message = content.message.split(whereSeparator: \.isNewline).joined(separator: " ")
            }
            self.content = content
        }
    }

    private var storage: Storage

    /// An error of your own validator, serializer, adapter or retrier, told in one line.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        storage = Storage(Content(code: code, message: message, underlying: underlying))
    }

    /// Keeps what is a `RequestError` of no request yet; anything else, another request's error too, becomes the
    /// underlying error of one.
    init(wrapping error: any Error, as code: Code, stage: Stage? = nil, about request: OutgoingRequest? = nil) {
        var content: Content
        switch error {
        case let error as RequestError where error.requestID == nil:
            content = error.storage.content
        case let error as TransportError:
            content = Content(
                code: Code(error.code), message: error.description, underlying: error.errorOfEvaluator ?? error)
        case let error as RequestURLError:
            content = Content(code: .invalidURL, message: error.description, underlying: error)
        default:
            content = Content(code: code, message: "\(error)", underlying: error)
        }
        content.stage = content.stage ?? stage
        content.method = content.method ?? request?.method
        content.url = content.url ?? request?.url.withoutUserInfo
        storage = Storage(content)
    }

    /// What kind of failure it is.
    public var code: Code { storage.content.code }
    /// One line for a person, without secrets.
    public var message: String { storage.content.message }
    /// Where it failed; nil for an error of your own that was not part of a request yet.
    public var stage: Stage? { storage.content.stage }
    /// Which request failed.
    public var requestID: RequestID? { storage.content.requestID }
    /// The URL of the last hop; user and password are never part of it.
    public var url: RequestURL? { storage.content.url }
    /// The status of the last response, if there was one.
    public var statusCode: Int? { storage.content.head?.status }
    /// The head of the last response, if there was one.
    public var responseHead: ResponseHead? { storage.content.head }
    /// The body that came with the failure: often the server's own words about it.
    public var responseData: Data? { storage.content.responseData }
    /// How many attempts were made, this one included.
    public var attempts: Int { storage.content.attempts }
    /// What somebody else said: the system, a coder, your own code.
    public var underlying: (any Error)? { storage.content.underlying }
    /// Why there was no further attempt, where a retrier would have made one: no time or no budget was left for it, or the
    /// server asked to wait for too long.
    public var retryRefusal: String? { storage.content.retryRefusal }

    /// The same error with what the pipeline knows about the exchange; what is known already is kept.
    func adding(to exchange: CompletedExchange, requestID: RequestID?) -> RequestError {
        changed { content in
            content.requestID = content.requestID ?? requestID
            content.method = content.method ?? exchange.request?.method
            content.url = content.url ?? exchange.request?.url
            content.head = content.head ?? exchange.head
            content.responseData = content.responseData ?? exchange.data
            content.attempts = max(content.attempts, exchange.attempts)
        }
    }

    private func changed(_ change: (inout Content) -> Void) -> RequestError {
        var content = storage.content
        change(&content)
        var copy = self
        copy.storage = Storage(content)
        return copy
    }
}

extension RequestError {
    /// Whether somebody has cancelled the request.
    public var isCancelled: Bool { code == .cancelled }
    /// Whether one of the limits of time has passed; the message names it.
    public var isTimeout: Bool { code == .timedOut }
    /// Whether the peer could not prove who it is.
    public var isTrust: Bool {
        [
            .untrusted, .certificateExpired, .certificateNotYetValid, .unknownIssuer, .selfSigned, .certificateRevoked,
            .certificateStatusUnknown, .weakCertificateKey, .weakCertificateDigest, .pinMismatch, .wrongHost,
        ].contains(code)
    }
    /// Whether a validator has refused the response.
    public var isValidation: Bool { stage == .validating }
    /// Whether the response was good, and a serializer made no value of it.
    public var isSerialization: Bool { stage == .serializing }

    /// Whether the network, not the server or the data, is what failed. A limit of time that passed while something else
    /// than the network was waited for, such as an adapter, is none of its failures.
    public var isConnectivity: Bool {
        Self.connectivityCodes.contains(code) && (!isTimeout || stage == .sending)
    }

    static let connectivityCodes: Set<Code> = [
        .nameLookup, .connectionRefused, .unreachable, .connectionLost, .truncated, .timedOut, .handshake,
    ]

    /// What a retrier said in place of this error; everything known about the exchange stays.
    func replaced(byRetrierWith retryError: any Error) -> RequestError {
        changed { content in
            content.code = .retryFailed
            content.stage = .retrying
            content.message = "\(retryError)"
            content.underlying = RetryFailed(retryError: retryError, originalError: self)
        }
    }

    func refusingRetry(_ reason: String) -> RequestError { changed { $0.retryRefusal = reason } }

    func with(underlying error: any Error) -> RequestError { changed { $0.underlying = error } }

    /// Whether this is that very error, handed on.
    func isSame(as other: RequestError) -> Bool { storage === other.storage }

    /// What a serializer's `failure` type made of the server's words; nil if it was given none, or they were others.
    public func failure<Failure: Error>(as type: Failure.Type = Failure.self) -> Failure? { underlying as? Failure }

    /// A retrier asked for another attempt, and the body cannot be had again; everything known about the exchange stays.
    func withoutBodyToRetry() -> RequestError {
        changed { content in
            content.code = .bodyNotReplayable
            content.stage = .retrying
            content.message =
                "no further attempt, because the body can be sent only once; the first one failed: \(message)"
            content.underlying = self
        }
    }

    static let requestCancelled = RequestError(.cancelled, "the request was cancelled")
    static let sessionEnded = RequestError(.sessionEnded, "the session went away before the request was started")
    static let sessionInvalidated = RequestError(.sessionInvalidated, "the session was invalidated")
}

extension RequestError: CustomStringConvertible, CustomReflectable {
    /// One line for logs: stage, what happened, the server's words if they were decoded as an `APIProblem`, and to which request.
    public var description: String {
        let content = storage.content
        var line = content.stage.map { "\($0.rawValue) failed" } ?? "the request failed"
        line += ": \(content.message.isEmpty ? content.code.rawValue : content.message)"
        if let problem = serverProblem { line += "; the server says: \(problem)" }
        var facts: [String] = []
        if let url = content.url { facts.append("\(content.method ?? .get) \(url.withoutQuery)") }
        if let head = content.head { facts.append("status \(head.status)") }
        if let refusal = content.retryRefusal { facts.append("not tried again: \(refusal)") }
        if content.attempts > 1 { facts.append("attempt \(content.attempts)") }
        return facts.isEmpty ? line : line + " [\(facts.joined(separator: ", "))]"
    }

    /// What the server says of the failure, as far as it may be shown.
    var serverProblem: String? { (underlying as? APIProblem)?.line(besideStatus: statusCode) }

    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension RequestURL {
    /// For people and logs: queries carry tokens.
    var withoutQuery: String { Redaction.standard.path(of: self) }
}
