/// The settings of a transport that decide which response a request gets: which peers answer, how they are judged, and
/// which client they see.
///
/// A cache serves a stored response only over transports whose partition equals that of the transport that received
/// it (T31 in ``Transport``). A transport that does not state its partition has one of its own, so it shares stored
/// responses with no other transport.
public struct TransportPartition: Sendable, Hashable {
    /// The text that tells partitions apart.
    package let key: String

    private init(key: String) { self.key = key }

    /// The partition of all transports with default settings.
    public static let common = TransportPartition(key: "")

    /// Returns a partition that differs from all others, also from those of other processes. A cache on disk does not
    /// find its responses after a restart.
    ///
    /// Keep the partition in a stored property, because the partition of a transport never changes.
    public static func unique() -> TransportPartition { TransportPartition(key: ownMark + UUID().uuidString) }

    /// Returns the partition with this name. Other processes know it by the name, so a cache on disk finds its
    /// responses after a restart.
    ///
    /// Use one name for each client identity and each set of settings. The name must contain no secrets.
    public static func named(_ name: String) -> TransportPartition { common.adding(name) }

    /// Returns a part of this partition: for a transport that wraps another one and changes requests, for instance so
    /// that another server answers them.
    public func adding(_ name: String) -> TransportPartition {
        // The lengths keep apart what the texts alone could mix up.
        TransportPartition(key: "\(key)\(name.utf8.count):\(name)")
    }

    /// Whether other processes cannot know the partition.
    package var isOfProcess: Bool { key.hasPrefix(Self.ownMark) }

    /// The beginning of unique keys. The keys of names begin with a digit.
    private static let ownMark = "="
}

extension Transport {
    /// A partition of this object alone.
    public var partition: TransportPartition { OwnPartitions.partition(of: self) }
}

/// The partitions of transports that state none. An object keeps its partition for as long as it lives.
private struct OwnPartitions {
    private static let shared = Protected(OwnPartitions())

    private struct Owner {
        /// The identifier of a released object may be given to another object.
        weak var transport: (any Transport)?
        let partition: TransportPartition
    }

    private var owners: [ObjectIdentifier: Owner] = [:]
    /// The number of owners at which released objects are removed.
    private var limit = 64

    static func partition(of transport: any Transport) -> TransportPartition {
        let (partition, retained) = shared.withLock { $0.partition(of: transport) }
        // Another thread may have released the last other reference meanwhile. A transport must not end under the lock.
        withExtendedLifetime(retained) {}
        return partition
    }

    private mutating func partition(of transport: any Transport) -> (TransportPartition, [any Transport]) {
        let id = ObjectIdentifier(transport)
        if let owner = owners[id], owner.transport === transport { return (owner.partition, []) }
        var retained: [any Transport] = []
        if owners.count >= limit {
            owners = owners.filter { _, owner in
                guard let transport = owner.transport else { return false }
                retained.append(transport)
                return true
            }
            limit = max(64, 2 * owners.count)
        }
        let partition = TransportPartition.unique()
        owners[id] = Owner(transport: transport, partition: partition)
        return (partition, retained)
    }
}
