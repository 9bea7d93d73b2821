/// The status of the network: whether it can be reached, and over which interfaces.
public struct NetworkStatus: Sendable, Hashable {
    /// A kind of network interface.
    ///
    /// On Linux the kind is a guess from the interface's type and name. An interface is Wi-Fi if the system lists it as
    /// wireless below `/sys/class/net`, and cellular if its name begins with `wwan`, `wwp`, `rmnet`, `ccmni` or `ppp`.
    /// Other interfaces with Ethernet frames are wired, also those of containers and virtual machines. Tunnels are
    /// `other`.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum InterfaceKind: String, Sendable, Hashable {
        /// An Ethernet interface.
        case wiredEthernet
        /// A Wi-Fi interface.
        case wifi
        /// An interface of a mobile network.
        case cellular
        /// The loopback interface, which reaches only the system itself. Linux does not report it.
        case loopback
        /// Another kind, such as a tunnel, or an unknown kind.
        case other
    }

    /// Whether requests can be sent: an interface is running, has an address, and has a route to other hosts.
    ///
    /// It says nothing about a particular host, or about networks behind the next router. Use it to explain a failure
    /// and to time a retry, not to decide whether to send a request.
    public var isReachable: Bool
    /// The kinds of the interfaces over which other hosts can be reached.
    public var interfaces: Set<InterfaceKind>
    /// Whether the interface is expensive, such as a cellular one or a personal hotspot. Always false on Linux.
    public var isExpensive: Bool
    /// Whether the user has enabled Low Data Mode for the interface. Always false on Linux.
    public var isConstrained: Bool
    /// Whether hosts can be reached by IPv4.
    public var supportsIPv4: Bool
    /// Whether hosts can be reached by IPv6.
    public var supportsIPv6: Bool
    /// Whether the system has reported the status; see ``unknown``.
    public var isKnown: Bool

    /// Creates a status; by default of an unreachable network.
    public init(
        isReachable: Bool = false, interfaces: Set<InterfaceKind> = [], isExpensive: Bool = false,
        isConstrained: Bool = false, supportsIPv4: Bool = false, supportsIPv6: Bool = false, isKnown: Bool = true
    ) {
        self.isReachable = isReachable
        self.interfaces = interfaces
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.supportsIPv4 = supportsIPv4
        self.supportsIPv6 = supportsIPv6
        self.isKnown = isKnown
    }

    /// The status where the system does not report one: reachable, over another kind of interface.
    ///
    /// A sandbox may forbid reading the network's state. Apple's systems report it shortly after the first use. The
    /// network counts as reachable meanwhile, so that no request waits for a report that never comes.
    public static let unknown = NetworkStatus(
        isReachable: true, interfaces: [.other], supportsIPv4: true, supportsIPv6: true, isKnown: false)

    /// The status of a system without a usable interface.
    public static let unreachable = NetworkStatus()
}

extension NetworkStatus: CustomStringConvertible {
    /// One line for logs, such as `reachable by wiredEthernet, IPv4, IPv6`.
    public var description: String {
        guard isKnown else { return "unknown" }
        guard isReachable else { return "not reachable" }
        var parts = interfaces.map(\.rawValue).sorted()
        if supportsIPv4 { parts.append("IPv4") }
        if supportsIPv6 { parts.append("IPv6") }
        if isExpensive { parts.append("expensive") }
        if isConstrained { parts.append("constrained") }
        return parts.isEmpty ? "reachable" : "reachable by \(parts.joined(separator: ", "))"
    }
}
