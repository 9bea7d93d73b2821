import Larkspur

/// A peer whose transport has a cache around it.
struct CachedPeer: ContractPeer {
    let transport: any Transport
    private let base: any ContractPeer
    private let folder: CacheFolder?

    init(_ base: any ContractPeer) {
        self.base = base
        folder = nil
        transport = CachingTransport(base.transport, cache: .inMemory())
    }

    /// Creates a peer whose transport has a cache on disk.
    init(onDisk base: any ContractPeer) {
        let folder = CacheFolder()
        self.base = base
        self.folder = folder
        transport = CachingTransport(base.transport, cache: .onDisk(at: folder.url))
    }

    func url(playing script: [PeerStep]) throws -> RequestURL { try base.url(playing: script) }

    func requests(at url: RequestURL) -> [ReceivedRequest] { base.requests(at: url) }
}

/// A folder that is removed at the end.
private final class CacheFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-\(UUID())")

    deinit { try? FileManager.default.removeItem(at: url) }
}
