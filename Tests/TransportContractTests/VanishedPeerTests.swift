#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Peers that disappear without closing their connection, so that nothing is acknowledged. Only the kernel's timers
    /// notice that, and no test can move them.
    @Suite("Vanished peers", .limited)
    struct VanishedPeerTests {
        private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

        /// Makes a transport that detects them within two seconds and has no other time limit.
        private func transport() -> CurlTransport {
            CurlTransport(configuration: .init { $0.peerTimeout = .seconds(1) })
        }

        private func request(_ peer: WirePeer, _ method: String = "GET") throws -> TransportRequest {
            var request = TransportRequest(method: method, url: try RequestURL(peer.url + "/"))
            (request.timeouts.firstByte, request.timeouts.idle) = (nil, nil)
            if method == "POST" { request.body = .data(Data("text".utf8)) }
            return request
        }

        @Test("A request over a reused connection whose peer has vanished is sent over another connection", .timing)
        func kept() async throws {
            let peer = try WirePeer(
                { wire in
                    try wire.head()
                    try wire.send(Self.ok)
                    wire.vanish()
                    try wire.drain()
                },
                { wire in
                    try wire.head()
                    try wire.send(Self.ok)
                    try wire.drain()
                })
            let transport = transport()
            try await transport.run(try request(peer)).check(.response("ok"))
            try await transport.run(try request(peer)).check(.response("ok"))
            #expect(peer.heads.count == 2)
        }

        @Test("A peer that vanishes before its response is noticed", .timing, arguments: ["GET", "POST"])
        func waiting(method: String) async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                if method == "POST" { try wire.body(4) }
                wire.vanish()
                try wire.drain()
            }
            let trace = try await transport().run(try request(peer, method))
            trace.check(.failure(.connectionLost))
        }

        @Test("A peer that vanishes during its response is noticed", .timing)
        func receiving() async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
                wire.vanish()
                try wire.drain()
            }
            let trace = try await transport().run(try request(peer))
            trace.check(.failure(.connectionLost))
        }

        @Test(
            "The timeout and the times of keep-alives are set on connections: 30 seconds unless configured",
            arguments: [
                (Duration?.some(.seconds(30)), Duration?.none, [30_000, 15, 5]),
                (.milliseconds(2_500), nil, [2_500, 1, 1]), (nil, nil, [0, 60, 60]),
                (.seconds(30), .seconds(7), [30_000, 7, 7]), (nil, .seconds(7), [0, 7, 7]),
            ])
        func options(limit: Duration?, interval: Duration?, expected: [Int32]) async throws {
            let peer = try WirePeer { wire in
                try wire.head()
                try wire.send(Self.ok)
                try wire.drain()
            }
            #expect(CurlTransport.Configuration().peerTimeout == .seconds(30))
            let transport = CurlTransport(
                configuration: .init { ($0.peerTimeout, $0.keepAliveInterval) = (limit, interval) })
            try await transport.run(try request(peer)).check(.response("ok"))
            // Another test may hold thousands of descriptors, so the number of this one has no limit.
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
            let descriptor = try #require(open.first { Self.port(ofPeerOf: $0) == peer.port })
            // TCP_USER_TIMEOUT, TCP_KEEPIDLE, TCP_KEEPINTVL
            #expect([18, 4, 5].map { Self.option($0, of: descriptor) } == expected)
            withExtendedLifetime(transport) {}
        }

        private static func port(ofPeerOf descriptor: Int32) -> Int? {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
            }
            return result == 0 && address.sin_family == sa_family_t(AF_INET)
                ? Int(UInt16(bigEndian: address.sin_port)) : nil
        }

        private static func option(_ name: Int32, of descriptor: Int32) -> Int32 {
            var value: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, Int32(IPPROTO_TCP), name, &value, &size)
            return value
        }
    }
#endif
