#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Proxies whose challenge comes at different times of an upload, and whose connection closes at different times.
    ///
    /// libcurl then sends the body again, over the same connection or another one.
    @Suite("Timing of a proxy's challenge", .limited)
    struct ChallengeTimingTests {
        private static let challenge =
            "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
        private static let asks = challenge + "Content-Length: 4\r\n\r\nwho?"
        private static let asksAndCloses = challenge + "Connection: close\r\nContent-Length: 4\r\n\r\nwho?"
        private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

        /// A size that exceeds the kernel's buffers, so that the peer must read the body. The peer's receive buffer is
        /// small, and the sender's grows to 4 MiB.
        private static let large = 12 << 20

        /// Accepts requests, and challenges requests without credentials.
        private static func serves(_ size: Int) -> WirePeer.Script {
            { wire in
                while true {
                    let isKnown = try wire.head().contains("\r\nProxy-Authorization: Digest ")
                    try wire.body(size)
                    try wire.send(isKnown ? answer : asks)
                }
            }
        }

        private func transport(_ peer: WirePeer) throws -> CurlTransport {
            let proxies = try Proxies(Proxy("http://user:secret@127.0.0.1:\(peer.port)", authentication: .digest))
            return CurlTransport(configuration: .init { $0.proxies = proxies })
        }

        private func request(_ method: String, _ body: TransportBody) throws -> TransportRequest {
            var request = TransportRequest(method: method, url: try RequestURL("http://shop.example/"), body: body)
            request.timeouts = .long
            return request
        }

        // MARK: The proxy's behaviour

        enum Reading: String, CaseIterable { case nothing, half, all }
        enum End: String, CaseIterable { case keeps, readsOn, readsNoMore, saysThatItCloses, closes }

        @Test(
            "Whenever the challenge comes and however the connection ends, the request is sent again and answered",
            arguments: Reading.allCases, End.allCases)
        func timing(reading: Reading, end: End) async throws {
            // A request that was sent completely is repeated over the same connection, which must then be served.
            let isServed = end == .keeps
            if isServed != (reading == .all), [.keeps, .readsOn, .readsNoMore].contains(end) { return }
            for (method, size) in [("POST", 70_000), ("POST", Self.large), ("PUT", Self.large)] {
                if size < Self.large, end == .readsOn || end == .readsNoMore { continue }
                let peer = try WirePeer(
                    { wire in
                        try wire.head()
                        try wire.body(reading == .nothing ? 0 : reading == .half ? size / 2 : size)
                        try wire.send(end == .saysThatItCloses ? Self.asksAndCloses : Self.asks)
                        switch end {
                        case .keeps: try Self.serves(size)(wire)
                        case .readsOn: try wire.drain()
                        case .readsNoMore: wire.stall()
                        // Everything is read before the end: otherwise a reset could discard the challenge.
                        case .saysThatItCloses, .closes: try wire.end()
                        }
                    }, Self.serves(size))
                let trace = try await transport(peer).run(request(method, .data(Data(count: size))))
                trace.check(.response("ok"))
                #expect(trace.heads.map(\.status) == [200])
                #expect(trace.audit(bodyIsBegunAgain: true) == [])
            }
        }

        // MARK: Lost connections

        /// Runs an upload. The streams are used one after the other; `again` is called when libcurl asks for the body
        /// again.
        private func run(
            _ method: String, through peer: WirePeer, size: Int, again: @escaping @Sendable (Int) -> WatchedStream
        ) async throws -> (trace: Trace, times: Int) {
            let times = Protected(0)
            let source = TransportBodySource(length: UInt64(size), isReplayable: true) { WatchedStream(size) }
            let delegate = RecordingDelegate(answering: { question in
                guard case .bodyFromStart(_, let reply) = question else { return }
                reply(
                    again(
                        times.withLock {
                            $0 += 1
                            return $0
                        }))
            })
            let transport = try transport(peer)
            transport.task(for: try request(method, .stream(source)), id: TransportTaskID(1), delegate: delegate)
                .resume()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            return (trace, times.withLock { $0 })
        }

        @Test(
            "A connection lost while the body is sent again is replaced, and the challenge is not delivered as a head",
            arguments: ["POST", "PUT"], [200_000, 100_000, 50_000])
        func lostWithinSecond(method: String, left: Int) async throws {
            let (size, cut) = (250_000, Cut())
            let peer = try WirePeer(
                { wire in
                    try wire.head()
                    try wire.body(size)
                    try wire.send(Self.asks)
                    try wire.head()
                    cut.perform(on: wire)
                }, Self.serves(size))
            let (trace, times) = try await run(method, through: peer, size: size) { number in
                WatchedStream(size) { if number == 1, $0 == left { cut.cut() } }
            }
            trace.check(.response("ok"))
            #expect(times == 2)
            #expect(peer.heads.count == 3)
        }

        @Test(
            "A connection that is lost after the challenge, but before the end of the body, is replaced",
            arguments: ["POST", "PUT"])
        func lostAfterChallenge(method: String) async throws {
            let cut = Cut()
            let peer = try WirePeer(
                { wire in
                    try wire.head()
                    try wire.send(Self.asks)
                    cut.perform(on: wire)
                }, Self.serves(Self.large))
            let (trace, _) = try await run(method, through: peer, size: Self.large) { number in
                if number == 1 { cut.cut() }
                return WatchedStream(Self.large)
            }
            trace.check(.response("ok"))
            #expect(peer.heads.count == 2)
        }

        @Test("A connection that is lost before the challenge is read ends the hop", arguments: ["POST", "PUT"])
        func lostBeforeChallenge(method: String) async throws {
            let (size, cut) = (250_000, Cut())
            let peer = try WirePeer(
                { wire in
                    try wire.head()
                    cut.perform(on: wire)
                }, Self.serves(size))
            let source = TransportBodySource(length: UInt64(size), isReplayable: true) {
                WatchedStream(size) { if $0 == 100_000 { cut.cut() } }
            }
            let trace = try await transport(peer).run(request(method, .stream(source)))
            trace.check(.failure(.connectionLost))
            #expect(trace.heads.isEmpty)
            #expect(peer.heads.count == 1)
        }
    }
#endif
