#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Unsolicited bytes on a reused connection must never become the response to a request.
    @Suite("Robustness: reused connections", .limited)
    struct SilentConnectionTests {
        private static let stray = [
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nSTOLEN",
            "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "\r\n",
            "H",
        ]

        private static func response(to head: String) -> String {
            let path = head.split(separator: " ")[1]
            return "HTTP/1.1 200 OK\r\nContent-Length: \(path.count)\r\n\r\n\(path)"
        }

        @Test(
            "No request gets another's response: pending bytes on a reused connection end it", arguments: stray,
            [false, true])
        func unasked(bytes: String, closes: Bool) async throws {
            let (wanted, sent) = (DispatchSemaphore(value: 0), Gate())
            let peer = try WirePeer(
                { wire in
                    try wire.send(Self.response(to: try wire.head()))
                    wanted.wait()
                    try wire.send(bytes)
                    if closes { wire.endSending() }
                    sent.open()
                    while true { try wire.send(Self.response(to: try wire.head())) }
                }, { wire in while true { try wire.send(Self.response(to: try wire.head())) } })
            let transport = CurlTransport()
            func get(_ path: String) async throws {
                let trace = try await transport.run(TransportRequest(url: try RequestURL(peer.url + path)))
                trace.check(.response(path))
            }
            try await get("/first")
            wanted.signal()
            try await sent.passUnlessCancelled()
            for path in ["/a", "/b", "/c"] { try await get(path) }
        }

        @Test(
            "A folded line before the first field is refused after other responses, and corrupts nothing",
            arguments: ["", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"])
        func foldedFirstLine(interim: String) async throws {
            let folded = interim + "HTTP/1.1 200 OK\r\n Folded: one\r\nA: b\r\nContent-Length: 2\r\n\r\nok"
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            server.on("GET", "/folded", MockResponse([.raw(Data(folded.utf8))]))
            let transport = CurlTransport()
            func get(_ path: String) async throws -> Trace {
                try await transport.run(TransportRequest(url: try RequestURL(server.url + path)))
            }
            for _ in 0..<10 {
                for _ in 0..<3 { try await get("/").check(.response("ok")) }
                for _ in 0..<5 { try await get("/folded").check(.failure(.protocolViolation)) }
            }
        }

        @Test("The body of a head without fields is whole, though it begins as a folded line or a field")
        func noFields() async throws {
            let server = try MockServer()
            let bodies = [" folded", "\tfolded", "A: b\r\n\r\nok", "HTTP/1.1 200 OK\r\n\r\n", "\r\n"]
            for (number, body) in bodies.enumerated() {
                let bytes = Data("HTTP/1.1 200 OK\r\n\r\n\(body)".utf8)
                server.on("GET", "/\(number)", MockResponse([.raw(bytes), .close]))
            }
            let transport = CurlTransport()
            for _ in 0..<2 {
                for (number, body) in bodies.enumerated() {
                    let request = TransportRequest(url: try RequestURL(server.url + "/\(number)"))
                    try await transport.run(request).check(.response(body))
                }
            }
        }
    }
#endif
