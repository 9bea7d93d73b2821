extension SessionConfiguration {
    /// The cache of responses; nil by default. All sessions with this configuration share the cache. With a cache,
    /// ``Request/cachePolicy(_:)`` applies.
    ///
    ///     $0.cache = .inMemory(limit: 64 << 20)
    public var cache: HTTPCache? {
        get { self[CacheSettings.self].cache }
        set { self[CacheSettings.self].cache = newValue }
    }
}

struct CacheSettings: ParticipantSettings {
    var cache: HTTPCache?

    static let place = 200

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        cache.map(CacheParticipant.init)
    }
}

/// The cache of a session, which stands around the engine, the limits and the shared exchanges.
struct CacheParticipant: SelectiveParticipant {
    let cache: HTTPCache

    static let steps = HopSteps.prepares

    func wrap(_ transport: any Transport) -> any Transport { CachingTransport(transport, cache: cache) }

    func prepare(_ hop: inout OutgoingHop) {
        let (policy, handler, attempt) = hop.core.read {
            ($0.settings.content.cachePolicy, $0.settings.content.cachedResponseHandler, $0.attemptCount)
        }
        var instructions = CacheInstructions()
        instructions.policy = policy ?? hop.request.options.cachePolicy ?? .protocol
        instructions.isRepeated = attempt > 1
        if handler != nil { instructions.draft = CacheDraftBox() }
        hop.instructions.cache = instructions
    }
}
