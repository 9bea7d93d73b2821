/// The error of a failed request: its stage, its code and the known facts about the exchange.
///
///     do {
///         user = try await session.request(url).validate().serializingDecodable(User.self).value
///     } catch let error as RequestError where error.isConnectivity {
///         log("offline: \(error)")  // one line, without secrets
///     }
///
/// The error is one stored reference, so that a `Result` with an error needs little memory. Codes are values and not
/// cases of an enumeration, so that new codes do not break a `switch`.
public struct RequestError: Error, Sendable {
    /// A stage of an attempt.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Stage: String, Sendable {
        /// Building the request from its parts, parameters and modifiers.
        case building
        /// Running the adapters.
        case adapting
        /// Exchanging the request for a response, including redirects, middleware and content codings.
        case sending
        /// Running the validators.
        case validating
        /// Running a serializer.
        case serializing
        /// Asking the retriers about a failure.
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
        /// Returns the explanations of a refused response.
        var remarks: (@Sendable () -> [String])?
    }

    private final class Storage: Sendable {
        let content: Content

        init(_ content: Content) {
            var content = content
            // The message of another library may contain line breaks, but logs treat each line as a separate entry.
            let mayContainBreaks = content.message.utf8.contains { $0 < 0x20 || $0 >= 0x80 }
            if mayContainBreaks, content.message.contains(where: \.isNewline) {
                content.message = content.message.split(whereSeparator: \.isNewline).joined(separator: " ")
            }
            self.content = content
        }
    }

    private var storage: Storage

    /// Creates an error for a custom validator, serializer, adapter or retrier. The message should be one line.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        storage = Storage(Content(code: code, message: message, underlying: underlying))
    }

    /// Wraps an error. A `RequestError` that belongs to no request yet keeps its content. Any other error becomes the
    /// underlying error, even the `RequestError` of another request.
    package init(wrapping error: any Error, as code: Code, stage: Stage? = nil) {
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
        storage = Storage(content)
    }

    /// The kind of failure.
    public var code: Code { storage.content.code }
    /// One line for developers, without secrets.
    public var message: String { storage.content.message }
    /// The stage that failed; nil for a custom error that belongs to no request yet.
    public var stage: Stage? { storage.content.stage }
    /// The identifier of the failed request.
    public var requestID: RequestID? { storage.content.requestID }
    /// The URL of the last hop, without user and password.
    public var url: RequestURL? { storage.content.url }
    /// The status of the last response, if there was one.
    public var statusCode: Int? { storage.content.head?.status }
    /// The head of the last response, if there was one.
    public var responseHead: ResponseHead? { storage.content.head }
    /// The body of the failed response, which often explains the error.
    public var responseData: Data? { storage.content.responseData }
    /// The number of attempts so far, including the failed one.
    public var attempts: Int { storage.content.attempts }
    /// The original error, for example of the system, a decoder or custom code.
    public var underlying: (any Error)? { storage.content.underlying }
    /// The reason why a retry that a retrier requested did not happen: no time or budget was left, or the server's
    /// `Retry-After` was too long.
    public var retryRefusal: String? { storage.content.retryRefusal }

    /// Returns the error with facts about its request. Facts that the error already contains are kept.
    package func adding(
        requestID: RequestID? = nil, method: HTTPMethod? = nil, url: RequestURL? = nil, head: ResponseHead? = nil,
        data: Data? = nil, attempts: Int = 0, remarks: (@Sendable () -> [String])? = nil
    ) -> RequestError {
        changed { content in
            content.remarks = content.remarks ?? remarks
            content.requestID = content.requestID ?? requestID
            content.method = content.method ?? method
            content.url = content.url ?? url
            content.head = content.head ?? head
            content.responseData = content.responseData ?? data
            content.attempts = max(content.attempts, attempts)
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
    /// Whether the request was cancelled.
    public var isCancelled: Bool { code == .cancelled }
    /// Whether a time limit has passed. The message names the limit.
    public var isTimeout: Bool { code == .timedOut }
    /// Whether the peer's identity could not be verified.
    public var isTrust: Bool {
        [
            .untrusted, .certificateExpired, .certificateNotYetValid, .unknownIssuer, .selfSigned, .certificateRevoked,
            .certificateStatusUnknown, .weakCertificateKey, .weakCertificateDigest, .pinMismatch, .wrongHost,
        ].contains(code)
    }
    /// Whether a validator rejected the response.
    public var isValidation: Bool { stage == .validating }
    /// Whether a serializer failed after the validators had accepted the response.
    public var isSerialization: Bool { stage == .serializing }

    /// Whether the network failed, and not the server or the data. A timeout counts only in the stage
    /// ``Stage/sending``. A timeout of an adapter, for example, does not count.
    public var isConnectivity: Bool {
        Self.connectivityCodes.contains(code) && (!isTimeout || stage == .sending)
    }

    package static let connectivityCodes: Set<Code> = [
        .nameLookup, .connectionRefused, .unreachable, .connectionLost, .truncated, .timedOut, .handshake,
    ]

    /// Returns this error changed to `.retryFailed`, for a retrier that returned another error. The facts about the
    /// exchange are kept.
    package func replaced(byRetrierWith retryError: any Error) -> RequestError {
        changed { content in
            content.code = .retryFailed
            content.stage = .retrying
            content.message = "\(retryError)"
            content.underlying = RetryFailed(retryError: retryError, originalError: self)
        }
    }

    package func refusingRetry(_ reason: String) -> RequestError { changed { $0.retryRefusal = reason } }

    package func with(underlying error: any Error) -> RequestError { changed { $0.underlying = error } }

    /// Returns whether both values refer to the same stored instance.
    package func isSame(as other: RequestError) -> Bool { storage === other.storage }

    /// Returns the error body decoded as `failure`; nil if no type was given or the body did not match.
    public func failure<Failure: Error>(as type: Failure.Type = Failure.self) -> Failure? { underlying as? Failure }

    /// Returns the error for a retry that is not possible, because the body can be sent only once. The facts about the
    /// exchange are kept.
    package func withoutBodyToRetry() -> RequestError {
        changed { content in
            content.code = .bodyNotReplayable
            content.stage = .retrying
            content.message =
                "no further attempt, because the body can be sent only once; the first attempt failed: \(message)"
            content.underlying = self
        }
    }

    package static let requestCancelled = RequestError(.cancelled, "the request was cancelled")
    package static let sessionEnded = RequestError(.sessionEnded, "the session was released before the request started")
    package static let sessionInvalidated = RequestError(.sessionInvalidated, "the session was invalidated")
}

extension RequestError: CustomStringConvertible, CustomReflectable {
    /// One line for logs: the stage, the failure, the server's ``APIProblem`` if it was decoded, and the request.
    public var description: String {
        let content = storage.content
        let isOfSocket = content.head?.status == 101
        var line = "\(opening): \(content.message.isEmpty ? content.code.rawValue : content.message)"
        let explanations = serverProblem.map { ["the server says: \($0)"] } ?? content.remarks?() ?? []
        for text in explanations + [cure].compactMap(\.self) { line += "; \(text)" }
        var facts: [String] = []
        if let url = content.url?.withoutQuery {
            facts.append(isOfSocket ? "ws" + url.dropFirst("http".count) : "\(content.method ?? .get) \(url)")
        }
        if let head = content.head, !isOfSocket { facts.append("status \(head.status)") }
        if let refusal = content.retryRefusal { facts.append("not retried: \(refusal)") }
        if content.attempts > 1 { facts.append("attempt \(content.attempts)") }
        return facts.isEmpty ? line : line + " [\(facts.joined(separator: ", "))]"
    }

    /// The server's description of the error, redacted.
    package var serverProblem: String? { (underlying as? APIProblem)?.line(besideStatus: statusCode) }

    /// An empty mirror, so that `dump` does not show secrets that the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension RequestURL {
    /// The URL for logs, without the query, which can contain tokens.
    package var withoutQuery: String { Redaction.standard.path(of: self) }
}

extension TransportError {
    /// The error with which an evaluator failed, if that error is not a ``TrustError``; nil otherwise.
    fileprivate var errorOfEvaluator: (any Error)? { code == .untrusted && phase == .securing ? underlying : nil }
}
