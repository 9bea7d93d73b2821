#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// WebSockets over TLS, against a server of the test kit behind a program that terminates TLS.
    @Suite(
        "WebSockets over TLS", .limited, .usesOpenSSL,
        .enabled(if: Environment.port("LARKSPUR_TLS_FORWARDER") != nil, "no TLS forwarder"))
    struct WebSocketTLSTests {
        private func session(trust: ServerTrustManager? = nil) throws -> Session {
            Session(
                configuration: SessionConfiguration { $0.serverTrust = trust },
                transport: CurlTransport(configuration: try #require(Environment.trusting)))
        }

        private func socket(_ server: MockServer, _ session: Session) async throws -> WebSocketRequest {
            let port = try #require(Environment.port("LARKSPUR_TLS_FORWARDER"))
            return await session.webSocket(
                "wss://localhost:\(port)/echo", headers: ["X-Forward-Port": "\(server.port)"],
                options: .init { $0.compression = nil })
        }

        @Test("Messages go both ways at once, small and large, while the other side is slow")
        func echo() async throws {
            let server = try MockServer()
            server.webSocket("/echo") { socket in
                for await message in socket.messages { socket.send(message) }
            }
            let socket = try await socket(server, session())
            let sizes = (0..<60).map { $0 % 3 == 0 ? 700_000 : $0 * 10 }
            async let sent: Void = {
                for (number, size) in sizes.enumerated() {
                    try await socket.send(Data(repeating: UInt8(number), count: size))
                }
            }()
            var received = 0
            for try await message in socket.messages {
                #expect(message == .data(Data(repeating: UInt8(received), count: sizes[received])))
                received += 1
                if received == sizes.count { try await socket.close() }
            }
            try await sent
            #expect(received == sizes.count)
            #expect(await socket.closed.isClean)
            #expect(socket.metrics?.secured != nil)
        }

        @Test("A server that an evaluator refuses gets no byte of the handshake", .asksBeforeRequests)
        func refused() async throws {
            let server = try MockServer()
            let evaluator = ClosureTrustEvaluator { _ in throw TrustError(.untrusted, "not today") }
            let refusing = ServerTrustManager(evaluators: ["localhost": evaluator])
            let socket = try await socket(server, session(trust: refusing))
            let error = await #expect(throws: RequestError.self) { try await socket.opened }
            #expect(error?.isTrust == true)
            #expect(server.requests.isEmpty)
        }

        @Test("The keys pinned for a host hold for its WebSockets", .asksBeforeRequests)
        func pinned() async throws {
            let server = try MockServer()
            server.webSocket("/echo") { socket in
                for await message in socket.messages { socket.send(message) }
            }
            let path = try #require(ProcessInfo.processInfo.environment["LARKSPUR_CERTIFICATES"]) + "/server.pem"
            let own = try #require(Certificate.all(in: Data(contentsOf: URL(fileURLWithPath: path))).first).pin
            let other = try PublicKeyPin("sha256/" + Data(count: 32).base64EncodedString())
            for (pins, isOpened) in [([other, own], true), ([other], false)] {
                let pinning = ServerTrustManager(evaluators: ["localhost": PinnedKeysTrustEvaluator(pins)])
                let socket = try await socket(server, session(trust: pinning))
                let count = server.requests.count
                if isOpened {
                    try await socket.send("hello")
                    for try await message in socket.messages {
                        #expect(message == .text("hello"))
                        break
                    }
                } else {
                    let error = await #expect(throws: RequestError.self) { try await socket.opened }
                    #expect(error?.isTrust == true && server.requests.count == count)
                }
            }
        }
    }
#endif
