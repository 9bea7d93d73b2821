extension SessionConfiguration {
    /// The client identities by host; nil by default, so that the transport's own identity is shown to every host that
    /// asks for a client certificate.
    ///
    /// Over libcurl, identities by host need version 7.77 or later.
    public var clientIdentities: ClientIdentities? {
        get { self[IdentitySettings.self].identities }
        set { self[IdentitySettings.self].identities = newValue }
    }
}

struct IdentitySettings: ParticipantSettings {
    var identities: ClientIdentities?

    static let place = 90

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        identities.map { IdentityParticipant(identities: $0) }
    }
}

/// The choice of a client identity for each hop.
struct IdentityParticipant: TransportAdvisor, SelectiveParticipant {
    let identities: ClientIdentities

    static let steps = HopSteps.prepares

    func wrap(_ transport: any Transport) -> any Transport {
        IdentifiedTransport(transport, partition: transport.partition.adding(identities.partition))
    }

    func prepare(_ hop: inout OutgoingHop) {
        let url = hop.request.url
        guard url.isHTTPS, let host = url.host.map(String.init) else { return }
        do { hop.instructions.asksForIdentity = try identities.find(host) } catch {
            hop.refuse(RequestError(wrapping: error, as: .invalidIdentity))
        }
    }

    func answer(_ question: TransportQuestion) -> AdvisorAnswer {
        guard case .clientIdentity(let host, let reply) = question, let identity = identities.known(host) else {
            return .none
        }
        reply(identity)
        return .given
    }
}

/// A transport whose responses a cache keeps apart from those that other clients get.
private final class IdentifiedTransport: TransportWrapper {
    let base: any Transport
    let partition: TransportPartition

    init(_ base: any Transport, partition: TransportPartition) { (self.base, self.partition) = (base, partition) }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        base.task(for: request, id: id, delegate: delegate)
    }
}
