#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Indirect routes to a host.
    @Suite("Routes", .limited)
    struct RouteTests {
        private func transport(
            through server: MockServer, as user: String = "", _ authentication: Proxy.Authentication = .basic,
            except exceptions: [String] = []
        ) throws -> CurlTransport {
            let proxy = try Proxy("http://\(user)127.0.0.1:\(server.port)", authentication: authentication)
            let proxies = try Proxies(proxy, except: exceptions)
            return CurlTransport(configuration: .init { $0.proxies = proxies })
        }

        private static var challenge: MockResponse {
            MockResponse.raw(
                "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
                    + "Content-Length: 4\r\n\r\nwho?")
        }

        private func request(_ url: String, _ method: String = "GET", body: String = "") throws -> TransportRequest {
            TransportRequest(
                method: method, url: try RequestURL(url), body: body.isEmpty ? .none : .data(Data(body.utf8)))
        }

        @Test(
            "A proxy receives an http request with the whole URL and its Basic credential; direct hosts receive none"
        )
        func handedOver() async throws {
            let (proxy, host) = (try MockServer { _ in .text("proxy") }, try MockServer { _ in .text("host") })
            let transport = try transport(through: proxy, as: "us%3Aer:s%20cret@", except: ["127.0.0.1"])
            for _ in 0..<2 {
                try await transport.run(request("http://shop.example:81/a%20b?c=d#e")).check(.response("proxy"))
                try await transport.run(request(host.url + "/f")).check(.response("host"))
            }
            #expect(
                proxy.requests.map(\.target) == [
                    "http://shop.example:81/a%20b?c=d", "http://shop.example:81/a%20b?c=d",
                ])
            #expect(host.requests.map(\.target) == ["/f", "/f"])
            let field = "Basic " + Data("us:er:s cret".utf8).base64EncodedString()
            for request in proxy.requests {
                #expect(request.headers["Host"] == "shop.example:81")
                #expect(request.headers["Proxy-Authorization"] == field)
                #expect(request.headers["Proxy-Connection"] == nil)
            }
            #expect(host.requests.allSatisfy { $0.headers["Proxy-Authorization"] == nil })
            #expect((proxy.log.connectionsAccepted, host.log.connectionsAccepted) == (1, 1))
        }

        @Test("A 407 to an http request is its response after the credential was tried")
        func refusedRequest() async throws {
            let proxy = try MockServer { _ in .text("who?", status: 407) }
            for authentication in [Proxy.Authentication.basic, .digest] {
                let transport = try transport(through: proxy, as: "user:wrong@", authentication)
                try await transport.run(request("http://shop.example/")).check(.response("who?", status: 407))
            }
        }

        @Test(
            "Digest: libcurl answers the proxy's challenge, which is not delivered, and sends the body again",
            arguments: [0, 1, 200_000])
        func digest(size: Int) async throws {
            let text = String(repeating: "x", count: size)
            let proxy = try MockServer { request in
                guard let answer = request.headers["Proxy-Authorization"] else {
                    return Self.challenge
                }
                let isRight =
                    answer.hasPrefix("Digest ") && answer.contains(#"username="user""#)
                    && answer.contains("uri=\"/a?b\"")
                return .text(isRight ? "\(request.body.count)" : answer)
            }
            let transport = try transport(through: proxy, as: "user:secret@", .digest)
            let url = "http://shop.example/a?b"
            try await transport.run(request(url, size == 0 ? "GET" : "POST", body: text)).check(.response("\(size)"))
            #expect(proxy.requests.map(\.target) == ["http://shop.example/a?b", "http://shop.example/a?b"])
        }

        @Test("Digest: a credential that is refused is not tried again, and the refusal is the response")
        func digestRefused() async throws {
            let proxy = try MockServer { _ in
                return Self.challenge
            }
            let transport = try transport(through: proxy, as: "user:wrong@", .digest)
            let trace = try await transport.run(request("http://shop.example/"))
            trace.check(.response("who?", status: 407))
            #expect(proxy.requests.count == 2)
        }

        @Test(
            "A proxy that opens no tunnel is distinguished from the host behind it",
            arguments: [(403, TransportError.Code.proxyFailed), (407, .proxyUnauthorized), (502, .proxyFailed)])
        func noTunnel(status: Int, code: TransportError.Code) async throws {
            let proxy = try MockServer { _ in .text("no", status: status) }
            let transport = try transport(through: proxy, as: "user:secret@")
            let trace = try await transport.run(request("https://shop.example/secret", "POST", body: "secret"))
            trace.check(.failure(code))
            #expect(trace.heads.isEmpty)
            #expect(proxy.requests.map(\.target) == ["shop.example:443"])
            #expect(proxy.requests.map(\.method) == ["CONNECT"])
            #expect(!"\(trace.completions)".contains("secret"))
        }

        @Test("An unreachable proxy is distinguished from an unreachable host")
        func unreachable() async throws {
            let server = try MockServer()
            let transports = try ["http", "socks5", "socks5h"].map { kind in
                let proxies = try Proxies(Proxy("\(kind)://127.0.0.1:\(server.port)"))
                return CurlTransport(configuration: .init { $0.proxies = proxies })
            }
            await server.stop()
            for transport in transports {
                try await transport.run(request("http://127.0.0.2/")).check(.failure(.proxyFailed))
                try await transport.run(request("https://127.0.0.2/")).check(.failure(.proxyFailed))
            }
        }

        @Test("The configuration redirects a host, by name or by name and port, and the request keeps the host's name")
        func places() async throws {
            let server = try MockServer { .text($0.headers["Host"] ?? "") }
            let transport = CurlTransport(
                configuration: .init {
                    $0.hosts["Shop.Example"] = .addresses(["127.0.0.1"])
                    $0.hosts["shop.example:1"] = .addresses(["192.0.2.1"])
                })
            try await transport.run(request("http://shop.example:\(server.port)/")).check(
                .response("shop.example:\(server.port)"))
            try await transport.run(request("http://shop.example:\(server.port)/")).check(
                .response("shop.example:\(server.port)"))
            #expect(server.log.connectionsAccepted == 1)
            #expect(try await transport.run(request("http://shop.example.:\(server.port)/")).isSuccess)
        }

        @Test(
            "An invalid address makes every request fail",
            arguments: [
                ("shop.example", CurlTransport.Configuration.HostPlace.addresses([])),
                ("shop.example", .addresses(["localhost"])), ("shop.example", .unixSocket(path: "")),
                ("shop.example", .unixSocket(path: String(repeating: "x", count: 108))),
                ("", .addresses(["127.0.0.1"])),
                ("a b", .addresses(["127.0.0.1"])), ("-a", .addresses(["127.0.0.1"])),
                ("[::1]", .addresses(["127.0.0.1"])), ("shop.example", .addresses(["127.0.0.1\0", "127.0.0.1"])),
                ("shop.example\0", .addresses(["127.0.0.1"])), ("shop.example", .unixSocket(path: "a\0b")),
                ("shop.example/a", .addresses(["127.0.0.1"])), ("ada@shop.example", .addresses(["127.0.0.1"])),
            ])
        func noPlace(host: String, place: CurlTransport.Configuration.HostPlace) async throws {
            let transport = CurlTransport(configuration: .init { $0.hosts[host] = place })
            try await transport.run(request("http://127.0.0.1/")).check(.failure(.unavailable))
        }

        @Test("Connections use the configured local address or interface")
        func localAddress() async throws {
            let server = try MockServer { _ in .text("ok") }
            for (local, address) in [("127.0.0.2", "127.0.0.2"), ("lo", "127.0.0.1")] {
                let transport = CurlTransport(configuration: .init { $0.localAddress = local })
                let trace = try await transport.run(request(server.url + "/"))
                trace.check(.response("ok"))
                #expect(trace.metrics.first?.localAddress == address)
            }
            for local in ["192.0.2.1", "nosuchone0"] {
                let transport = CurlTransport(configuration: .init { $0.localAddress = local })
                try await transport.run(request(server.url + "/")).check(.failure(.unreachable))
            }
            #expect(server.requests.count == 2)
        }
    }

    @Suite(
        "Routes, for real", .limited,
        .enabled(if: Environment.port("LARKSPUR_TINYPROXY") != nil, "no LARKSPUR_TINYPROXY"))
    struct RealRouteTests {
        enum Server: String, CaseIterable {
            case tinyproxy, microsocks, microsocksByName, squid, squidOverTLS

            func proxy(user: String = "user:secret@") throws -> Proxy {
                let (kind, host, name): (String, String, String) =
                    switch self {
                    case .tinyproxy: ("http", "127.0.0.1", "TINYPROXY")
                    case .microsocks: ("socks5", "127.0.0.1", "MICROSOCKS")
                    case .microsocksByName: ("socks5h", "127.0.0.1", "MICROSOCKS")
                    case .squid: ("http", "127.0.0.1", "SQUID")
                    case .squidOverTLS: ("https", "localhost", "SQUID_TLS")
                    }
                let port = try #require(Environment.port("LARKSPUR_" + name))
                let isSquid = self == .squid || self == .squidOverTLS
                return try Proxy("\(kind)://\(user)\(host):\(port)", authentication: isSquid ? .digest : .basic)
            }
        }

        private func transport(_ proxy: Proxy) throws -> CurlTransport {
            var configuration = try #require(Environment.trusting)
            configuration.proxies = try Proxies(proxy)
            return CurlTransport(configuration: configuration)
        }

        private func url(_ scheme: String, _ server: String, _ path: String = "/hello") throws -> RequestURL {
            try RequestURL("\(scheme)://localhost:\(try #require(Environment.port("LARKSPUR_" + server)))\(path)")
        }

        @Test(
            "Requests pass, over plain TCP and TLS, with HTTP/1.1 and HTTP/2, on new and reused connections",
            arguments: Server.allCases)
        func through(server: Server) async throws {
            let transport = try transport(server.proxy())
            for (scheme, host, version) in [
                ("http", "NGINX_HTTP", "http/1.1"), ("https", "NGINX_TLS_H1", "http/1.1"), ("https", "NGINX_TLS", "h2"),
            ] {
                for _ in 0..<2 {
                    let trace = try await transport.run(TransportRequest(url: url(scheme, host)))
                    trace.check(.response("Hello, world!"))
                    #expect(trace.metrics.first?.protocolName == version)
                }
                if server == .squidOverTLS, !Libcurl.handlesDigestTunnels { continue }
                var upload = TransportRequest(method: "POST", url: try url(scheme, host, "/upload"))
                upload.body = .data(Data(repeating: 0x78, count: 300_000))
                let trace = try await transport.run(upload)
                #expect(trace.isSuccess, "\(scheme), \(host): \(String(describing: trace.error))")
            }
        }

        @Test("WebSockets pass, over plain TCP and TLS, through a tunnel of the proxy", arguments: Server.allCases)
        func webSockets(server: Server) async throws {
            let host = try MockServer()
            host.webSocket("/echo") { socket in
                for await message in socket.messages { socket.send(message) }
            }
            let session = Session(transport: try transport(server.proxy()))
            let forwarder = try #require(Environment.port("LARKSPUR_TLS_FORWARDER"))
            for url in ["ws://localhost:\(host.port)/echo", "wss://localhost:\(forwarder)/echo"] {
                let socket = await session.webSocket(url, headers: ["X-Forward-Port": "\(host.port)"])
                let message = WebSocketMessage.data(Data(repeating: 0x78, count: 300_000))
                try await socket.send(message)
                var count = 0
                for try await answer in socket.messages {
                    #expect(answer == message)
                    count += 1
                    try await socket.close()
                }
                #expect(count == 1)
                #expect(await socket.closed.isClean)
            }
        }

        @Test("A wrong password is distinguished from an unreachable proxy", arguments: Server.allCases)
        func unauthorized(server: Server) async throws {
            // squid may accept a wrong password that arrives while it verifies the right one.
            let transport = try transport(server.proxy(user: "stranger:wrong@"))
            try await transport.run(TransportRequest(url: url("https", "NGINX_TLS"))).check(
                .failure(.proxyUnauthorized))
        }

        @Test("An unreachable host is reported as the proxy's failure to reach it", arguments: Server.allCases)
        func hostMissing(server: Server) async throws {
            let gone = try MockServer()
            let url = try RequestURL("https://localhost:\(gone.port)/")
            await gone.stop()
            try await transport(server.proxy()).run(TransportRequest(url: url)).check(.failure(.proxyFailed))
        }

        @Test(
            "A host behind a proxy is evaluated like any other; behind a TLS proxy it cannot be, and nothing is sent",
            .asksBeforeRequests)
        func trust() async throws {
            for server in Server.allCases {
                let transport = try transport(server.proxy())
                for decision in [TrustDecision.trusted, .refused(reason: "no")] {
                    var request = TransportRequest(url: try url("https", "NGINX_TLS"))
                    request.asksForTrust = true
                    let delegate = RecordingDelegate(answering: { question in
                        guard case .serverTrust(let peer, let reply) = question else { return }
                        reply(peer.host == "localhost" && peer.hostError == nil ? decision : .refused(reason: "who?"))
                    })
                    transport.task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
                    let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                    guard server != .squidOverTLS else {
                        trace.check(.failure(.unavailable))
                        continue
                    }
                    if case .trusted = decision {
                        trace.check(.response("Hello, world!"))
                    } else {
                        trace.check(.failure(.untrusted))
                    }
                }
            }
        }

        @Test(
            "An error of the host's certificate is the host's; an error of the proxy's certificate is the proxy's",
            .usesOpenSSL)
        func certificates() async throws {
            for server in Server.allCases {
                // libcurl loses the verdict if TLS runs inside TLS.
                let codes: Set<TransportError.Code> =
                    server == .squidOverTLS ? [.certificateExpired, .handshake] : [.certificateExpired]
                try await transport(server.proxy()).run(TransportRequest(url: url("https", "TLS_EXPIRED")))
                    .check(.failure(codes))
            }
            let proxies = try Proxies(Server.squidOverTLS.proxy())
            let strange = CurlTransport(configuration: .init { $0.proxies = proxies })
            try await strange.run(TransportRequest(url: url("https", "NGINX_TLS"))).check(.failure(.proxyFailed))
        }

        @Test("A Unix-domain socket replaces a host, over plain HTTP and beside hosts without a socket")
        func unixSocket() async throws {
            let path = try #require(ProcessInfo.processInfo.environment["LARKSPUR_NGINX_SOCKET"])
            var configuration = try #require(Environment.trusting)
            configuration.hosts["daemon"] = .unixSocket(path: path)
            configuration.hosts["nobody"] = .unixSocket(path: path + "-")
            configuration.proxies = try Proxies(Proxy("http://192.0.2.1"), except: ["localhost"])
            let transport = CurlTransport(configuration: configuration)
            for _ in 0..<2 {
                try await transport.run(TransportRequest(url: RequestURL("http://daemon/hello"))).check(
                    .response("Hello, world!"))
                try await transport.run(TransportRequest(url: url("http", "NGINX_HTTP"))).check(
                    .response("Hello, world!"))
            }
            try await transport.run(TransportRequest(url: RequestURL("http://nobody/hello"))).check(
                .failure(.unreachable))
        }
    }
#endif
