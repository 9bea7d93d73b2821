#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import Testing

    /// Uploads whose connection is lost in their midst.
    @Suite("Lost uploads", .timeLimit(.minutes(3)))
    struct LostUploadTests {
        private static let size = 250_000

        private static func serve(_ wire: Wire) throws {
            while try !wire.head().contains("POST ") {
                try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }

        /// Sends an upload over a connection, kept or new, that is reset before its last piece is sent; says what came of
        /// it, and how many uploads had begun.
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

        @Test("T23: a body that is sent again has its time for the first byte anew, and the hop the rest of its own")
        func clocks() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            server.on("PUT", "/dies", MockResponse([.wait(.seconds(1)), .close]), .stall)
            let transport = CurlTransport()
            try await transport.run(TransportRequest(url: try RequestURL(server.url + "/"))).check(.response("ok"))
            var request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/dies"))
            request.body = .data(Data(count: Self.size))
            // The first byte's time of the first sending would be the first to pass, then the hop's, then that of the second.
            request.timeouts.firstByte = .milliseconds(3_600)
            request.timeouts.total = .seconds(4)
            let trace = try await transport.run(request)
            trace.check(.failure(.timedOut))
            #expect(trace.error?.message.contains("total timeout of 4.0 seconds") == true)
            #expect(trace.error?.phase == .waiting)
            #expect(server.requests.map(\.bodyCount) == [0, UInt64(Self.size), UInt64(Self.size)])
        }

        @Test("The times of a hop that is sent again are of its last sending, the total is of all")
        func times() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            server.on("PUT", "/dies", MockResponse([.wait(.seconds(1)), .close]), .text("ok"))
            let transport = CurlTransport()
            try await transport.run(TransportRequest(url: try RequestURL(server.url + "/"))).check(.response("ok"))
            let body = TransportBody.data(Data(count: Self.size))
            let trace = try await transport.run(
                TransportRequest(method: "PUT", url: try RequestURL(server.url + "/dies"), body: body))
            trace.check(.response("ok"))
            let metrics = try #require(trace.metrics.first)
            let (sent, total) = (try #require(metrics.requestSent), try #require(metrics.total))
            #expect(total - sent > .milliseconds(500))
        }

        @Test("A kept connection that dies before the body is whole gave nobody a request: a POST is sent again, too")
        func cutShort() async throws {
            let (trace, uploads) = try await upload(length: UInt64(Self.size), isKept: true)
            trace.check(.response("ok"))
            #expect(uploads == 2)
        }

        @Test("What was read for a connection that died is read again if libcurl takes another one without a word")
        func readInVain() async throws {
            let cut = Cut()
            let challenge = "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
            let proxy = try WirePeer(
                { wire in
                    try wire.head()
                    try wire.body(Self.size)
                    try wire.send("HTTP/1.1 407 Who?\r\n\(challenge)\r\nContent-Length: 0\r\n\r\n")
                    // libcurl reads the body's first piece before it sends the head, or after that.
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

        @Test(
            "A POST that the peer may have acted on is not sent again: one without a length, or over a connection of its own",
            arguments: [(nil, true), (UInt64(size), false)])
        func mayBeProcessed(length: UInt64?, isKept: Bool) async throws {
            let (trace, uploads) = try await upload(length: length, isKept: isKept)
            trace.check(.failure(.connectionLost))
            #expect(uploads == 1)
        }
    }
#endif
