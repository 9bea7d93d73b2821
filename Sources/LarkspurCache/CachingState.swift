/// The mutable state of a `CachingTask`.
struct CachingState {
    enum Phase { case waiting, looking, asking, playing, ended }

    typealias Exchange = SharedExchange<CachingTask>

    struct PaceAction {
        var looks = false
        /// Whether stored bytes may be delivered now.
        var pumps = false
        /// The exchange that has to learn of the new pace, and the seat there.
        var seat: (Exchange, Int, ExchangePace)?
    }

    enum EndAction {
        case none, pump
        /// The task goes on without the exchange.
        case proceed
        case leave(Exchange, seat: Int)
        /// Delivers the end. The metrics are nil for a task that was never resumed.
        case complete(any TransportDelegate, TransportMetrics?)
    }

    enum Step {
        case wait
        case head(ResponseHead, CacheOutcome, any TransportDelegate)
        case read(any StoredBody, at: UInt64)
        case body(Data)
        case complete(TransportError?, any TransportDelegate, TransportMetrics, isKept: Bool)
    }

    enum SeatAction {
        case none, leave
        case set(ExchangePace)
        /// Ends the task, which was ended while it joined.
        case end(TransportError)
    }

    /// The receiver of the events; nil after the end.
    private(set) var delegate: (any TransportDelegate)?
    var phase = Phase.waiting {
        didSet { if phase == .ended { (delegate, playback, exchange, stored, seat) = (nil, nil, nil, nil, nil) } }
    }
    /// The error with which the task's user, or the transport, has ended the task.
    private(set) var endError: TransportError?
    /// Whether the transport keeps the task to be able to end it.
    private(set) var isKept = false
    private var pace: ExchangePace
    private var started = ContinuousClock.now

    /// The exchange with the base, in the phases `asking` and `playing`.
    private(set) var exchange: Exchange?
    /// The task's seat in the exchange; nil while the task joins.
    private var seat: Int?
    /// The number of body bytes that the exchange has received.
    private var available: UInt64 = 0
    /// The stored response that has to be validated if this task asks alone.
    private(set) var stored: StoredResponse?

    /// The response that is being delivered, in the phase `playing`.
    private(set) var playback: Playback?

    init(delegate: any TransportDelegate, allowed: UInt64) {
        self.delegate = delegate
        pace = ExchangePace(isSuspended: true, allowed: allowed)
    }

    // MARK: Control

    mutating func resume() -> PaceAction {
        guard phase == .waiting else { return setPace { $0.isSuspended = false } }
        (phase, started, pace.isSuspended) = (.looking, .now, false)
        return PaceAction(looks: true)
    }

    mutating func suspend() -> PaceAction {
        phase == .waiting ? PaceAction() : setPace { $0.isSuspended = true }
    }

    mutating func allow(upTo position: UInt64) -> PaceAction { setPace { $0.allowed = max($0.allowed, position) } }

    private mutating func setPace(_ change: (inout ExchangePace) -> Void) -> PaceAction {
        let old = pace
        change(&pace)
        guard pace != old else { return PaceAction() }
        pace.version += 1
        var action = PaceAction(pumps: phase == .playing && !pace.isSuspended)
        if let exchange, let seat { action.seat = (exchange, seat, pace) }
        return action
    }

    mutating func end(_ error: TransportError) -> EndAction {
        guard phase != .ended, let delegate else { return .none }
        endError = endError ?? error
        if let exchange { return seat.map { .leave(exchange, seat: $0) } ?? .none }
        if phase == .playing {
            playback?.fail(error)
            return .pump
        }
        let metrics = phase == .waiting ? nil : metrics(of: nil)
        phase = .ended
        return .complete(delegate, metrics)
    }

    /// Ends the task after it has left an exchange that goes on for others.
    mutating func endAlone(_ error: TransportError, _ exchange: Exchange) -> EndAction {
        guard self.exchange === exchange else { return .none }
        (self.exchange, seat) = (nil, nil)
        return end(error)
    }

    // MARK: Asking

    /// Returns the pace with which the task joins the exchange; nil if the task has ended.
    mutating func ask(_ exchange: Exchange, _ stored: StoredResponse?) -> ExchangePace? {
        guard phase == .looking else { return nil }
        (phase, available) = (.asking, 0)
        (self.exchange, self.stored) = (exchange, stored)
        return pace
    }

    /// Notes that the exchange takes no more readers. Returns the error with which the task was ended meanwhile.
    mutating func returnToLooking(from exchange: Exchange) -> TransportError? {
        guard self.exchange === exchange else { return nil }
        (phase, self.exchange) = (.looking, nil)
        return endError
    }

