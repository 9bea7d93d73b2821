#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import Testing

    /// When a proxy's challenge comes while a body is sent, and when the connection goes: libcurl sends the body once more,
    /// over this connection or another one.
    @Suite("When a proxy asks", .timeLimit(.minutes(3)))
    struct ChallengeTimingTests {
        private static let challenge =
            "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
        private static let asks = challenge + "Content-Length: 4\r\n\r\nwho?"
        private static let asksAndCloses = challenge + "Connection: close\r\nContent-Length: 4\r\n\r\nwho?"
        private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

        /// More than the kernels take of a body that nobody reads.
        private static let large = 48 << 20

        /// Takes requests, and wants to know who it is of those that do not say.
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
            request.timeouts.total = .seconds(60)
            return request
        }

        // MARK: What the proxy does

        enum Reading: String, CaseIterable { case nothing, half, all }
        enum End: String, CaseIterable { case keeps, readsOn, readsNoMore, saysThatItCloses, closes }

        @Test(
            "Whenever it asks, and whatever it does with the rest of the body, the request is sent once more and answered",
            arguments: Reading.allCases, End.allCases)
        func timing(reading: Reading, end: End) async throws {
            // What was sent whole goes over the same connection again, which then has to be served.
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
                        // In order: what was sent is read by then, or else a reset could take the challenge away.
                        case .saysThatItCloses, .closes: try wire.end()
                        }
                    }, Self.serves(size))
                let trace = try await transport(peer).run(request(method, .data(Data(count: size))))
                trace.check(.response("ok"))
                #expect(trace.heads.map(\.status) == [200])
                #expect(trace.audit(bodyIsBegunAgain: true) == [])
            }
        }

        // MARK: Connections that are lost

        /// The streams are given one after the other; `again` is called when one is asked for again.
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
            "A connection that is lost while the body goes over it once more is replaced, and the challenge is nobody's head",
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
            "A connection that is lost when the challenge was read, and not all of the body sent, is replaced",
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

        @Test("A connection that is lost before the challenge was read ends the hop", arguments: ["POST", "PUT"])
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
