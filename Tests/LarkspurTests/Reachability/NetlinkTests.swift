#if os(Linux)
    import TestSupport
    import Testing

    import Larkspur
    @testable import LarkspurCore
    @testable import LarkspurReachability

    @Suite("The kernel's tables of interfaces and routes", .limited)
    struct NetlinkTests {
        private typealias Message = NetlinkBuilder

        private func status(_ messages: [[UInt8]], wireless: Set<String> = []) -> NetworkStatus {
            var tables = RouteTables()
            #expect(tables.add(NetlinkBytes(messages.joined()), of: 1) == .incomplete)
            return tables.status(isWireless: wireless.contains)
        }

        private static let loopback = Message.link(1, "lo", flags: 0x49, frames: 772)
        private static let four = Message.address(2, AF_INET)
        private static let six = Message.address(AF_INET6)
        private static let wired = [loopback, Message.link(2, "eth0"), four]

        // MARK: Status

        @Test("A default route over a running interface with an address makes the network reachable")
        func reachable() {
            let route = Message.route(AF_INET, over: 2)
            #expect(status(Self.wired + [route]) == ScriptedNetwork.online)
            #expect(status([Self.loopback, Message.link(2, "eth0"), route]) == .unreachable)
            #expect(status(Self.wired) == .unreachable)
            #expect(status([]) == .unreachable)
            let both = status(Self.wired + [route, Self.six, Message.route(AF_INET6, over: 2)])
            #expect(both.supportsIPv4 && both.supportsIPv6)
        }

        @Test(
            "An interface that is down, has no carrier or is the loopback one reaches nothing",
            arguments: [0x1002, 0x1003, 0x1042, 0x49])
        func interfaces(flags: UInt32) {
            let messages = [Message.link(2, "eth0", flags: flags), Self.four, Message.route(AF_INET, over: 2)]
            #expect(status(messages) == .unreachable)
        }

        @Test(
            "Routes within the system, to link-local or multicast addresses and blocked routes reach nothing",
            arguments: [
                Message.route(AF_INET, [127, 0, 0, 0], 8, over: 2),
                Message.route(AF_INET, [169, 254, 0, 0], 16, over: 2),
                Message.route(AF_INET, [239, 1, 0, 0], 16, over: 2),
                Message.route(AF_INET, [192, 0, 2, 1], 32, over: 2, table: 255),
                Message.route(AF_INET, [192, 0, 2, 1], 32, over: 2, longTable: 255),
                Message.route(AF_INET, over: 2, type: 6), Message.route(AF_INET, over: 2, type: 7),
                Message.route(AF_INET, over: 2, flags: 1), Message.route(AF_INET, over: 2, flags: 0x200),
                Message.route(AF_INET, over: 3), Message.route(AF_INET6, [0xFE, 0x80] + zeros(14), 64, over: 2),
                Message.route(AF_INET6, [0xFF] + zeros(15), 8, over: 2),
                Message.route(AF_INET6, zeros(15) + [1], 128, over: 2), Message.route(AF_BRIDGE, [1, 2], 16, over: 2),
            ])
        func routes(route: [UInt8]) {
            #expect(status(Self.wired + [Self.six, route]) == .unreachable)
        }

        @Test(
            "Routes to other networks count in every table, and over several interfaces",
            arguments: [
                Message.route(AF_INET, [192, 0, 2, 0], 24, over: 2),
                Message.route(AF_INET, over: 2, table: 252, longTable: 51_820),
                Message.route(AF_INET, hops: [(9, 0), (2, 0)]),
                Message.route(AF_INET),
            ])
        func countedRoutes(route: [UInt8]) {
            #expect(status(Self.wired + [route]) == ScriptedNetwork.online)
        }

        @Test("A dead hop of a route does not count")
        func deadHop() {
            #expect(status(Self.wired + [Message.route(AF_INET, hops: [(9, 0), (2, 1)])]) == .unreachable)
        }

        @Test(
            "An address counts if other hosts can use it, and is not being checked",
            arguments: [
                (0, 0, true), (200, 0, true), (253, 0, false), (254, 0, false), (0, 0x40, false), (0, 0x44, true),
                (0, 0x48, false), (0, 0x80, true),
            ] as [(UInt8, UInt8, Bool)])
        func addresses(scope: UInt8, flags: UInt8, counts: Bool) {
            let address = Message.address(2, AF_INET6, scope: scope, flags: flags)
            let status = status([Message.link(2, "eth0"), address, Message.route(AF_INET6, over: 2)])
            #expect(status.isReachable == counts && status.supportsIPv6 == counts)
        }

        @Test("A bridge of containers reaches other hosts only by a default route")
        func bridge() {
            let address = Message.address(3, AF_INET)
            let bridge = Message.link(3, "docker0", kind: "bridge")
            let local = Message.route(AF_INET, [172, 17, 0, 0], 16, over: 3)
            let container = Message.link(4, "veth0", kind: "veth", master: 3)
            let machine = Message.link(5, "tap0", kind: "tun", master: 3)
            #expect(status([bridge, container, machine, address, local]) == .unreachable)
            #expect(status([bridge, container, address, Message.route(AF_INET, over: 3)]).isReachable)
            let device = Message.link(6, "eth0", master: 3)
            #expect(status([bridge, container, device, address, local]).isReachable)
            let unplugged = Message.link(6, "eth0", flags: 0x1003, master: 3)
            #expect(status([bridge, container, unplugged, address, local]) == .unreachable)
        }

        @Test(
            "The kind of an interface is guessed from its type and name",
            arguments: [
                ("eth0", 1, nil, .wiredEthernet), ("wlan0", 1, nil, .wifi), ("veth0", 1, "veth", .wiredEthernet),
                ("br0", 1, "bridge", .wiredEthernet), ("tap0", 1, "tun", .other), ("wg0", 65_534, "wireguard", .other),
                ("wwan0", 65_534, nil, .cellular), ("wwp0s20u4", 1, nil, .cellular),
                ("rmnet_data0", 519, nil, .cellular),
                ("ppp0", 512, "ppp", .cellular), ("ib0", 32, nil, .other),
            ] as [(String, UInt16, String?, NetworkStatus.InterfaceKind)])
        func kinds(name: String, frames: UInt16, kind: String?, expected: NetworkStatus.InterfaceKind) {
            let link = Message.link(2, name, frames: frames, kind: kind)
            let status = status([link, Self.four, Message.route(AF_INET, over: 2)], wireless: ["wlan0"])
            #expect(status.interfaces == [expected])
        }

        // MARK: Dumps

        @Test("A recorded dump of a kernel is understood")
        func recorded() throws {
            let dump = try #require(Data(base64Encoded: recordedNetlinkDump, options: .ignoreUnknownCharacters))
            var tables = RouteTables()
            for sequence: UInt32 in 1...3 { #expect(tables.add(NetlinkBytes(dump), of: sequence) == .complete) }
            #expect(Set(tables.links.values.map(\.name)) == ["lo", "lark0", "lark1"])
            #expect(tables.links.values.count { $0.kind == "veth" } == 2)
            #expect(tables.links.values.allSatisfy { $0.isRunning })
            #expect(tables.routes.count { $0.isDefault } == 1)
            let status = tables.status { _ in false }
            #expect("\(status)" == "reachable by wiredEthernet, IPv4, IPv6" && !tables.isInterrupted)
        }

        @Test("A dump ends with its last message or an error; messages of other dumps are ignored")
        func ends() {
            var tables = RouteTables()
            let link = Message.link(2, "eth0")
            #expect(tables.add(NetlinkBytes(link + Message.message(3, [0, 0, 0, 0])), of: 1) == .complete)
            #expect(tables.add(NetlinkBytes(Message.message(2, [0, 0, 0, 0])), of: 1) == .failed)
            #expect(tables.links.count == 1 && !tables.isInterrupted)
            #expect(tables.add(NetlinkBytes(link + Message.message(3, [])), of: 2) == .incomplete)
            #expect(tables.add(NetlinkBytes(Message.message(3, [], flags: 0x12)), of: 1) == .complete)
            #expect(tables.isInterrupted)
        }

        @Test("The system's own tables have a loopback interface")
        func system() throws {
            let tables = try #require(RouteTables.read())
            #expect(tables.links.values.contains { $0.isLoopback })
        }

        // MARK: Malformed bytes

        @Test("A datagram that is cut anywhere is read up to the cut")
        func truncated() throws {
            let dump = [UInt8](
                try #require(Data(base64Encoded: recordedNetlinkDump, options: .ignoreUnknownCharacters)))
            var messages = 0
            for count in stride(from: 0, through: dump.count, by: 7) {
                let found = NetlinkMessage.messages(in: NetlinkBytes(dump.prefix(count))).count
                #expect(found >= messages)
                messages = found
                read(Array(dump.prefix(count)))
            }
            #expect(messages > 10)
        }

        @Test(
            "A message or an attribute whose length is wrong ends the list",
            arguments: [0, 3, 15, 200, .max] as [UInt32])
        func lengths(length: UInt32) {
            let good = Message.link(2, "eth0")
            let bad = Message.number(length) + Array(good.dropFirst(4))
            #expect(NetlinkMessage.messages(in: NetlinkBytes(good + bad + good)).count == 1)
            let attribute = Message.number(UInt16(truncatingIfNeeded: length)) + Message.number(UInt16(3)) + zeros(12)
            #expect(NetlinkBytes(attribute).attributes.isEmpty == !(4...16).contains(length))
        }

        @Test("Random bytes and changed dumps are read without a crash")
        func random() throws {
            let dump = [UInt8](
                try #require(Data(base64Encoded: recordedNetlinkDump, options: .ignoreUnknownCharacters)))
            var random = SeededRandom(seed: 17)
            for _ in 0..<rounds(300, nightly: 20_000) {
                read(
                    (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                )
                var changed = dump
                for _ in 0..<Int.random(in: 1...40, using: &random) {
                    changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
                read(changed)
            }
        }

        private func read(_ bytes: [UInt8]) {
            var tables = RouteTables()
            for sequence: UInt32 in 0...3 { _ = tables.add(NetlinkBytes(bytes), of: sequence) }
            let status = tables.status { $0.contains("w") }
            #expect(status.isReachable == !status.interfaces.isEmpty)
        }
    }

    private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    extension NetlinkBytes {
        fileprivate init(_ bytes: some Sequence<UInt8>) { self.init(ArraySlice(bytes)) }
    }

    /// Builds messages of rtnetlink, with the sequence number 1.
    private enum NetlinkBuilder {
        static func number(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

        static func message(_ type: UInt16, _ body: [UInt8], flags: UInt16 = 2) -> [UInt8] {
            let header = number(UInt32(16 + body.count)) + number(type) + number(flags) + number(UInt32(1))
            return header + zeros(4) + body + zeros(-body.count & 3)
        }

        static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
            number(UInt16(4 + value.count)) + number(type) + value + zeros(-value.count & 3)
        }

        /// An interface that is up and running, unless the flags say something else.
        static func link(
            _ index: Int32, _ name: String, flags: UInt32 = 0x1043, frames: UInt16 = 1, kind: String? = nil,
            master: Int32? = nil
        ) -> [UInt8] {
            var body = zeros(2) + number(frames) + number(index) + number(flags) + zeros(4)
            body += attribute(3, Array(name.utf8) + [0])
            // The kernel sets the flag of nested attributes in some of them.
            if let kind { body += attribute(18 | 0x8000, attribute(1, Array(kind.utf8) + [0])) }
            if let master { body += attribute(10, number(master)) }
            return message(NetlinkMessage.newLink, body)
        }

        static func address(_ index: UInt32 = 2, _ family: Int32, scope: UInt8 = 0, flags: UInt8 = 0) -> [UInt8] {
            message(NetlinkMessage.newAddress, [UInt8(family), 24, flags, scope] + number(index))
        }

        static func address(_ family: Int32) -> [UInt8] { address(2, family) }

        static func route(
            _ family: Int32, _ destination: [UInt8]? = nil, _ length: UInt8 = 0, over link: Int32? = nil,
            hops: [(link: Int32, flags: UInt8)] = [], type: UInt8 = 1, flags: UInt32 = 0, table: UInt8 = 254,
            longTable: UInt32? = nil
        ) -> [UInt8] {
            var body = [UInt8(family), length, 0, 0, table, 2, 0, type] + number(flags)
            if let longTable { body += attribute(15, number(longTable)) }
            if let destination { body += attribute(1, destination) }
            if let link { body += attribute(4, number(link)) }
            if !hops.isEmpty {
                body += attribute(9, hops.flatMap { number(UInt16(8)) + [$0.flags, 0] + number($0.link) })
            }
            return message(NetlinkMessage.newRoute, body)
        }
    }
#endif
