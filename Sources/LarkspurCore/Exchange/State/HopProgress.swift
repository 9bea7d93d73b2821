/// The state of the hop in flight.
///
/// The request's lock guards this object, and no code uses the object without the lock. So accesses cannot overlap, and
/// the most frequent accesses skip the exclusivity check.
final class HopProgress {
    typealias OutcomeContinuation = Continuation<HopOutcome>

    enum Pace {
        /// The transport's task has this pace. A new task of the transport is suspended.
        case settled(RequestState.Pace)
        /// A thread is setting the pace of the transport's task. Afterwards that thread checks whether the request
        /// wants another pace by now.
        case applying
    }

    /// The party that runs the next steps when the hop ends.
    enum Waiter {
        case pipeline(OutcomeContinuation)
        /// The pipeline, which already has the head. The pipeline learns of the hop's end from the channel, or by
        /// calling `hopEnd(_:)`.
        case reader(ByteChannel?)
        /// The thread that delivers the hop's end. No task waits for the hop.
        case deliveringThread
        /// An awaiter of the response. The awaiter was resumed at the hop's end, to run the next steps.
        case awaiter
    }

    /// The number of the hop in its attempt, starting at 1.
    var number = 1
    /// The number of received body bytes.
    var received: UInt64 = 0
    /// The error that the hop ends with, even if the transport reports another result.
    var refusal: TransportError?
    /// The range of the received bytes in the whole body. The range is set when the first follower is told about the
    /// progress.
    var extent: BodyExtent?
    /// Whether the hop waits for its admission, so that nothing was sent.
    var isWaiting = false
    /// Whether the response is a redirect that the redirect handler has to decide about.
    var awaitsHandler = false
    /// Whether response gates see the head before the body is collected in memory.
    let isGated: Bool

    let id: TransportTaskID
    let task: any TransportTask
    let request: OutgoingRequest
    let draft: CacheDraftBox?
    @exclusivity(unchecked) var waiter: Waiter
    @exclusivity(unchecked) var head: ResponseHead?
    @exclusivity(unchecked) var metrics: TransportMetrics?
    @exclusivity(unchecked) var cache: CacheOutcome?
    @exclusivity(unchecked) var informationalResponses: [ResponseHead] = []
    @exclusivity(unchecked) var trailers: HTTPHeaders?
    @exclusivity(unchecked) var sink: BodySink
    /// The channel to the pipeline, which decodes a body that is collected in memory as it arrives; nil for other
    /// bodies.
    @exclusivity(unchecked) private var decoding: ByteChannel?
    @exclusivity(unchecked) var pace = Pace.settled(.suspended)

    init(
        _ task: any TransportTask, _ request: OutgoingRequest, _ sink: BodySink, _ waiter: Waiter,
        isGated: Bool = false, draft: CacheDraftBox? = nil
    ) {
        self.isGated = isGated
        self.draft = draft
        id = task.id
        self.task = task
        self.request = request
        self.sink = sink
        self.waiter = waiter
    }

    /// Returns the record of the ended hop. An error in a discarded body is ignored, because the head has already
    /// decided which hop follows.
    func ended(with error: TransportError?) -> Hop {
        Hop(
            request: request, number: number, head: head, metrics: metrics, cache: cache, draft: draft,
            informationalResponses: informationalResponses, trailers: isDiscarding ? nil : trailers,
            error: refusal ?? (isDiscarding ? nil : error))
    }

    /// Returns whether the hop succeeded and no other hop follows.
    func isDelivered(with error: TransportError?) -> Bool { !isDiscarding && error == nil }

    /// The channel by which the pipeline gets the body; nil if it gets the whole body at its end, or none.
    var channel: ByteChannel? {
        switch sink {
        case .channel(let channel): channel
        case .memory: decoding
        case .discard: nil
        }
    }

    /// Whether the head is for a receiver or for user code, which has to see it before the body.
    var showsHead: Bool {
        if case .channel = sink { true } else { isGated || awaitsHandler }
    }

    /// Makes the pipeline decode a body in memory as it arrives, if it has content codings.
    func prepareDecoding() {
        if case .memory = sink, let head, !head.codings(for: request).isEmpty { decoding = ByteChannel() }
    }

    var isDiscarding: Bool {
        if case .discard = sink { true } else { false }
    }

    /// Whether received bytes count as progress. The bytes of a redirect or of a refused response do not count.
    var isCounted: Bool { !isDiscarding && !awaitsHandler }

    /// Whether the redirect handler can decide about the response: the pipeline waits for the hop, or gets the head
    /// before the body.
    var isForHandler: Bool {
        if case .channel = sink { return true }
        return if case .pipeline = waiter { true } else { false }
    }

    func takeBody() -> Data? {
        guard head != nil, case .memory(let data) = sink else { return nil }
        return data
    }
}

/// The result that the pipeline gets when it waits for a hop.
enum HopOutcome: Sendable {
    /// The hop has ended.
    case ended(CompletedExchange)
    /// The head of a response. The hop ends after the body, which the channel delivers. Without a channel the body is
    /// collected in memory. If response gates have to see the head, only the first part of the body arrives before.
    case live(CompletedExchange, ByteChannel?)
    /// The head of a redirect that a redirect handler decides about. Meanwhile the body is collected in memory or waits
    /// in the channel.
    case redirect(CompletedExchange, ByteChannel?)
    /// The hop was not begun, because the request was cancelled.
    case notBegun(RequestPhase.Verdict)

    /// The exchange of a hop that has ended; nil if the hop continues.
    var ended: CompletedExchange? {
        if case .ended(let exchange) = self { exchange } else { nil }
    }

    var hop: Hop? {
        switch self {
        case .ended(let exchange), .live(let exchange, _), .redirect(let exchange, _): exchange.hop
        case .notBegun: nil
        }
    }
}

/// The check of the maximum size of a body.
extension HopProgress {
    /// The default limit on a body that is kept in memory, in bytes.
    static let limitInMemory: UInt64 = 2 << 30

    private var limit: UInt64 {
        if head?.status == 101 { return .max }  // the limits of the other protocol apply
        if let limit = request.options.maximumBodySize { return limit }
        if case .memory = sink { return Self.limitInMemory }
        return .max
    }

    /// The number of bytes that a resumed download had before this hop.
    var offset: UInt64 { head?.status == 206 ? request.options.resumption?.offset ?? 0 : 0 }

    /// Returns whether `Content-Length` is within the limit that the user has set. The default limit is not checked
    /// here but when bytes arrive, because parsing the length takes time.
    func acceptsDeclaredLength() -> Bool {
        guard request.options.maximumBodySize != nil, request.method != .head, head?.status != 304 else { return true }
        return accepts(0, of: head?.contentLength)
    }

    /// Counts received bytes. Returns false if the body exceeds its limit.
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

    /// Records the error that the hop ends with. Bytes that still arrive are discarded.
    func refuse(_ error: TransportError) {
        refusal = refusal ?? error
        sink = .discard(budget: .max)
    }
}
