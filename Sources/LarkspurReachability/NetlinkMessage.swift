#if os(Linux)
    /// A message of rtnetlink. All bytes come from the kernel, but are validated like those of a server.
    struct NetlinkMessage {
        static let noop: UInt16 = 1  // NLMSG_NOOP
        static let error: UInt16 = 2  // NLMSG_ERROR
        static let done: UInt16 = 3  // NLMSG_DONE
        static let newLink: UInt16 = 16  // RTM_NEWLINK
        static let getLink: UInt16 = 18  // RTM_GETLINK
        static let newAddress: UInt16 = 20  // RTM_NEWADDR
        static let getAddress: UInt16 = 22  // RTM_GETADDR
        static let newRoute: UInt16 = 24  // RTM_NEWROUTE
        static let getRoute: UInt16 = 26  // RTM_GETROUTE

        /// The tables changed while the kernel wrote the dump (NLM_F_DUMP_INTR).
        static let interruptedDump: UInt16 = 0x10
        /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE
        static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

        let type: UInt16
        let flags: UInt16
        let sequence: UInt32
        let body: NetlinkBytes

        /// Returns the messages of a datagram. Ends before the first message that is incomplete or malformed.
        static func messages(in datagram: NetlinkBytes) -> [NetlinkMessage] {
            var messages: [NetlinkMessage] = []
            var rest = datagram
            while let length = rest.load(UInt32.self, at: 0).map(Int.init), length >= 16, length <= rest.count,
                let type = rest.load(UInt16.self, at: 4), let flags = rest.load(UInt16.self, at: 6),
                let sequence = rest.load(UInt32.self, at: 8)
            {
                let body = rest.prefix(length).dropFirst(16)
                messages.append(NetlinkMessage(type: type, flags: flags, sequence: sequence, body: body))
                rest = rest.dropAligned(length)
            }
            return messages
        }
    }

    /// A part of a netlink datagram, whose numbers are in the machine's byte order.
    struct NetlinkBytes {
        private let bytes: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

        var count: Int { bytes.count }

        func prefix(_ count: Int) -> NetlinkBytes { NetlinkBytes(bytes.prefix(count)) }
        func dropFirst(_ count: Int) -> NetlinkBytes { NetlinkBytes(bytes.dropFirst(count)) }

        /// Returns the bytes after an item, which is padded to a multiple of four bytes.
        func dropAligned(_ count: Int) -> NetlinkBytes { dropFirst((count + 3) & ~3) }

        /// Returns the number at an offset; nil beyond the end.
        func load<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number? {
            let size = MemoryLayout<Number>.size
            guard offset >= 0, offset <= count - size else { return nil }
            let start = bytes.startIndex + offset
            return bytes[start..<start + size].withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
        }

        subscript(offset: Int) -> UInt8? { load(UInt8.self, at: offset) }

        /// The text up to the first zero byte.
        var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

        /// The attributes, each with its type. Ends before the first incomplete or malformed one.
        var attributes: [(type: UInt16, value: NetlinkBytes)] {
            var attributes: [(UInt16, NetlinkBytes)] = []
            var rest = self
            while let length = rest.load(UInt16.self, at: 0).map(Int.init), length >= 4, length <= rest.count,
                let type = rest.load(UInt16.self, at: 2)
            {
                // The two highest bits are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
                attributes.append((type & 0x3FFF, rest.prefix(length).dropFirst(4)))
                rest = rest.dropAligned(length)
            }
            return attributes
        }
    }
#endif
