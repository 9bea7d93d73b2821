#if os(Linux)
    import CLarkspur
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Interim responses and trailers over HTTP/2.
    @Suite(
        "Interim responses and trailers over HTTP/2", .limited,
        .enabled(if: clarkspur_curl_load() == nil && CurlLibrary.current.hasHTTP2, "libcurl was built without HTTP/2"))
    struct HTTP2FieldsTests {
        @Test("T27: interim heads are delivered over HTTP/2")
        func interim() async throws {
            let trace = try await Self.trace { stream in
                Self.fields([("", "103"), ("link", "</a.css>")], of: stream) + HTTP2.head(of: stream)
                    + HTTP2.body("ok", of: stream)
            }
            #expect(trace.information.map(\.status) == [103])
            #expect(trace.information.first?["Link"] == "</a.css>")
            trace.check(.response("ok"))
            #expect(trace.audit() == [])
        }

        @Test("T27: a thousand interim heads over HTTP/2 end the task")
        func manyInterims() async throws {
            let trace = try await Self.trace { stream in
                (0..<1_000).flatMap { _ in Self.fields([("", "103")], of: stream) } + HTTP2.head(of: stream)
                    + HTTP2.body("ok", of: stream)
            }
            #expect(trace.failure == .protocolViolation)
            #expect(trace.information.count <= 64)
        }

        @Test("T10: a stream that is reset without an error code before the response's end is no success")
        func reset() async throws {
            let trace = try await Self.trace { stream in
                HTTP2.head(of: stream) + HTTP2.body("o", of: stream, ends: false)
                    + HTTP2.frame(.reset, stream: stream, HTTP2.number(0))
            }
            #expect([.truncated, .connectionLost].contains(trace.failure))
        }

        @Test("A reset without an error code after the response's end changes nothing")
        func lateReset() async throws {
            let trace = try await Self.trace { stream in
                HTTP2.head(of: stream) + HTTP2.body("ok", of: stream)
                    + HTTP2.frame(.reset, stream: stream, HTTP2.number(0))
            }
            trace.check(.response("ok"))
        }

        @Test("T28: trailers are delivered over HTTP/2")
        func trailers() async throws {
            let trace = try await Self.trace { stream in
                HTTP2.head(of: stream) + HTTP2.body("ok", of: stream, ends: false)
                    + Self.fields([("x-sum", "1"), ("set-cookie", "a=b"), ("x-sum", "2")], of: stream, ends: true)
            }
            #expect(trace.trailers == [HTTPHeaders([Self.field("x-sum", "1"), Self.field("x-sum", "2")])])
            trace.check(.response("ok"))
            #expect(trace.audit() == [])
        }

        @Test("T28: trailers of a megabyte over HTTP/2 end the task")
        func largeTrailers() async throws {
            let trace = try await Self.trace { stream in
                let line = [("x-t", String(repeating: "y", count: 100))]
                let frames = (0..<100).map { index -> [UInt8] in
                    let fields = (0..<100).flatMap { _ in Self.literal(line[0].0, line[0].1) }
                    return index == 0
                        ? HTTP2.frame(.headers, flags: HTTP2.endStream, stream: stream, fields)
                        : HTTP2.frame(.continuation, flags: index == 99 ? HTTP2.endHeaders : 0, stream: stream, fields)
                }
                return HTTP2.head(of: stream) + HTTP2.body("ok", of: stream, ends: false) + frames.flatMap { $0 }
            }
            #expect([.protocolViolation, .connectionLost].contains(trace.failure))
            #expect(trace.trailers.isEmpty)
        }

        @Test("T28: a NUL in a trailer over HTTP/2 ends the task")
        func brokenTrailer() async throws {
            let trace = try await Self.trace { stream in
                HTTP2.head(of: stream) + HTTP2.body("ok", of: stream, ends: false)
                    + Self.fields([("x-sum", "1\0")], of: stream, ends: true)
            }
            #expect(trace.failure == .protocolViolation)
            #expect(trace.trailers.isEmpty)
        }

        @Test("T29: trailers over HTTP/2, which libcurl cannot send, are refused before anything is sent")
        func sentTrailers() async throws {
            let peer = try WirePeer { try $0.drain() }
            let source = TransportBodySource(length: nil, isReplayable: false, trailerNames: []) {
                ArrayStream(.pattern(40), piece: 16)
            }
            var request = TransportRequest(method: "POST", url: try RequestURL(peer.url + "/"), body: .stream(source))
            request.version = .http2
            let trace = try await CurlTransport().run(request)
            #expect(trace.failure == .unavailable)
            #expect(trace.sent.isEmpty)
            request.version = .negotiated
            request.url = try RequestURL("https://example.com/")
            #expect(CurlVersion.fit(for: request, negotiates: true, .current) == .http1)
        }

        // MARK: The server

        private static func trace(_ frames: @escaping @Sendable (UInt32) -> [UInt8]) async throws -> Trace {
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                try wire.send(frames(stream))
                try wire.drain()
            }
            var request = TransportRequest(url: try RequestURL(peer.url + "/"))
            request.version = .http2
            request.timeouts = .long
            return try await CurlTransport().run(request)
        }

        private static func field(_ name: String, _ value: String) -> HTTPHeader {
            HTTPHeader(name: name, value: value)
        }

        /// Returns a frame of fields. The name "" stands for the status.
        private static func fields(_ fields: [(String, String)], of stream: UInt32, ends: Bool = false) -> [UInt8] {
            HTTP2.frame(
                .headers, flags: HTTP2.endHeaders | (ends ? HTTP2.endStream : 0), stream: stream,
                fields.flatMap { literal($0.0, $0.1) })
        }

        /// Returns a field as a literal of HPACK, without Huffman code and without an entry in its table.
        private static func literal(_ name: String, _ value: String) -> [UInt8] {
            let key = name.isEmpty ? [0x08] : [0, UInt8(name.utf8.count)] + Array(name.utf8)
            return key + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
    }
#endif
