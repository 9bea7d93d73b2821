/// The state of a hop over `URLSession`: facts in, events out.
struct HopState {
    private enum Phase { case created, running, ended }

    /// The objects that a hop needs until the platform's task has ended.
    struct Remains {
        var task: URLSessionTask?
        var socket: (any PlatformSocket)?
        var body: OutgoingBody?
        #if !canImport(Darwin)
            var file: SpooledBody?
        #endif
    }

    /// A limit and the time at which the hop passes it.
    struct Deadline {
        let time: ContinuousClock.Instant
        let name: String
        let limit: Duration
        let phase: TransportError.Phase
    }

    /// The maximum number of bytes in one event.
    static let maximumPiece = 256 << 10
    /// The number of undelivered bytes from which on the platform's task is suspended.
    private static let maximumHeld: UInt64 = 64 << 10

    private(set) var delegate: (any TransportDelegate)?
    private let timeouts: TransportTimeouts
    private let timers: TimerQueue
    /// The length of the request's body; nil if it is not known yet.
    var bodyLength: UInt64?
    private let isHeadRequest: Bool

    private var phase = Phase.created
    private var task: URLSessionTask?
    /// The WebSocket of the platform, for requests that ask for one.
    var socket: SocketState?
    var session: PlatformSession?
    private(set) var body: OutgoingBody?
    /// The bodies that `URLSession` may still read. The hop keeps them until the platform's task has ended.
    private var opened: [OutgoingBody] = []
    #if !canImport(Darwin)
        private var file: SpooledBody?
    #endif
    var timer: (id: TimerQueue.ID, time: ContinuousClock.Instant)?

    // Control
    var isSuspended = false {
        didSet { if !isSuspended { lastProgress = now } }
    }
    private var allowance: UInt64
    private var isHeld = false

    // Facts
    private var start: ContinuousClock.Instant?
    private var lastProgress: ContinuousClock.Instant
    private var head: ResponseHead?
    private(set) var hasHead = false
    /// The length of the body as the peer sends it; nil if the head does not say it.
    private var declaredLength: UInt64?
    /// Whether the platform removes a content coding, so that the received bytes have another number.
    private var isDecoded = false
    /// The number of bytes of the body as the peer has sent it; nil if the platform has not counted them.
    private var codedBytes: UInt64?
    private var pieces: ArraySlice<Data> = []
    private var received: UInt64 = 0
    private var delivered: UInt64 = 0
    private var undeliveredCount: UInt64?
    private var sent: UInt64 = 0
    /// The platform's own metrics.
    private var measured: TransportMetrics?
    private var firstByte: ContinuousClock.Instant?
    private var requestSent: ContinuousClock.Instant?
    /// Whether the platform waits for a network.
    private(set) var isWaiting = false
    /// Whether the wait was not delivered yet.
    private var announcesWait = false
    /// The end that follows the facts; its error is nil for a success.
    private var end: TransportError??

    // Delivery
    private var isDelivering = false
    private var hasMetrics = false

    init(_ request: TransportRequest, _ delegate: any TransportDelegate, timers: TimerQueue) {
        self.delegate = delegate
        self.timers = timers
        lastProgress = timers.now
        timeouts = request.timeouts
        bodyLength = request.body.length
        isHeadRequest = request.method.uppercased() == "HEAD"
        if request.upgrades { socket = SocketState() }
        allowance = request.initialAllowance
    }

    // MARK: Control

    /// Returns whether the hop starts.
    mutating func resume() -> Bool {
        isSuspended = false
        guard phase == .created else { return false }
        phase = .running
        start = now
        lastProgress = now
        return true
    }

    mutating func allow(upTo position: UInt64) -> Bool {
        guard position > allowance else { return false }
        allowance = position
        lastProgress = now
        return true
    }

    /// Ends the hop at once: facts that were not delivered are dropped. Returns nil if it has ended.
    mutating func end(_ error: TransportError?) -> Remains? {
        guard phase != .ended else { return nil }
        phase = .ended
        end = .some(error)
        (head, pieces, undeliveredCount, announcesWait) = (nil, [], nil, false)
        return takeRemains()
    }

    private mutating func takeRemains() -> Remains {
        var remains = Remains(task: task, socket: socket?.take(), body: body)
        (task, body) = (nil, nil)
        #if !canImport(Darwin)
            remains.file = file.take()
        #endif
        return remains
    }

