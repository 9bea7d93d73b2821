#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Proxies that require Digest credentials, and libcurl, which remembers their challenge.
    @Suite("Proxies with Digest challenges", .limited)
    struct DigestProxyTests {
        /// A proxy that requires a response to its latest challenge and accepts each response once.
        private final class Forgetful: Sendable {
            private let nonces = Protected((last: 0, used: 0))
            let name: String

            init(_ name: String) { self.name = name }

            func answer(to request: MockRequest, with response: MockResponse) -> MockResponse {
                let answer = request.headers["Proxy-Authorization"] ?? ""
                let nonce = nonces.withLock { nonces -> Int? in
                    if nonces.last > nonces.used, answer.contains(" nonce=\"\(name)\(nonces.last)\"") {
                        nonces.used = nonces.last
                        return nil
                    }
                    nonces.last += 1
                    return nonces.last
                }
                return nonce.map { challenge("\(name)\($0)", closes: request.method == "CONNECT") } ?? response
            }
        }

        private func transport(http: MockServer? = nil, https: MockServer? = nil) throws -> CurlTransport {
            func proxy(_ server: MockServer?) throws -> Proxy? {
                try server.map { try Proxy("http://user:secret@127.0.0.1:\($0.port)", authentication: .digest) }
            }
            let proxies = try Proxies(http: proxy(http), https: proxy(https))
            return CurlTransport(configuration: .init { $0.proxies = proxies })
        }

        private func request(_ url: String, body: TransportBody = .none) throws -> TransportRequest {
            TransportRequest(method: body.length == 0 ? "GET" : "POST", url: try RequestURL(url), body: body)
        }

        private func text(_ size: Int) -> TransportBody {
            size == 0 ? .none : .data(Data(repeating: 0x78, count: size))
        }

        @Test("A proxy without a challenge receives the request once, with its body", arguments: [0, 1, 200_000])
        func asksNothing(size: Int) async throws {
            let proxy = try MockServer { .text("\($0.body.count)") }
            try await transport(http: proxy).run(request("http://shop.example/", body: text(size)))
                .check(.response("\(size)"))
            #expect(proxy.requests.map(\.body.count) == [size])
            #expect(proxy.requests.first?.headers["Proxy-Authorization"] == nil)
        }

        @Test("A request whose body can be sent only once fails at a proxy with a challenge")
        func onceOnly() async throws {
            let proxy = try MockServer { Forgetful("n").answer(to: $0, with: .text("\($0.body.count)")) }
            let body = TransportBody.stream(
                TransportBodySource(length: 3, isReplayable: false) { ArrayStream([1, 2, 3], piece: 3) })
            try await transport(http: proxy).run(request("http://shop.example/", body: body))
                .check(.failure(.bodyNotReplayable))
        }

        @Test("A proxy that has forgotten its challenge gets a new response", arguments: [0, 1, 200_000])
        func forgets(size: Int) async throws {
            let forgetful = Forgetful("n")
            let proxy = try MockServer { forgetful.answer(to: $0, with: .text("\($0.body.count)")) }
            let transport = try transport(http: proxy)
            for _ in 0..<3 {
                try await transport.run(request("http://shop.example/a", body: text(size))).check(.response("\(size)"))
            }
        }

        @Test("A proxy that has forgotten its challenge still opens a tunnel")
        func forgetsTunnel() async throws {
            let forgetful = Forgetful("n")
            let proxy = try MockServer { forgetful.answer(to: $0, with: .text("no host", status: 502)) }
            let transport = try transport(https: proxy)
            for _ in 0..<3 {
                try await transport.run(request("https://shop.example/", body: text(1))).check(.failure(.proxyFailed))
            }
        }

        @Test("No answer to one goes to another")
        func strangers() async throws {
            let (first, second) = (Forgetful("a"), Forgetful("b"))
            let http = try MockServer { first.answer(to: $0, with: .text("ok")) }
            let https = try MockServer { second.answer(to: $0, with: .text("no host", status: 502)) }
            let transport = try transport(http: http, https: https)
            try await transport.run(request("http://shop.example/")).check(.response("ok"))
            try await transport.run(request("https://shop.example/")).check(.failure(.proxyFailed))
            try await transport.run(request("http://shop.example/")).check(.response("ok"))
            let seen = https.requests.compactMap { $0.headers["Proxy-Authorization"] }
            // The space before it distinguishes the proxy's value from the client's random `cnonce`.
            #expect(seen.count == 1 && seen.allSatisfy { $0.contains(" nonce=\"b1\"") })
        }

        @Test("A credential that is refused is refused each time")
        func refusedTwice() async throws {
            let proxy = try MockServer { _ in challenge("n") }
            let transport = try transport(http: proxy)
            for count in [2, 4] {
                try await transport.run(request("http://shop.example/")).check(.response("who?", status: 407))
                #expect(proxy.requests.count == count)
            }
        }

        /// Returns a proxy that sends these responses in turn; nil closes the connection instead.
        private func proxy(_ responses: [MockResponse?]) throws -> MockServer {
            let rest = Protected(responses[...])
            return try MockServer { _ in
                rest.withLock { rest in rest.popFirst() ?? challenge("n") } ?? MockResponse([.close])
            }
        }

        @Test("The answer to a challenge is sent again after a loss, even if the request before it was sent again too")
        func losesRequestAndAnswer() async throws {
            let (asks, ok) = (challenge("n"), MockResponse.text("ok"))
            // The first two responses are for the first request, and they keep the connection that the second loses.
            let proxy = try proxy([asks, asks, nil, asks, nil, ok])
            let transport = try transport(http: proxy)
            try await transport.run(request("http://shop.example/")).check(.response("who?", status: 407))
            try await transport.run(request("http://shop.example/")).check(.response("ok"))
            #expect(proxy.requests.map(\.connection) == [1, 1, 1, 2, 2, 3])
        }

        @Test(
            "The answer to a challenge is sent again once, then its loss is the error",
            .enabled(if: Libcurl.tellsOfRepetitions, "libcurl before 7.80 does not report repetitions"))
        func losesAnswerTwice() async throws {
            let asks = challenge("n")
            let proxy = try proxy([asks, asks, nil, asks, nil, nil])
            let transport = try transport(http: proxy)
            try await transport.run(request("http://shop.example/")).check(.response("who?", status: 407))
            try await transport.run(request("http://shop.example/")).check(.failure(.connectionLost))
            #expect(proxy.requests.map(\.connection) == [1, 1, 1, 2, 2, 3])
        }

        @Test("A proxy that calls each answer stale is answered a few times, then the request fails")
        func stale() async throws {
            let last = Protected(0)
            let proxy = try MockServer { _ in
                challenge("\(last.withLock { last in last += 1; return last })", isStale: true)
            }
            try await transport(http: proxy).run(request("http://shop.example/", body: text(3)))
                .check(.failure(.proxyUnauthorized))
            #expect(proxy.requests.count == 6)
        }

        @Test(
            "Every form of challenge is answered, and no part of it is delivered with the response",
            arguments: [
                ("1.1", "Transfer-Encoding: chunked\r\n\r\n4\r\nwho?\r\n0\r\nX-Trailer: y\r\n\r\n"),
                ("1.1", "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: y\r\nZ: z\r\n\r\n"),
                ("1.1", "Content-Length: 0\r\nX-Field: y\r\n\r\n"), ("1.0", "\r\nwho?"),
                ("1.1", "Connection: close\r\nContent-Length: 100\r\n\r\nwho?"),
            ])
        func shapes(version: String, rest: String) async throws {
            let proxy = try MockServer { request in
                if request.headers["Proxy-Authorization"] != nil { return .text("\(request.body.count)") }
                let head = "HTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/\(version) 407 Who?\r\n"
                let raw = head + "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n" + rest
                return rest.hasSuffix("who?") ? MockResponse([.raw(Data(raw.utf8)), .close]) : .raw(raw)
            }
            let trace = try await transport(http: proxy).run(request("http://shop.example/", body: text(3)))
            trace.check(.response("3"))
            #expect(trace.heads.first?.fields.contains { $0.name.hasPrefix("X") } == false)
        }
    }

    /// A challenge on a connection that stays open, unless the challenge announces its end.
    private func challenge(_ nonce: String, closes: Bool = false, isStale: Bool = false) -> MockResponse {
        let digest = "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\"\(isStale ? ", stale=true" : "")"
        let end = closes ? "Connection: close\r\n" : ""
        let text = "HTTP/1.1 407 Who?\r\nProxy-Authenticate: \(digest)\r\n\(end)Content-Length: 4\r\n\r\nwho?"
        return closes ? .raw(text) : MockResponse([.raw(Data(text.utf8))])
    }
#endif
