#if os(Linux)
    import CLarkspur
    import Larkspur
    import TestSupport
    import Testing

    private let watchesHTTP2 = clarkspur_curl_load() == nil && clarkspur_http2_is_watched()

    /// Servers that reset each stream or close each connection: how often they get a request, and how its hop ends.
    @Suite(
        "Robustness: streams that are reset", .limited,
        .enabled(if: watchesHTTP2, "HTTP/2 sessions of this libcurl cannot be watched"))
    struct HTTP2ResetTests {
        /// An error code of HTTP/2 (RFC 9113, section 7).
        enum Code: UInt32, CaseIterable {
            case noError, protocolError, internalError, flowControl, settingsTimeout, streamClosed, frameSize
            case refusedStream, cancel, compression, connect, enhanceYourCalm, inadequateSecurity, http11Required
        }

        /// A server that plays the answer to each request, and counts the requests.
        private final class Server: Sendable {
            let peer: WirePeer
            let requests = Observed(0)

            init(_ answer: @escaping @Sendable (Wire, _ stream: UInt32, _ number: Int) throws -> Void) throws {
                peer = try WirePeer { [requests] wire in
                    try wire.beginHTTP2()
                    while true {
                        let stream = try wire.request()
                        requests.change { $0 += 1 }
                        try answer(wire, stream, requests.value)
                    }
                }
            }

            func request(_ method: String = "GET", body: TransportBody = .none) throws -> TransportRequest {
                var request = TransportRequest(method: method, url: try RequestURL(peer.url + "/"), body: body)
                request.version = .http2
                request.timeouts = .only { _ in }  // an error must end the request, not a timeout
                return request
            }
        }

        private static func reset(_ stream: UInt32, _ code: Code) -> [UInt8] {
            HTTP2.frame(.reset, stream: stream, HTTP2.number(code.rawValue))
        }

        private static func whole(_ stream: UInt32) -> [UInt8] { HTTP2.head(of: stream, ends: true) }

        @Test(
            "A stream that is reset ends its hop; only a refused request is sent again, once",
            arguments: Code.allCases.filter { $0 != .http11Required || Libcurl.tellsOfRepetitions }, ["GET", "POST"])
        func resets(code: Code, method: String) async throws {
            for isKept in [false, true] {
                let server = try Server { wire, stream, number in
                    try wire.send(isKept && number == 1 ? Self.whole(stream) : Self.reset(stream, code))
                }
                let transport = CurlTransport()
                if isKept { #expect(try await transport.run(server.request()).isSuccess) }
                let trace = try await transport.run(server.request(method))
                trace.check(.failure([.connectionLost, .protocolViolation]))
                #expect(trace.error?.phase == .waiting)
                // libcurl tells neither that it repeats a request over HTTP/1.1 nor that it repeats a refused one.
                let isRepeated = code == .refusedStream || code == .http11Required
                #expect(server.requests.value == (isRepeated ? 2 : 1) + (isKept ? 1 : 0), "kept: \(isKept)")
                if Libcurl.tellsOfRepetitions {
                    #expect(trace.metrics.first?.repetitions == (isRepeated ? 1 : 0), "kept: \(isKept)")
                }
            }
        }

        @Test("A refused request is sent again, and its answer is the response", arguments: ["GET", "POST"])
        func refusedOnce(method: String) async throws {
            let server = try Server { wire, stream, number in
                try wire.send(number == 1 ? Self.reset(stream, .refusedStream) : Self.whole(stream))
            }
            let body = TransportBody.data(Data("a body".utf8))
            let trace = try await CurlTransport().run(server.request(method, body: method == "POST" ? body : .none))
            trace.check(.response(""))
            #expect(server.requests.value == 2)
            if Libcurl.tellsOfRepetitions { #expect(trace.metrics.first?.repetitions == 1) }
        }

        @Test(
            "Every refused request is sent again, also the sixth one of an easy handle", arguments: ["GET", "POST"])
        func refusedOften(method: String) async throws {
            let server = try Server { wire, stream, number in
                try wire.send(number.isMultiple(of: 2) ? Self.whole(stream) : Self.reset(stream, .refusedStream))
            }
            let (transport, count) = (CurlTransport(), 8)
            for _ in 0..<count {
                let trace = try await transport.run(server.request(method))
                trace.check(.response(""))
                if Libcurl.tellsOfRepetitions { #expect(trace.metrics.first?.repetitions == 1) }
            }
            #expect(server.requests.value == 2 * count)
        }

        @Test("A request that a GOAWAY excludes is sent again, whatever its method", arguments: ["GET", "POST"])
        func aboveGoAway(method: String) async throws {
            let server = try Server { wire, stream, number in
                if number > 1 { return try wire.send(Self.whole(stream)) }
                try wire.send(HTTP2.frame(.goAway, HTTP2.number(0) + HTTP2.number(0)))
                try wire.drain()
            }
            let body = TransportBody.data(Data("a body".utf8))
            let trace = try await CurlTransport().run(server.request(method, body: method == "POST" ? body : .none))
            trace.check(.response(""))
            #expect(server.requests.value == 2)
            if Libcurl.tellsOfRepetitions { #expect(trace.metrics.first?.repetitions == 1) }
        }

        @Test("A request after one whose stream was reset gets its response, also if it waited for the connection")
        func next() async throws {
            let isReset = DispatchSemaphore(value: 0)
            let server = try Server { wire, stream, number in
                if number == 1 {
                    isReset.wait()
                    try wire.send(Self.reset(stream, .internalError))
                } else {
                    try wire.send(Self.whole(stream))
                }
            }
            let transport = CurlTransport(configuration: .init { $0.loops = 1 })
            let first = transport.start(try server.request())
            try await server.requests.wait { $0 == 1 }
            let beside = transport.start(try server.request())
            isReset.signal()
            try await first.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.connectionLost))
            try await beside.wait { $0.isCompleted && $0.depth == 0 }.check(.response(""))
            try await transport.run(server.request()).check(.response(""))
        }

        @Test(
            "A GET whose connection closes is sent again at most once, a POST is not", arguments: ["GET", "POST"],
            [false, true])
        func closes(method: String, isKept: Bool) async throws {
            let server = try Server { wire, stream, number in
                guard isKept, number == 1 else { throw Wire.Left() }
                try wire.send(Self.whole(stream))
            }
            let transport = CurlTransport()
            if isKept { try await transport.run(server.request()).check(.response("")) }
            let trace = try await transport.run(server.request(method))
            guard Libcurl.tellsOfRepetitions else { return }
            trace.check(.failure(.connectionLost))
            let requests = server.requests.value - (isKept ? 1 : 0)
            // Some versions of libcurl report the loss as that of an HTTP/1.1 connection.
            #expect((1...(method == "GET" ? 2 : 1)).contains(requests))
            #expect(trace.metrics.first?.repetitions == requests - 1)
        }

        @Test(
            "A request that each connection excludes by GOAWAY is sent at most five times", arguments: ["GET", "POST"])
        func goAway(method: String) async throws {
            let server = try Server { wire, _, _ in
                try wire.send(HTTP2.frame(.goAway, HTTP2.number(0) + HTTP2.number(0)))
                throw Wire.Left()
            }
            let trace = try await CurlTransport().run(server.request(method))
            trace.check(.failure(.connectionLost))
            #expect((1...5).contains(server.requests.value))
        }

        @Test(
            "A request on a reused HTTP/1.1 connection that closes is sent again once, over a new connection",
            .enabled(if: Libcurl.tellsOfRepetitions, "libcurl before 7.80 does not report repetitions"),
            arguments: ["GET", "PUT"])
        func staleConnections(method: String) async throws {
            let (count, requests, arrived) = (4, Observed(0), DispatchSemaphore(value: 0))
            let peer = try WirePeer { wire in
                try wire.head()
                requests.change { $0 += 1 }
                arrived.wait()
                try wire.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                try wire.head()
                requests.change { $0 += 1 }
            }
            var request = TransportRequest(url: try RequestURL(peer.url + "/"))
            request.timeouts = .only { _ in }
            let transport = CurlTransport()
            let opening = (0..<count).map { [request] _ in transport.start(request) }
            try await requests.wait { $0 == count }
            for _ in 0..<count { arrived.signal() }
            for delegate in opening { try await delegate.wait { $0.isCompleted && $0.depth == 0 } }
            arrived.signal()  // for the new connection
            request.method = method
            let trace = try await transport.run(request)
            trace.check(.response(""))
            #expect(trace.metrics.first?.repetitions == 1)
            #expect(requests.value == count + 2)
        }
    }
#endif
