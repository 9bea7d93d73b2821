#if os(Linux)
    /// The kernel's tables of interfaces, addresses and routes, as far as the network's status depends on them.
    struct RouteTables {
        /// An interface.
        struct Link {
            var name = ""
            /// The type of its frames (ARPHRD_…).
            var frames: UInt16
            /// Its flags (IFF_…).
            var flags: UInt32
            /// The kind of a virtual interface, such as `veth`; nil for a device.
            var kind: String?
            /// The index of the bridge or bond that it belongs to.
            var master: Int32?

            var isLoopback: Bool { flags & 0x8 != 0 }  // IFF_LOOPBACK
            /// Whether the interface is up and has a carrier (IFF_UP, IFF_RUNNING).
            var isRunning: Bool { flags & 0x41 == 0x41 }
        }

        /// A route to other hosts.
        struct Route {
            var family: UInt8
            var isDefault: Bool
            /// The indexes of its interfaces; empty if the kernel does not tell them.
            var links: [Int32] = []
        }

        /// The result of adding a datagram to the tables.
        enum DumpState { case incomplete, complete, failed }

        private(set) var links: [Int32: Link] = [:]
        private(set) var routes: [Route] = []
        /// The families that have an address for the communication with other hosts.
        private(set) var addressFamilies: Set<UInt8> = []
        /// Whether the tables changed during the dump, so that parts of it may contradict each other.
        private(set) var isInterrupted = false

        /// Adds the messages of a datagram that belong to the dump with this sequence number.
        mutating func add(_ datagram: NetlinkBytes, of sequence: UInt32) -> DumpState {
            for message in NetlinkMessage.messages(in: datagram) where message.sequence == sequence {
                if message.flags & NetlinkMessage.interruptedDump != 0 { isInterrupted = true }
                switch message.type {
                case NetlinkMessage.done: return .complete
                case NetlinkMessage.error: return .failed
                case NetlinkMessage.newLink: addLink(message.body)
                case NetlinkMessage.newAddress: addAddress(message.body)
                case NetlinkMessage.newRoute: addRoute(message.body)
                default: break
                }
            }
            return .incomplete
        }

        private mutating func addLink(_ body: NetlinkBytes) {  // struct ifinfomsg
            guard let frames = body.load(UInt16.self, at: 2), let index = body.load(Int32.self, at: 4),
                let flags = body.load(UInt32.self, at: 8)
            else { return }
            var link = Link(frames: frames, flags: flags)
            for (type, value) in body.dropFirst(16).attributes {
                switch type {
                case 3: link.name = value.text  // IFLA_IFNAME
                case 10: link.master = value.load(Int32.self, at: 0)  // IFLA_MASTER
                // IFLA_LINKINFO with IFLA_INFO_KIND
                case 18: link.kind = value.attributes.first { $0.type == 1 }?.value.text
                default: break
                }
            }
            links[index] = link
        }

        private mutating func addAddress(_ body: NetlinkBytes) {  // struct ifaddrmsg
            guard let family = body[0], let flags = body[2], let scope = body[3], body.count >= 8 else { return }
            // RT_SCOPE_LINK is 253, RT_SCOPE_HOST 254. An IPv6 address cannot be used until the system has checked that
            // no other host has it (IFA_F_TENTATIVE, unless IFA_F_OPTIMISTIC), or if another host has it
            // (IFA_F_DADFAILED). IPv4 addresses do not have these flags.
            let isUnchecked = flags & 0x40 != 0 && flags & 0x04 == 0
            if scope < 253, !isUnchecked, flags & 0x08 == 0 { addressFamilies.insert(family) }
        }

        private mutating func addRoute(_ body: NetlinkBytes) {  // struct rtmsg
            guard let family = body[0], let length = body[1], let shortTable = body[4], let type = body[7],
                let flags = body.load(UInt32.self, at: 8)
            else { return }
            // Unicast routes (RTN_UNICAST) that are no cache entries (RTM_F_CLONED) and not dead (RTNH_F_DEAD)
            guard type == 1, flags & 0x201 == 0 else { return }
            var route = Route(family: family, isDefault: length == 0)
            var table = UInt32(shortTable)
            var destination: NetlinkBytes?
            for (type, value) in body.dropFirst(12).attributes {
                switch type {
                case 1: destination = value  // RTA_DST
                case 4: if let link = value.load(Int32.self, at: 0) { route.links.append(link) }  // RTA_OIF
                case 9: route.links += Self.hops(value)  // RTA_MULTIPATH
                case 15: table = value.load(UInt32.self, at: 0) ?? table  // RTA_TABLE
                default: break
                }
            }
            // RT_TABLE_LOCAL has the addresses of the system itself.
            guard table != 255, !Self.isLocal(family, destination) else { return }
            routes.append(route)
        }

        /// Returns the interfaces of a route with several hops (struct rtnexthop), except dead hops.
        private static func hops(_ value: NetlinkBytes) -> [Int32] {
            var links: [Int32] = []
            var rest = value
            while let length = rest.load(UInt16.self, at: 0).map(Int.init), length >= 8, length <= rest.count,
                let flags = rest[2], let link = rest.load(Int32.self, at: 4)
            {
                if flags & 0x01 == 0 { links.append(link) }
                rest = rest.dropAligned(length)
            }
            return links
        }

        /// Returns whether a destination is the loopback network, link-local or multicast.
        private static func isLocal(_ family: UInt8, _ destination: NetlinkBytes?) -> Bool {
            guard let destination, let first = destination[0], let second = destination[1] else { return false }
            switch Int32(family) {
            case AF_INET: return first == 127 || (first, second) == (169, 254) || first & 0xF0 == 0xE0
            case AF_INET6:
                let isLoopback = destination.count == 16 && (0..<15).allSatisfy { destination[$0] == 0 }
                return first == 0xFF || first == 0xFE && second & 0xC0 == 0x80 || isLoopback
            default: return true
            }
        }
    }

    extension RouteTables {
        /// Returns the network's status.
        ///
        /// - Parameter isWireless: Returns whether the interface with this name is Wi-Fi.
        func status(isWireless: (String) -> Bool) -> NetworkStatus {
            var status = NetworkStatus()
            for (index, link) in links where link.isRunning && !link.isLoopback {
                let families = routes.filter { reaches($0, over: index, link) }.map(\.family)
                let usable = addressFamilies.intersection(families)
                guard !usable.isEmpty else { continue }
                status.isReachable = true
                status.interfaces.insert(Self.kind(of: link, isWireless: isWireless))
                if usable.contains(UInt8(AF_INET)) { status.supportsIPv4 = true }
                if usable.contains(UInt8(AF_INET6)) { status.supportsIPv6 = true }
            }
            return status
        }

        private func reaches(_ route: Route, over index: Int32, _ link: Link) -> Bool {
            guard route.links.isEmpty || route.links.contains(index) else { return false }
            return route.isDefault || !isInternalBridge(index, link)
        }

        /// Returns whether an interface is a bridge that joins only containers and virtual machines of this system.
        private func isInternalBridge(_ index: Int32, _ link: Link) -> Bool {
            link.kind == "bridge"
                && links.values.allSatisfy { port in
                    port.master != index || !port.isRunning || ["veth", "tun"].contains(port.kind)
                }
        }

        private static func kind(of link: Link, isWireless: (String) -> Bool) -> NetworkStatus.InterfaceKind {
            if isWireless(link.name) { return .wifi }
            if ["wwan", "wwp", "rmnet", "ccmni", "ppp"].contains(where: link.name.hasPrefix) { return .cellular }
            guard link.frames == 1 else { return .other }  // ARPHRD_ETHER
            let wired = ["veth", "bridge", "bond", "team", "vlan", "macvlan", "ipvlan", "dummy"]
            return link.kind.map(wired.contains) ?? true ? .wiredEthernet : .other
        }
    }
#endif
