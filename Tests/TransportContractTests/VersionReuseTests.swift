#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    /// A connection is reused only by requests whose version of HTTP allows it.
    @Suite("The version of HTTP and reused connections", .limited)
    struct VersionReuseTests {
        /// A server that speaks the version of HTTP in which the client begins.
        private static func server() throws -> WirePeer {
            try WirePeer { wire in
                if try wire.head().hasPrefix("PRI * HTTP/2.0") {
                    try wire.body(6)  // the end of the preface: "SM\r\n\r\n"
                    try wire.send(HTTP2.frame(.settings) + HTTP2.frame(.settings, flags: HTTP2.acknowledgement))
                    while true { try wire.send(HTTP2.head(of: try wire.request(), ends: true)) }
                }
                while true {
                    try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    try wire.head()
                }
            }
        }

        private static let choices = [HTTPVersionChoice.http1, .http2, .negotiated]

        @Test("Without TLS, each request uses the version that it asks for", arguments: choices, choices)
        func plain(first: HTTPVersionChoice, second: HTTPVersionChoice) async throws {
            let (server, transport) = (try Self.server(), CurlTransport())
            for version in [first, second, first, second] {
                var request = TransportRequest(url: try RequestURL(server.url + "/"))
                (request.version, request.timeouts) = (version, .long)
                let trace = try await transport.run(request)
                trace.check(.response(""))
                #expect(trace.metrics.first?.protocolName == (version == .http2 ? "h2" : "http/1.1"))
                #expect(trace.metrics.first?.repetitions == 0)
            }
        }

        @Test(
            "Without TLS, a request does not use a connection in use that has another version",
            arguments: [
                (HTTPVersionChoice.http1, HTTPVersionChoice.http2), (.http2, .http1), (.http2, .negotiated),
            ])
        func beside(first: HTTPVersionChoice, second: HTTPVersionChoice) async throws {
            let gate = DispatchSemaphore(value: 0)
            let slow = try WirePeer { wire in
                // Only the first request waits.
                let isHTTP2 = try wire.head().hasPrefix("PRI * HTTP/2.0")
                if isHTTP2 {
                    try wire.body(6)
                    try wire.send(HTTP2.frame(.settings) + HTTP2.frame(.settings, flags: HTTP2.acknowledgement))
                    let stream = try wire.request()
                    if first == .http2 { gate.wait() }
                    try wire.send(HTTP2.head(of: stream, ends: true))
                } else {
                    if first != .http2 { gate.wait() }
                    try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
                try wire.drain()
            }
            let transport = CurlTransport()
            var request = TransportRequest(url: try RequestURL(slow.url + "/"))
            (request.version, request.timeouts) = (first, .long)
            let running = transport.start(request)
            try await slow.wait(forHeads: 1)
            request.version = second
            let trace = try await transport.run(request)
            gate.signal()
            trace.check(.response(""))
            #expect(trace.metrics.first?.protocolName == (second == .http2 ? "h2" : "http/1.1"))
            try await running.wait { $0.isCompleted && $0.depth == 0 }.check(.response(""))
        }

        @Test(
            "Over TLS, each request uses the version that it asks for",
            .enabled(
                if: Environment.port("LARKSPUR_NGINX_TLS") != nil && Environment.trusting != nil,
                "LARKSPUR_NGINX_TLS and LARKSPUR_CA_FILE name no server"),
            arguments: choices, choices)
        func secure(first: HTTPVersionChoice, second: HTTPVersionChoice) async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_TLS"))
            let transport = CurlTransport(configuration: try #require(Environment.trusting))
            for version in [first, second, first, second] {
                var request = TransportRequest(url: try RequestURL("https://localhost:\(port)/hello"))
                (request.version, request.timeouts) = (version, .long)
                let trace = try await transport.run(request)
                trace.check(.response("Hello, world!"))
                let name = trace.metrics.first?.protocolName
                // A negotiated request may reuse each connection.
                if version != .negotiated { #expect(name == (version == .http2 ? "h2" : "http/1.1")) }
                #expect(trace.metrics.first?.repetitions == 0)
            }
        }

        @Test(
            "Over TLS, a request that requires HTTP/2 fails if the server speaks HTTP/1.1 alone",
            .enabled(
                if: Environment.port("LARKSPUR_NGINX_TLS_H1") != nil && Environment.trusting != nil,
                "LARKSPUR_NGINX_TLS_H1 and LARKSPUR_CA_FILE name no server"), arguments: [false, true])
        func required(afterHTTP1: Bool) async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_TLS_H1"))
            let transport = CurlTransport(configuration: try #require(Environment.trusting))
            var request = TransportRequest(url: try RequestURL("https://localhost:\(port)/hello"))
            request.timeouts = .long
            if afterHTTP1 { try await transport.run(request).check(.response("Hello, world!")) }
            request.version = .http2
            try await transport.run(request).check(.failure(.handshake))
            request.version = .negotiated
            try await transport.run(request).check(.response("Hello, world!"))
        }
    }
#endif
