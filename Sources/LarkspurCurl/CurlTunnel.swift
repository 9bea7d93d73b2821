internal import CLarkspur

/// A connection that has left HTTP (T26 in `Transport`): the bytes of the request's body go out, and the received bytes
/// are the body of the response. Only the thread that has the loop's turn uses it.
final class CurlTunnel {
    typealias Slot = Int

    /// The number of bytes that are read or written at a time.
    static let pieceSize = 256 * 1_024
    /// The number of bytes after which other connections get their turn.
    private static let fairShare = 1 << 20

    let slot: Slot
    private let task: CurlTask
    private let delegate: any TransportDelegate
    private let wire: CurlWire
    private unowned let loop: CurlLoop
    private let start: CurlClock.Instant
    private var metrics: TransportMetrics
    private var stream: (any TransportBodyStream)?
    /// The bytes that the connection has not taken yet, and the number of those that it has.
    private var unsent: (bytes: UnsafeMutableRawBufferPointer, sent: Int)?
    private var interest: Int32 = 0
    private var isPaused = false
    /// Whether the reading stopped for other connections, although there may be more bytes.
    private var hasMore = false
    private var isOver = false
    /// Bytes that arrived together with the head and cannot be delivered yet.
    private var held: Data

    init(
        _ slot: Slot, _ task: CurlTask, _ delegate: any TransportDelegate, _ wire: CurlWire, _ held: Data,
        _ metrics: TransportMetrics, start: CurlClock.Instant, loop: CurlLoop
    ) {
        self.slot = slot
        self.task = task
        self.delegate = delegate
        self.wire = wire
        self.held = held
        self.metrics = metrics
        self.start = start
        self.loop = loop
    }

    /// Opens the stream of the bytes to send, and begins to read and to write.
    func begin() {
        let stream = task.request.body.open()
        self.stream = stream
        stream.begin(wake: task.wake)
        metrics.responseBodyBytes = 0
        read()
        write()
    }

    func isReady(_ interest: Int32) {
        if interest & 2 != 0, self.interest & 2 != 0 { write() }
        if interest & 1 != 0 { read() }
    }

    func obey(_ orders: CurlTask.Orders) {
        if let error = orders.end { return end(error) }
        if hasMore || isPaused { read() }
        if !orders.isSuspended { write() }
    }

    // MARK: Reading

    private func read() {
        hasMore = false
        guard deliverHeld() else { return watch() }
        var share = Self.fairShare
        while !isOver {
            guard flows else { return watch() }
            let buffer = loop.tunnels.piece.memory
            switch wire.receive(into: buffer) {
            case .bytes(0): return end(nil)
            case .bytes(let count):
                deliver(Data(bytes: buffer.baseAddress.unsafelyUnwrapped, count: count))
                share -= count
                // A socket that has given less than the buffer holds is empty.
                if wire.isPlain, count < buffer.count { return watch() }
                guard share > 0 else {
                    // The loop's next turn continues. The socket may not become ready, because TLS may hold the rest.
                    hasMore = true
                    task.wake()
                    return watch()
                }
            case .wouldBlock: return watch()
            case .lost:
                return end(TransportError(.connectionLost, "the peer reset the connection", phase: .receiving))
            }
        }
    }

    /// Whether received bytes may be delivered. Otherwise the reading is paused (T15, T16).
    private var flows: Bool {
        switch task.flow(at: metrics.responseBodyBytes) {
        case .deliver: isPaused = false
        case .pause: isPaused = true
        case .stop: end(.cancelled)
        }
        return !isPaused && !isOver
    }

    private func deliverHeld() -> Bool {
        guard !held.isEmpty else { return true }
        guard flows else { return false }
        deliver(held)
        held = Data()
        return !isOver
    }

    private func deliver(_ bytes: Data) {
        metrics.responseBodyBytes += UInt64(bytes.count)
        delegate.received(.body(bytes), for: task.id)
    }

    // MARK: Writing

