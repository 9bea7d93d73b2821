#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Which connections are kept for reuse, and for how long.
    @Suite("Reused connections", .limited)
    struct KeptConnectionTests {
        /// A duration that libcurl counts as more than one second.
        private static let moreThanOneSecond = Duration.milliseconds(2_100)
        /// More than libcurl's clock resolution. Of connections that were last used at the same time, libcurl closes an
        /// arbitrary one first.
        private static let moreThanOneTick = Duration.milliseconds(3)

        private static let tellsOfAge =
            clarkspur_curl_load() == nil && clarkspur_curl_get_version().number >= 0x075000

        private func server() throws -> MockServer {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            server.on("GET", "/slow", .text("ok").after(Self.moreThanOneSecond))
            server.on("GET", "/tick", .text("ok").after(Self.moreThanOneTick))
            return server
        }

        /// Returns whether a request was sent over an existing connection.
        private func isKept(
            _ transport: CurlTransport, _ server: MockServer, _ path: String = "/",
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> Bool {
            let trace = try await transport.run(TransportRequest(url: try RequestURL(server.url + path)))
            #expect(trace.isSuccess, sourceLocation: sourceLocation)
            let metrics = try #require(trace.metrics.first, sourceLocation: sourceLocation)
            #expect(metrics.connectionWasReused != nil, sourceLocation: sourceLocation)
            return metrics.connectionWasReused == true
        }

        @Test("A connection that was idle longer than the limit is not reused", .timing, arguments: [1, 60])
        func idleLifetime(seconds: Int) async throws {
            let (server, other) = (try server(), try server())
            let transport = CurlTransport(configuration: .init { $0.idleLifetime = .seconds(seconds) })
            #expect(try await !isKept(transport, server))
            let isKeptAtOnce = try await isKept(transport, server)
            #expect(isKeptAtOnce)
            _ = try await isKept(transport, other, "/slow")  // the other connection is idle during this request
            #expect(try await isKept(transport, server) == (seconds == 60))
        }

        @Test(
            "A connection that is older than the limit is not reused, however busy it was",
            .timing, .enabled(if: tellsOfAge, "libcurl before 7.80 cannot tell"), arguments: [1, nil])
        func connectionLifetime(seconds: Int?) async throws {
            let server = try server()
            let lifetime = seconds.map { Duration.seconds($0) }
            let transport = CurlTransport(configuration: .init { $0.connectionLifetime = lifetime })
            #expect(try await !isKept(transport, server))
            _ = try await isKept(transport, server, "/slow")  // the connection is busy during this request
            #expect(try await isKept(transport, server) == (seconds == nil))
        }

        @Test(
            "The pool keeps the connections in use at once and the configured number; the oldest are closed first"
        )
        func maximumIdle() async throws {
            let servers = try (0..<5).map { _ in try server() }
            let transport = CurlTransport(
                configuration: .init {
                    $0.loops = 1  // each loop adds the connections that it had in use at once
                    $0.maximumIdleConnections = 2
                    $0.idleLifetime = .days(1)
                })
            for server in servers { #expect(try await !isKept(transport, server, "/tick")) }
            for server in servers.prefix(2) { try await server.wait { $0.connectionCount == 0 } }
            for server in servers.suffix(3) { #expect(try await isKept(transport, server, "/tick")) }
            #expect(try await !isKept(transport, servers[0]))
            #expect(servers.map(\.log.connectionsAccepted) == [2, 1, 1, 1, 1])
        }

        @Test("A host has at most the configured number of connections, and each is reused", arguments: [1, 3])
        func maximumPerHost(limit: Int) async throws {
            let (server, other, gate) = (try MockServer(), try server(), Gate())
            server.on(
                "GET", "/",
                MockResponse([.pause { try await gate.passUnlessCancelled() }] + MockResponse.text("ok").steps))
            let transport = CurlTransport(configuration: .init { $0.maximumConnectionsPerHost = limit })
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            let delegates = (0..<12).map { _ in transport.start(request) }
            try await server.wait { $0.requests.count == limit }
            // When these are answered, the transport has sent everything that it would send by itself.
            for _ in 0..<3 { _ = try await isKept(transport, other) }
            #expect(server.requests.count == limit)
            gate.open()
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            }
            #expect(server.log.connectionsAccepted == limit)
            #expect(server.requests.count == 12)
        }
    }
#endif
