/// The state of a stream of server-sent events.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum ServerSentEventsState: Sendable {
    /// The stream has no connection yet, or is reconnecting.
    case connecting
    /// The server has answered with an event stream.
    case open
    /// The stream has ended, with an error if it failed.
    case closed(RequestError?)
}

/// The reconnection settings of a stream of server-sent events.
public struct ServerSentEventsPolicy: Sendable {
    /// The pause before a reconnection, 3 seconds by default. A server can change this pause by a `retry:` field.
    public var reconnectionTime = Duration.seconds(3)
    /// The minimum pause, 100 milliseconds by default. It limits how often a server can make the client reconnect.
    public var minimumDelay = Duration.milliseconds(100)
    /// The maximum pause before jitter is added, 300 seconds by default. It also limits the value of a `retry:` field.
    /// Each successive connection without a byte doubles the pause, up to this maximum. A longer `Retry-After` ends the
    /// stream.
    public var maximumDelay = Duration.seconds(300)
    /// The maximum random time that is added to a pause, as a fraction of that pause; 0.25 by default. The random time
    /// keeps many clients from reconnecting at the same moment.
    public var jitter = 0.25
    /// The maximum number of successive reconnections without a received byte. Nil, the default, means no limit; 0
    /// means a single connection.
    public var maximumAttempts: Int?
    /// The maximum time without a byte, after which a connection is considered lost. Nil, the default, means no limit.
    /// Servers that keep their streams alive send a comment about every 15 seconds.
    public var idleTimeout: Duration?
    /// Statuses after which the stream connects again. By default it is empty: any status except 200 ends the stream.
    public var retriedStatusCodes: Set<Int> = []

    /// A policy for a single connection without reconnection, for responses with a finite number of events.
    public static let once = ServerSentEventsPolicy { $0.maximumAttempts = 0 }

    /// Creates a policy with default values, which the closure can change.
    public init(_ configure: (inout ServerSentEventsPolicy) -> Void = { _ in }) { configure(&self) }
}

/// A state machine that decides when a stream of server-sent events connects, reconnects and ends, by the rules of the
/// HTML standard.
///
/// The state machine has no side effects: it receives events and returns actions. The caller waits and draws random
/// numbers, so that tests can cover every path. The requests of the connections handle redirects and credentials.
struct ServerSentEventsReconnection: Sendable {
    enum Event: Sendable {
        case started
        /// The response of the connection has begun.
        case responded(ResponseHead)
        /// Bytes of the body were received and read by `parser`.
        case receivedBytes
        /// The body has ended, with an error if it ended early.
        case ended(RequestError?)
        /// The stream must end with this error, for example because the request's body cannot be sent again or an
        /// event could not be decoded.
        case refused(RequestError)
        /// The pause is over.
        case waited
        /// The pause is over, but the session's retry budget does not allow a connection now; the error says why.
        case postponed(RequestError)
        /// The reader has left or its task was cancelled.
        case cancelled
    }

    enum Action: Sendable {
        /// Send the request with these additional header fields.
        case connect(HTTPHeaders)
        case read
        /// Release the connection if it still exists, wait for a random time in the range, then handle `waited`.
        case wait(ClosedRange<Duration>)
        /// Release everything and end the stream, with the error if there is one.
        case finish(RequestError?)
        case none
    }

    private enum Phase {
        case idle, requesting, open, waiting
        case closed(RequestError?)
    }

    let policy: ServerSentEventsPolicy
    /// The parser of the current body. The parser of the next body continues with its last event ID.
    var parser: ServerSentEventParser
    private var phase = Phase.idle
    /// The number of successive connections without a received byte.
    private var failures = 0

    init(
        policy: ServerSentEventsPolicy = ServerSentEventsPolicy(), lastEventID: String = "",
        maximumEventSize: Int = ServerSentEventParser.defaultMaximumEventSize
    ) {
        self.policy = policy
        parser = ServerSentEventParser(lastEventID: lastEventID, maximumEventSize: maximumEventSize)
    }

    var state: ServerSentEventsState {
        switch phase {
        case .idle, .requesting, .waiting: .connecting
        case .open: .open
        case .closed(let error): .closed(error)
        }
    }

