/// The mutable state of a `CachingTask`.
struct CachingState {
    enum Phase {
        case waiting, looking, asking
        /// Passes the events of the exchange on as they come, because there is no other reader.
        case passing
        case playing, ended
    }

    struct PaceAction {
        var looks = false
        /// Whether stored bytes may be delivered now.
        var pumps = false
        /// The exchange that has to learn of the new pace, and the seat there.
        var seat: (SharedExchange, Int, ExchangePace)?
    }

    enum EndAction {
        case none, pump
        /// The task goes on without the exchange.
        case proceed
        case leave(SharedExchange, seat: Int)
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
        didSet {
            guard phase == .ended else { return }
            remains = (playback.take(), exchange.take(), stored.take())
            (delegate, seat) = (nil, nil)
        }
    }
    /// The objects that the task held until its end. They are released after unlocking (rule R1 in Concurrency.md).
    private var remains: Remains?
    typealias Remains = (Playback?, SharedExchange?, StoredResponse?)
    /// The error with which the task's user, or the transport, has ended the task.
    private(set) var endError: TransportError?
    /// Whether the transport keeps the task to be able to end it.
    private(set) var isKept = false
    private var pace: ExchangePace
    /// The time of the first `resume()`.
    private var started: ContinuousClock.Instant?
    /// The time at which the task joined an exchange that waits for its admission; nil if the task does not wait.
    private var joinedWait: ContinuousClock.Instant?
    /// The time that the task has waited for admissions.
    private var waited: Duration?

    /// The exchange with the base, in the phases `asking`, `passing` and `playing`.
    private(set) var exchange: SharedExchange?
    /// The task's seat in the exchange; nil while the task joins.
    private var seat: Int?
    /// The start of the lookup in the second level, and the timer of the request's deadline.
    private var lookup: (start: ContinuousClock.Instant, timer: Task<Void, Never>?)?
    /// The time that the lookup has taken.
    private var lookupTime: Duration?
    /// The number of body bytes that the exchange has received.
    private var available: UInt64 = 0
    /// The stored response that has to be validated if this task asks alone.
    private(set) var stored: StoredResponse?

    /// The response that is being delivered, in the phase `playing`.
    private(set) var playback: Playback?
    /// Whether a thread is delivering.
    private var isBusy = false

    init(delegate: any TransportDelegate, allowed: UInt64) {
        self.delegate = delegate
        pace = ExchangePace(isSuspended: true, allowed: allowed)
    }

