/// A part of a session that stands around the session's transport and adds to each hop what it needs there.
///
/// A session makes its participants once, from the settings of its configuration. The core knows none of them by name.
package protocol HopParticipant: Sendable {
    /// Returns the transport for the hops of the session, over the given one.
    func wrap(_ transport: any Transport) -> any Transport

    /// Adds what the participant's transport needs. Called on the request's task, or on the thread that starts the
    /// request, and must not wait.
    func prepare(_ hop: inout OutgoingHop)
}

/// The settings of a participant, which its module adds to ``SessionConfiguration``.
package protocol ParticipantSettings: Sendable {
    /// Creates the settings of a session without the participant.
    init()

    /// Returns the participant of a new session; nil if the settings ask for none.
    ///
    /// - Parameter parent: The session that the new one extends.
    func participant(
        in configuration: SessionConfiguration, extending parent: SessionContext?
    ) -> (any HopParticipant)?

    /// The place of the participant among the others of a session. One with a lower number stands nearer to the engine.
    static var place: Int { get }
}

/// A hop that is about to be passed to the transport.
package struct OutgoingHop {
    package var transportRequest: TransportRequest
    private let core: RequestCore

    init(_ transportRequest: TransportRequest, of core: RequestCore) {
        (self.transportRequest, self.core) = (transportRequest, core)
    }

    /// The use of the response.
    package var kind: HopKind {
        if transportRequest.upgrades { return .webSocket }
        guard let receiver = core.receiver else { return .data }
        return receiver is DownloadFile ? .download : .stream
    }

    /// The time that is left of the request's total timeout; nil without one.
    package var timeLeft: Duration? { core.read { $0.deadlines.total }?.timeLeft }
}

extension SessionConfiguration {
    package subscript<Settings: ParticipantSettings>(_ type: Settings.Type) -> Settings {
        get { participants[ObjectIdentifier(type)] as? Settings ?? Settings() }
        set { participants[ObjectIdentifier(type)] = newValue }
    }
}

extension SessionContext {
    /// Returns the participants of a new session, the one nearest to the engine first.
    static func participants(
        in configuration: SessionConfiguration, extending parent: SessionContext?
    ) -> [any HopParticipant] {
        let settings = configuration.participants.values.sorted { type(of: $0).place < type(of: $1).place }
        return settings.compactMap { $0.participant(in: configuration, extending: parent) }
    }

    /// Lets the participants add to a hop what they need.
    @inline(__always)
    func prepare(_ request: inout TransportRequest, of core: RequestCore) {
        if participants.isEmpty { return }
        var hop = OutgoingHop(request, of: core)
        for participant in participants { participant.prepare(&hop) }
        request = hop.transportRequest
    }
}
