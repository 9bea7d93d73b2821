/// The hop that is with the transport. A class without a lock: it lives in the request's box and never leaves it. So its
/// accesses cannot overlap, and are not checked: there are several for every event.
final class HopProgress {
    typealias Continuation = Suspension<HopOutcome>

    enum Pace {
        /// The transport was told so. A task that was not resumed yet stands still.
        case settled(RequestState.Pace)
        /// Some thread is telling the transport, and will look again afterwards.
        case applying
    }

    /// Who goes on when the hop has ended.
    enum Waiter {
        case pipeline(Continuation)
        /// The pipeline, which has the head already, and sees the end when it has read the body, or when it comes for it.
        case reader(ByteChannel?)
        /// The thread that brings the hop's end: no task waits.
        case nobody
        /// An awaiter of the response, who was resumed when the hop had ended.
        case awaiter
    }

    /// How much of the body has come, and why no more of it is wanted.
    var received: UInt64 = 0
    var refusal: TransportError?
    /// Which bytes these are; set when somebody who follows them is told first.
    var extent: BodyExtent?
    /// Whether the response is a redirect that a handler decides about.
    var isAskedAbout = false
    /// Whether the response gates see the head before the body, which is kept in memory, is collected.
    let isGated: Bool

    let id: TransportTaskID
    let task: any TransportTask
    let request: OutgoingRequest
    @exclusivity(unchecked) var waiter: Waiter
    @exclusivity(unchecked) var head: ResponseHead?
    @exclusivity(unchecked) var metrics: TransportMetrics?
    @exclusivity(unchecked) var sink: BodySink
    @exclusivity(unchecked) var pace = Pace.settled(.suspended)

    init(
        _ task: any TransportTask, _ request: OutgoingRequest, _ sink: BodySink, _ waiter: Waiter,
        isGated: Bool = false
    ) {
        self.isGated = isGated
        id = task.id
        self.task = task
        self.request = request
        self.sink = sink
        self.waiter = waiter
    }

    /// The hop as it ended. The end of a body that is thrown away does not matter: the head has said what follows.
    func ended(with error: TransportError?) -> Hop {
        Hop(request: request, head: head, metrics: metrics, error: refusal ?? (isDiscarding ? nil : error))
    }

    /// Whether the response is the answer: the hop went well, and its body was not thrown away for another hop to follow.
    func isDelivered(with error: TransportError?) -> Bool { !isDiscarding && error == nil }

    var isDiscarding: Bool {
        if case .discard = sink { true } else { false }
    }

    /// Whether what comes is the body that somebody wants.
    var isCounted: Bool { !isDiscarding && !isAskedAbout }

    var isAwaited: Bool {
        if case .pipeline = waiter { true } else { false }
    }

    func takeBody() -> Data? {
        guard head != nil, case .memory(let data) = sink else { return nil }
        return data
    }
}

/// How the pipeline's wait for a hop ended.
enum HopOutcome: Sendable {
    /// The exchange so far, without a verdict on it.
    case ended(CompletedExchange)
    /// The exchange up to the head of a response whose body is not kept in memory but comes out of the channel. When it
    /// has ended, so has the hop.
    case live(CompletedExchange, ByteChannel)
    /// The exchange up to the head of a redirect that somebody is to be asked about. Meanwhile its body is collected, or
    /// waits in the channel.
    case redirect(CompletedExchange, ByteChannel?)
    /// The exchange up to the head of a response whose body is kept in memory. Response gates see the head first; meanwhile
    /// the transport may deliver no more than the first part of the body.
    case gated(CompletedExchange)
    /// No hop was begun; the pipeline does what the verdict says.
    case notBegun(RequestPhase.Verdict)

    var hop: Hop? {
        switch self {
        case .ended(let exchange), .live(let exchange, _), .redirect(let exchange, _), .gated(let exchange):
            exchange.hop
        case .notBegun: nil
        }
    }
}

/// The limit on what a peer may send.
extension HopProgress {
    /// What is kept in memory must have an end somewhere.
    static let limitInMemory: UInt64 = 2 << 30

    private var limit: UInt64 {
        if let limit = request.options.maximumBodySize { return limit }
        if case .memory = sink { return Self.limitInMemory }
        return .max
    }

    /// How much of the file was there before.
    var offset: UInt64 { head?.status == 206 ? request.options.resumption?.offset ?? 0 : 0 }

    /// Only where a limit was asked for: the other one is far away, and reading a length costs.
    func acceptsDeclaredLength() -> Bool {
        guard request.options.maximumBodySize != nil, request.method != .head, head?.status != 304 else { return true }
        return accepts(0, of: head?.contentLength)
    }

    /// Counts what has come.
    func accepts(_ count: UInt64, of length: UInt64?) -> Bool {
        received += count
        if isDiscarding { return true }
        let limit = limit
        guard max(received, length ?? 0) > limit - min(limit, offset) else { return true }
        refuse(
            TransportError(
                .contentTooLarge,
                "the body has more than the \(limit) bytes that are allowed; raise options.maximumBodySize if that is right",
                phase: .receiving))
        return false
    }

    /// Has the hop end with this error, whatever comes: its body is thrown away until the transport has ended it.
    func refuse(_ error: TransportError) {
        refusal = refusal ?? error
        sink = .discard(budget: .max)
    }
}