    mutating func takeRemains() -> Remains? { remains.take() }

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
        if phase == .passing { playPassed() }
        if phase == .playing {
            playback?.fail(error)
            return .pump
        }
        // The thread that delivers an event ends the task afterwards.
        guard !isBusy else { return .none }
        let metrics = phase == .waiting ? nil : ownMetrics()
        phase = .ended
        return .complete(delegate, metrics)
    }

    /// Ends the task after it has left an exchange that goes on for others.
    mutating func endAlone(_ error: TransportError, _ exchange: SharedExchange) -> EndAction {
        guard self.exchange === exchange else { return .none }
        (self.exchange, seat) = (nil, nil)
        return end(error)
    }

    // MARK: The second level

    /// Begins a lookup in the second level. Returns false if the task has ended.
    mutating func beginSecondLevel() -> Bool {
        guard phase == .looking else { return false }
        lookup = (.now, nil)
        return true
    }

    /// Notes the timer of the lookup. Returns false if the lookup has ended.
    mutating func keepTimer(_ timer: Task<Void, Never>) -> Bool {
        lookup?.timer = timer
        return lookup != nil
    }

    /// Ends the lookup. Returns nil if it has ended before.
    mutating func endSecondLevel() -> (timer: Task<Void, Never>?, hasEnded: Bool)? {
        guard let ended = lookup.take() else { return nil }
        lookupTime = .now - ended.start
        return (ended.timer, phase != .looking)
    }

    /// Subtracts the time of the lookup from the limit of the request.
    func shorten(_ timeouts: inout TransportTimeouts) {
        guard let lookupTime, let total = timeouts.total else { return }
        timeouts.total = max(total - lookupTime, .milliseconds(1))
    }

    // MARK: Asking

    /// Notes that the exchange that the task joins has waited for its admission.
    mutating func joinWait() { joinedWait = .now }

    enum EventSequel {
        case none, pump
        case end(TransportError)
    }

    /// Begins to pass on an event that is neither the head nor a part of the body. Returns the receiver.
    mutating func beginEvent(_ event: inout TransportEvent) -> (any TransportDelegate)? {
        if case .admission(.admitted(let time)) = event {
            let own = joinedWait.take().map { .now - $0 } ?? time
            waited = (waited ?? .zero) + own
            event = .admission(.admitted(after: own))
        }
        if phase != .playing { isBusy = true }
        return delegate
    }

    /// Notes that the event was delivered. The task may have been ended meanwhile.
    mutating func endEvent() -> EventSequel {
        switch phase {
        case .waiting, .ended: return .none
        case .passing, .playing: return release() ? .pump : .none
        case .looking, .asking:
            isBusy = false
            return exchange == nil ? endError.map(EventSequel.end) ?? .none : .none
        }
    }

    /// Returns the pace with which the task joins the exchange; nil if the task has ended.
    mutating func ask(_ exchange: SharedExchange, _ stored: StoredResponse?) -> ExchangePace? {
        guard phase == .looking else { return nil }
        (phase, available) = (.asking, 0)
        (self.exchange, self.stored) = (exchange, stored)
        return pace
    }

    /// Notes that the exchange takes no more readers. Returns the error with which the task was ended meanwhile.
    mutating func returnToLooking(from exchange: SharedExchange) -> TransportError? {
        guard self.exchange === exchange else { return nil }
        (phase, self.exchange) = (.looking, nil)
        return endError
    }

    /// Notes the seat. Calls since the task began to join take effect now.
    mutating func sit(_ ticket: SharedExchange.Ticket, _ exchange: SharedExchange, _ known: ExchangePace) -> SeatAction
    {
        guard self.exchange === exchange else { return .leave }
        seat = ticket.seat
        available = max(available, ticket.received)
        if let endError { return .end(endError) }
        return pace == known ? .none : .set(pace)
    }

    /// Goes on without the exchange. Returns the seat that has to be left there, and the objects that were held; or
    /// nil if the task has ended, has a response or has another exchange.
    mutating func goAlone(_ exchange: SharedExchange?) -> (seat: Int?, stored: StoredResponse?, Playback?)? {
        guard self.exchange === exchange, endError == nil else { return nil }
        guard phase == .asking || phase == .playing && playback?.head != nil else { return nil }
        defer { (phase, self.exchange, seat, playback, isBusy) = (.looking, nil, nil, nil, false) }
        return (seat, stored, playback)
    }

    /// Leaves the exchange, which has ended without a response. The task goes on with a stored response or with another
    /// request, or it ends.
    mutating func leave(_ exchange: SharedExchange, isToContinue: Bool, _ metrics: TransportMetrics?) -> EndAction {
        guard self.exchange === exchange, phase == .asking, let delegate else { return .none }
        (self.exchange, seat) = (nil, nil)
        if isToContinue, endError == nil {
            phase = .looking
            return .proceed
        }
        let metrics = metrics ?? ownMetrics()
        phase = .ended
        return .complete(delegate, metrics)
    }

    // MARK: Playing

    /// Begins to deliver a stored response. Returns false if the task has ended.
    mutating func play(_ playback: Playback, prefetched: Data?, isHead: Bool) -> Bool {
        guard phase == .looking else { return false }
        phase = .playing
        self.playback = playback
        if isHead { self.playback?.end = playback.position }
        self.playback?.prefetched = prefetched
        return true
    }

    /// Begins to deliver the response of the exchange. Returns false if the task does not take part any more.
    mutating func begin(_ playback: Playback, of exchange: SharedExchange) -> Bool {
        guard self.exchange === exchange, phase == .asking else { return false }
        phase = .playing
        self.playback = playback
        self.playback?.follow(to: available)
        return true
    }

    /// Begins to pass the response of the exchange on. Returns the receiver of the head, which the caller delivers.
    mutating func pass(_ exchange: SharedExchange) -> (any TransportDelegate)? {
        guard self.exchange === exchange, phase == .asking else { return nil }
        (phase, isBusy) = (.passing, true)
        return delegate
    }

    /// Goes on with the bytes after those that were passed on, because there are other readers by now.
    private mutating func playPassed() {
        phase = .playing
        playback = Playback(passed: available, of: exchange)
    }

    /// Notes bytes of the exchange. Returns the receiver if the caller has to deliver them at once.
    mutating func receive(
        _ count: Int, at position: UInt64, from exchange: SharedExchange, isDirect: Bool
    ) -> (any TransportDelegate)? {
        guard self.exchange === exchange else { return nil }
        if phase == .passing, !isDirect { playPassed() }
        available = max(available, position + UInt64(count))
        if phase == .playing {
            playback?.end = available
            guard !isBusy, playback?.isAt(position) == true,
                !pace.isSuspended && position < pace.allowed
            else { return nil }
            playback?.position = available
        } else if phase != .passing {
            return nil
        }
        isBusy = true
        return delegate
    }

    /// Returns the position up to which the bytes of the exchange were delivered; nil if the task does not read them.
    func position(in exchange: SharedExchange) -> UInt64? {
        guard self.exchange === exchange, phase != .ended else { return nil }
        return phase == .passing ? available : playback?.position ?? 0
    }

    /// Notes that a delivery is over. Returns whether there is more to do.
    mutating func release() -> Bool {
        isBusy = false
        return playback?.hasMore ?? false
    }

    enum FinishAction {
        case none, play
        /// Delivers the end.
        case complete(TransportError?, any TransportDelegate, TransportMetrics, isKept: Bool)
    }

    /// Notes the end of the exchange.
    mutating func finish(_ exchange: SharedExchange, _ ending: ExchangeEnding, isOwner: Bool) -> FinishAction {
        guard self.exchange === exchange, phase == .playing || phase == .passing, let delegate else { return .none }
        if phase == .passing {
            if ending.isDirect {
                let error = ending.error ?? (pace.isSuspended ? endError : nil)
                let metrics = (isOwner ? ending.metrics : nil) ?? ownMetrics(available)
                phase = .ended
                return .complete(error, delegate, metrics, isKept: isKept)
            }
            playPassed()
        }
        (self.exchange, seat) = (nil, nil)
        available = ending.received
        playback?.finish(ending, isOwner: isOwner)
        // A suspended task would wait for `resume()`, although its user has ended it in this moment.
        if let endError, playback?.position != playback?.end || pace.isSuspended { playback?.fail(endError) }
        return .play
    }

    /// Returns whether the transport has to keep the task.
    mutating func keep() -> Bool {
        guard phase == .playing, exchange == nil, !isKept else { return false }
        isKept = true
        return true
    }

    mutating func nextStep() -> Step {
        guard phase == .playing, !isBusy, let delegate else { return .wait }
        switch playback?.next(pace) {
        case nil, .wait: return .wait
        case .complete(let error):
            let metrics = playingMetrics()
            phase = .ended
            return .complete(error, delegate, metrics, isKept: isKept)
        case .head(let head, let outcome):
            isBusy = true
            return .head(head, outcome, delegate)
        case .body(let bytes):
            isBusy = true
            return .body(bytes)
        case .read(let body, let position):
            isBusy = true
            return .read(body, at: position)
        }
    }

    private func playingMetrics() -> TransportMetrics {
        // With `??`, the closure would hold a copy of this whole state.
        if let metrics = playback?.metrics { return metrics }
        return ownMetrics(playback?.delivered ?? 0)
    }

    /// Returns the receiver of the bytes, and the bytes that are within the response.
    mutating func take(_ bytes: Data) -> (any TransportDelegate, Data)? {
        guard let delegate, let bytes = playback?.take(bytes) else { return nil }
        return (delegate, bytes)
    }

    /// Notes that stored bytes cannot be read. Returns whether the task has to send a request of its own, which it can
    /// because it has delivered nothing.
    mutating func failToRead(_ error: TransportError) -> Bool {
        if playback?.isReplaceable == true, endError == nil { return true }
        playback?.fail(error)
        return false
    }

    /// Returns the metrics of a task that sent no request itself.
    private func ownMetrics(_ received: UInt64 = 0) -> TransportMetrics {
        var metrics = TransportMetrics()
        if let started { metrics.total = .now - started }
        if let waited { metrics.total? -= waited }
        metrics.queued = waited
        metrics.responseBodyBytes = received
        return metrics
    }
}
