#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    /// Proxies whose answer to CONNECT has no end. libcurl reads it byte by byte, for as long as there is more.
    @Suite("Robustness: endless answers to CONNECT", .limited, .serialized)
    struct EndlessTunnelTests {
        /// The bytes that a proxy sends first, and those that it repeats.
        struct Flood: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let beginning: String
            let piece: String
        }

        static let floods = [
            Flood(testDescription: "fields", beginning: "HTTP/1.1 200 OK\r\n", piece: "Field: value\r\n"),
            Flood(testDescription: "interim heads", beginning: "", piece: "HTTP/1.1 103 Early Hints\r\n\r\n"),
            Flood(
                testDescription: "a challenge's body",
                beginning:
                    "HTTP/1.1 407 Asked\r\nProxy-Authenticate: Digest realm=\"p\", nonce=\"n\"\r\nContent-Length: 9000000000\r\n\r\n",
                piece: "text "),
            Flood(
                testDescription: "a challenge's chunks",
                beginning:
                    "HTTP/1.1 407 Asked\r\nProxy-Authenticate: Digest realm=\"p\", nonce=\"n\"\r\nTransfer-Encoding: chunked\r\n\r\n",
                piece: "5\r\ntext \r\n"),
        ]

        @Test(
            "An endless answer to CONNECT ends as the proxy's failure, and holds up no other request", arguments: floods
        )
        func endless(flood: Flood) async throws {
            let proxy = try WirePeer { wire in
                try wire.head()
                try wire.send(flood.beginning)
                let piece = Array(String(repeating: flood.piece, count: 60_000 / flood.piece.count).utf8)
                while true { try wire.send(piece) }
            }
            let other = try MockServer()
            other.on("GET", "/", .text("ok"))
            let proxies = try Proxies(
                https: Proxy("http://user:secret@127.0.0.1:\(proxy.port)", authentication: .digest))
            let transport = CurlTransport(configuration: .init { $0.proxies = proxies })
            let flooded = transport.start(TransportRequest(url: try RequestURL("https://shop.example/")))
            for _ in 0..<20 {
                try await transport.run(TransportRequest(url: try RequestURL(other.url + "/"))).check(.response("ok"))
            }
            let trace = try await flooded.wait { $0.isCompleted && $0.depth == 0 }
            // Version 7.74 may take bytes of the flood for the host's TLS.
            let codes: [TransportError.Code] = Libcurl.handlesDigestTunnels ? [.proxyFailed] : [.proxyFailed, .notTLS]
            #expect(trace.error.map { codes.contains($0.code) } == true, "\(String(describing: trace.error))")
        }
    }
#endif
