import Larkspur

/// A peer whose transport has a cache around it.
struct CachedPeer: ContractPeer {
    let transport: any Transport
    private let base: any ContractPeer

    init(_ base: any ContractPeer) {
        self.base = base
        transport = CachingTransport(base.transport, cache: .inMemory())
    }

    func url(playing script: [PeerStep]) throws -> RequestURL { try base.url(playing: script) }

    func requests(at url: RequestURL) -> [ReceivedRequest] { base.requests(at: url) }
}
