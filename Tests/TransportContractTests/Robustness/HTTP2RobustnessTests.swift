#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    /// Faults of HTTP/2 peers, played by a scripted server.
    @Suite(
        "Robustness: HTTP/2", .limited,
        .enabled(
            if: Environment.port("LARKSPUR_H2_FAULTS") != nil && Environment.trusting != nil,
            "LARKSPUR_H2_FAULTS and LARKSPUR_CA_FILE name no server"))
    struct HTTP2RobustnessTests {
        struct Row: Sendable, CustomTestStringConvertible {
            let path: String
            let outcome: Fault.Outcome
            var limit: WritableKeyPath<TransportTimeouts, Duration?> & Sendable = \.total
            var milliseconds = 600_000
            /// Whether an earlier request used the connection.
            var isKept = false

            var testDescription: String { path }
        }

        private static let rows = [
            Row(path: "/ok", outcome: .response("0\n")),
            Row(path: "/truncated", outcome: .failure([.truncated, .protocolViolation])),
            Row(path: "/short", outcome: .failure([.truncated, .connectionLost])),
            Row(path: "/reset", outcome: .failure([.truncated, .connectionLost])),
            Row(path: "/close", outcome: .failure(.connectionLost)),
            Row(path: "/goaway?\(UUID())", outcome: .response("0\n"), isKept: true),
            Row(path: "/refused?\(UUID())", outcome: .response("0\n")),
            Row(path: "/trailers", outcome: .response("with trailers")),
            Row(path: "/interim-flood", outcome: .failure(.protocolViolation)),
            Row(path: "/endless-headers", outcome: .failure([.protocolViolation, .connectionLost])),
            Row(path: "/stall-head", outcome: .failure(.timedOut), limit: \.firstByte, milliseconds: 250),
            Row(path: "/stall-body", outcome: .failure(.timedOut), limit: \.idle, milliseconds: 250),
        ]

        @Test("over TLS", arguments: rows)
        func fault(row: Row) async throws {
            let transport = try Self.transport()
            var request = try Self.request(row.path)
            request.timeouts[keyPath: row.limit] = .milliseconds(row.milliseconds)
            if row.isKept { try await transport.run(try Self.request("/ok")).check(.response("0\n")) }
            try await transport.run(request).check(row.outcome)
            try await transport.run(try Self.request("/ok")).check(.response("0\n"))
        }

        @Test(
            "an upload to a peer that grants no window ends in time",
            .enabled(if: Environment.port("LARKSPUR_H2_NO_WINDOW") != nil, "LARKSPUR_H2_NO_WINDOW names no server"),
            arguments: ["POST", "PUT"])
        func withoutWindow(method: String) async throws {
            let transport = try Self.transport()
            var request = try Self.request("/", of: "LARKSPUR_H2_NO_WINDOW")
            // Some versions of libcurl send no more than this over HTTP/2.
            (request.method, request.body) = (method, .data(Data(repeating: 7, count: 10_000)))
            request.timeouts.firstByte = .milliseconds(250)
            // The peer may treat bytes that were sent before its settings arrived as a violation.
            try await transport.run(request).check(.failure([.timedOut, .connectionLost]))
            try await transport.run(try Self.request("/ok")).check(.response("0\n"))
        }

        @Test(
            "a fault of one stream does not affect the others of its connection",
            arguments: ["/truncated", "/short", "/stall-body"])
        func neighbours(path: String) async throws {
            let transport = try Self.transport()
            try await transport.run(try Self.request("/ok")).check(.response("0\n"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let isBroken = number.isMultiple(of: 2)
                        var request = try Self.request(isBroken ? path : "/ok")
                        if isBroken { request.timeouts.idle = .milliseconds(250) }
                        let trace = try await transport.run(request)
                        if isBroken { #expect(!trace.isSuccess) } else { trace.check(.response("0\n")) }
                    }
                }
                try await group.waitForAll()
            }
        }

        @Test(
            "a stream that is reset ends its hop; only a refused request is sent again, once",
            arguments: [0, 1, 2, 7, 8, 11], ["GET", "POST"])
        func resets(code: UInt32, method: String) async throws {
            let transport = try Self.transport()
            for isKept in [false, true] {
                let query = "\(code)-\(UUID())"
                var request = try Self.request("/reset-stream?\(query)")
                request.method = method
                if method == "POST" { request.body = .data(Data("a body".utf8)) }
                let trace = try await transport.run(request)
                trace.check(.failure([.connectionLost, .protocolViolation]))
                #expect(trace.error?.phase == .waiting, "kept: \(isKept)")
                let expected = code == 7 ? 2 : 1
                if Libcurl.tellsOfRepetitions {
                    #expect(trace.metrics.first?.repetitions == expected - 1, "kept: \(isKept)")
                }
                try await transport.run(try Self.request("/asked?\(query)")).check(.response("\(expected)\n"))
            }
        }

        @Test(
            "requests that the peer has not processed are sent again; a POST that it may have processed is not",
            arguments: ["/refused", "/goaway-open", "/goaway-after"], ["POST", "PUT"])
        func goAway(path: String, method: String) async throws {
            let transport = try Self.transport()
            try await transport.run(try Self.request("/ok")).check(.response("0\n"))
            var request = try Self.request("\(path)?\(UUID())")
            (request.method, request.body) = (method, .data(Data("a body".utf8)))
            let trace = try await transport.run(request)
            switch (path, method) {
            case ("/goaway-after", "POST") where Libcurl.reportsLostStreams: trace.check(.failure(.connectionLost))
            default: trace.check(.response("6\n"))
            }
            try await transport.run(try Self.request("/ok")).check(.response("0\n"))
        }

        @Test(
            "A POST that the peer has received whole is not sent again after a loss; a PUT is sent again once",
            .enabled(if: Libcurl.tellsOfRepetitions, "libcurl before 7.80 does not report repetitions"),
            arguments: ["POST", "PUT"], [0, 6])
        func lost(method: String, size: Int) async throws {
            let transport = try Self.transport()
            try await transport.run(try Self.request("/ok")).check(.response("0\n"))
            let query = UUID().uuidString
            var request = try Self.request("/lost?\(query)")
            request.method = method
            if size > 0 { request.body = .data(Data(count: size)) }
            let trace = try await transport.run(request)
            trace.check(method == "PUT" ? .response("\(size)\n") : .failure(.connectionLost))
            #expect(trace.metrics.first?.repetitions == (method == "PUT" ? 1 : 0))
            try await transport.run(try Self.request("/asked?\(query)"))
                .check(.response(method == "PUT" ? "2\n" : "1\n"))
        }

        @Test(
            "a flood by a peer that chooses HTTP/2 although it was not offered ends as an error of the right kind",
            .enabled(if: Environment.port("LARKSPUR_H2_UNOFFERED") != nil, "LARKSPUR_H2_UNOFFERED names no server"))
        func unoffered() async throws {
            var request = try Self.request("/pings", of: "LARKSPUR_H2_UNOFFERED")
            (request.version, request.timeouts) = (.http1, .long)
            // Newer versions of OpenSSL refuse the peer's choice.
            try await Self.transport().run(request).check(.failure([.protocolViolation, .handshake]))
        }

        @Test(
            "POSTs are answered by a server that closes its connections with GOAWAY, except those that the GOAWAY excludes",
            .enabled(if: Environment.port("LARKSPUR_NGINX_GOAWAY") != nil, "LARKSPUR_NGINX_GOAWAY names no server"))
        func postsBesideGoAway() async throws {
            let transport = try Self.transport()
            var request = try Self.request("/upload", of: "LARKSPUR_NGINX_GOAWAY")
            (request.method, request.body) = ("POST", .data(Data("a body".utf8)))
            let delegates = (0..<1_000).map { [request] _ in transport.start(request) }
            for delegate in delegates {
                let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                // The GOAWAY may exclude this POST as unprocessed, which some versions of libcurl do not report.
                if !trace.isSuccess { trace.check(.failure(.connectionLost)) }
            }
            #expect(delegates.count { $0.recorded.heads.first?.status == 200 } > 900)
            let metrics = delegates.flatMap { $0.recorded.metrics }
            // Each connection serves a hundred requests.
            #expect(metrics.count { $0.connectionWasReused == false } >= 10)
        }

        private static func transport() throws -> CurlTransport {
            CurlTransport(configuration: try #require(Environment.trusting))
        }

        private static func request(
            _ path: String, of server: String = "LARKSPUR_H2_FAULTS"
        ) throws -> TransportRequest {
            let port = try #require(Environment.port(server))
            return TransportRequest(url: try RequestURL("https://localhost:\(port)\(path)"))
        }
    }
#endif
