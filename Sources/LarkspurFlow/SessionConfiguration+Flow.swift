extension SessionConfiguration {
    /// The maximum number of requests in flight, in total and to each host; nil by default, so that only the transport
    /// has limits.
    ///
    ///     $0.limits = RequestLimits(total: 256, perHost: 16)
    public var limits: RequestLimits? {
        get { self[FlowSettings.self].limits }
        set { self[FlowSettings.self].limits = newValue }
    }
    /// The limit on the number of requests in a period of time; nil by default, so that there is no such limit. A hop
    /// waits for this limit before it waits for ``limits``.
    ///
    ///     $0.rateLimit = RateLimiter(.perHost, 100, per: .seconds(1), burst: 20)
    public var rateLimit: RateLimiter? {
        get { self[FlowSettings.self].rateLimit }
        set { self[FlowSettings.self].rateLimit = newValue }
    }
    /// The requests that share one exchange while they are in flight; nil by default, so that each request is sent.
    ///
    ///     $0.coalescing = .identicalReads
    public var coalescing: Coalescing? {
        get { self[FlowSettings.self].coalescing }
        set { self[FlowSettings.self].coalescing = newValue }
    }
    /// Further code that decides when a hop may be sent; empty by default. It is asked before the rate limit and the
    /// limits.
    public var admissions: [any HopAdmission] {
        get { self[FlowSettings.self].admissions }
        set { self[FlowSettings.self].admissions = newValue }
    }
}

/// The settings that decide when the hops of a session are sent.
struct FlowSettings: ParticipantSettings {
    var limits: RequestLimits?
    var rateLimit: RateLimiter?
    var coalescing: Coalescing?
    var admissions: [any HopAdmission] = []

    static let place = 0

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        guard limits != nil || rateLimit != nil || coalescing != nil || !admissions.isEmpty else { return nil }
        rateLimit?.bind(configuration.clock)
        // Sessions share the places of equal limits if one extends the other.
        let limiter = limits.map { limits in
            parents.limiter.flatMap { $0.limits == limits ? $0 : nil } ?? Limiter(limits)
        }
        return FlowParticipant(settings: self, limiter: limiter)
    }
}

/// The admissions of a session, and the exchanges that its equal requests share.
struct FlowParticipant: SelectiveParticipant {
    let settings: FlowSettings
    /// The places of the session's limits; nil without limits.
    let limiter: Limiter?
    /// The identity of the session for its rate limiter.
    private let owner = FlowOwner()

    static let steps = HopSteps.prepares

    /// Coalescing is outermost, because a request that joins another one needs no admission.
    func wrap(_ transport: any Transport) -> any Transport {
        var admissions = settings.admissions
        if let rateLimit = settings.rateLimit { admissions.append(rateLimit) }
        if let limiter { admissions.append(limiter) }
        let admitting = admissions.isEmpty ? transport : AdmittingTransport(transport, admissions)
        return settings.coalescing.map { CoalescingTransport(admitting, $0) } ?? admitting
    }

    func prepare(_ hop: inout OutgoingHop) {
        hop.instructions.flow = FlowInstructions(kind: hop.kind, session: owner, timeLeft: hop.timeLeft)
    }
}

extension [any HopParticipant] {
    /// The places of a session's limits; nil without limits.
    var limiter: Limiter? { lazy.compactMap { $0 as? FlowParticipant }.first?.limiter }
}
