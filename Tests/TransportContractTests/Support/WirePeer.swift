#if os(Linux)
    import CLarkspur
    import Larkspur

    /// A server whose every move a test writes down: what it reads of a connection and what it does then, byte for byte.
    ///
    /// Unlike a `MockServer` it can answer a request that it has not read, and end a connection within one. Each connection
    /// is a thread that waits in the kernel.
    final class WirePeer: Sendable {
        typealias Script = @Sendable (Wire) throws -> Void

        let port: Int
        var url: String { "http://127.0.0.1:\(port)" }
        /// The heads that were read, in their order.
        var heads: [String] { read.value }

        private let listener: Int32
        private let read = Observed<[String]>([])

        /// Plays a script to each connection, the last one to all that follow.
        init(_ scripts: Script...) throws {
            var port: UInt16 = 0
            let listener = clarkspur_loopback_listen(&port)
            guard listener >= 0 else { throw POSIXError(.EMFILE) }
            // What was not read must not have been sent: the kernel takes up to 32 MiB of its own accord.
            var room: Int32 = 256 * 1_024
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
            (self.listener, self.port) = (listener, Int(port))
            Thread.detachNewThread { [read] in
                var next = scripts[...]
                while let descriptor = Self.accept(listener), let script = next.first {
                    if next.count > 1 { next.removeFirst() }
                    Thread.detachNewThread {
                        let wire = Wire(descriptor, read)
                        try? script(wire)  // the peer may leave at any time
                    }
                }
                close(listener)
            }
        }

        deinit { shutdown(listener, Int32(SHUT_RDWR)) }

        /// Nil when the listener was shut down.
        private static func accept(_ listener: Int32) -> Int32? {
            var event = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            while poll(&event, 1, -1) > 0, Int32(event.revents) & POLLHUP == 0 {
                let descriptor = clarkspur_loopback_accept(listener)
                guard descriptor >= 0 else { continue }
                _ = fcntl(descriptor, F_SETFL, 0)  // to wait
                return descriptor
            }
            return nil
        }
    }

    /// One connection of a `WirePeer`, which ends with it.
    final class Wire {
        struct Left: Error {}

        /// POLLRDHUP, which only some headers show.
        private static let peerHasLeft: Int16 = 0x2000

        private let descriptor: Int32
        private let heads: Observed<[String]>
        private var input: [UInt8] = []
        private var isClosed = false

        init(_ descriptor: Int32, _ heads: Observed<[String]>) {
            (self.descriptor, self.heads) = (descriptor, heads)
        }

        deinit {
            if !isClosed { close(descriptor) }
        }

        /// Reads a head, its empty line included.
        @discardableResult
        func head() throws -> String {
            while true {
                if let end = input.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                    let head = String(decoding: input[..<end], as: UTF8.self)
                    input.removeFirst(end)
                    heads.change { $0.append(head) }
                    return head
                }
                try more()
            }
        }

        /// Reads so many bytes and throws them away.
        func body(_ count: Int) throws { _ = try take(count) }

        /// Reads so many bytes.
        func take(_ count: Int) throws -> [UInt8] {
            while input.count < count { try more() }
            defer { input.removeFirst(count) }
            return Array(input.prefix(count))
        }

        func send(_ text: String) throws { try send(Array(text.utf8)) }

        func send(_ bytes: [UInt8]) throws {
            var left = bytes[...]
            while !left.isEmpty {
                let count = left.withUnsafeBytes { clarkspur_loopback_send(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { throw Left() }
                left.removeFirst(count)
            }
        }

        /// Reads and throws away until the peer has left.
        func drain() throws {
            while true {
                input = []
                try more()
            }
        }

        /// Reads nothing, and waits until the peer has left.
        func stall() {
            var event = pollfd(fd: descriptor, events: Self.peerHasLeft, revents: 0)
            poll(&event, 1, -1)
        }

        /// Vanishes: from now on the kernel drops every packet from the peer, and acknowledges none.
        func vanish() {
            // A classic BPF program of one instruction: return 0, which keeps nothing of a packet.
            var program: [UInt64] = [0x06]
            program.withUnsafeMutableBytes { instruction in
                var filter = (length: UInt16(1), code: instruction.baseAddress)
                setsockopt(
                    descriptor, SOL_SOCKET, Self.attachFilter, &filter, socklen_t(MemoryLayout.size(ofValue: filter)))
            }
        }

        /// SO_ATTACH_FILTER, which Glibc's module does not show.
        private static let attachFilter: Int32 = 26

        /// Says that nothing more comes, and reads until the peer has left.
        func end() throws {
            endSending()
            try drain()
        }

        func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

        /// Ends the connection with a reset, which the peer's kernel has when this returns.
        func reset() {
            clarkspur_loopback_reset_on_close(descriptor)
            close(descriptor)
            isClosed = true
        }

        private func more() throws {
            let count = withUnsafeTemporaryAllocation(byteCount: 64 * 1_024, alignment: 16) { buffer in
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if count > 0 { input += buffer[..<count] }
                return count
            }
            guard count > 0 else { throw Left() }
        }
    }

    /// Has the peer reset the connection, and returns when it has.
    final class Cut: Sendable {
        private let (wanted, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

        /// For the transport's thread, which must not wait but for this.
        func cut() {
            wanted.signal()
            done.wait()
        }

        /// For the peer.
        func perform(on wire: Wire) {
            wanted.wait()
            wire.reset()
            done.signal()
        }
    }
#endif
