#if os(Linux)
    import Foundation
    import Glibc
    import Larkspur

    /// Checks HTTP/1.1 responses over one reused connection. For each request the input has a byte sequence, preceded
    /// by its length.
    func checkExchanges(_ bytes: [UInt8]) throws { try Wire.exchanges.check(bytes, version: .http1) }

    /// Checks the bytes of an HTTP/2 server, preface included, that are sent when two requests have arrived.
    func checkFrames(_ bytes: [UInt8]) throws { try Wire.frames.check(bytes, version: .http2) }

    /// The real engine and a loopback server that plays an input to it.
    ///
    /// Whatever the server sends, each request ends exactly once and in time, and the next connection delivers its own
    /// response.
    private final class Wire: Sendable {
        static let exchanges = Wire { wire, input in
            repeat {
                wire.readHead(for: .milliseconds(2))
                wire.send(input.lengthPrefixed())
            } while !input.rest.isEmpty
        }

        static let frames = Wire { wire, input in
            wire.send([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0])  // SETTINGS and the acknowledgement
            wire.readHead(for: .seconds(1))
            wire.readMore(for: .milliseconds(2))
            wire.send(Array(input.rest))
            wire.readMore(for: .milliseconds(2))
        }

        private let transport = CurlTransport(configuration: .init { $0.maximumConnectionsPerHost = 2 })
        private let listener: Int32
        private let port: UInt16
        private let play: @Sendable (Peer, inout FuzzInput) -> Void
        /// The bytes for the next connection; nil for a valid response.
        private let input = Locked<[UInt8]?>(nil)

        private init(_ play: @escaping @Sendable (Peer, inout FuzzInput) -> Void) {
            self.play = play
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            port = withUnsafeMutableBytes(of: &address) { [listener] raw in
                let name = raw.baseAddress?.assumingMemoryBound(to: sockaddr.self)
                bind(listener, name, size)
                listen(listener, 16)
                getsockname(listener, name, &size)
                return UInt16(raw[2]) << 8 | UInt16(raw[3])
            }
            Thread.detachNewThread { [self] in
                // libFuzzer's timer sends a signal every few seconds: it would end `accept` and `poll` early.
                var signals = sigset_t()
                sigfillset(&signals)
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                while true { serve(Peer(accept(listener, nil, nil))) }
            }
        }

        private func serve(_ peer: Peer) {
            defer { peer.close() }
            guard let bytes = input.withLock({ $0.take() }) else {
                peer.readHead(for: .seconds(5))
                return peer.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsound".utf8))
            }
            var input = FuzzInput(bytes)
            play(peer, &input)
        }

        func check(_ bytes: [UInt8], version: HTTPVersionChoice) throws {
            input.withLock { $0 = bytes }
            if version == .http2 {
                let both = try [start(version), start(version)]
                for one in both { try require(one.finish() != nil, "each request ends, once and in time") }
            } else {
                // The requests are sequential, so that the connection is reused if the responses allow it.
                for _ in 0..<min(8, 1 + bytes.count / 16) {
                    try require(try start(version).finish() != nil, "each request ends, once and in time")
                }
            }
            input.withLock { $0 = nil }
            // Connections that played the input may be reused and are not reliable; a new transport is.
            let sound = CurlTransport()
            let end = try start(.http1, over: sound, limit: .seconds(7)).finish()
            sound.invalidate()
            try require(end == "sound", "another transport still works")
        }

        private func start(
            _ version: HTTPVersionChoice, over transport: CurlTransport? = nil, limit: Duration = .seconds(2)
        ) throws -> Hop {
            var request = TransportRequest(url: try RequestURL("http://127.0.0.1:\(port)/"))
            (request.version, request.timeouts.total) = (version, limit)
            let hop = Hop()
            (transport ?? self.transport).task(for: request, id: TransportTaskID(1), delegate: hop).resume()
            return hop
        }
    }

    /// A hop whose starting thread waits for its end.
    private final class Hop: TransportDelegate {
        private let body = Locked<[UInt8]>([])
        private let ends = Locked(0)
        private let ended = DispatchSemaphore(value: 0)

        func received(_ event: TransportEvent, for task: TransportTaskID) {
            switch event {
            case .body(let bytes): body.withLock { $0 += bytes }
            case .completed:
                ends.withLock { $0 += 1 }
                ended.signal()
            default: break
            }
        }

        func answer(_ question: TransportQuestion, for task: TransportTaskID) {}

        /// Returns the body; nil if the hop has not ended, or has ended twice.
        func finish() -> String? {
            guard ended.wait(timeout: .now() + 8) == .success, ends.withLock({ $0 }) == 1 else { return nil }
            return String(decoding: body.withLock { $0 }, as: UTF8.self)
        }
    }

    /// The server's side of a connection.
    private final class Peer {
        private let descriptor: Int32

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        func close() { _ = Glibc.close(descriptor) }

        func send(_ bytes: [UInt8]) {
            _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }

        /// Reads until the end of a head, or for at most this duration.
        func readHead(for limit: Duration) {
            var tail: [UInt8] = []
            while let bytes = read(for: limit), !bytes.isEmpty {
                tail = (tail + bytes).suffix(4_096)
                if String(decoding: tail, as: UTF8.self).contains("\r\n\r\n") { return }
            }
        }

        func readMore(for limit: Duration) { _ = read(for: limit) }

        private func read(for limit: Duration) -> [UInt8]? {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let time = limit.components
            let milliseconds = time.seconds * 1_000 + time.attoseconds / 1_000_000_000_000_000
            guard poll(&event, 1, Int32(milliseconds)) > 0 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
                count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
            }
        }
    }
#else
    func checkExchanges(_ bytes: [UInt8]) throws {}
    func checkFrames(_ bytes: [UInt8]) throws {}
#endif
