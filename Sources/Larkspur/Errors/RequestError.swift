/// Why a request failed: which stage, what kind, and everything known about the exchange at that time.
///
/// It is one stored reference, because it sits in every `Result`. Codes are values, not cases: more may come without
/// breaking a switch anywhere.
public struct RequestError: Error, Sendable {
    /// The stage of an attempt that failed.
    public enum Stage: String, Sendable {
        case building, adapting, sending, validating, serializing, retrying
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
            content = Content(code: Code(error.code), message: error.description, underlying: error)
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

    public var code: Code { storage.content.code }
    /// One line for a person, without secrets.
    public var message: String { storage.content.message }
    public var stage: Stage? { storage.content.stage }
    public var requestID: RequestID? { storage.content.requestID }
    /// The URL of the last hop; user and password are never part of it.
    public var url: RequestURL? { storage.content.url }
    public var statusCode: Int? { storage.content.head?.status }
    public var responseHead: ResponseHead? { storage.content.head }
    /// The body that came with the failure: often the server's own words about it.
    public var responseData: Data? { storage.content.responseData }
    /// How many attempts were made, this one included.
    public var attempts: Int { storage.content.attempts }
    public var underlying: (any Error)? { storage.content.underlying }
    /// Why there was no further attempt, where a retrier would have made one: no time or no budget was left for it, or the
    /// server asked to wait for too long.
    public var retryRefusal: String? { storage.content.retryRefusal }

    /// The same error with what the pipeline knows about the exchange; what is known already is kept.
    func adding(to exchange: CompletedExchange, requestID: RequestID?) -> RequestError {
        var content = storage.content
        content.requestID = content.requestID ?? requestID
        content.method = content.method ?? exchange.request?.method
        content.url = content.url ?? exchange.request?.url
        content.head = content.head ?? exchange.head
        content.responseData = content.responseData ?? exchange.data
        content.attempts = max(content.attempts, exchange.attempts)
        var copy = self
        copy.storage = Storage(content)
        return copy
    }
}

extension RequestError {
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        init(_ code: TransportError.Code) { self.init(rawValue: code.rawValue) }
        public var description: String { rawValue }

        // Building and adapting
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// A method or header field that must not be sent.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        public static let bodyInGETRequest = Code(rawValue: "bodyInGETRequest")
        /// A name or password that its scheme cannot carry.
        public static let invalidCredential = Code(rawValue: "invalidCredential")
        /// A cookie made by hand that could not be sent, or must not be.
        public static let invalidCookie = Code(rawValue: "invalidCookie")
        public static let encodingFailed = Code(rawValue: "encodingFailed")
        /// A convertible or a modifier threw.
        public static let requestCreationFailed = Code(rawValue: "requestCreationFailed")
        public static let adaptationFailed = Code(rawValue: "adaptationFailed")

        // Files: for a body, or to write to
        /// Not a `file:` URL, or none that can be a path.
        public static let invalidFileURL = Code(rawValue: "invalidFileURL")
        public static let fileMissing = Code(rawValue: "fileMissing")
        public static let fileIsDirectory = Code(rawValue: "fileIsDirectory")
        /// A device, a pipe or a socket, which has no length.
        public static let fileNotRegular = Code(rawValue: "fileNotRegular")
        public static let fileUnreadable = Code(rawValue: "fileUnreadable")
        public static let fileExists = Code(rawValue: "fileExists")
        public static let fileUnwritable = Code(rawValue: "fileUnwritable")
        public static let diskFull = Code(rawValue: "diskFull")
        /// Another download is writing to the same place.
        public static let fileInUse = Code(rawValue: "fileInUse")
        /// The file that a cookie jar is to be read from holds none, or one of a later version.
        public static let invalidCookieFile = Code(rawValue: "invalidCookieFile")
        /// What a download is to be compared with is no checksum of its kind.
        public static let invalidChecksum = Code(rawValue: "invalidChecksum")
        /// What is to be a certificate is none.
        public static let invalidCertificate = Code(rawValue: "invalidCertificate")
        /// What is to be a public key's pin is none.
        public static let invalidPin = Code(rawValue: "invalidPin")

