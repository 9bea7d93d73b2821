import Larkspur

/// A peer whose transport is another transport around that of a peer.
struct WrappedPeer: ContractPeer {
    let transport: any Transport
    private let base: any ContractPeer

    init(_ base: any ContractPeer, _ wrap: (any Transport) -> any Transport) {
        self.base = base
        transport = wrap(base.transport)
    }

    func url(playing script: [PeerStep]) throws -> RequestURL { try base.url(playing: script) }

    func requests(at url: RequestURL) -> [ReceivedRequest] { base.requests(at: url) }
}

/// An admission that decides on another thread, so that every hop has to wait.
struct LateAdmission: HopAdmission {
    func admit(_ hop: PendingHop) { Task { hop.admit() } }
}

/// A transport whose hops keep their responses in memory, as those of a `DataRequest` do.
final class DataHops: TransportWrapper {
    let base: any Transport
    private let owner = FlowOwner()

    init(_ base: any Transport) { self.base = base }

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        var request = request
        request.flow = FlowInstructions(kind: .data, session: owner, timeLeft: nil)
        return base.task(for: request, id: id, delegate: delegate)
    }
}
