#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Messages of TLS itself, and bytes that answer no request, which a server sends without being asked.
    @Suite(
        "Robustness: messages of TLS", .limited, .usesOpenSSL,
        .enabled(
            if: Environment.port("LARKSPUR_TLS_MESSAGES") != nil && Environment.trusting != nil,
            "LARKSPUR_TLS_MESSAGES and LARKSPUR_CA_FILE name no server"))
    struct TLSMessageTests {
        private let transport: CurlTransport

        init() throws { transport = CurlTransport(configuration: try #require(Environment.trusting)) }

        private static func request(_ path: String) throws -> TransportRequest {
            let port = try #require(Environment.port("LARKSPUR_TLS_MESSAGES"))
            var request = TransportRequest(url: try RequestURL("https://localhost:\(port)\(path)"))
            request.version = .http1
            return request
        }

        /// Whether a request goes over a connection that the server has sent something on since the last response.
        private func isKept(after action: String) async throws -> Bool {
            let other = CurlTransport(configuration: try #require(Environment.trusting))
            let key = UUID().uuidString
            try await transport.run(Self.request("/then/\(action)/\(key)")).check(.response("ok"))
            try await other.run(Self.request("/do/\(key)")).check(.response("ok"))
            let trace = try await transport.run(Self.request("/ok"))
            trace.check(.response("ok"))
            return trace.metrics.first?.connectionWasReused == true
        }

        /// Whether the transport itself looks at what waits on a kept connection. Other versions of libcurl do, and
        /// close it for a ticket.
        private static let looks: Bool = {
            guard clarkspur_curl_load() == nil else { return false }
            return (0x075000..<0x080200).contains(clarkspur_curl_get_version().number)
        }()

        @Test("A late session ticket is no reason to give a kept connection up", .enabled(if: looks))
        func lateTicket() async throws {
            #expect(try await isKept(after: "ticket"))
            #expect(try await isKept(after: "ticket+ticket"))
        }

        @Test(
            "Bytes that wait on a kept connection over TLS answer no request",
            arguments: ["data", "ticket+data", "ticket+ticket+data", "part", "ticket+part", "garbage"])
        func unasked(action: String) async throws {
            for _ in 0..<3 { #expect(try await !isKept(after: action)) }
        }

        @Test(
            "Bytes that come with a response answer no request, over TLS inside the TLS of a proxy too",
            arguments: [false, true])
        func unaskedAtOnce(isNested: Bool) async throws {
            var configuration = try #require(Environment.trusting)
            if isNested {
                let port = try #require(Environment.port("LARKSPUR_SQUID_TLS"))
                configuration.proxies = try Proxies(
                    https: Proxy("https://user:secret@localhost:\(port)", authentication: .digest))
            }
            let transport = CurlTransport(configuration: configuration)
            for _ in 0..<3 {
                try await transport.run(Self.request("/twice")).check(.response("ok"))
                try await transport.run(Self.request("/ok")).check(.response("ok"))
            }
        }

        @Test("A connection that got a thousand session tickets is given up")
        func manyTickets() async throws {
            #expect(try await !isKept(after: "tickets"))
        }

        @Test(
            "A flood of TLS messages ends at the request's deadline, and holds up no other request", .serialized,
            arguments: ["tickets", "updates"])
        func floods(kind: String) async throws {
            let other = try MockServer()
            other.on("GET", "/", .text("ok"))
            var request = try Self.request("/flood/\(kind)")
            request.timeouts.total = .seconds(2)
            let flooded = transport.start(request)
            try await flooded.wait { !$0.heads.isEmpty || $0.isCompleted }
            for _ in 0..<20 {
                try await transport.run(TransportRequest(url: try RequestURL(other.url + "/"))).check(.response("ok"))
            }
            try await flooded.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.timedOut))
        }
    }
#endif
