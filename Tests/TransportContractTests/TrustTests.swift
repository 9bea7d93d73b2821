#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @Suite(
        "Trust in peers, for real", .limited, .usesOpenSSL,
        .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"))
    struct TrustTests {
        private let trusting: CurlTransport.Configuration
        private let folder: URL

        init() throws {
            trusting = try #require(Environment.trusting)
            folder = try Environment.certificates()
        }

        private static func url(_ server: String, _ path: String = "/hello") throws -> RequestURL {
            try RequestURL("https://localhost:\(try #require(Environment.port("LARKSPUR_" + server)))\(path)")
        }

        private func bytes(_ file: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: folder.appendingPathComponent(file)))
        }

        private func certificate(_ name: String) throws -> Certificate {
            try #require(try Certificate.all(in: Data(bytes(name + ".pem"))).first)
        }

        /// Runs one hop; the closure evaluates its peer.
        private func run(
            _ transport: CurlTransport, _ url: RequestURL, fields: [HTTPHeader] = [],
            judging judge: @escaping @Sendable (PeerTrust) -> TrustDecision?
        ) async throws -> Trace {
            try await transport.run(url, fields: fields, judging: judge)
        }

        private static let verdicts: [(server: String, code: TransportError.Code?)] = [
            ("NGINX_TLS", nil), ("TLS_COMPLETE", nil), ("TLS_EXPIRED", .certificateExpired),
            ("TLS_NOT_YET", .certificateNotYetValid), ("TLS_WRONG_HOST", .wrongHost), ("TLS_SELF_SIGNED", .selfSigned),
            ("TLS_UNTRUSTED", .unknownIssuer), ("TLS_INCOMPLETE", .unknownIssuer), ("TLS_OLD", .tlsVersion),
        ]

        @Test(
            "T25: each verdict of the platform on a certificate has its own code, with or without asksForTrust",
            arguments: verdicts)
        func verdict(server: String, code: TransportError.Code?) async throws {
            let url = try Self.url(server)
            let transport = CurlTransport(configuration: trusting)
            let expected = code.map(Fault.Outcome.failure) ?? .response("Hello, world!")
            try await transport.run(TransportRequest(url: url)).check(expected)
            guard Libcurl.asksBeforeRequests else { return }
            try await run(transport, url) { _ in .platformDefault }.check(expected)
            guard code != .tlsVersion else { return }
            try await run(transport, url) { _ in .trusted }.check(.response("Hello, world!"))
        }

        @Test("T25: a request that asks for trust is not sent if libcurl has no callback before sending")
        func asking() async throws {
            let trace = try await run(CurlTransport(configuration: trusting), Self.url("NGINX_TLS")) { _ in .trusted }
            trace.check(Libcurl.asksBeforeRequests ? .response("Hello, world!") : .failure(.unavailable))
            #expect(trace.questions.count == (Libcurl.asksBeforeRequests ? 1 : 0))
        }

        @Test(
            "T25: a refusal ends the task before anything is sent, with the code that it names; so does no answer",
            .asksBeforeRequests)
        func refused() async throws {
            let server = try MockServer { _ in .text("ok") }
            let url = try Self.url("TLS_FORWARDER", "/")
            let fields = [HTTPHeader(name: "X-Forward-Port", value: "\(server.port)")]
            let transport = CurlTransport(configuration: trusting)
            let decisions: [(TrustDecision?, TransportError.Code)] = [
                (nil, .untrusted), (.refused(reason: "no"), .untrusted),
                (.refused(reason: "no", code: .pinMismatch), .pinMismatch),
            ]
            for (decision, code) in decisions {
                let trace = try await run(transport, url, fields: fields) { _ in decision }
                trace.check(.failure(code))
                #expect(trace.heads.isEmpty && trace.questions.count == 1)
            }
            #expect(server.requests.isEmpty)
            try await run(transport, url, fields: fields) { _ in .trusted }.check(.response("ok"))
            #expect(server.requests.count == 1)
        }

        @Test(
            "T25: the delegate is asked about the peer of each request, also on a reused connection, with its verified chain",
            .asksBeforeRequests)
        func kept() async throws {
            let transport = CurlTransport(configuration: trusting)
            let url = try Self.url("TLS_COMPLETE")
            for number in 0..<3 {
                let peers = Protected<[PeerTrust]>([])
                let trace = try await run(transport, url) { peer in
                    peers.withLock { $0.append(peer) }
                    return .platformDefault
                }
                trace.check(.response("Hello, world!"))
                #expect(trace.metrics.first?.connectionWasReused == (number > 0))
                let peer = try #require(peers.withLock { $0.first })
                #expect(peer.host == "localhost" && peer.port == url.port)
                let chain = try ["incomplete", "intermediate", "ca"].map { try certificate($0).bytes }
                #expect(peer.certificates == chain)
            }
        }

        @Test("T25: requests with and without asksForTrust share no connection", .asksBeforeRequests)
        func apart() async throws {
            let transport = CurlTransport(configuration: trusting)
            let url = try Self.url("TLS_SELF_SIGNED")
            try await run(transport, url) { _ in .trusted }.check(.response("Hello, world!"))
            try await transport.run(TransportRequest(url: url)).check(.failure(.selfSigned))
        }

        @Test("A revoked certificate is refused if the revocation list is configured")
        func revoked() async throws {
            var configuration = trusting
            let url = try Self.url("TLS_REVOKED")
            try await CurlTransport(configuration: configuration).run(TransportRequest(url: url)).check(
                .response("Hello, world!"))
            configuration.revocationList = folder.appendingPathComponent("revoked.crl").path
            let transport = CurlTransport(configuration: configuration)
            try await transport.run(TransportRequest(url: url)).check(.failure(.certificateRevoked))
            try await transport.run(TransportRequest(url: Self.url("NGINX_TLS"))).check(.response("Hello, world!"))
        }

        @Test("Own authorities can be combined with the system's", .takesAuthorities)
        func systemAndOwn() async throws {
            let configuration = CurlTransport.Configuration { [folder] in
                let file = folder.appendingPathComponent("ca.pem")
                $0.certificateAuthorities = .systemAnd(pem: (try? Data(contentsOf: file)).map { [UInt8]($0) } ?? [])
            }
            try await CurlTransport(configuration: configuration).run(TransportRequest(url: Self.url("NGINX_TLS")))
                .check(
                    .response("Hello, world!"))
        }

        @Test("The TLS version has a configurable minimum and maximum")
        func versions() async throws {
            var configuration = trusting
            configuration.minimumTLSVersion = .tls1_3
            configuration.maximumTLSVersion = .tls1_2
            let url = try Self.url("NGINX_TLS")
            let trace = try await CurlTransport(configuration: configuration).run(TransportRequest(url: url))
            #expect(trace.failure != nil && trace.heads.isEmpty)
            (configuration.minimumTLSVersion, configuration.ciphers) = (.tls1_2, "ECDHE-RSA-AES256-GCM-SHA384")
            try await CurlTransport(configuration: configuration).run(TransportRequest(url: url)).check(
                .response("Hello, world!"))
            configuration.ciphers = "no such cipher"
            try await CurlTransport(configuration: configuration).run(TransportRequest(url: url)).check(
                .failure(.handshake))
        }

        @Test(
            "A pinned session sends nothing to a server with a changed key, and continues on trusted connections",
            .asksBeforeRequests)
        func rotated() async throws {
            let pin = try certificate("server").pin
            let manager = ServerTrustManager(evaluators: ["localhost": .pinnedKeys(pin)])
            let session = Session(
                configuration: SessionConfiguration { $0.serverTrust = manager },
                transport: CurlTransport(configuration: trusting))
            let url = try Self.url("TLS_ROTATING", "/").text
            var codes: [RequestError.Code?] = []
            for _ in 0..<4 {
                codes.append(await session.request(url).serializingData().response.error?.code)
            }
            // The server shows the pinned key on every second connection; a trusted connection is kept.
            let first = try #require(codes.firstIndex(of: nil))
            #expect(first <= 1 && codes[first...].allSatisfy { $0 == nil })
            let both = ServerTrustManager(evaluators: [
                "localhost": .pinnedKeys(pin, try certificate("renewed").pin)
            ])
            for _ in 0..<4 {
                let fresh = Session(
                    configuration: SessionConfiguration { $0.serverTrust = both },
                    transport: CurlTransport(configuration: trusting))
                #expect(await fresh.request(url).serializingData().response.error == nil)
                // Of two consecutive connections, one has the other key.
                for _ in 0..<2 {
                    let strict = Session(
                        configuration: SessionConfiguration { $0.serverTrust = manager },
                        transport: CurlTransport(configuration: trusting))
                    let code = await strict.request(url).serializingData().response.error?.code
                    #expect(code == nil || code == .pinMismatch)
                    codes.append(code)
                }
            }
            #expect(codes.contains(.pinMismatch))
        }

        @Test(
            "The caller's evaluator judges a real peer, and a body that can be sent only once is sent once",
            .asksBeforeRequests)
        func custom() async throws {
            let server = try MockServer { request in .text("\(request.body.count)") }
            let names = Protected<[String]>([])
            let evaluator = ClosureTrustEvaluator { trust in
                names.withLock { $0 += trust.certificates[0].hosts }
            }
            let session = Session(
                configuration: SessionConfiguration { $0.serverTrust = .init(evaluators: ["*": evaluator]) },
                transport: CurlTransport(configuration: trusting))
            let body = TransportBody.stream(
                TransportBodySource(length: 40, isReplayable: false) { ArrayStream(.pattern(40), piece: 7) })
            for _ in 0..<2 {
                let text = try await session.upload(
                    body, to: Self.url("TLS_FORWARDER", "/"), headers: ["X-Forward-Port": "\(server.port)"]
                ).serializingString()
                #expect(try await text.value == "40")
            }
            #expect(names.withLock { $0 } == ["localhost", "127.0.0.1"])
        }
    }
#endif