    // MARK: Facts

    /// Whether the platform's events still change the hop.
    var isOpen: Bool { phase == .running && end == nil }

    /// Returns false if the hop has ended. It keeps nothing then, because no event would release it.
    mutating func didCreate(_ task: URLSessionTask, in session: PlatformSession) -> Bool {
        guard isOpen else { return false }
        (self.task, self.session) = (task, session)
        return true
    }

    /// Returns false if the hop has ended.
    mutating func didOpen(_ body: OutgoingBody) -> Bool {
        guard isOpen else { return false }
        self.body = body
        opened.append(body)
        return true
    }

    #if !canImport(Darwin)
        /// Returns false if the hop has ended.
        mutating func keep(_ file: SpooledBody) -> Bool {
            guard isOpen else { return false }
            self.file = file
            return true
        }
    #endif

    /// Notes that bytes of the request's body were read.
    mutating func didRead() { lastProgress = now }

    /// Whether the hop has ended, or will end when its facts are delivered.
    var hasEnded: Bool { phase == .ended }

    mutating func didReceive(_ head: ResponseHead) -> Bool {
        guard isOpen else { return false }
        if hasHead {
            // URLSession reports each part of the body as a response of its own, without the boundaries.
            end = .some(TransportError(.unavailable, "URLSession takes apart multipart/x-mixed-replace"))
            return true
        }
        self.head = head
        hasHead = true
        isWaiting = false
        let hasBody = !isHeadRequest && head.status != 204 && head.status != 304
        isDecoded = head.bodyIsDecoded
        if hasBody, head["Transfer-Encoding"] == nil, head["Content-Length"] != nil {
            declaredLength = head.contentLength
            if declaredLength == nil { end = .some(Self.invalidLength) }
        }
        if let codings = head["Transfer-Encoding"], !Self.hasKnownCodings(codings) {
            let message = "the transfer coding \(Redaction.quoted(codings)) is not supported"
            end = .some(TransportError(.unsupportedCoding, message, phase: .receiving))
        }
        firstByte = now
        lastProgress = now
        return true
    }

    private static func hasKnownCodings(_ codings: String) -> Bool {
        codings.lowercased().split(separator: ",").allSatisfy {
            ["chunked", "identity", "gzip", "deflate"].contains($0.trimmingCharacters(in: .whitespaces))
        }
    }

    private static let invalidLength = TransportError(
        .protocolViolation, "the response's Content-Length is not one number", phase: .receiving)

    mutating func didReceive(_ data: Data) -> Bool {
        guard isOpen, hasHead, !data.isEmpty else { return false }
        received += UInt64(data.count)
        var start = data.startIndex
        while start < data.endIndex {
            let end = min(start + Self.maximumPiece, data.endIndex)
            pieces.append(data[start..<end])
            start = end
        }
        lastProgress = now
        return true
    }

    /// Notes that the platform waits for a network. Returns false if the hop has a response or has ended.
    mutating func didWait() -> Bool {
        guard isOpen, !hasHead else { return false }
        (isWaiting, announcesWait) = (true, true)
        return true
    }

    mutating func didSend(_ count: UInt64) -> Bool {
        guard isOpen else { return false }
        (sent, undeliveredCount) = (count, count)
        requestSent = now
        lastProgress = now
        isWaiting = false
        return true
    }

    /// Notes the metrics of the platform, which come before the end of its task.
    ///
    /// - Parameter codedBytes: The number of bytes of the response's body as the peer sent it; nil if it is not known.
    mutating func didMeasure(_ metrics: TransportMetrics, codedBytes: UInt64?) {
        (measured, self.codedBytes) = (metrics, codedBytes)
    }

    /// Adds to the number of bytes that were taken from the body of an upgraded request.
    mutating func addSent(_ count: UInt64) { sent += count }

    /// Returns the bodies that the platform's task could read until now.
    mutating func takeOpened() -> [OutgoingBody] {
        defer { opened = [] }
        return opened
    }

    mutating func didComplete(_ error: TransportError?) -> Remains? {
        guard phase == .running else { return nil }
        if end == nil { end = .some(outcome(error)) }
        return takeRemains()
    }

