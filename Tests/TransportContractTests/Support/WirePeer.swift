#if os(Linux)
    import CLarkspur
    import Larkspur

    /// A server whose every step the test defines: what it reads from a connection and what it does then, byte for
    /// byte.
    ///
    /// Unlike a `MockServer` it can answer a request that it has not read, and close a connection during a request.
    /// Each connection has a thread that blocks in the kernel.
    final class WirePeer: Sendable {
        typealias Script = @Sendable (Wire) throws -> Void

        let port: Int
        var url: String { "http://127.0.0.1:\(port)" }
        /// The request heads that were read, in order.
        var heads: [String] { read.value }

        /// Waits until this many request heads were read.
        func wait(forHeads count: Int) async throws { try await read.wait { $0.count >= count } }

        private let listener: Int32
        private let read = Observed<[String]>([])

        /// Plays one script for each connection, and the last script for all further connections.
        init(_ scripts: Script...) throws {
            var port: UInt16 = 0
            let listener = clarkspur_loopback_listen(&port)
            guard listener >= 0 else { throw POSIXError(.EMFILE) }
            // A small receive buffer makes unread bytes block the sender. The kernel's default may be 32 MiB.
            var room: Int32 = 256 * 1_024
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
            (self.listener, self.port) = (listener, Int(port))
            Thread.detachNewThread { [read] in
                var next = scripts[...]
                while let descriptor = Self.accept(listener), let script = next.first {
                    if next.count > 1 { next.removeFirst() }
                    Thread.detachNewThread {
                        let wire = Wire(descriptor, read)
                        try? script(wire)  // the peer may disconnect at any time
                    }
                }
                close(listener)
            }
        }

        deinit { shutdown(listener, Int32(SHUT_RDWR)) }

        /// Accepts a connection. Returns nil when the listener was shut down.
        private static func accept(_ listener: Int32) -> Int32? {
            var event = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            while poll(&event, 1, -1) > 0, Int32(event.revents) & POLLHUP == 0 {
                let descriptor = clarkspur_loopback_accept(listener)
                guard descriptor >= 0 else { continue }
                _ = fcntl(descriptor, F_SETFL, 0)  // blocking
                return descriptor
            }
            return nil
        }
    }

    /// A connection of a `WirePeer`, closed when this object is released.
    final class Wire {
        struct Left: Error {}

        /// POLLRDHUP, which not all headers declare.
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

        /// Reads a head, including its empty line.
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

        /// Reads and discards this many bytes.
        func body(_ count: Int) throws { _ = try take(count) }

        /// Reads this many bytes.
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

        /// Reads and discards bytes until the peer has disconnected.
        func drain() throws {
            while true {
                input = []
                try more()
            }
        }

        /// Waits, without reading, until the peer has disconnected.
        func stall() {
            var event = pollfd(fd: descriptor, events: Self.peerHasLeft, revents: 0)
            poll(&event, 1, -1)
        }

        /// Vanishes: from now on the kernel drops every packet from the peer and acknowledges none.
        func vanish() {
            // A classic BPF program of one instruction: return 0, which drops the packet.
            var program: [UInt64] = [0x06]
            program.withUnsafeMutableBytes { instruction in
                var filter = (length: UInt16(1), code: instruction.baseAddress)
                setsockopt(
                    descriptor, SOL_SOCKET, Self.attachFilter, &filter, socklen_t(MemoryLayout.size(ofValue: filter)))
            }
        }

        /// SO_ATTACH_FILTER, which Glibc's module does not declare.
        private static let attachFilter: Int32 = 26

        /// Shuts down the sending side and reads until the peer has disconnected.
        func end() throws {
            endSending()
            try drain()
        }

        func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

        /// Resets the connection. The peer's kernel has received the reset when this returns.
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

    /// A request to the peer to reset its connection.
    final class Cut: Sendable {
        private let (wanted, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

        /// Makes the peer reset the connection and waits for that; called on the transport's thread, which must wait
        /// for nothing else.
        func cut() {
            wanted.signal()
            done.wait()
        }

        /// Waits for the request and resets the connection; called on the peer's thread.
        func perform(on wire: Wire) {
            wanted.wait()
            wire.reset()
            done.signal()
        }
    }
#endif
