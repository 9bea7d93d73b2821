extension SessionConfiguration {
    /// The store of hosts that must be reached over TLS; nil by default, so that `http` URLs are sent as they are. All
    /// sessions with this configuration share the store.
    public var hsts: HSTSStore? {
        get { self[HSTSSettings.self].store }
        set { self[HSTSSettings.self].store = newValue }
    }
}

struct HSTSSettings: ParticipantSettings {
    var store: HSTSStore?

    static let place = 300

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        store.map { HSTSParticipant(store: $0, trust: configuration.serverTrust) }
    }
}

/// The hosts of a session that must be reached over TLS.
struct HSTSParticipant: SelectiveParticipant {
    let store: HSTSStore
    let trust: ServerTrustManager?

    static let steps: HopSteps = [.targets, .learns]

    func target(for url: RequestURL) throws(RequestError) -> RequestURL { try store.secured(url) }

    /// The store calls a clock, which may be user code, so it learns in the request's task (rule R2 in Concurrency.md).
    func learnsLater(from hop: Hop) -> Bool { hop.head?[HSTSStore.field] != nil }

    /// Stores what the response says about its host, unless the session accepts every certificate of the host, or the
    /// response comes from the cache.
    func learn(from head: ResponseHead, of hop: HopContext) {
        guard hop.url.isHTTPS, let host = hop.url.host, [nil, .miss, .bypassed].contains(hop.cache),
            trust?.acceptsEverything(of: String(host)) != true
        else { return }
        store.learn(from: head, of: hop.url)
    }
}
