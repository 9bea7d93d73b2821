extension SessionConfiguration {
    /// The circuit breaker that spares a failing server; nil by default. It is the innermost middleware: setting it
    /// removes an earlier circuit breaker from ``middleware``, and adds the new one at the end.
    ///
    ///     $0.circuitBreaker = CircuitBreaker(failureRate: 0.5)
    public var circuitBreaker: CircuitBreaker? {
        get { middleware.lazy.compactMap { $0 as? CircuitBreaker }.last }
        set { middleware = middleware.filter { !($0 is CircuitBreaker) } + [newValue].compactMap(\.self) }
    }

    /// When slow requests are sent a second time; nil by default, so that none is.
    ///
    ///     $0.hedging = Hedging(after: .percentile(0.95), atMost: 0.05)
    ///
    /// The session puts a ``HedgingTransport`` around its transport, below its limits. Use that type itself to read the
    /// counts, or to share the measured times between sessions.
    public var hedging: Hedging? {
        get { self[HedgingSettings.self].hedging }
        set { self[HedgingSettings.self].hedging = newValue }
    }
}

/// The settings of a session that sends slow requests a second time; see ``HedgingTransport``.
public struct Hedging: Sendable, Hashable {
    /// The time after which a request is sent again.
    public var delay: HedgingTransport.Delay
    /// The maximum fraction of requests that are sent twice, from 0 to 1.
    public var budget: Double

    /// Creates settings. At most 5 % of the requests are sent twice by default.
    public init(after delay: HedgingTransport.Delay, atMost budget: Double = 0.05) {
        (self.delay, self.budget) = (delay, budget)
    }
}

/// The setting ``SessionConfiguration/hedging``.
private struct HedgingSettings: ParticipantSettings {
    var hedging: Hedging?

    /// Nearer to the engine than the limits, so that a hop that is sent twice holds one place.
    static let place = -1

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        hedging.map { HedgingParticipant(hedging: $0, clock: configuration.clock) }
    }
}

private struct HedgingParticipant: SelectiveParticipant {
    let hedging: Hedging
    let clock: any Clock<Duration>

    static let steps: HopSteps = []

    func wrap(_ transport: any Transport) -> any Transport {
        HedgingTransport(transport, after: hedging.delay, atMost: hedging.budget, clock: clock)
    }
}