    /// Notes the seat. Calls since the task began to join take effect now.
    mutating func sit(_ ticket: Exchange.Ticket, _ exchange: Exchange, _ known: ExchangePace) -> SeatAction {
        guard self.exchange === exchange else { return .leave }
        seat = ticket.seat
        available = max(available, ticket.received)
        if let endError { return .end(endError) }
        return pace == known ? .none : .set(pace)
    }

    /// Goes on without the exchange. Returns the seat that has to be left there, and nil if the task has ended, has a
    /// response or has another exchange.
    mutating func goAlone(_ exchange: Exchange?) -> (seat: Int?, stored: StoredResponse?)? {
        guard self.exchange === exchange, endError == nil else { return nil }
        guard phase == .asking || phase == .playing && playback?.head != nil else { return nil }
        defer { (phase, self.exchange, seat, playback) = (.looking, nil, nil, nil) }
        return (seat, stored)
    }

    /// Leaves the exchange, which has ended without a response. The task goes on with a stored response or with another
    /// request, or it ends.
    mutating func leave(_ exchange: Exchange, isToContinue: Bool, _ metrics: TransportMetrics?) -> EndAction {
        guard self.exchange === exchange, phase == .asking, let delegate else { return .none }
        (self.exchange, seat) = (nil, nil)
        if isToContinue, endError == nil {
            phase = .looking
            return .proceed
        }
        let metrics = metrics ?? self.metrics(of: nil)
        phase = .ended
        return .complete(delegate, metrics)
    }

    // MARK: Playing

    /// Begins to deliver a stored response. Returns false if the task has ended.
    mutating func play(_ playback: Playback) -> Bool {
        guard phase == .looking else { return false }
        phase = .playing
        self.playback = playback
        return true
    }

    enum Beginning {
        case no, yes
        /// The caller delivers the head at once.
        case direct(any TransportDelegate)
    }

    /// Begins to deliver the response of the exchange.
    mutating func begin(_ playback: Playback, of exchange: Exchange, isDirect: Bool) -> Beginning {
        guard self.exchange === exchange, phase == .asking, let delegate else { return .no }
        phase = .playing
        self.playback = playback
        self.playback?.isOpen = true
        self.playback?.isShared = true
        self.playback?.end = available
        guard isDirect else { return .yes }
        self.playback?.head = nil
        self.playback?.isBusy = true
        return .direct(delegate)
    }

    /// Notes bytes of the exchange. Returns the receiver if the caller has to deliver them at once.
    mutating func receive(
        _ count: Int, at position: UInt64, from exchange: Exchange, isDirect: Bool
    ) -> (any TransportDelegate)? {
        guard self.exchange === exchange else { return nil }
        available = max(available, position + UInt64(count))
        guard phase == .playing, let playback else { return nil }
        self.playback?.end = available
        guard !playback.isBusy, playback.head == nil, playback.prefetched == nil, playback.error == nil,
            playback.position == position, isDirect || !pace.isSuspended && position < pace.allowed
        else { return nil }
        self.playback?.isBusy = true
        self.playback?.position = available
        return delegate
    }

    /// Notes that a delivery is over. Returns whether there is more to do.
    mutating func release() -> Bool {
        playback?.isBusy = false
        guard let playback else { return false }
        return playback.error != nil || !playback.isOpen || playback.position < playback.end
    }

    /// Notes the end of the exchange. Returns false if the task does not deliver its response.
    mutating func finish(
        _ exchange: Exchange, _ ending: ExchangeEnding<CacheVerdict>, isOwner: Bool
    ) -> Bool {
        guard self.exchange === exchange, phase == .playing else { return false }
        (self.exchange, seat) = (nil, nil)
        available = ending.received
        playback?.end = available
        playback?.isOpen = false
        playback?.isDirect = ending.isDirect
        if isOwner { playback?.metrics = ending.metrics }
        if let error = ending.error { playback?.fail(error) }
        // A suspended task would wait for `resume()`, although its user has ended it in this moment.
        if let endError, playback?.position != playback?.end || pace.isSuspended { playback?.fail(endError) }
        return true
    }

    /// Returns whether the transport has to keep the task.
    mutating func keep() -> Bool {
        guard phase == .playing, exchange == nil, !isKept else { return false }
        isKept = true
        return true
    }