    private func write() {
        var share = Self.fairShare
        while !isOver, !task.isSuspended {
            if let (bytes, sent) = unsent {
                guard send(UnsafeRawBufferPointer(rebasing: bytes[sent...])) else { break }
            } else {
                guard let count = fill() else { break }
                share -= count
            }
            // Unsent bytes are sent first: the connection usually takes no more of them, and then reports when it does.
            guard share > 0 || unsent != nil else {
                task.wake()  // the loop's next turn continues
                break
            }
        }
        watch()
    }

    /// Sends the unsent bytes. Returns false if the connection takes no more of them now.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch wire.send(bytes) {
        case .bytes(let count):
            metrics.requestBodyBytes += UInt64(count)
            unsent?.sent += count
            if count == bytes.count { releaseUnsent() }
            return true
        case .wouldBlock: return false
        case .lost:
            lose()
            return false
        }
    }

    /// Sends the next bytes of the stream, and keeps those that the connection does not take. Returns their number; nil
    /// if there are none now or the connection has ended.
    private func fill() -> Int? {
        guard let stream else { return nil }
        let buffer = loop.tunnels.piece.memory
        switch stream.read(into: buffer) {
        case .bytes(let count):
            var sent = 0
            // Over TLS, bytes must keep their address until they are sent, so they are copied first.
            if wire.isPlain {
                switch wire.send(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
                case .bytes(let taken): sent = taken
                case .wouldBlock: break
                case .lost:
                    lose()
                    return nil
                }
                metrics.requestBodyBytes += UInt64(sent)
            }
            if sent < count { keep(UnsafeRawBufferPointer(rebasing: buffer[sent..<count])) }
            return count
        case .pending: return nil
        case .end: end(nil)
        case .failed(let error as TransportError) where error.code == .bodyFailed: end(error)
        case .failed(let error): end(.bodyFailed("the body's stream failed", error))
        }
        return nil
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyMemory(from: bytes)
        unsent = (copy, 0)
    }

    private func releaseUnsent() {
        unsent?.bytes.deallocate()
        unsent = nil
    }

    /// Ends a connection that takes no more bytes, after the last bytes that can still be read from it.
    private func lose() {
        stream?.end()
        stream = nil
        releaseUnsent()
        if !isPaused { read() }
        end(TransportError(.connectionLost, "the peer closed the connection while it was sent to", phase: .sending))
    }

    // MARK: Events and end

    private func watch() {
        guard !isOver else { return }
        let wanted: Int32 = (isPaused ? 0 : 1) | (unsent == nil || task.isSuspended ? 0 : 2)
        guard wanted != interest else { return }
        guard loop.watch(wire.descriptor, for: wanted, by: .tunnel(slot)) else {
            return end(TransportError(.unavailable, "the system refused to watch another socket of this process"))
        }
        interest = wanted
    }

    /// Ends the tunnel and its task.
    func end(_ error: TransportError?) {
        guard !isOver else { return }
        isOver = true
        stream?.end()
        stream = nil
        releaseUnsent()
        metrics.$total.nanoseconds = loop.shared.now - start
        loop.remove(wire)
        clarkspur_easy_close(wire.easy)
        loop.didEnd(self)
        task.end(error, metrics: metrics)
    }
}

/// The tunnels of a loop, by their slots.
struct CurlTunnels {
    /// Memory for the bytes that one tunnel at a time reads or writes, allocated by the first one.
    private(set) lazy var piece = CurlPiece()
    private var tunnels: [CurlTunnel?] = []
    private var free: [CurlTunnel.Slot] = []
    private(set) var count = 0

    var all: [CurlTunnel] { tunnels.compactMap(\.self) }

    subscript(slot: CurlTunnel.Slot) -> CurlTunnel? { tunnels[slot] }

    mutating func add(_ make: (CurlTunnel.Slot) -> CurlTunnel) -> CurlTunnel {
        let slot = free.popLast() ?? tunnels.count
        if slot == tunnels.count { tunnels.append(nil) }
        let tunnel = make(slot)
        tunnels[slot] = tunnel
        count += 1
        return tunnel
    }

    mutating func remove(_ tunnel: CurlTunnel) {
        tunnels[tunnel.slot] = nil
        free.append(tunnel.slot)
        count -= 1
    }
}

/// Memory for a piece of bytes.
final class CurlPiece {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: CurlTunnel.pieceSize, alignment: 16)

    deinit { memory.deallocate() }
}
