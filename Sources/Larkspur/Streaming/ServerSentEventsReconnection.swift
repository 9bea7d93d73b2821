/// Where a stream of server-sent events stands.
public enum ServerSentEventsState: Sendable {
    /// There is no connection yet, or again.
    case connecting
    /// The server has answered, and events come.
    case open
    /// For good; with an error if that is why.
    case closed(RequestError?)
}

/// How a stream of server-sent events is kept up.
public struct ServerSentEventsPolicy: Sendable {
    /// The pause before a lost connection is made again, until the server asks for another (`retry:`).
    public var reconnectionTime = Duration.seconds(3)
    /// No pause is shorter, so that no server has its clients come back as fast as they can.
    public var minimumDelay = Duration.milliseconds(100)
    /// The longest pause before jitter is added, whatever `retry:` asks for. Each connection in a row that brought no byte
    /// doubles the pause, up to this. A `Retry-After` that is longer ends the stream.
    public var maximumDelay = Duration.seconds(300)
    /// What chance adds to a pause at most, as a part of it, so that clients do not come back in step.
    public var jitter = 0.25
    /// How often in a row the stream is connected again without a byte of it having come; nil for no limit, 0 for a stream
    /// that is connected once.
    public var maximumAttempts: Int?
    /// After how long without a byte a connection counts as lost; nil if it may be silent for ever. Servers that keep their
    /// streams alive send a comment every 15 seconds or so.
    public var idleTimeout: Duration?
    /// Statuses that pass, so that the stream is connected again; otherwise any but 200 ends it.
    public var retriedStatusCodes: Set<Int> = []

    /// One connection and no other: for answers that come as events and end.
    public static let once = ServerSentEventsPolicy { $0.maximumAttempts = 0 }

    /// A policy as it is unless the closure changes it.
    public init(_ configure: (inout ServerSentEventsPolicy) -> Void = { _ in }) { configure(&self) }
}

/// Decides when a stream of server-sent events is connected, connected again and given up, by the HTML standard's rules.
///
/// It does nothing itself: it is told what happened, and says what to do. Time passes and chance is drawn outside, so that
/// every way through it can be tested. Redirects and credentials are matters of the requests below.
struct ServerSentEventsReconnection: Sendable {
    enum Event: Sendable {
        case started
        /// The connection's response has begun.
        case responded(ResponseHead)
        /// Bytes of its body came, and `parser` has read them.
        case receivedBytes
        /// The body is over; an error says why it ended early.
        case ended(RequestError?)
        /// There can be no further connection.
        case refused(RequestError)
        case waited
        /// The pause is over, but no connection may be opened now; the error says why.
        case postponed(RequestError)
        /// Nobody listens any more.
        case cancelled
    }

    enum Action: Sendable {
        /// Send the request, with these fields added.
        case connect(HTTPHeaders)
        case read
        /// Release the connection if it is still there, and come back with `waited` after a random pause of this range.
        case wait(ClosedRange<Duration>)
        /// Let go of everything: the stream ends, with the error if there is one.
        case finish(RequestError?)
        case none
    }

    private enum Phase {
        case idle, requesting, open, waiting
        case closed(RequestError?)
    }

    let policy: ServerSentEventsPolicy
    /// Reads the bodies, one parser for each: it knows where the next connection goes on.
    var parser: ServerSentEventParser
    private var phase = Phase.idle
    /// How many connections in a row came to nothing.
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
        // What a connection that was let go of has still to say.
        case (.waiting, .responded), (.waiting, .receivedBytes), (.waiting, .ended): return .none
        case (_, .started), (_, .waited), (_, .postponed), (.idle, _): return .none
        case (.requesting, .receivedBytes), (.open, .responded): return .none
        }
    }

    private mutating func connect() -> Action {
        phase = .requesting
        parser = parser.forNextBody
        var headers: HTTPHeaders = ["Accept": "text/event-stream", "Cache-Control": "no-cache"]
        // A field with a control character would not be sent; better from the beginning than never again. Blanks at its ends
        // are no part of a field's value.
        let id = parser.lastEventID.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        if !id.isEmpty, id.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) { headers["Last-Event-ID"] = id }
        return .connect(headers)
    }

    private mutating func judge(_ head: ResponseHead) -> Action {
        if head.status == 204 { return close(nil) }  // the standard's way for a server to say: do not come back
        if let error = Self.refusal(of: head) {
            return policy.retriedStatusCodes.contains(head.status) ? wait(after: error, head) : close(error)
        }
        phase = .open
        return .read
    }

    /// Why a response is no event stream; nil if it is one, or says that there is none any more.
    static func refusal(of head: ResponseHead) -> RequestError? {
        if head.status == 204 { return nil }
        guard head.status == 200 else {
            let status = StatusText.described(head.status)
            return RequestError(.unacceptableStatus, "the event stream was answered with status \(status)")
        }
        let type = head["Content-Type"] ?? ""
        guard type.essence != "text/event-stream" else { return nil }
        let what = type.isEmpty ? "of no named type" : type.essence.prefix(80).debugDescription
        return RequestError(.unacceptableContentType, "the response is \(what), expected text/event-stream")
    }

    /// What the network did to a connection can be undone by another one, and the policy says which statuses can; anything
    /// else would happen again.
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

    /// The server's pause must not be shortened, so jitter is added to it.
    private var schedule: RetrySchedule {
        let pause = max(parser.reconnectionTime ?? policy.reconnectionTime, policy.minimumDelay)
        return RetrySchedule(
            limit: policy.maximumAttempts,
            backoff: RetryPolicy.Backoff(scale: pause, cap: policy.maximumDelay, jitter: .added(policy.jitter)),
            minimumDelay: policy.minimumDelay, maximumRetryAfter: policy.maximumDelay,
            maximumName: "maximumDelay")
    }

    /// Whether the connection to come follows a failure: an error, or more than one connection in a row without a byte.
    func isRetry(after error: RequestError?) -> Bool { error != nil || failures > 1 }

    private mutating func close(_ error: RequestError?) -> Action {
        phase = .closed(error)
        return .finish(error)
    }
}
