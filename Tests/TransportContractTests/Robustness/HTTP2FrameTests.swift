#if os(Linux)
    import CLarkspur
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    private let watchesHTTP2 = clarkspur_curl_load() == nil && clarkspur_http2_is_watched()

    /// Faults in HTTP/2 frames: each ends the hop at once, as an error of the right kind.
    @Suite(
        "Robustness: frames of HTTP/2", .limited,
        .enabled(if: watchesHTTP2, "HTTP/2 sessions of this libcurl cannot be watched"))
    struct HTTP2FrameTests {
        /// The frames that a server sends when the request of a stream has arrived.
        struct Script: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let frames: @Sendable (UInt32) -> [[UInt8]]

            init(_ description: String, _ frames: @escaping @Sendable (UInt32) -> [[UInt8]]) {
                (testDescription, self.frames) = (description, frames)
            }
        }

        /// Faults of a connection or a stream, each after the start of a response of unknown length.
        static let brokenFrames: [Script] = [
            Script("DATA over the frame limit that ends the stream") {
                [
                    HTTP2.frame(
                        .data, flags: HTTP2.endStream, stream: $0, length: 100_000, Array(repeating: 7, count: 90))
                ]
            },
            Script("DATA over the frame limit") {
                [HTTP2.frame(.data, stream: $0, length: 100_000, Array(repeating: 7, count: 90))]
            },
            Script("DATA of no stream") { _ in [HTTP2.frame(.data, [1])] },
            Script("DATA of a stream that was never opened") { [HTTP2.body("x", of: $0 + 2)] },
            Script("DATA with more padding than it has bytes") {
                [HTTP2.frame(.data, flags: 8 | HTTP2.endStream, stream: $0, [200, 1, 2])]
            },
            Script("a push that was not allowed") {
                [HTTP2.frame(.push, flags: HTTP2.endHeaders, stream: $0, HTTP2.number(2) + [0x88])]
            },
            Script("a head on a stream that the server opened") { _ in [HTTP2.head(of: 2)] },
            Script("a head that is not valid HPACK") {
                [
                    HTTP2.frame(
                        .headers, flags: HTTP2.endHeaders | HTTP2.endStream, stream: $0, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
                ]
            },
            Script("a continuation of nothing") { [HTTP2.frame(.continuation, flags: HTTP2.endHeaders, stream: $0)] },
            Script("another frame inside a head") {
                [HTTP2.frame(.headers, stream: $0, [0x88]), HTTP2.frame(.ping, Array(repeating: 0, count: 8))]
            },
            Script("SETTINGS of an invalid length") { _ in [HTTP2.frame(.settings, [1, 2, 3])] },
            Script("SETTINGS with a window beyond the maximum") { _ in
                [HTTP2.frame(.settings, [0, 4, 0xFF, 0xFF, 0xFF, 0xFF])]
            },
            Script("PING of seven bytes") { _ in [HTTP2.frame(.ping, Array(repeating: 0, count: 7))] },
            Script("PING of a stream") { [HTTP2.frame(.ping, stream: $0, Array(repeating: 0, count: 8))] },
            Script("WINDOW_UPDATE of nothing, for the connection") { _ in [HTTP2.frame(.windowUpdate, HTTP2.number(0))]
            },
            Script("WINDOW_UPDATE past all windows") { _ in
                [
                    HTTP2.frame(.windowUpdate, HTTP2.number(0x7FFF_FFFF)),
                    HTTP2.frame(.windowUpdate, HTTP2.number(0x7FFF_FFFF)),
                ]
            },
            Script("RST_STREAM of a stream that was never opened") {
                [HTTP2.frame(.reset, stream: $0 + 2, HTTP2.number(8))]
            },
            Script("GOAWAY of a stream") { [HTTP2.frame(.goAway, stream: $0, HTTP2.number(0) + HTTP2.number(0))] },
        ]

        @Test(
            "A broken frame ends a response as a protocol violation, at once", arguments: brokenFrames, [false, true])
        func faults(fault: Script, isApart: Bool) async throws {
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                let beginning = HTTP2.head(of: stream) + HTTP2.body("part", of: stream, ends: false)
                let rest = fault.frames(stream).flatMap { $0 }
                if isApart {
                    try wire.send(beginning)
                    _ = try wire.take(0)
                    try wire.send(rest)
                } else {
                    try wire.send(beginning + rest)
                }
                try wire.drain()
            }
            let transport = CurlTransport()
            try await transport.run(try Self.request(peer.url)).check(.failure(.protocolViolation))
        }

        @Test("A broken head ends a response as a protocol violation, at once")
        func brokenHead() async throws {
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                // A name in upper case, as a literal of HPACK.
                let field: [UInt8] = [0x00, 1] + Array("X".utf8) + [1] + Array("y".utf8)
                try wire.send(HTTP2.frame(.headers, flags: HTTP2.endHeaders, stream: stream, [0x88] + field))
                try wire.send(HTTP2.body("text", of: stream))
                try wire.drain()
            }
            try await CurlTransport().run(try Self.request(peer.url)).check(.failure(.protocolViolation))
        }

        @Test("A complete response stays a success, whatever its connection violates afterwards")
        func wholeBefore() async throws {
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                try wire.send(HTTP2.head(of: stream) + HTTP2.body("whole", of: stream) + HTTP2.frame(.ping, [1]))
                try wire.drain()
            }
            try await CurlTransport().run(try Self.request(peer.url)).check(.response("whole"))
        }

        @Test("A request that a delegate starts on another transport leaves the connections of the first one watched")
        func otherTransport() async throws {
            let isStarted = DispatchSemaphore(value: 0)
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                try wire.send(HTTP2.head(of: stream) + HTTP2.body("part", of: stream, ends: false))
                isStarted.wait()
                try wire.send(
                    HTTP2.frame(
                        .data, flags: HTTP2.endStream, stream: stream, length: 100_000, Array(repeating: 7, count: 90)))
                try wire.drain()
            }
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let get = TransportRequest(url: try RequestURL(server.url + "/"))
            let (transport, other) = (CurlTransport(), CurlTransport())
            try await other.run(get).check(.response("ok"))  // its thread sleeps from now on
            let inner = RecordingDelegate()
            let second = other.task(for: get, id: TransportTaskID(2), delegate: inner)
            let outer = RecordingDelegate { event, _ in
                guard case .head = event else { return }
                second.resume()
                isStarted.signal()
            }
            let first = transport.task(for: try Self.request(peer.url), id: TransportTaskID(1), delegate: outer)
            outer.steer(first)
            first.resume()
            try await outer.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.protocolViolation))
            try await inner.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
        }

        @Test("A response of many padded frames is complete, however few bytes each frame has")
        func paddedFrames() async throws {
            let count = 20_000
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                try wire.send(HTTP2.head(of: stream))
                let frame = HTTP2.frame(.data, flags: 8, stream: stream, [3, 7, 0, 0, 0])
                try wire.send(Array(repeatElement(frame, count: count).joined()))
                try wire.send(HTTP2.body("", of: stream))
                try wire.drain()
            }
            let trace = try await CurlTransport().run(try Self.request(peer.url))
            #expect(trace.isSuccess)
            #expect(trace.bodyCount == count)
        }

        static let endlessFrames: [Script] = [
            Script("PRIORITY") { [HTTP2.frame(.priority, stream: $0, HTTP2.number(0) + [1])] },
            Script("empty DATA") { [HTTP2.frame(.data, stream: $0)] },
            Script("DATA of padding alone") { [HTTP2.frame(.data, flags: 8, stream: $0, [3, 0, 0, 0])] },
            Script("WINDOW_UPDATE") { _ in [HTTP2.frame(.windowUpdate, HTTP2.number(1))] },
            Script("SETTINGS") { _ in [HTTP2.frame(.settings)] },
            Script("PING") { _ in [HTTP2.frame(.ping, Array(repeating: 0, count: 8))] },
            Script("answers to PINGs that were not sent") { _ in
                [HTTP2.frame(.ping, flags: HTTP2.acknowledgement, Array(repeating: 0, count: 8))]
            },
            Script("GOAWAY") { _ in [HTTP2.frame(.goAway, HTTP2.number(0x7FFF_FFFF) + HTTP2.number(0))] },
            Script("frames of an unknown kind") { _ in [HTTP2.frame(.unknown)] },
            Script("9,000 PINGs for each byte of the response") {
                Array(repeating: HTTP2.frame(.ping, Array(repeating: 0, count: 8)), count: 9_000)
                    + [HTTP2.body("x", of: $0, ends: false)]
            },
            Script("9,000 empty DATA frames for each byte of the response") {
                Array(repeating: HTTP2.frame(.data, stream: $0), count: 9_000) + [HTTP2.body("x", of: $0, ends: false)]
            },
            Script("9,000 frames of an unknown kind for each byte of the response") {
                Array(repeating: HTTP2.frame(.unknown), count: 9_000) + [HTTP2.body("x", of: $0, ends: false)]
            },
        ]

        @Test(
            "A flood of frames ends as a protocol violation, and delays no other request", .serialized,
            arguments: endlessFrames)
        func floods(flood: Script) async throws {
            let peer = try WirePeer { wire in
                try wire.beginHTTP2()
                let stream = try wire.request()
                try wire.send(HTTP2.head(of: stream))
                let frames = flood.frames(stream).flatMap { $0 }
                let piece = Array(repeatElement(frames, count: max(1, 60_000 / frames.count)).joined())
                while true { try wire.send(piece) }
            }
            let other = try MockServer()
            other.on("GET", "/", .text("ok"))
            let transport = CurlTransport()
            var request = try Self.request(peer.url)
            request.timeouts = .only { _ in }  // the flood must end the request, not a timeout
            let flooded = transport.start(request)
            for _ in 0..<20 {
                var request = TransportRequest(url: try RequestURL(other.url + "/"))
                request.timeouts = .long
                try await transport.run(request).check(.response("ok"))
            }
            try await flooded.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.protocolViolation))
            // The connection is not reused.
            try await transport.run(request).check(.failure(.protocolViolation))
        }

        private static func request(_ url: String) throws -> TransportRequest {
            var request = TransportRequest(url: try RequestURL(url + "/"))
            request.version = .http2
            request.timeouts = .long
            return request
        }
    }
#endif
