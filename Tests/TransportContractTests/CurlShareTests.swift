#if os(Linux)
    import CLarkspur
    import Glibc
    import Larkspur
    import TestSupport
    import Testing

    /// The share of one call of libcurl: what it may receive before the loop serves other connections.
    @Suite("Shares of calls of libcurl", .limited)
    struct CurlShareTests {
        /// Two connected sockets.
        private final class Pair {
            private(set) var ends: [Int32] = [-1, -1]

            init() { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) }

            deinit { for end in ends { close(end) } }

            /// Sends as many bytes, and receives them as libcurl does. Returns the result of that.
            func pass(_ count: Int, flags: Int32 = 0) -> Int {
                var bytes = [UInt8](repeating: 7, count: count)
                guard send(ends[0], bytes, count, Int32(MSG_DONTWAIT)) == count else { return -2 }
                return clarkspur_share_receive(ends[1], &bytes, count, flags | Int32(MSG_DONTWAIT))
            }
        }

        private static let size = 1 << 16

        @Test("A share ends after a MiB, as if the socket were empty, and outside of a share nothing does")
        func bytes() {
            let pair = Pair()
            let before = clarkspur_share_begin()
            let counts = (0..<16).map { _ in pair.pass(Self.size) }
            #expect(counts == Array(repeating: Self.size, count: 16))
            let (peeked, refused) = (pair.pass(1, flags: Int32(MSG_PEEK)), pair.pass(1))
            let reason = errno
            #expect(peeked == 1)
            #expect(refused == -1)
            #expect(reason == EAGAIN)
            clarkspur_share_end(before)
            let outside = (0..<100).allSatisfy { _ in pair.pass(1) == 1 }
            #expect(outside)
        }

        @Test("A share ends after a thousand frames, and a call inside a callback has a share of its own")
        func frames() {
            let pair = Pair()
            let before = clarkspur_share_begin()
            for _ in 0..<999 { clarkspur_share_count_frame() }
            let last = pair.pass(1)
            let outer = clarkspur_share_begin()
            for _ in 0..<2_000 { clarkspur_share_count_frame() }
            let inner = pair.pass(1)
            clarkspur_share_end(outer)
            let restored = pair.pass(1)
            clarkspur_share_count_frame()
            let ended = pair.pass(1)
            clarkspur_share_end(before)
            let results = [last, inner, restored, ended]
            #expect(results == [1, -1, 1, -1])
        }

        @Test(
            "libcurl keeps to its share, so that other connections have their turn between the frames of a response",
            .enabled(if: clarkspur_curl_load() == nil && clarkspur_http2_is_watched(), "HTTP/2 cannot be watched"))
        func turns() async throws {
            let count = 300_000
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                try wire.send(HTTP2.head(of: stream))
                let frame = HTTP2.body("x", of: stream, ends: false)
                let piece = Array(repeatElement(frame, count: 6_000).joined())
                for _ in 0..<count / 6_000 { try wire.send(piece) }
                try wire.send(HTTP2.body("", of: stream))
                try wire.drain()
            }
            var request = TransportRequest(url: try RequestURL(peer.url + "/"))
            request.version = .http2
            request.timeouts = .long
            let trace = try await CurlTransport().run(request)
            #expect(trace.isSuccess)
            #expect(trace.bodyCount == count)
            #expect(Self.longestChunk(of: trace) <= 8_192)
        }

        /// Returns the number of bytes that one call of libcurl has received at most. The loop delivers after each call.
        private static func longestChunk(of trace: Trace) -> Int { trace.chunks.map(\.count).max() ?? 0 }

        @Test(
            "libcurl keeps to its share over TLS, also inside the TLS of a proxy",
            .enabled(
                if: Environment.port("LARKSPUR_H2_FAULTS") != nil && Environment.port("LARKSPUR_SQUID_TLS") != nil
                    && Environment.trusting != nil,
                "LARKSPUR_H2_FAULTS, LARKSPUR_SQUID_TLS and LARKSPUR_CA_FILE name no server"),
            .usesOpenSSL, arguments: [false, true])
        func turnsOverTLS(isNested: Bool) async throws {
            var configuration = try #require(Environment.trusting)
            if isNested {
                let port = try #require(Environment.port("LARKSPUR_SQUID_TLS"))
                configuration.proxies = try Proxies(
                    https: Proxy("https://user:secret@localhost:\(port)", authentication: .digest))
            }
            let port = try #require(Environment.port("LARKSPUR_H2_FAULTS"))
            var request = TransportRequest(url: try RequestURL("https://localhost:\(port)/single-bytes"))
            request.timeouts = .long
            let trace = try await CurlTransport(configuration: configuration).run(request)
            #expect(trace.isSuccess)
            #expect(trace.metrics.first?.protocolName == "h2")
            #expect(trace.bodyCount == 300_000)
            #expect(Self.longestChunk(of: trace) <= 8_192)
        }
    }
#endif