        // Sending: the transport's codes, under the same names
        public static let cancelled = Code(.cancelled)
        public static let transportUnavailable = Code(.unavailable)
        public static let sessionInvalidated = Code(.invalidated)
        public static let nameLookup = Code(.nameLookup)
        public static let connectionRefused = Code(.connectionRefused)
        public static let unreachable = Code(.unreachable)
        public static let proxyFailed = Code(.proxyFailed)
        public static let proxyUnauthorized = Code(.proxyUnauthorized)
        public static let connectionLost = Code(.connectionLost)
        public static let timedOut = Code(.timedOut)
        public static let handshake = Code(.handshake)
        public static let tlsVersion = Code(.tlsVersion)
        public static let invalidIdentity = Code(.invalidIdentity)
        public static let untrusted = Code(.untrusted)
        public static let certificateExpired = Code(.certificateExpired)
        public static let certificateNotYetValid = Code(.certificateNotYetValid)
        public static let unknownIssuer = Code(.unknownIssuer)
        public static let selfSigned = Code(.selfSigned)
        public static let certificateRevoked = Code(.certificateRevoked)
        public static let certificateStatusUnknown = Code(.certificateStatusUnknown)
        public static let pinMismatch = Code(.pinMismatch)
        public static let wrongHost = Code(.wrongHost)
        public static let protocolViolation = Code(.protocolViolation)
        public static let truncated = Code(.truncated)
        public static let bodyFailed = Code(.bodyFailed)
        public static let bodyNotReplayable = Code(.bodyNotReplayable)

        // Receiving
        /// The body is larger than `maximumBodySize`, or gets larger by decoding than `decodingLimits` allow.
        public static let contentTooLarge = Code(.contentTooLarge)
        /// A line, an event or a message of a stream is larger than its limit.
        public static let messageTooLarge = Code(rawValue: "messageTooLarge")
        /// A message of a stream was cut off.
        public static let incompleteMessage = Code(rawValue: "incompleteMessage")
        /// A message of a stream is not where its framing wants it.
        public static let malformedMessage = Code(rawValue: "malformedMessage")
        /// The body's content coding is damaged, ends early or goes on after its end.
        public static let undecodableContent = Code(rawValue: "undecodableContent")
        /// The body has a content coding that nobody knows here, or whose library is missing; or too many of them.
        public static let unsupportedCoding = Code(rawValue: "unsupportedCoding")
        /// The file that was downloaded is not the one that was to come.
        public static let checksumMismatch = Code(rawValue: "checksumMismatch")
        /// The server has sent another part of a file than it was asked for.
        public static let unexpectedRange = Code(rawValue: "unexpectedRange")
        /// Whoever was to take the body as it came could not.
        public static let receivingFailed = Code(rawValue: "receivingFailed")

        /// What can be iterated once is iterated again.
        public static let alreadyIterated = Code(rawValue: "alreadyIterated")
        /// A request was started before what has to be part of it.
        public static let alreadyStarted = Code(rawValue: "alreadyStarted")

        // Resumable uploads
        /// The file is not the one that the upload began with.
        public static let fileChanged = Code(rawValue: "fileChanged")
        /// The server names no URL for the upload, or one that may not be used.
        public static let uploadURLRefused = Code(rawValue: "uploadURLRefused")
        /// What the server says of the upload cannot be true of this file: going on would spoil it.
        public static let uploadInconsistent = Code(rawValue: "uploadInconsistent")
        /// The server accepts requests, and takes none of their bytes.
        public static let uploadStalled = Code(rawValue: "uploadStalled")
        /// The server has forgotten the upload, and forgot it again after a new start.
        public static let uploadGone = Code(rawValue: "uploadGone")

        // Middleware
        /// Middleware threw an error of its own; it is the underlying one.
        public static let middlewareFailed = Code(rawValue: "middlewareFailed")
        /// Middleware has called `next` while an earlier call was under way, or after it had returned.
        public static let nextRefused = Code(rawValue: "nextRefused")

        // Redirects
        public static let tooManyRedirects = Code(rawValue: "tooManyRedirects")
        public static let redirectLoop = Code(rawValue: "redirectLoop")
        public static let redirectRefused = Code(rawValue: "redirectRefused")

        // Validating and serializing
        public static let unacceptableStatus = Code(rawValue: "unacceptableStatus")
        public static let unacceptableContentType = Code(rawValue: "unacceptableContentType")
        public static let validationFailed = Code(rawValue: "validationFailed")
        public static let emptyBody = Code(rawValue: "emptyBody")
        public static let invalidText = Code(rawValue: "invalidText")
        public static let invalidJSON = Code(rawValue: "invalidJSON")
        public static let invalidXML = Code(rawValue: "invalidXML")
        /// The body is no image, or of a kind that the system cannot read.
        public static let invalidImage = Code(rawValue: "invalidImage")
        public static let decodingFailed = Code(rawValue: "decodingFailed")
        public static let serializationFailed = Code(rawValue: "serializationFailed")

