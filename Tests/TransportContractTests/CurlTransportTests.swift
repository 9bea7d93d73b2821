#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import Testing

    extension CurlTransport {
        /// Starts one hop.
        func start(_ request: TransportRequest) -> RecordingDelegate {
            let delegate = RecordingDelegate()
            task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            return delegate
        }
    }

    @Suite("CurlTransport", .timeLimit(.minutes(1)))
    struct CurlTransportTests {
        private static let limited = CurlTransport.Configuration { $0.maximumConnectionsPerHost = 1 }

        @Test("T22: invalidate() ends also the tasks that wait for a place")
        func queueEnds() async throws {
            let server = try MockServer()
            server.on("GET", "/", .stall)
            let transport = CurlTransport(configuration: Self.limited)
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            let delegates = (0..<5).map { _ in transport.start(request) }
            try await server.wait { $0.requests.count == 1 }
            transport.invalidate()
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.invalidated))
            }
        }

        @Test("Requests past an origin's limit go in their order over its connection, and hold no other origin")
        func queue() async throws {
            let (server, other, gate) = (try MockServer(), try MockServer(), Gate())
            server.on("GET", "/held", MockResponse([.pause { try await gate.pass() }] + MockResponse.text("ok").steps))
            server.on("GET", "/next", .text("ok"))
            other.on("GET", "/", .text("other"))
            let transport = CurlTransport(configuration: Self.limited)
            let targets = ["/held", "/next?1", "/next?2", "/next?3"]
            let delegates = try targets.map { transport.start(TransportRequest(url: try RequestURL(server.url + $0))) }
            try await gate.reached()
            try await transport.run(TransportRequest(url: try RequestURL(other.url + "/"))).check(.response("other"))
            #expect(server.requests.count == 1)
            gate.open()
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            }
            #expect(server.requests.map(\.target) == targets)
            #expect(server.log.connectionsAccepted == 1)
            #expect(delegates.map { $0.recorded.metrics.first?.connectionWasReused } == [false, true, true, true])
        }

        @Test("Metrics tell the phases of a new connection, the protocol and the addresses")
        func metrics() async throws {
            let server = try MockServer { _ in .text("ok") }
            let transport = CurlTransport()
            var request = TransportRequest(method: "POST", url: try RequestURL(server.url + "/"))
            request.body = .data(Data([1, 2, 3]))
            let first = try #require(try await transport.run(request).metrics.first)
            let times = [first.nameLookup, first.connected, first.requestSent, first.firstByte, first.total]
            #expect(times.compactMap(\.self).sorted() == times)
            #expect(first.secured == nil)
            #expect(first.queued != nil)
            #expect(first.protocolName == "http/1.1")
            #expect(first.remoteAddress == "127.0.0.1" && first.localAddress == "127.0.0.1")
            #expect((first.requestBodyBytes, first.responseBodyBytes) == (3, 2))
            let second = try #require(try await transport.run(request).metrics.first)
            #expect(second.connectionWasReused == true)
            #expect(second.nameLookup == nil && second.connected == nil)
        }

        @Test(
            "A certificate is refused by its own code",
            .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"),
            arguments: zip(
                ["TLS_EXPIRED", "TLS_WRONG_HOST", "TLS_SELF_SIGNED"],
                [TransportError.Code.certificateExpired, .wrongHost, .unknownIssuer]))
        func certificates(server: String, code: TransportError.Code) async throws {
            let request = try Self.secure(server)
            try await CurlTransport(configuration: try #require(Environment.trusting)).run(request).check(
                .failure(code))
        }

        @Test(
            "Only the authorities that are believed vouch for a peer, from a file or from memory",
            .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"))
        func authorities() async throws {
            #expect(try await CurlTransport().run(Self.secure("NGINX_TLS")).failure == .unknownIssuer)
            let path = try #require(ProcessInfo.processInfo.environment["LARKSPUR_CA_FILE"])
            let pem = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            let believing = CurlTransport(configuration: .init { $0.certificateAuthorities = .pem(pem) })
            try await believing.run(Self.secure("NGINX_TLS")).check(.response("Hello, world!"))
        }

        @Test(
            "All requests to an origin share one connection of HTTP/2",
            .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"))
        func oneConnection() async throws {
            let transport = CurlTransport(configuration: try #require(Environment.trusting))
            let request = try Self.secure("NGINX_TLS")
            let delegates = (0..<200).map { _ in transport.start(request) }
            for delegate in delegates { try await delegate.wait { $0.isCompleted }.check(.response("Hello, world!")) }
            let metrics = delegates.flatMap { $0.recorded.metrics }
            #expect(Set(metrics.map(\.protocolName)) == ["h2"])
            #expect(metrics.count { $0.connectionWasReused == false } == 1)
        }

        @Test(
            "HTTP/2 in clear text is spoken on request",
            .enabled(if: Environment.port("LARKSPUR_NGINX_H2C") != nil, "no LARKSPUR_NGINX_H2C"))
        func clearText() async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_H2C"))
            var request = TransportRequest(url: try RequestURL("http://127.0.0.1:\(port)/hello"))
            request.version = .http2
            let trace = try await CurlTransport().run(request)
            trace.check(.response("Hello, world!"))
            #expect(trace.metrics.first?.protocolName == "h2")
        }

        @Test("T23: a peer that does not shake hands ends the hop by the connect timeout")
        func connect() async throws {
            var port: UInt16 = 0
            let listener = clarkspur_loopback_listen(&port)  // the kernel takes connections, nobody says a word
            try #require(listener >= 0)
            defer { close(listener) }
            var request = TransportRequest(url: try RequestURL("https://127.0.0.1:\(port)/"))
            request.timeouts.connect = .milliseconds(100)
            let trace = try await CurlTransport().run(request)
            trace.check(.failure(.timedOut))
            #expect(trace.error?.message.contains("connect timeout") == true)
            #expect(trace.error?.phase == .securing)
        }

        @Test("T23: while the body's stream has nothing to give, a hop is not idle")
        func pendingStream() async throws {
            let server = try MockServer { _ in .text("ok") }
            let source = TransportBodySource(length: nil, isReplayable: false) {
                ArrayStream(.pattern(100), piece: 10, pendingAt: Gate())
            }
            var request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/"), body: .stream(source))
            request.timeouts.idle = .milliseconds(50)
            request.timeouts.total = .milliseconds(400)
            let error = try #require(try await CurlTransport().run(request).error)
            #expect(error.code == .timedOut)
            #expect(error.message.contains("total"))
        }

        @Test("A transport that nobody keeps ends its thread and closes its connections and descriptors")
        func leavesNothing() async throws {
            func count(_ kind: String) throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(kind)").count
            }
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            func once() async throws { try await CurlTransport().run(request).check(.response("ok")) }
            let (files, threads) = (try count("fd"), try count("task"))
            for _ in 0..<500 {
                try await once()
                try await server.wait { $0.connectionCount == 0 }  // the loop has let go
            }
            #expect(try count("fd") - files < 250 && count("task") - threads < 250)  // other tests have theirs
        }

        @Test("T3: a body goes with any method", arguments: ["GET", "DELETE", "PROPFIND"], [10, 100_000])
        func methods(method: String, size: Int) async throws {
            let server = try MockServer { .text("\($0.method) \($0.body.count)") }
            var request = TransportRequest(url: try RequestURL(server.url + "/"))
            (request.method, request.body) = (method, .data(Data(repeating: 7, count: size)))
            try await CurlTransport().run(request).check(.response("\(method) \(size)"))
        }

        private static func secure(_ name: String) throws -> TransportRequest {
            let port = try #require(Environment.port("LARKSPUR_" + name))
            return TransportRequest(url: try RequestURL("https://localhost:\(port)/hello"))
        }
    }
#endif
