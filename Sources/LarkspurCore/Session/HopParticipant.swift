/// A part of a session that takes part in every hop: it prepares the hop, learns from its response, or stands around
/// the session's transport.
///
/// Cookies, credentials, the evaluation of servers, the cache and the limits of a session are participants. A package
/// can add others in the same way: <doc:Extending> shows how. Each requirement has a default that does nothing.
///
///     struct Tenant: HopParticipant {
///         let name: String
///
///         func prepare(_ hop: inout OutgoingHop) { hop.add(["X-Tenant": name]) }
///     }
///
/// A session makes its participants once, when it is created, from the ``ParticipantSettings`` of its configuration.
public protocol HopParticipant: Sendable {
    /// Returns the transport for the hops of the session, over the given one. Called once a session.
    ///
    /// A transport around another one must forward its capabilities and its identity: see `TransportWrapper`.
    func wrap(_ transport: any Transport) -> any Transport

    /// Returns the URL to use in place of this one, which is the URL of a request or the target of a redirect.
    ///
    /// Called on the request's task or on the thread that starts the request, and must not wait. An error fails the
    /// request, or refuses the redirect.
    func target(for url: RequestURL) throws(RequestError) -> RequestURL

    /// Changes the request that follows a redirect, before a redirect handler sees it. When its hop begins,
    /// ``prepare(_:)`` is called, too.
    ///
    /// - Parameter id: The identifier of the request.
    func adjust(_ redirected: inout OutgoingRequest, of id: RequestID)

    /// Changes a hop that is about to begin: the first hop of an attempt, a redirect, or a hop that repeats another
    /// one, for example with a credential.
    ///
    /// Called on the request's task or on the thread that starts the request, and must not wait.
    func prepare(_ hop: inout OutgoingHop)

    /// Learns what can be learnt at once from a hop that has a response, and returns whether ``learn(from:of:)`` is to
    /// be called, too. The default is true.
    ///
    /// Called on the thread that delivers the response, which must not run code of users, such as their clocks. A
    /// participant that returns false for most responses saves their requests a task.
    func learnsLater(from hop: Hop) -> Bool

    /// Learns from the head of a response, before the next hop begins and before the caller gets the response. Called
    /// on the request's task.
    func learn(from head: ResponseHead, of hop: HopContext)
}

extension HopParticipant {
    public func wrap(_ transport: any Transport) -> any Transport { transport }
    public func target(for url: RequestURL) throws(RequestError) -> RequestURL { url }
    public func adjust(_ redirected: inout OutgoingRequest, of id: RequestID) {}
    public func prepare(_ hop: inout OutgoingHop) {}
    public func learnsLater(from hop: Hop) -> Bool { true }
    public func learn(from head: ResponseHead, of hop: HopContext) {}
}

/// The settings of a ``HopParticipant``, which its module adds to ``SessionConfiguration``.
///
///     struct TenantSettings: ParticipantSettings {
///         var name: String?
///
///         static let place = 600
///
///         func participant(in configuration: SessionConfiguration, extending parents: [any HopParticipant])
///             -> (any HopParticipant)?
///         {
///             name.map(Tenant.init)
///         }
///     }
///
///     extension SessionConfiguration {
///         public var tenant: String? {
///             get { self[TenantSettings.self].name }
///             set { self[TenantSettings.self].name = newValue }
///         }
///     }
public protocol ParticipantSettings: Sendable {
    /// Creates the settings of a session without the participant.
    init()

    /// The place of the participant among the others of a session. A lower number is nearer to the engine.
    ///
    /// A hop is prepared from the highest number to the lowest, as a request passes from the caller to the engine. The
    /// numbers of the library's participants are part of their contract: cookies 500, credentials 400, the hosts that
    /// must be reached over TLS 300, the cache 200, the evaluation of servers 100, client identities 90, limits and
    /// shared exchanges 0, and hedging -1.
    static var place: Int { get }

    /// Returns the participant of a new session; nil if the settings ask for none.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the new session.
    ///   - parents: The participants of the session that the new one extends; empty if it extends none. A participant
    ///     can share its state with its like among them.
    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)?

    /// Returns the settings for a session that extends no other, for example with a copy of a store that sessions do
    /// not share by default. By default the settings are unchanged.
    func forNewSession() -> Self
}

extension ParticipantSettings {
    public func forNewSession() -> Self { self }
}

extension SessionConfiguration {
    /// The settings of a participant that another module adds.
    public subscript<Settings: ParticipantSettings>(_ type: Settings.Type) -> Settings {
        get { participants[ObjectIdentifier(type)] as? Settings ?? Settings() }
        set { participants[ObjectIdentifier(type)] = newValue }
    }

    /// Returns the configuration for a new session that extends no other.
    func forNewSession() -> SessionConfiguration {
        var configuration = self
        configuration.participants = participants.mapValues { $0.forNewSession() }
        return configuration
    }

    /// Returns the participants of a new session in the order of their places, the outermost first.
    func makeParticipants(extending parents: [any HopParticipant]) -> [any HopParticipant] {
        let settings = participants.values.sorted { type(of: $0).place > type(of: $1).place }
        return settings.compactMap { $0.participant(in: self, extending: parents) }
    }
}
