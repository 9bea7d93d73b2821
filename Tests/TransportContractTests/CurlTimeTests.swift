#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Timeouts that only libcurl's transport has, or that its loop measures by itself.
    @Suite("Timeouts of CurlTransport", .limited)
    struct CurlTimeTests {
        private let clock: EngineClock
        private let transport: CurlTransport

        init() {
            clock = EngineClock()
            transport = CurlTransport(clock: clock)
        }

        private func pass(_ limit: Duration, of delegate: RecordingDelegate) async throws -> Trace {
            let trace = try await clock.pass(limit, of: delegate) { try await transport.settle() }
            trace.check(.failure(.timedOut))
            return trace
        }

        @Test("T23: a peer that does not shake hands ends the hop by the connect timeout")
        func connect() async throws {
            let isGreeted = Gate()
            let peer = try WirePeer { wire in
                _ = try wire.take(1)  // the beginning of the client's TLS handshake, which is not answered
                isGreeted.open()
                wire.stall()
            }
            var request = TransportRequest(url: try RequestURL("https://127.0.0.1:\(peer.port)/"))
            request.timeouts = .only { $0.connect = .days(1) }
            let delegate = transport.start(request)
            try await isGreeted.opened()
            let trace = try await pass(.days(1), of: delegate)
            #expect(trace.error?.timeoutName == "connect")
            #expect(trace.error?.phase == .securing)
        }

        @Test("T23: a hop is not idle while the body's stream has no bytes available")
        func pendingStream() async throws {
            let (server, gate) = (try MockServer { _ in .text("ok") }, Gate())
            defer { gate.open() }
            let source = TransportBodySource(length: nil, isReplayable: false) {
                ArrayStream(.pattern(100), piece: 10, pendingAt: gate)
            }
            var request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/"), body: .stream(source))
            request.timeouts = .only { ($0.idle, $0.total) = (.days(1), .days(4)) }
            let delegate = transport.start(request)
            try await gate.reached()
            // Half of the total is more than the idle timeout.
            #expect(try await pass(.days(4), of: delegate).error?.timeoutName == "total")
        }

        /// A stream whose read blocks until it is opened.
        private final class SlowStream: TransportBodyStream {
            let isRead = Gate()
            private let isOpen = DispatchSemaphore(value: 0)
            private let isOver = Protected(false)

            func open() { isOpen.signal() }
            func begin(wake: @escaping @Sendable () -> Void) {}
            func end() {}

            func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
                if isOver.withLock({ $0 }) { return .end }
                isRead.open()
                isOpen.wait()
                isOver.withLock { $0 = true }
                buffer[0] = 7
                return .bytes(1)
            }
        }

        @Test("T23: the time for reading a body does not count towards the idle timeout")
        func slowStream() async throws {
            let (server, body) = (try MockServer { _ in .text("ok") }, SlowStream())
            let source = TransportBodySource(length: nil, isReplayable: false) { body }
            var upload = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/"), body: .stream(source))
            upload.timeouts = .only { $0.idle = .days(1) }
            let delegate = transport.start(upload)
            try await body.isRead.opened()
            clock.advance(by: .days(2))
            body.open()
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
        }
    }
#endif