    mutating func nextStep() -> Step {
        guard phase == .playing, let playback, !playback.isBusy, let delegate else { return .wait }
        let isComplete = !playback.isOpen && playback.head == nil && playback.position == playback.end
        if playback.error != nil || isComplete && (!pace.isSuspended || playback.isDirect) {
            let metrics = metrics(of: playback)
            phase = .ended
            return .complete(playback.error, delegate, metrics, isKept: isKept)
        }
        if pace.isSuspended { return .wait }
        if let head = playback.head {
            self.playback?.isBusy = true
            // If the bytes that came before are no longer there, the task can still send a request of its own.
            if playback.isShared, let body = playback.body, playback.prefetched == nil, playback.position < playback.end
            {
                return .read(body, at: playback.position)
            }
            self.playback?.head = nil
            return .head(head, playback.outcome, delegate)
        }
        guard playback.position < playback.end, playback.position - playback.start < pace.allowed else { return .wait }
        if let bytes = playback.prefetched {
            self.playback?.isBusy = true
            self.playback?.prefetched = nil
            return .body(bytes)
        }
        guard let body = playback.body else { return .wait }
        self.playback?.isBusy = true
        return .read(body, at: playback.position)
    }

    /// Returns the receiver of the bytes, and the bytes that are within the response.
    mutating func take(_ bytes: Data) -> (any TransportDelegate, Data)? {
        guard let playback, playback.error == nil, let delegate else { return nil }
        if playback.head != nil {
            self.playback?.prefetched = bytes
            return nil
        }
        let left = playback.end - playback.position
        let bytes = UInt64(bytes.count) > left ? bytes.prefix(Int(left)) : bytes
        self.playback?.position += UInt64(bytes.count)
        return (delegate, bytes)
    }

    /// Notes that stored bytes cannot be read. Returns whether the task has to send a request of its own, which it can
    /// because it has delivered nothing.
    mutating func failToRead(_ error: TransportError) -> Bool {
        if playback?.isShared == true, playback?.head != nil, playback?.error == nil, endError == nil { return true }
        playback?.fail(error)
        return false
    }

    private func metrics(of playback: Playback?) -> TransportMetrics {
        if let metrics = playback?.metrics { return metrics }
        var metrics = TransportMetrics()
        metrics.total = .now - started
        metrics.responseBodyBytes = playback.map { $0.position - $0.start } ?? 0
        return metrics
    }
}

/// The rules about caches that a request itself states.
enum CacheWishes {
    private static let conditions = ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"]

    static func control(of fields: [HeaderField]) -> CacheControl {
        var values: [String] = []
        var pragma = false
        for field in fields {
            switch field.name.utf8.count {
            case 13 where HTTPHeaders.areEqual(field.name, "Cache-Control"): values.append(field.value)
            case 6 where HTTPHeaders.areEqual(field.name, "Pragma"):
                pragma = pragma || field.value.lowercased().contains("no-cache")
            default: break
            }
        }
        var control = values.isEmpty ? CacheControl() : CacheControl(values)
        if values.isEmpty, pragma { control.noCache = true }
        return control
    }

    /// Returns the directive with which caches on the way have to ask the server too; nil if they need not, or if the
    /// request has directives of its own.
    static func directive(
        for request: TransportRequest, _ instructions: CacheInstructions, isInBackground: Bool
    ) -> HeaderField? {
        let isReload = instructions.policy == .reload || instructions.isRepeated
        guard isReload || instructions.policy == .revalidate && !isInBackground,
            !request.fields.contains(where: { HTTPHeaders.areEqual($0.name, "Cache-Control") })
        else { return nil }
        return HeaderField(name: "Cache-Control", value: isReload ? "no-cache" : "max-age=0")
    }

    /// Returns whether the cache takes part in the request at all.
    static func usesCache(
        _ request: TransportRequest, _ instructions: CacheInstructions, _ wishes: CacheControl
    ) -> Bool {
        let isEmpty: Bool
        if case .none = request.body { isEmpty = true } else { isEmpty = false }
        return (request.method == "GET" || request.method == "HEAD") && isEmpty && instructions.policy != .bypass
            && !wishes.noStore && !hasConditions(request.fields)
    }

    static func mayStore(
        _ request: TransportRequest, _ instructions: CacheInstructions, _ wishes: CacheControl
    ) -> Bool {
        usesCache(request, instructions, wishes)
            && !request.fields.contains { HTTPHeaders.areEqual($0.name, "Range") }
    }

    private static func hasConditions(_ fields: [HeaderField]) -> Bool {
        fields.contains { field in
            field.name.utf8.first.map { $0 | 0x20 } == UInt8(ascii: "i")
                && conditions.contains { HTTPHeaders.areEqual($0, field.name) }
        }
    }
}

extension HeaderField {
    fileprivate var isRange: Bool { name.utf8.count == 5 && HTTPHeaders.areEqual(name, "Range") }
}

extension TransportRequest {
    /// The value of `Range`; nil if the request has none. It has a meaning only for a GET (RFC 9110, section 14.2).
    var range: String? {
        guard method == "GET", let first = fields.firstIndex(where: \.isRange) else { return nil }
        return fields[first...].filter(\.isRange).map(\.value).joined(separator: ",")
    }
}
