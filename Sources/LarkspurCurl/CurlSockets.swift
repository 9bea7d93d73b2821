internal import CLarkspur

/// The events that libcurl wants for each descriptor, and the events that are registered with the poller.
struct CurlSockets {
    /// The user of a socket, which gets its events.
    enum User: Equatable {
        case libcurl
        /// A transfer that exchanges the handshake of an upgrade.
        case transfer(CurlTransfer.Slot)
        case tunnel(CurlTunnel.Slot)
    }

    private struct Entry {
        var user = User.libcurl
        var wanted: Int32 = 0
        var registered: Int32 = 0
        /// Whether the transport's callbacks open and close the socket. If they do, `willClose` removes the entry
        /// before the descriptor can belong to another socket.
        var isConnection = false
        var ends: Ends?
        /// The number of times in a row that the socket was writable and libcurl sent nothing.
        var idleWrites = 0
    }

    /// The addresses and ports of a connection's two ends. libcurl's callback identifies the connection by them.
    struct Ends: Hashable {
        private let hash: UInt64
        /// The local port; 0 for a connection to a Unix-domain socket. Such connections cannot be identified.
        let localPort: Int32

        init(
            _ remote: UnsafePointer<CChar>?, _ remotePort: Int32, _ local: UnsafePointer<CChar>?, _ localPort: Int32
        ) {
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325  // FNV-1a
            func add(_ byte: UInt64) { hash = (hash ^ byte) &* 0x100_0000_01B3 }
            for text in [remote, local] {
                var next = text
                while let byte = next?.pointee, byte != 0 {
                    add(UInt64(UInt8(bitPattern: byte)))
                    next = next?.successor()
                }
                add(0)
            }
            add(UInt64(UInt32(bitPattern: remotePort)))
            add(UInt64(UInt32(bitPattern: localPort)))
            (self.hash, self.localPort) = (hash, localPort)
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    /// The number of idle writes after which the peer's window counts as closed. A TLS record that is sent in parts
    /// also causes idle writes, but fewer.
    private static let limitOfIdleWrites = 4
    /// The maximum time in nanoseconds for which a socket is not watched for writing. The time is short, because the
    /// peer's window may be open after all.
    private static let holdTime: UInt64 = 50_000_000

    private var entries: [Entry] = []
    private var descriptors: [Ends: Int32] = [:]
    /// The sockets that the poller does not watch for writing although libcurl wants to write. At `releaseTime`, the
    /// poller watches them for writing again.
    private var held: [Int32] = []
    private(set) var releaseTime = CurlClock.never

    /// Registers the events that libcurl wants. Returns false if the system refuses them.
    mutating func want(
        _ interest: Int32, of descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>
    ) -> Bool {
        let index = index(of: descriptor)
        guard entries[index].user == .libcurl else { return true }
        entries[index].wanted = interest
        entries[index].idleWrites = 0
        // If libcurl waits for no event of a connection, the connection stays registered, because the next transfer on
        // this connection waits for the same events.
        if interest == 0, entries[index].isConnection { return true }
        return register(interest, index, poller)
    }

    func isOpen(_ descriptor: Int32) -> Bool { entries[Int(descriptor)].isConnection }

    func user(of descriptor: Int32) -> User {
        Int(descriptor) < entries.count ? entries[Int(descriptor)].user : .libcurl
    }

    /// Registers the events that the user of an upgraded connection wants. From the first call on, libcurl gets no
    /// events of the socket. Returns false if the system refuses them.
    mutating func want(
        _ interest: Int32, of descriptor: Int32, by user: User, poller: UnsafeMutablePointer<clarkspur_poller>
    ) -> Bool {
        let index = index(of: descriptor)
        entries[index].user = user
        entries[index].wanted = interest
        return register(interest, index, poller)
    }

    /// Returns whether libcurl waits for events of the socket. If not, removes the socket from the poller, which would
    /// otherwise report the same event again and again.
    mutating func isWanted(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) -> Bool {
        let index = index(of: descriptor)
        if entries[index].wanted == 0 { register(0, index, poller) }
        return entries[index].wanted != 0
    }

    /// Returns whether libcurl waits to read and to write. Versions 7.87 and 7.88 then may spin: they wait to write
    /// while the peer's HTTP/2 window is closed, and the socket is writable all the time.
    func maySpin(_ descriptor: Int32) -> Bool { entries[Int(descriptor)].wanted == 3 }

    func isHeld(_ descriptor: Int32) -> Bool { held.contains(descriptor) }

    /// Notes that libcurl was told that the socket is writable. If libcurl repeatedly sends nothing, the poller watches
    /// the socket only for reading for a while. The frame with which the peer opens its window makes the socket
    /// readable.
    mutating func didWrite(
        _ descriptor: Int32, hasSent: Bool, at now: CurlClock.Instant, poller: UnsafeMutablePointer<clarkspur_poller>
    ) {
        let index = index(of: descriptor)
        guard entries[index].wanted == 3, !hasSent else {
            entries[index].idleWrites = 0
            return release(descriptor, poller: poller)
        }
        entries[index].idleWrites += 1
        guard entries[index].idleWrites >= Self.limitOfIdleWrites, register(1, index, poller) else { return }
        if !held.contains(descriptor) { held.append(descriptor) }
        releaseTime = now + Self.holdTime
    }

    private mutating func release(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) {
        guard let position = held.firstIndex(of: descriptor) else { return }
        held.remove(at: position)
        let index = index(of: descriptor)
        if entries[index].wanted != 0 { register(entries[index].wanted, index, poller) }
        if held.isEmpty { releaseTime = CurlClock.never }
    }

    /// Watches all held sockets again for the events that libcurl wants.
    mutating func releaseAll(poller: UnsafeMutablePointer<clarkspur_poller>) {
        for descriptor in held { release(descriptor, poller: poller) }
    }

    mutating func didOpen(_ descriptor: Int32) {
        entries[index(of: descriptor)] = Entry(isConnection: true)
    }

    /// Removes the socket from the poller. The kernel would do that when the socket is closed, but not if a child
    /// process still has the socket open.
    mutating func willClose(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) {
        let index = index(of: descriptor)
        held.removeAll { $0 == descriptor }
        register(0, index, poller)
        if let ends = entries[index].ends, descriptors[ends] == descriptor { descriptors[ends] = nil }
        entries[index] = Entry()
    }

    // MARK: Connections

    /// Notes which of the opened sockets is the connection with these ends. libcurl may have tried several addresses of
    /// the host, each with a socket of its own.
    mutating func record(_ ends: Ends, among opened: [Int32]) {
        let isOnly = opened.count == 1
        let found = opened.first { isOnly || clarkspur_socket_local_port($0) == ends.localPort }
        guard let descriptor = found, ends.localPort != 0 else { return }
        entries[index(of: descriptor)].ends = ends
        descriptors[ends] = descriptor
    }

    /// Returns the socket of the connection with these ends; nil if the connection is not known.
    func descriptor(of ends: Ends) -> Int32? { descriptors[ends] }

    /// Shuts a connection down in both directions. libcurl then finds the connection closed and does not reuse it.
    func shutDown(localPort: Int, remoteAddress: UnsafePointer<CChar>?, remotePort: Int) {
        for (descriptor, entry) in entries.enumerated() where entry.isConnection {
            clarkspur_socket_shut_down(Int32(descriptor), Int32(localPort), remoteAddress, Int32(remotePort))
        }
    }

    @discardableResult
    private mutating func register(
        _ interest: Int32, _ index: Int, _ poller: UnsafeMutablePointer<clarkspur_poller>
    ) -> Bool {
        let before = entries[index].registered
        guard before != interest else { return true }
        guard clarkspur_poller_watch(poller, Int32(index), before, interest) || interest == 0 else { return false }
        entries[index].registered = interest
        return true
    }

    private mutating func index(of descriptor: Int32) -> Int {
        let index = Int(descriptor)
        while entries.count <= index { entries.append(Entry()) }
        return index
    }
}