        // Ending
        /// A retrier answered with an error of its own; it is the underlying one.
        public static let retryFailed = Code(rawValue: "retryFailed")
        /// The session went away before the request was started.
        public static let sessionEnded = Code(rawValue: "sessionEnded")
    }

    public var isCancelled: Bool { code == .cancelled }
    public var isTimeout: Bool { code == .timedOut }
    /// Whether the peer could not prove who it is.
    public var isTrust: Bool {
        [
            .untrusted, .certificateExpired, .certificateNotYetValid, .unknownIssuer, .selfSigned, .certificateRevoked,
            .certificateStatusUnknown, .pinMismatch, .wrongHost,
        ].contains(code)
    }
    public var isValidation: Bool { stage == .validating }
    public var isSerialization: Bool { stage == .serializing }

    /// Whether the network, not the server or the data, is what failed. A limit of time that passed while something else
    /// than the network was waited for, such as an adapter, is none of its failures.
    public var isConnectivity: Bool {
        Self.connectivityCodes.contains(code) && (!isTimeout || stage == .sending)
    }

    static let connectivityCodes: Set<Code> = [
        .nameLookup, .connectionRefused, .unreachable, .connectionLost, .truncated, .timedOut, .handshake,
    ]
}

extension RequestError {
    /// What a retrier said in place of this error; everything known about the exchange stays.
    func replaced(byRetrierWith retryError: any Error) -> RequestError {
        var content = storage.content
        content.code = .retryFailed
        content.stage = .retrying
        content.message = "\(retryError)"
        content.underlying = RetryFailed(retryError: retryError, originalError: self)
        var copy = self
        copy.storage = Storage(content)
        return copy
    }

    /// The same error, with why there is no further attempt.
    func refusingRetry(_ reason: String) -> RequestError {
        var content = storage.content
        content.retryRefusal = reason
        var copy = self
        copy.storage = Storage(content)
        return copy
    }

    /// The same error, explained by another one.
    func with(underlying error: any Error) -> RequestError {
        var content = storage.content
        content.underlying = error
        var copy = self
        copy.storage = Storage(content)
        return copy
    }

    /// Whether this is that very error, handed on.
    func isSame(as other: RequestError) -> Bool { storage === other.storage }

    /// What a serializer's `failure` type made of the server's words; nil if it was given none, or they were others.
    public func failure<Failure: Error>(as type: Failure.Type = Failure.self) -> Failure? { underlying as? Failure }

    /// A retrier asked for another attempt, and the body cannot be had again; everything known about the exchange stays.
    func withoutBodyToRetry() -> RequestError {
        var content = storage.content
        content.code = .bodyNotReplayable
        content.stage = .retrying
        content.message = "no further attempt, because the body can be sent only once; the first one failed: \(message)"
        content.underlying = self
        var copy = self
        copy.storage = Storage(content)
        return copy
    }

    static let requestCancelled = RequestError(.cancelled, "the request was cancelled")
    static let sessionEnded = RequestError(.sessionEnded, "the session went away before the request was started")
    static let sessionInvalidated = RequestError(.sessionInvalidated, "the session was invalidated")
}

extension RequestError: CustomStringConvertible, CustomReflectable, LocalizedError {
    /// One line: stage, what happened, to which request.
    public var description: String {
        let content = storage.content
        var line = content.stage.map { "\($0.rawValue) failed" } ?? "the request failed"
        line += ": \(content.message.isEmpty ? content.code.rawValue : content.message)"
        var facts: [String] = []
        if let url = content.url { facts.append("\(content.method ?? .get) \(url.withoutQuery)") }
        if let head = content.head { facts.append("status \(head.status)") }
        if let refusal = content.retryRefusal { facts.append("not tried again: \(refusal)") }
        if content.attempts > 1 { facts.append("attempt \(content.attempts)") }
        return facts.isEmpty ? line : line + " [\(facts.joined(separator: ", "))]"
    }

    public var errorDescription: String? { description }

    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension RequestURL {
    /// For people and logs: queries carry tokens.
    var withoutQuery: String { "\(scheme)://\(hostHeader ?? "")\(path)" }
}
