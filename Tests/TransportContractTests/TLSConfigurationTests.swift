#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @Suite(
        "TLS configuration with real servers", .limited, .usesOpenSSL,
        .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"))
    struct TLSConfigurationTests {
        private let trusting: CurlTransport.Configuration
        private let folder: URL

        init() throws {
            trusting = try #require(Environment.trusting)
            folder = try Environment.certificates()
        }

        private static func request(_ server: String, closing: Bool = false) throws -> TransportRequest {
            let port = try #require(Environment.port("LARKSPUR_" + server))
            return TransportRequest(
                url: try RequestURL("https://localhost:\(port)/hello"),
                fields: closing ? [HTTPHeader(name: "Connection", value: "close")] : [])
        }

        private func bytes(_ file: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: folder.appendingPathComponent(file)))
        }

        private func transport(_ change: (inout CurlTransport.Configuration) -> Void) -> CurlTransport {
            var configuration = trusting
            change(&configuration)
            return CurlTransport(configuration: configuration)
        }

        @Test(
            "The metrics name the version and the cipher of TLS, also on a reused connection",
            arguments: [("NGINX_TLS", "TLSv1.2", "ECDHE-"), ("HTTP3", "TLSv1.3", "TLS_")])
        func names(server: String, version: String, cipher: String) async throws {
            let transport = transport { $0.followsAlternatives = false }
            for isReused in [false, true] {
                let metrics = try #require(await transport.run(Self.request(server)).metrics.first)
                #expect(metrics.connectionWasReused == isReused)
                #expect(metrics.tlsVersion == version)
                #expect(metrics.tlsCipher?.hasPrefix(cipher) == true)
            }
        }

        // MARK: Authorities

        enum Given: String, CaseIterable {
            case file, pem, systemAnd

            static let usable = Libcurl.takesAuthorities ? allCases : [file]
        }

        @Test("Authorities in memory are refused before anything is sent if libcurl accepts only a file")
        func authoritiesInMemory() async throws {
            let pem = try bytes("ca.pem")
            let transport = transport { $0.certificateAuthorities = .pem(pem) }
            try await transport.run(Self.request("NGINX_TLS")).check(
                Libcurl.takesAuthorities ? .response("Hello, world!") : .failure(.unavailable))
        }

        @Test(
            "Only the given authorities are trusted, from a file, from memory or in addition to the system's",
            arguments: Given.usable, [["ca.pem"], ["other-ca.pem"], ["ca.pem", "other-ca.pem"]])
        func authorities(given: Given, files: [String]) async throws {
            let pem = try files.flatMap { try bytes($0) }
            let file = folder.appendingPathComponent("authorities-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data(pem).write(to: file)
            let transport = transport {
                switch given {
                case .file: $0.certificateAuthorities = .file(path: file.path)
                case .pem: $0.certificateAuthorities = .pem(pem)
                case .systemAnd: $0.certificateAuthorities = .systemAnd(pem: pem)
                }
            }
            for (authority, server) in [("ca.pem", "NGINX_TLS"), ("other-ca.pem", "TLS_UNTRUSTED")] {
                let isBelieved = files.contains(authority)
                try await transport.run(Self.request(server)).check(
                    isBelieved ? .response("Hello, world!") : .failure(.unknownIssuer))
            }
        }

        // MARK: Identities

        @Test("A client sends its certificate if the server asks for it, in every format")
        func identity() async throws {
            let request = try Self.request("TLS_MUTUAL")
            let unknown = try await CurlTransport(configuration: trusting).run(request)
            #expect(unknown.heads.first?.status == 400)
            let chain = try bytes("client.pem")
            for identity in [
                ClientIdentity(certificateChain: chain, privateKey: try bytes("client.key")),
                ClientIdentity(certificateChain: chain, privateKey: try bytes("client-locked.key"), password: "secret"),
                ClientIdentity(pkcs12: try bytes("client.p12"), password: "secret"),
            ] {
                try await transport { $0.identity = identity }.run(request).check(.response("Hello, world!"))
            }
        }

        @Test("T33: each host has its own identity, on connections of its own, and others have that of the transport")
        func identityByHost() async throws {
            let request = try Self.request("TLS_MUTUAL")
            let identity = ClientIdentity(
                certificateChain: try bytes("client.pem"), privateKey: try bytes("client.key"))
            func status(_ identities: ClientIdentities?, _ transport: CurlTransport) async -> Int? {
                let session = Session(
                    configuration: SessionConfiguration { $0.clientIdentities = identities }, transport: transport)
                let response = await session.request(request.url).serializingString().response
                if !Libcurl.separatesIdentities {
                    #expect(response.error?.code == (identities == nil ? nil : .transportUnavailable))
                }
                return response.statusCode
            }
            let plain = transport { _ in }
            guard Libcurl.separatesIdentities else {
                // Nothing is sent, because another user's connection could be used.
                #expect(await status(ClientIdentities(["localhost": identity]), plain) == nil)
                #expect(await status(nil, plain) == 400)
                return
            }
            for _ in 1...2 {
                #expect(await status(ClientIdentities(["localhost": identity]), plain) == 200)
                #expect(await status(ClientIdentities(["other.test": identity]), plain) == 400)
                #expect(await status(ClientIdentities { $0 == "localhost" ? identity : nil }, plain) == 200)
                #expect(await status(nil, plain) == 400)
            }
            let known = transport { $0.identity = identity }
            #expect(await status(ClientIdentities([:]), known) == 200)
            let unusable = ClientIdentity(pkcs12: [1], password: "secret")
            let session = Session(
                configuration: SessionConfiguration { $0.clientIdentities = ClientIdentities(["*": unusable]) },
                transport: known)
            #expect(await session.request(request.url).serializingString().response.error?.code == .invalidIdentity)
            #expect(await status(nil, known) == 200)
        }

        @Test("T34: a connection over TLS is opened ahead of requests", arguments: ["NGINX_TLS"])
        func warming(server: String) async throws {
            let transport = transport { _ in }
            let request = try Self.request(server)
            let session = Session(transport: transport)
            try await session.warm(request.url)
            let response = await session.request(request.url).serializingString().response
            #expect(response.value == "Hello, world!" && response.metrics?.connectionWasReused == true)
        }

        @Test(
            "A cache serves the response to a client certificate over no other transport, whatever stands between",
            arguments: TransportContractTests.Identity.Wrapping.all, [false, true])
        func cachedIdentity(wrapping: TransportContractTests.Identity.Wrapping, isOnDisk: Bool) async throws {
            let cached = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: cached) }
            let cache = isOnDisk ? HTTPCache.onDisk(at: cached) : .inMemory()
            let known = try transportWithIdentity()
            for policy in [CachePolicy.protocol, .onlyCached] {
                let response = try await cachedResponse(wrapping.wrap(known), cache, policy)
                #expect(response.value == "Hello, world!")
            }
            // Without a certificate, with another object for the same one, and without trust in the server's authority
            for other in [transport { _ in }, try transportWithIdentity(), CurlTransport()] {
                let response = try await cachedResponse(wrapping.wrap(other), cache, .onlyCached)
                #expect(response.error?.code == .notCached)
            }
            let refused = try await cachedResponse(wrapping.wrap(transport { _ in }), cache, .protocol)
            #expect(refused.head?.status == 400)
        }

        @Test("Another process finds no response to a client certificate on disk, with the certificate or without it")
        func cachedIdentityOfAnotherProcess() async throws {
            let cached = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: cached) }
            await #expect(processExitsWith: .success) { [path = cached.path as String] in
                let tests = try TLSConfigurationTests()
                let cache = HTTPCache.onDisk(at: URL(fileURLWithPath: path))
                let known = try tests.transportWithIdentity()
                for policy in [CachePolicy.protocol, .onlyCached] {
                    #expect(try await tests.cachedResponse(known, cache, policy).value == "Hello, world!")
                }
                await cache.finishStoring()
            }
            let cache = HTTPCache.onDisk(at: cached)
            var stored: [RequestURL] = []
            for try await entry in cache.entries { stored.append(entry.url) }
            #expect(stored == [try Self.request("TLS_MUTUAL").url])
            for other in [transport { _ in }, try transportWithIdentity()] {
                let response = try await cachedResponse(other, cache, .onlyCached)
                #expect(response.error?.code == .notCached)
            }
            let refused = try await cachedResponse(transport { _ in }, cache, .protocol)
            #expect(refused.head?.status == 400)
        }

        private func transportWithIdentity() throws -> CurlTransport {
            let identity = ClientIdentity(
                certificateChain: try bytes("client.pem"), privateKey: try bytes("client.key"))
            return transport { $0.identity = identity }
        }

        private func cachedResponse(
            _ transport: any Transport, _ cache: HTTPCache, _ policy: CachePolicy
        ) async throws -> DataResponse<String> {
            let session = Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport)
            let request = await session.request(try Self.request("TLS_MUTUAL").url)
            return await request.cachePolicy(policy).serializingString().response
        }

        @Test("An unusable identity fails before anything is sent, and the error does not show its password")
        func unusableIdentity() async throws {
            let server = try MockServer { _ in .text("ok") }
            let port = try #require(Environment.port("LARKSPUR_TLS_FORWARDER"))
            let request = TransportRequest(
                url: try RequestURL("https://localhost:\(port)/"),
                fields: [HTTPHeader(name: "X-Forward-Port", value: "\(server.port)")])
            let (chain, key) = (try bytes("client.pem"), try bytes("client-locked.key"))
            let other = try bytes("server.key")
            for identity in [
                ClientIdentity(pkcs12: try bytes("client.p12"), password: "wrong"),
                ClientIdentity(pkcs12: try bytes("client.p12"), password: ""),
                ClientIdentity(pkcs12: chain, password: "secret"), ClientIdentity(pkcs12: [], password: ""),
                ClientIdentity(certificateChain: chain, privateKey: key, password: "wrong"),
                ClientIdentity(certificateChain: chain, privateKey: key),  // without a prompt
                ClientIdentity(certificateChain: chain, privateKey: other),
                ClientIdentity(certificateChain: [1, 2, 3], privateKey: []),
            ] {
                let trace = try await transport { $0.identity = identity }.run(request)
                trace.check(.failure(.invalidIdentity))
                let error = try #require(trace.completions.first ?? nil)
                #expect(trace.heads.isEmpty && !error.description.contains("secret"))
            }
            #expect(server.requests.isEmpty)
        }

        // MARK: Revocation

        private static let statuses: [(server: String, code: TransportError.Code?)] = [
            ("TLS_STAPLED", nil), ("TLS_STAPLED_REVOKED", .certificateRevoked),
            ("TLS_STAPLED_OTHER", .certificateStatusUnknown), ("NGINX_TLS", .certificateStatusUnknown),
            ("TLS_SELF_SIGNED", .selfSigned), ("TLS_WRONG_HOST", .wrongHost),
        ]

        @Test(
            "If a stapled status is required, only a good status is accepted, on each new connection",
            arguments: statuses
        )
        func stapled(server: String, code: TransportError.Code?) async throws {
            let transport = transport { $0.requiresStapledStatus = true }
            let expected = code.map(Fault.Outcome.failure) ?? .response("Hello, world!")
            // A resumed TLS session would come without a status.
            for closing in [true, true, false, false] {
                let trace = try await transport.run(Self.request(server, closing: closing))
                trace.check(expected)
                #expect(code == nil || trace.heads.isEmpty)
            }
            // Without the requirement the status does not matter.
            guard code == .certificateRevoked || code == .certificateStatusUnknown else { return }
            try await self.transport { _ in }.run(Self.request(server)).check(.response("Hello, world!"))
        }

        @Test(
            "An evaluator that trusts a peer does not replace its required status", .asksBeforeRequests,
            arguments: statuses.prefix(4))
        func stapledAndTrusted(server: String, code: TransportError.Code?) async throws {
            var request = try Self.request(server)
            request.asksForTrust = true
            let delegate = RecordingDelegate(answering: { question in
                if case .serverTrust(_, let reply) = question { reply(.trusted) }
            })
            let transport = transport { $0.requiresStapledStatus = true }
            transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            trace.check(code.map(Fault.Outcome.failure) ?? .response("Hello, world!"))
            #expect(trace.questions.count == (code == nil ? 1 : 0))
        }

        // MARK: Keys

        @Test(
            "Keys are written to no file, whatever the environment names",
            .enabled(if: ProcessInfo.processInfo.environment["SSLKEYLOGFILE"] != nil, "no SSLKEYLOGFILE"))
        func noKeys() async throws {
            let file = URL(fileURLWithPath: try #require(ProcessInfo.processInfo.environment["SSLKEYLOGFILE"]))
            var request = try Self.request("NGINX_TLS")
            for asks in [false, true] where !asks || Libcurl.asksBeforeRequests {
                request.asksForTrust = asks
                let delegate = RecordingDelegate(answering: { question in
                    if case .serverTrust(_, let reply) = question { reply(.trusted) }
                })
                let transport = CurlTransport(configuration: trusting)
                transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("Hello, world!"))
            }
            // libcurl opened the file long before.
            #expect(try FileHandle(forReadingFrom: file).readToEnd() ?? Data() == Data())
        }

        @Test("Keys are appended, one a line, to the configured file, which only its owner can read")
        func keys() async throws {
            let file = folder.appendingPathComponent("keys-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            let transports = (0..<4).map { _ in transport { $0.keyLogFile = file.path } }
            let request = try Self.request("TLS_COMPLETE", closing: true)
            try await withThrowingTaskGroup(of: Trace.self) { group in
                for number in 0..<40 { group.addTask { try await transports[number % 4].run(request) } }
                for try await trace in group { trace.check(.response("Hello, world!")) }
            }
            let lines = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
            #expect(lines.count >= 4)
            let isWhole = lines.allSatisfy { line in
                let parts = line.split(separator: " ", omittingEmptySubsequences: false)
                return parts.count == 3 && parts[0].allSatisfy { $0.isUppercase || $0.isNumber || $0 == "_" }
                    && parts[1].count == 64 && parts[2].count >= 64 && parts[1...].joined().allSatisfy(\.isHexDigit)
            }
            #expect(isWhole)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }

        @Test("If the key log cannot be written, requests are not sent")
        func noPlace() async throws {
            let trace = try await transport { $0.keyLogFile = folder.path }.run(Self.request("NGINX_TLS"))
            trace.check(.failure(.unavailable))
            #expect(trace.heads.isEmpty)
        }
    }
#endif
