#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Faults of HTTP/1.1 peers: every fault ends in time, as a response or as an error of the right kind, and the
    /// transport still works afterwards.
    @Suite("Robustness: HTTP/1.1", .limited)
    struct HTTP1RobustnessTests {
        @Test("over a plain connection", arguments: Fault.all)
        func plain(fault: Fault) async throws {
            try await check(fault, over: .plain)
        }

        @Test(
            "over TLS",
            .enabled(if: ServerRoute.tls != nil, "LARKSPUR_TLS_FORWARDER and LARKSPUR_CA_FILE name no forwarder"),
            arguments: Fault.all)
        func tls(fault: Fault) async throws {
            try await check(fault, over: try #require(ServerRoute.tls))
        }

        private func check(_ fault: Fault, over route: ServerRoute) async throws {
            let server = try MockServer()
            server.on(nil, "/fault", reading: fault.reading, fault.response)
            server.on("GET", "/next", .text("sound"))
            let clock = EngineClock()
            let transport = CurlTransport(clock: clock) {
                $0 = route.configuration
                $0.loops = 1
            }

            var request = try route.request("/fault", of: server)
            (request.method, request.body, request.timeouts) = (fault.method, fault.body, fault.timeouts)
            let delegate = transport.start(request)
            if fault.lastsForever { try await server.wait { !$0.requests.isEmpty } }
            while fault.lastsForever, !delegate.recorded.isCompleted {
                // The peer may send and receive bytes between two parts of the limit.
                clock.advance(by: .days(0.25))
                try await transport.settle()
            }
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(fault.outcome)

            let next = try await transport.run(try route.request("/next", of: server))
            next.check(.response("sound"))
        }
    }

    /// A route to a server: over plain TCP, or through a forwarder that adds TLS.
    struct ServerRoute: Sendable {
        let configuration: CurlTransport.Configuration
        /// The port of the forwarder; nil for the server's own port.
        let forwarder: Int?

        static let plain = ServerRoute(configuration: CurlTransport.Configuration(), forwarder: nil)

        static let tls: ServerRoute? = Environment.port("LARKSPUR_TLS_FORWARDER").flatMap { port in
            Environment.trusting.map { ServerRoute(configuration: $0, forwarder: port) }
        }

        func request(_ path: String, of server: MockServer) throws -> TransportRequest {
            guard let forwarder else { return TransportRequest(url: try RequestURL(server.url + path)) }
            let field = HTTPHeader(name: "X-Forward-Port", value: "\(server.port)")
            return TransportRequest(url: try RequestURL("https://localhost:\(forwarder)\(path)"), fields: [field])
        }
    }

    /// The environment variables by which `.ci` describes its servers.
    enum Environment {
        static func port(_ name: String) -> Int? {
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
        }

        /// Returns the folder of their certificates and keys.
        static func certificates() throws -> URL {
            let path = try #require(ProcessInfo.processInfo.environment["LARKSPUR_CERTIFICATES"])
            return URL(fileURLWithPath: path, isDirectory: true)
        }

        /// A transport configuration that trusts those servers.
        static var trusting: CurlTransport.Configuration? {
            ProcessInfo.processInfo.environment["LARKSPUR_CA_FILE"].map { path in
                CurlTransport.Configuration { $0.certificateAuthorities = .file(path: path) }
            }
        }
    }

    extension CurlTransport {
        /// Runs one hop to its end.
        func run(_ request: TransportRequest) async throws -> Trace {
            let delegate = RecordingDelegate()
            task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            return try await delegate.wait { $0.isCompleted && $0.depth == 0 }
        }
    }

    extension Trace {
        func check(_ outcome: Fault.Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(audit(bodyIsBegunAgain: true) == [], sourceLocation: sourceLocation)
            let end = completions.first.flatMap { $0 }.map { "\($0)" } ?? "success"
            switch outcome {
            case .response(let text, let status, let fields, let other):
                if let other, failure == other { return }
                #expect(isSuccess, "\(end)", sourceLocation: sourceLocation)
                #expect(heads.map(\.status) == [status], sourceLocation: sourceLocation)
                #expect(body == Array(text.utf8), sourceLocation: sourceLocation)
                guard let fields else { return }
                #expect(heads.first?.fields.map { "\($0.name): \($0.value)" } == fields, sourceLocation: sourceLocation)
            case .failure(let codes):
                let code = failure
                #expect(code.map(codes.contains) == true, "\(end)", sourceLocation: sourceLocation)
            }
        }
    }
#endif