    private func outcome(_ error: TransportError?) -> TransportError? {
        if let error, error.code != .other { return error }
        if !hasHead { return error ?? TransportError(.connectionLost, "the peer sent no response", phase: .waiting) }
        let count = isDecoded ? codedBytes : received
        guard let declaredLength, let count, count < declaredLength else { return error }
        let message = "the body ended after \(count) of \(declaredLength) bytes"
        return TransportError(.truncated, message, phase: .receiving, underlying: error?.underlying)
    }

    // MARK: Delivery

    /// Returns whether the caller delivers.
    mutating func beginDelivery() -> Bool {
        guard !isDelivering else { return false }
        isDelivering = true
        return true
    }

    /// Returns the next event; nil ends the delivery.
    mutating func next() -> (TransportEvent, any TransportDelegate)? {
        guard let delegate, let event = nextEvent() else {
            isDelivering = false
            return nil
        }
        if case .completed = event { (self.delegate, session, phase) = (nil, nil, .ended) }
        return (event, delegate)
    }

    /// Returns what the platform's task still holds although the hop has ended.
    mutating func leftovers() -> Remains { takeRemains() }

    private mutating func nextEvent() -> TransportEvent? {
        if phase != .ended, isSuspended { return nil }
        if announcesWait {
            announcesWait = false
            return .waitsForNetwork
        }
        if let count = undeliveredCount.take() { return .bodySent(count) }
        if let head = head.take() { return .head(head) }
        if let piece = pieces.first {
            guard delivered < allowance else { return nil }
            pieces.removeFirst()
            delivered += UInt64(piece.count)
            return .body(piece)
        }
        guard let end else { return nil }
        if let start, !hasMetrics {
            hasMetrics = true
            return .metrics(metrics(since: start))
        }
        return .completed(end)
    }

    private func metrics(since start: ContinuousClock.Instant) -> TransportMetrics {
        var metrics = measured ?? TransportMetrics()
        metrics.total = start.duration(to: now)
        metrics.firstByte = metrics.firstByte ?? firstByte.map { start.duration(to: $0) }
        metrics.requestSent = metrics.requestSent ?? requestSent.map { start.duration(to: $0) }
        metrics.requestBodyBytes = sent
        metrics.responseBodyBytes = delivered
        return metrics
    }

    // MARK: Back pressure

    /// Whether the platform's WebSocket may receive the next message.
    var mayReceive: Bool { pieces.isEmpty && delivered < allowance }

    private var isFull: Bool {
        phase == .running && !pieces.isEmpty && (isSuspended || received >= max(delivered, allowance))
            && received - delivered >= Self.maximumHeld
    }

    /// Whether the platform's task has to be suspended or resumed.
    var isHoldDue: Bool { task != nil && isHeld != isFull }

    /// Notes that the platform's task is suspended or resumed now. Returns the task and whether it is suspended.
    mutating func hold() -> (URLSessionTask, Bool)? {
        guard let task, isHeld != isFull else { return nil }
        isHeld.toggle()
        return (task, isHeld)
    }

    // MARK: Time

    var now: ContinuousClock.Instant { timers.now }

    /// The next deadline; nil if no limit applies.
    var deadline: Deadline? {
        guard phase == .running, let start, !isOpenSocket else { return nil }
        let isSending = !hasHead && (bodyLength.map { sent < $0 } ?? (body?.hasEnded == false))
        let place: TransportError.Phase = hasHead ? .receiving : isSending ? .sending : .waiting
        var deadlines: [Deadline] = []
        func add(_ limit: Duration?, _ name: String, from begin: ContinuousClock.Instant) {
            guard let limit else { return }
            deadlines.append(Deadline(time: begin.advanced(by: limit), name: name, limit: limit, phase: place))
        }
        add(timeouts.total, "total", from: start)
        if hasHead || isSending {
            let isPaused = isSuspended || end != nil || (hasHead && delivered >= allowance)
            if !isPaused, !isWaiting { add(timeouts.idle, "idle", from: max(start, lastProgress)) }
        } else if !isWaiting, !isSuspended {
            add(timeouts.firstByte, "first byte", from: max(start, requestSent ?? (body == nil ? start : lastProgress)))
        }
        return deadlines.min { $0.time < $1.time }
    }
}
