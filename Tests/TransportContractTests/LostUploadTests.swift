#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Uploads whose connection is lost before the body is complete.
    @Suite("Lost uploads", .limited)
    struct LostUploadTests {
        private static let size = 250_000

        private static func serve(_ wire: Wire) throws {
            while try !wire.head().contains("POST ") {
                try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }

        /// Sends an upload over a reused or new connection that is reset before its last piece. Returns the trace and
        /// the number of uploads that were started.
        private func upload(length: UInt64?, isKept: Bool) async throws -> (trace: Trace, uploads: Int) {
            let cut = Cut()
            let peer = try WirePeer(
                { wire in
                    try Self.serve(wire)
                    cut.perform(on: wire)
                },
                { wire in
                    try Self.serve(wire)
                    try wire.body(Self.size)
                    try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    try wire.drain()
                })
            let transport = CurlTransport()
            let url = try RequestURL(peer.url + "/")
            if isKept { try await transport.run(TransportRequest(url: url)).check(.response("ok")) }
            let source = TransportBodySource(length: length, isReplayable: true) {
                WatchedStream(Self.size) { if $0 == 50_000 { cut.cut() } }
            }
            let delegate = RecordingDelegate(answering: { question in
                if case .bodyFromStart(_, let reply) = question { reply(WatchedStream(Self.size)) }
            })
            let request = TransportRequest(method: "POST", url: url, body: .stream(source))
            transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            return (trace, peer.heads.count { $0.hasPrefix("POST ") })
        }

        @Test("T23: a body that is sent again restarts the first-byte timeout, but not the hop's total timeout")
        func clocks() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let (first, second) = (Gate(), Gate())
            defer { second.open() }
            server.on(
                "PUT", "/dies", MockResponse([.pause { try await first.passUnlessCancelled() }, .close]),
                MockResponse([.pause { try await second.passUnlessCancelled() }]))
            let clock = EngineClock()
            let transport = CurlTransport(clock: clock)
            try await transport.run(TransportRequest(url: try RequestURL(server.url + "/"))).check(.response("ok"))
            var request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/dies"))
            request.body = .data(Data(count: Self.size))
            request.timeouts = .only { ($0.firstByte, $0.total) = (.days(3), .days(4)) }
            let delegate = transport.start(request)
            try await first.reached()
            clock.advance(by: .days(2))
            first.open()
            try await second.reached()
            // After a day the first sending's first-byte timeout would pass, after two days the total, and after three
            // days the second sending's first-byte timeout.
            let trace = try await clock.pass(.days(2), of: delegate) { try await transport.settle() }
            trace.check(.failure(.timedOut))
            #expect(trace.error?.timeoutName == "total")
            #expect(trace.error?.phase == .waiting)
            #expect(server.requests.map(\.bodyCount) == [0, UInt64(Self.size), UInt64(Self.size)])
        }

        @Test("The times of a hop that is sent again are those of its last sending; the total covers all")
        func times() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let (gate, clock) = (Gate(), EngineClock())
            server.on(
                "PUT", "/dies", MockResponse([.pause { try await gate.passUnlessCancelled() }, .close]), .text("ok"))
            let transport = CurlTransport(clock: clock)
            try await transport.run(TransportRequest(url: try RequestURL(server.url + "/"))).check(.response("ok"))
            let body = TransportBody.data(Data(count: Self.size))
            var request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/dies"), body: body)
            request.timeouts = .only { _ in }
            let delegate = transport.start(request)
            try await gate.reached()
            clock.advance(by: .days(1))
            gate.open()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            trace.check(.response("ok"))
            let metrics = try #require(trace.metrics.first)
            let (sent, total) = (try #require(metrics.requestSent), try #require(metrics.total))
            #expect(total > .days(1))
            #expect(sent < .days(0.5))
        }

        @Test(
            "If a reused connection is lost before the body is complete, a POST is sent again too",
            arguments: [UInt64(size), nil])
        func cutShort(length: UInt64?) async throws {
            let (trace, uploads) = try await upload(length: length, isKept: true)
            trace.check(.response("ok"))
            #expect(uploads == 2)
        }

        @Test("Bytes that were read for a lost connection are read again if libcurl silently uses another one")
        func readInVain() async throws {
            let cut = Cut()
            let challenge = "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
            let proxy = try WirePeer(
                { wire in
                    try wire.head()
                    try wire.body(Self.size)
                    try wire.send("HTTP/1.1 407 Who?\r\n\(challenge)\r\nContent-Length: 0\r\n\r\n")
                    // libcurl reads the first piece of the body before or after it sends the head.
                    cut.perform(on: wire)
                },
                { wire in
                    try wire.head()
                    try wire.body(Self.size)
                    try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    try wire.drain()
                })
            let proxies = try Proxies(Proxy("http://user:secret@127.0.0.1:\(proxy.port)", authentication: .digest))
            let transport = CurlTransport(configuration: .init { $0.proxies = proxies })
            let first = Protected<Cut?>(cut)
            let delegate = RecordingDelegate(answering: { question in
                guard case .bodyFromStart(_, let reply) = question else { return }
                let cut = first.withLock { $0.take() }
                reply(WatchedStream(Self.size) { if $0 == Self.size { cut?.cut() } })
            })
            let source = TransportBodySource(length: UInt64(Self.size), isReplayable: true) { WatchedStream(Self.size) }
            let request = TransportRequest(
                method: "POST", url: try RequestURL("http://shop.example/"), body: .stream(source))
            transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            #expect(proxy.heads.count == 2)
        }

        @Test("A POST whose new connection is lost is not sent again")
        func newConnection() async throws {
            let (trace, uploads) = try await upload(length: UInt64(Self.size), isKept: false)
            trace.check(.failure(.connectionLost))
            #expect(uploads == 1)
        }
    }
#endif
