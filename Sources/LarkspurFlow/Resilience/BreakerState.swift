/// The rules of a circuit breaker.
struct BreakerRule: Sendable {
    /// The fraction of failures from which the circuit opens.
    var failureRate: Double
    /// The number of outcomes in the window before which the circuit does not open.
    var minimumCount: Int
    var window: Duration
    /// The time for which the circuit stays open before a probe.
    var pause: Duration
    /// The number of probes that have to succeed before the circuit closes.
    var probes: Int
}

/// The circuit of one origin. Times count from an arbitrary start.
struct BreakerState: Sendable {
    enum Phase: Equatable, Sendable {
        /// Requests are sent, and their outcomes are counted.
        case closed
        /// No request is sent before this time.
        case open(until: Duration)
        /// Some requests are sent as probes.
        case halfOpen(running: Int, succeeded: Int)
    }

    typealias Outcome = CircuitBreaker.Outcome

    enum Verdict: Equatable, Sendable {
        /// The request is sent. The ticket goes back with its outcome.
        case send(Ticket)
        /// The request is refused. A probe is allowed after this wait; it is zero while a probe is in flight.
        case refuse(wait: Duration)
    }

    /// The permission of one request.
    struct Ticket: Equatable, Sendable {
        /// The number of changes of the phase before the request. The outcome of a request from an earlier phase is
        /// ignored.
        fileprivate let era: Int
    }

    private struct Slot: Sendable {
        var period: Int64 = .min
        var successes = 0
        var failures = 0
    }

    /// The window is divided into slots, whose outcomes expire together.
    private static let slotCount = 10

    private(set) var phase = Phase.closed
    private var era = 0
    /// The time of the last probe.
    private var lastProbe = Duration.zero
    private var slots = [Slot](repeating: Slot(), count: slotCount)

    /// Whether nothing has to be remembered.
    func isIdle(at now: Duration, _ rule: BreakerRule) -> Bool {
        switch phase {
        case .closed: counts(at: now, rule) == (0, 0)
        case .open(let end): now >= end + rule.window
        case .halfOpen: now >= lastProbe + rule.pause + rule.window
        }
    }

    mutating func admit(at now: Duration, _ rule: BreakerRule) -> Verdict {
        switch phase {
        case .closed: return .send(Ticket(era: era))
        case .open(let end) where now < end: return .refuse(wait: end - now)
        case .open:
            change(to: .halfOpen(running: 1, succeeded: 0))
            lastProbe = now
            return .send(Ticket(era: era))
        case .halfOpen(let running, let succeeded):
            // A probe may never end, for example if its request is suspended. After a pause, another one is sent.
            let wait = lastProbe + rule.pause - now
            guard running + succeeded < rule.probes || wait <= .zero else { return .refuse(wait: .zero) }
            lastProbe = now
            phase = .halfOpen(running: running + 1, succeeded: succeeded)
            return .send(Ticket(era: era))
        }
    }

    mutating func record(_ outcome: Outcome, _ ticket: Ticket, at now: Duration, _ rule: BreakerRule) {
        guard ticket.era == era else { return }
        switch (phase, outcome) {
        case (.closed, .neutral), (.open, _): break
        case (.closed, .success), (.closed, .failure):
            count(outcome, at: now, rule)
            let (successes, failures) = counts(at: now, rule)
            let all = successes + failures
            guard outcome == .failure, all >= rule.minimumCount, Double(failures) >= rule.failureRate * Double(all)
            else { return }
            change(to: .open(until: now + rule.pause))
        case (.halfOpen(let running, let succeeded), .neutral):
            phase = .halfOpen(running: running - 1, succeeded: succeeded)
        case (.halfOpen(let running, let succeeded), .success):
            if succeeded + 1 >= rule.probes {
                change(to: .closed)
            } else {
                phase = .halfOpen(running: running - 1, succeeded: succeeded + 1)
            }
        case (.halfOpen, .failure): change(to: .open(until: now + rule.pause))
        }
    }

    /// Opens the circuit, or prolongs its pause. A probe in flight no longer counts.
    mutating func open(until end: Duration) {
        if case .open(let earlier) = phase, earlier >= end { return }
        change(to: .open(until: end))
    }

    mutating func close() { if phase != .closed { change(to: .closed) } }

    private mutating func change(to phase: Phase) {
        self.phase = phase
        era += 1
        slots = [Slot](repeating: Slot(), count: Self.slotCount)
    }

    private func period(at now: Duration, _ rule: BreakerRule) -> Int64 { Int64(now / (rule.window / Self.slotCount)) }

    private mutating func count(_ outcome: Outcome, at now: Duration, _ rule: BreakerRule) {
        let period = period(at: now, rule)
        let index = Int(period % Int64(Self.slotCount))
        if slots[index].period != period { slots[index] = Slot(period: period) }
        if outcome == .failure { slots[index].failures += 1 } else { slots[index].successes += 1 }
    }

    private func counts(at now: Duration, _ rule: BreakerRule) -> (successes: Int, failures: Int) {
        let oldest = period(at: now, rule) - Int64(Self.slotCount)
        return slots.reduce((0, 0)) { sum, slot in
            slot.period > oldest ? (sum.0 + slot.successes, sum.1 + slot.failures) : sum
        }
    }
}
