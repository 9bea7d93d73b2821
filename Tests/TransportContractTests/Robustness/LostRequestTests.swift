#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    /// Requests whose reused connection is lost before the first byte of the response: which of them are sent again.
    @Suite(
        "Robustness: lost requests", .limited,
        .enabled(if: Libcurl.tellsOfRepetitions, "libcurl before 7.80 does not report repetitions"))
    struct LostRequestTests {
        /// No body, a body that is sent together with the head, and a body that libcurl reads piece by piece.
        private static let sizes = [0, 6, 200_000]

        private static func request(_ url: String, _ method: String, size: Int) throws -> TransportRequest {
            let body: TransportBody = size == 0 ? .none : .data(Data(count: size))
            var request = TransportRequest(method: method, url: try RequestURL(url), body: body)
            request.timeouts = .only { _ in }  // an error must end the request, not a timeout
            return request
        }

        private static func answer(_ wire: Wire) throws {
            try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }

        @Test(
            "T2: a POST that the server has received whole is not sent again; an idempotent request is sent again once",
            arguments: ["POST", "PATCH", "PUT", "DELETE"], sizes)
        func receivedWhole(method: String, size: Int) async throws {
            let received = Observed(0)
            let peer = try WirePeer(
                { wire in
                    try wire.head()
                    try Self.answer(wire)
                    try wire.head()
                    try wire.body(size)
                    received.change { $0 += 1 }
                },
                { wire in
                    try wire.head()
                    try wire.body(size)
                    received.change { $0 += 1 }
                    try Self.answer(wire)
                    try wire.drain()
                })
            let transport = CurlTransport()
            try await transport.run(Self.request(peer.url + "/", "GET", size: 0)).check(.response("ok"))
            let trace = try await transport.run(Self.request(peer.url + "/", method, size: size))
            let isRepeated = ["PUT", "DELETE"].contains(method)
            trace.check(isRepeated ? .response("ok") : .failure(.connectionLost))
            #expect(received.value == (isRepeated ? 2 : 1))
            #expect(trace.metrics.first?.repetitions == (isRepeated ? 1 : 0))
            if !isRepeated { #expect(trace.error?.phase == .waiting) }
        }

        @Test("A POST is sent again if the connection was lost before its first byte")
        func unsent() async throws {
            let cut = Cut()
            let peer = try WirePeer(
                { wire in
                    try wire.head()
                    try Self.answer(wire)
                    cut.perform(on: wire)
                },
                { wire in
                    try wire.head()
                    try wire.body(6)
                    try Self.answer(wire)
                    try wire.drain()
                })
            let transport = CurlTransport()
            try await transport.run(Self.request(peer.url + "/", "GET", size: 0)).check(.response("ok"))
            // The event is delivered when libcurl has chosen the connection, and before it sends the head.
            let first = Protected<Cut?>(cut)
            let delegate = RecordingDelegate(hook: { event, _ in
                if case .bodySent = event { first.withLock { $0.take() }?.cut() }
            })
            let request = try Self.request(peer.url + "/", "POST", size: 6)
            let task = transport.task(for: request, id: TransportTaskID(1), delegate: delegate)
            delegate.steer(task)
            task.resume()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            trace.check(.response("ok"))
            #expect(trace.metrics.first?.repetitions == 1)
            #expect(peer.heads.count == 2)
        }

        @Test(
            "A POST that answers a proxy's challenge is sent again once if the challenge's connection is lost",
            arguments: [6, 200_000], [false, true])
        func challenge(size: Int, isLostAgain: Bool) async throws {
            let proxy = try WirePeer(
                { wire in
                    try wire.head()
                    try wire.body(size)
                    let challenge = "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
                    try wire.send("HTTP/1.1 407 Who?\r\n\(challenge)\r\nContent-Length: 0\r\n\r\n")
                    try wire.head()
                    try wire.body(size)
                },
                { wire in
                    try wire.head()
                    try wire.body(size)
                    if isLostAgain { return }
                    try Self.answer(wire)
                    try wire.drain()
                })
            let proxies = try Proxies(Proxy("http://user:secret@127.0.0.1:\(proxy.port)", authentication: .digest))
            let transport = CurlTransport(configuration: .init { $0.proxies = proxies })
            let trace = try await transport.run(Self.request("http://shop.example/", "POST", size: size))
            trace.check(isLostAgain ? .failure(.connectionLost) : .response("ok"))
            #expect(proxy.heads.count == 3)
            #expect(trace.metrics.first?.repetitions == 1)
        }
    }
#endif