    mutating func handle(_ event: Event) -> Action {
        switch (phase, event) {
        case (.closed, _): return .none
        case (_, .cancelled): return close(nil)
        case (.idle, .started), (.waiting, .waited): return connect()
        case (.waiting, .postponed(let error)): return wait(after: error)
        case (.requesting, .responded(let head)): return judge(head)
        case (_, .refused(let error)): return close(error)
        case (.requesting, .ended(let error)), (.open, .ended(let error)): return lose(error)
        case (.open, .receivedBytes):
            failures = 0
            return .none
        // These events arrive late from a released connection, and have no effect.
        case (.waiting, .responded), (.waiting, .receivedBytes), (.waiting, .ended): return .none
        case (_, .started), (_, .waited), (_, .postponed), (.idle, _): return .none
        case (.requesting, .receivedBytes), (.open, .responded): return .none
        }
    }

    private mutating func connect() -> Action {
        phase = .requesting
        parser = parser.forNextBody
        var headers: HTTPHeaders = ["Accept": "text/event-stream", "Cache-Control": "no-cache"]
        // An ID with a control character is omitted: it would make the header field invalid, and the stream could never
        // connect again. Spaces and tabs at both ends of the ID are removed, because they are not part of a field's
        // value.
        let id = String(Substring(parser.lastEventID[...].utf8.trimmed))
        if !id.isEmpty, id.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) { headers["Last-Event-ID"] = id }
        return .connect(headers)
    }

    private mutating func judge(_ head: ResponseHead) -> Action {
        if head.status == 204 { return close(nil) }  // by the standard, the client must not reconnect
        if let error = Self.refusal(of: head) {
            return policy.retriedStatusCodes.contains(head.status) ? wait(after: error, head) : close(error)
        }
        phase = .open
        return .read
    }

    /// Returns the error of a response that is not an event stream; nil for an event stream or status 204.
    static func refusal(of head: ResponseHead) -> RequestError? {
        if head.status == 204 { return nil }
        guard head.status == 200 else {
            let status = StatusText.described(head.status)
            return RequestError(
                .unacceptableStatus, "the server answered the request for an event stream with status \(status)")
        }
        let type = head["Content-Type"] ?? ""
        guard type.essence != "text/event-stream" else { return nil }
        let what = type.isEmpty ? "without a content type" : type.essence.prefix(80).debugDescription
        return RequestError(.unacceptableContentType, "the response is \(what), expected text/event-stream")
    }

    /// Handles the end of a connection. The stream reconnects after a normal end, after network errors, and after the
    /// statuses that the policy lists. Other errors end the stream, because another connection would fail too.
    private mutating func lose(_ error: RequestError?) -> Action {
        guard let error else { return wait(after: nil) }
        let isPassing = error.code == .unacceptableStatus && policy.retriedStatusCodes.contains(error.statusCode ?? 0)
        return error.isConnectivity || isPassing ? wait(after: error, error.responseHead) : close(error)
    }

    private mutating func wait(after error: RequestError?, _ head: ResponseHead? = nil) -> Action {
        switch schedule.step(retry: failures, after: head) {
        case .stop: return close(error)
        case .refuse(let refusal): return close(error?.refusingRetry(refusal.reason))
        case .retry(let pauses):
            failures += 1
            phase = .waiting
            return .wait(pauses)
        }
    }

    /// The schedule of pauses. Jitter is only added and never subtracted, because the client must wait at least the
    /// server's reconnection time.
    private var schedule: RetrySchedule {
        let pause = max(parser.reconnectionTime ?? policy.reconnectionTime, policy.minimumDelay)
        return RetrySchedule(
            limit: policy.maximumAttempts,
            backoff: RetryPolicy.Backoff(scale: pause, cap: policy.maximumDelay, jitter: .added(policy.jitter)),
            minimumDelay: policy.minimumDelay, maximumRetryAfter: policy.maximumDelay,
            maximumName: "maximumDelay")
    }

    /// Returns whether the next connection follows a failure: an error, or successive connections without a byte.
    func isRetry(after error: RequestError?) -> Bool { error != nil || failures > 1 }

    private mutating func close(_ error: RequestError?) -> Action {
        phase = .closed(error)
        return .finish(error)
    }
}
