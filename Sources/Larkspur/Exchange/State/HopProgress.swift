/// The hop in flight.
///
/// The request's lock guards it, and it is never used outside that lock. Accesses therefore cannot overlap, and the
/// most frequent ones are exempt from the exclusivity check.
final class HopProgress {
    typealias OutcomeContinuation = Continuation<HopOutcome>

    enum Pace {
        /// The transport's task has this pace. A new transport task is suspended.
        case settled(RequestState.Pace)
        /// A thread is setting the pace of the transport's task. Afterwards that thread checks whether the wanted pace
        /// has changed.
        case applying
    }

    /// The party that runs the next steps at the hop's end.
    enum Waiter {
        case pipeline(OutcomeContinuation)
        /// The pipeline, which already has the head. The channel tells it about the hop's end, or it calls
        /// `hopEnd(_:)`.
        case reader(ByteChannel?)
        /// The thread that delivers the hop's end. No task waits.
        case nobody
        /// An awaiter of the response, which was resumed at the hop's end.
        case awaiter
    }

    /// The number of received body bytes.
    var received: UInt64 = 0
    /// The error that the hop ends with, whatever the transport reports.
    var refusal: TransportError?
    /// The range of the received bytes in the whole body. Set when the first follower is told about the progress.
    var extent: BodyExtent?
    /// Whether the response is a redirect and its handler has to decide.
    var awaitsHandler = false
    /// Whether response gates see the head before the body is collected in memory.
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

    /// The record of the ended hop. An error in a discarded body does not matter, because the head has already decided
    /// which hop follows.
    func ended(with error: TransportError?) -> Hop {
        Hop(request: request, head: head, metrics: metrics, error: refusal ?? (isDiscarding ? nil : error))
    }

    /// Whether the hop succeeded and no other hop follows.
    func isDelivered(with error: TransportError?) -> Bool { !isDiscarding && error == nil }

    var isDiscarding: Bool {
        if case .discard = sink { true } else { false }
    }

    /// Whether received bytes count as progress: not those of a redirect or of a refused response.
    var isCounted: Bool { !isDiscarding && !awaitsHandler }

    var isAwaited: Bool {
        if case .pipeline = waiter { true } else { false }
    }

    func takeBody() -> Data? {
        guard head != nil, case .memory(let data) = sink else { return nil }
        return data
    }
}

/// The result of the pipeline's wait for a hop.
enum HopOutcome: Sendable {
    /// The hop has ended.
    case ended(CompletedExchange)
    /// The head of a response whose body the channel delivers. The hop ends with the channel.
    case live(CompletedExchange, ByteChannel)
    /// The head of a redirect that a redirect handler decides about. Its body is collected in memory or waits in the
    /// channel.
    case redirect(CompletedExchange, ByteChannel?)
    /// The head of a response that response gates see before its body is collected. Until then the transport delivers
    /// only the first part of the body.
    case gated(CompletedExchange)
    /// The hop was not begun, because the request was cancelled.
    case notBegun(RequestPhase.Verdict)

    var hop: Hop? {
        switch self {
        case .ended(let exchange), .live(let exchange, _), .redirect(let exchange, _), .gated(let exchange):
            exchange.hop
        case .notBegun: nil
        }
    }
}

/// The limit on the size of a body.
extension HopProgress {
    /// The default limit on a body that is kept in memory, in bytes.
    static let limitInMemory: UInt64 = 2 << 30

    private var limit: UInt64 {
        if let limit = request.options.maximumBodySize { return limit }
        if case .memory = sink { return Self.limitInMemory }
        return .max
    }

    /// The number of bytes that a resumed download had before this hop.
    var offset: UInt64 { head?.status == 206 ? request.options.resumption?.offset ?? 0 : 0 }

    /// Checks `Content-Length` if the user has set a limit. The default limit is checked only while receiving, because
    /// parsing the length takes time.
    func acceptsDeclaredLength() -> Bool {
        guard request.options.maximumBodySize != nil, request.method != .head, head?.status != 304 else { return true }
        return accepts(0, of: head?.contentLength)
    }

    /// Counts received bytes. Returns false if there are too many.
    func accepts(_ count: UInt64, of length: UInt64?) -> Bool {
        received += count
        if isDiscarding { return true }
        let limit = limit
        guard max(received, length ?? 0) > limit - min(limit, offset) else { return true }
        refuse(
            TransportError(
                .contentTooLarge,
                "the body is larger than the limit of \(limit) bytes; raise options.maximumBodySize to allow it",
                phase: .receiving))
        return false
    }

    /// Ends the hop with this error. Bytes that still arrive are discarded.
    func refuse(_ error: TransportError) {
        refusal = refusal ?? error
        sink = .discard(budget: .max)
    }
}
