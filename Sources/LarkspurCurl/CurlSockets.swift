internal import CLarkspur

/// What is registered with the poller for each descriptor, and what libcurl wants of it.
struct CurlSockets {
    private struct Entry {
        var wanted: Int32 = 0
        var registered: Int32 = 0
        /// Opened and closed through us, so that we know when the number stands for another socket.
        var isConnection = false
        var ends: Ends?
        /// How often libcurl had the socket writable in a row and sent nothing.
        var idleWrites = 0
    }

    /// The addresses and ports of a connection's two ends, which libcurl names a connection by.
    struct Ends: Hashable {
        private let hash: UInt64
        /// Zero for a Unix-domain socket, whose connections have no names of their own.
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

    /// So many idle writes mean that the peer lets nothing more be sent, and not that a record of TLS was sent in parts.
    private static let limitOfIdleWrites = 4
    /// How long writes are held back at most, in case the reason was another one.
    private static let holdTime: UInt64 = 50_000_000

    private var entries: [Entry] = []
    private var descriptors: [Ends: Int32] = [:]
    /// Sockets that are not watched for writing although libcurl wants it, and when they are watched again.
    private var held: [Int32] = []
    private(set) var releaseTime = CurlClock.never

    /// False if the system does not take it.
    mutating func want(
        _ interest: Int32, of descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>
    ) -> Bool {
        let index = place(of: descriptor)
        entries[index].wanted = interest
        entries[index].idleWrites = 0
        // A connection that is wanted no more stays as it is: the next transfer on it wants the same.
        if interest == 0, entries[index].isConnection { return true }
        return register(interest, index, poller)
    }

    /// Whether libcurl waits for this; if nobody does, the poller lets go of the socket, or it would be ready forever.
    mutating func isWanted(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) -> Bool {
        let index = place(of: descriptor)
        if entries[index].wanted == 0 { register(0, index, poller) }
        return entries[index].wanted != 0
    }

    /// Whether libcurl may spin on the socket: versions 7.87 and 7.88 want to write to it while the peer's HTTP/2 window is
    /// closed.
    func maySpin(_ descriptor: Int32) -> Bool { entries[Int(descriptor)].wanted == 3 }

    func isHeld(_ descriptor: Int32) -> Bool { held.contains(descriptor) }

    /// libcurl had the socket writable. If it sends nothing time after time, the poller watches for reading alone until the
    /// peer sends something, as it does to open its window.
    mutating func didWrite(
        _ descriptor: Int32, hasSent: Bool, at now: CurlClock.Instant, poller: UnsafeMutablePointer<clarkspur_poller>
    ) {
        let index = place(of: descriptor)
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
        let index = place(of: descriptor)
        if entries[index].wanted != 0 { register(entries[index].wanted, index, poller) }
        if held.isEmpty { releaseTime = CurlClock.never }
    }

    /// Watches for writing again what libcurl wants to write to.
    mutating func releaseAll(poller: UnsafeMutablePointer<clarkspur_poller>) {
        for descriptor in held { release(descriptor, poller: poller) }
    }

    mutating func didOpen(_ descriptor: Int32) {
        entries[place(of: descriptor)] = Entry(isConnection: true)
    }

    /// The poller is told, because the kernel takes a closed socket from it only when no child process has it either.
    mutating func willClose(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) {
        let index = place(of: descriptor)
        held.removeAll { $0 == descriptor }
        register(0, index, poller)
        if let ends = entries[index].ends, descriptors[ends] == descriptor { descriptors[ends] = nil }
        entries[index] = Entry()
    }

    // MARK: Connections

    /// Notes which of the sockets that libcurl has opened became the connection.
    mutating func place(_ ends: Ends, among opened: [Int32]) {
        let isOnly = opened.count == 1
        let found = opened.first { isOnly || clarkspur_socket_local_port($0) == ends.localPort }
        guard let descriptor = found, ends.localPort != 0 else { return }
        entries[place(of: descriptor)].ends = ends
        descriptors[ends] = descriptor
    }

    /// The socket of a connection; nil if it has none that is known.
    func descriptor(of ends: Ends) -> Int32? { descriptors[ends] }

    /// Ends a connection in both directions. libcurl sees that when it wants to use it again.
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

    private mutating func place(of descriptor: Int32) -> Int {
        let index = Int(descriptor)
        while entries.count <= index { entries.append(Entry()) }
        return index
    }
}
