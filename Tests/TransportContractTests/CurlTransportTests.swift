#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    extension CurlTransport {
        /// Starts one hop.
        func start(_ request: TransportRequest) -> RecordingDelegate {
            let delegate = RecordingDelegate()
            task(for: request, id: TransportTaskID(1), delegate: delegate).resume()
            return delegate
        }
    }

    @Suite("CurlTransport", .limited)
    struct CurlTransportTests {
        private static let limited = CurlTransport.Configuration { $0.maximumConnectionsPerHost = 1 }

        @Test("T22: invalidate() also ends the tasks that wait for a connection slot")
        func queueEnds() async throws {
            let server = try MockServer()
            server.on("GET", "/", .stall)
            let transport = CurlTransport(configuration: Self.limited)
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            let delegates = (0..<5).map { _ in transport.start(request) }
            try await server.wait { $0.requests.count == 1 }
            transport.invalidate()
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.invalidated))
            }
        }

        @Test("Requests beyond an origin's limit are sent in order over its connection, and do not delay other origins")
        func queue() async throws {
            let (server, other, gate) = (try MockServer(), try MockServer(), Gate())
            server.on(
                "GET", "/held",
                MockResponse([.pause { try await gate.passUnlessCancelled() }] + MockResponse.text("ok").steps))
            server.on("GET", "/next", .text("ok"))
            other.on("GET", "/", .text("other"))
            let transport = CurlTransport(configuration: Self.limited)
            let targets = ["/held", "/next?1", "/next?2", "/next?3"]
            let delegates = try targets.map { transport.start(TransportRequest(url: try RequestURL(server.url + $0))) }
            try await gate.reached()
            try await transport.run(TransportRequest(url: try RequestURL(other.url + "/"))).check(.response("other"))
            #expect(server.requests.count == 1)
            gate.open()
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            }
            #expect(server.requests.map(\.target) == targets)
            #expect(server.log.connectionsAccepted == 1)
            #expect(delegates.map { $0.recorded.metrics.first?.connectionWasReused } == [false, true, true, true])
        }

        @Test("Requests that wait for a connection slot are sent by priority")
        func priorities() async throws {
            let (server, gate) = (try MockServer(), Gate())
            server.on(
                "GET", "/held",
                MockResponse([.pause { try await gate.passUnlessCancelled() }] + MockResponse.text("ok").steps))
            server.on("GET", "/next", .text("ok"))
            let transport = CurlTransport(configuration: Self.limited)
            let targets: [(String, RequestPriority)] = [
                ("/held", .low), ("/next?1", .low), ("/next?2", .high), ("/next?3", .normal), ("/next?4", .high),
            ]
            let delegates = try targets.map { target, priority in
                var request = TransportRequest(url: try RequestURL(server.url + target))
                request.priority = priority
                return transport.start(request)
            }
            try await gate.reached()
            gate.open()
            for delegate in delegates {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            }
            #expect(server.requests.map(\.target) == ["/held", "/next?2", "/next?4", "/next?3", "/next?1"])
        }

        @Test("A request over a reused connection has its own fields, and none of the previous request")
        func fieldsInTurn() async throws {
            let server = try MockServer()
            server.on(nil, "/", .text("ok"))
            let transport = CurlTransport(configuration: Self.limited)
            let (shared, url) = ([HTTPHeader(name: "X-A", value: "1")], try RequestURL(server.url + "/"))
            let requests = [
                TransportRequest(url: url, fields: shared), TransportRequest(url: url, fields: shared),
                TransportRequest(method: "POST", url: url, fields: shared),
                TransportRequest(url: url, fields: shared),
                TransportRequest(url: url, fields: shared + [HTTPHeader(name: "X-B", value: "2")]),
                TransportRequest(method: "PUT", url: url, fields: shared, body: .data(Data("four".utf8))),
                TransportRequest(url: url), TransportRequest(url: url, fields: shared),
            ]
            for request in requests { try await transport.run(request).check(.response("ok")) }
            let seen = server.requests.map { request in
                ["X-A", "X-B", "Content-Length", "Accept"].map { request.headers[$0] ?? "" }
            }
            #expect(
                seen == [
                    ["1", "", "", ""], ["1", "", "", ""], ["1", "", "0", ""], ["1", "", "", ""], ["1", "2", "", ""],
                    ["1", "", "4", ""], ["", "", "", ""], ["1", "", "", ""],
                ])
            #expect(server.log.connectionsAccepted == 1)
        }

        /// A stream without end that suspends its task from inside every tenth read.
        private final class Endless: TransportBodyStream {
            private let box = Protected((count: 0, task: (any TransportTask)?.none))
            private let counts = AsyncStream.makeStream(of: Int.self)

            var count: Int { box.withLock { $0.count } }
            /// The number of reads so far, sent at each suspension.
            var suspensions: AsyncStream<Int>.Iterator { counts.stream.makeAsyncIterator() }

            func suspends(_ task: any TransportTask) { box.withLock { $0.task = task } }
            func begin(wake: @escaping @Sendable () -> Void) {}
            func end() { box.withLock { $0.task = nil } }

            func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
                let (count, task) = box.withLock { box in
                    box.count += 1
                    return (box.count, box.task)
                }
                if count % 10 == 0 {
                    task?.suspend()
                    counts.continuation.yield(count)
                }
                return .bytes(min(buffer.count, 1_000))
            }
        }

        @Test("T15: a suspended upload reads nothing from its body until it is resumed, however often")
        func suspendedUpload() async throws {
            let server = try MockServer()
            server.on("POST", "/", reading: .counted, .text("ok"))
            server.on("GET", "/ping", .text("ok"))
            let (transport, stream, delegate) = (CurlTransport(), Endless(), RecordingDelegate())
            let body = TransportBody.stream(TransportBodySource(length: nil, isReplayable: false) { stream })
            let upload = TransportRequest(method: "POST", url: try RequestURL(server.url + "/"), body: body)
            let task = transport.task(for: upload, id: TransportTaskID(1), delegate: delegate)
            stream.suspends(task)
            task.resume()
            var suspensions = stream.suspensions
            for round in 1...5 {
                #expect(await suspensions.next() == round * 10)
                // When these are answered, the loop has done everything that it had to do.
                let ping = TransportRequest(url: try RequestURL(server.url + "/ping"))
                for _ in 0..<3 { try await transport.run(ping).check(.response("ok")) }
                #expect(stream.count == round * 10)
                task.resume()
            }
            #expect(await suspensions.next() == 60)
            task.cancel()
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.cancelled))
        }

        @Test("Metrics tell the phases of a new connection, the protocol and the addresses")
        func metrics() async throws {
            let server = try MockServer { _ in .text("ok") }
            let transport = CurlTransport()
            var request = TransportRequest(method: "POST", url: try RequestURL(server.url + "/"))
            request.body = .data(Data([1, 2, 3]))
            let first = try #require(try await transport.run(request).metrics.first)
            let times = [first.nameLookup, first.connected, first.requestSent, first.firstByte, first.total]
            #expect(times.compactMap(\.self).sorted() == times)
            #expect(first.secured == nil)
            #expect(first.queued != nil)
            #expect(first.protocolName == "http/1.1")
            #expect(first.remoteAddress == "127.0.0.1" && first.localAddress == "127.0.0.1")
            #expect((first.requestBodyBytes, first.responseBodyBytes) == (3, 2))
            let second = try #require(try await transport.run(request).metrics.first)
            #expect(second.connectionWasReused == true)
            #expect(second.nameLookup == nil && second.connected == nil)
        }

        @Test(
            "A peer is trusted only through the configured authorities, from a file or from memory",
            .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"), .takesAuthorities)
        func authorities() async throws {
            #expect(try await CurlTransport().run(Self.secure("NGINX_TLS")).failure == .unknownIssuer)
            let path = try #require(ProcessInfo.processInfo.environment["LARKSPUR_CA_FILE"])
            let pem = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            let believing = CurlTransport(configuration: .init { $0.certificateAuthorities = .pem(pem) })
            try await believing.run(Self.secure("NGINX_TLS")).check(.response("Hello, world!"))
        }

        @Test(
            "All requests to an origin share one HTTP/2 connection",
            .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"), .sharesConnections)
        func oneConnection() async throws {
            let transport = CurlTransport(configuration: try #require(Environment.trusting))
            // This request keeps the connection in use, so that libcurl has no reason to close it.
            let slow = RecordingDelegate()
            let download = transport.task(
                for: try Self.secure("NGINX_TLS", "/slow"), id: TransportTaskID(1), delegate: slow)
            download.resume()
            let request = try Self.secure("NGINX_TLS")
            let delegates = (0..<200).map { _ in transport.start(request) }
            for delegate in delegates { try await delegate.wait { $0.isCompleted }.check(.response("Hello, world!")) }
            download.cancel()
            let last = try await slow.wait { $0.isCompleted }.metrics
            let metrics = delegates.flatMap { $0.recorded.metrics } + last
            #expect(Set(metrics.map(\.protocolName)) == ["h2"])
            let opened = metrics.enumerated().filter { $0.element.connectionWasReused == false }
            #expect(opened.count == 1, "\(opened)")
        }

        @Test(
            "Each field is a separate field to the peer, though libcurl receives several in one list entry",
            .enabled(if: Environment.trusting != nil, "no LARKSPUR_CA_FILE"),
            arguments: [("NGINX_TLS", "h2"), ("NGINX_TLS_H1", "http/1.1")])
        func joinedFields(server: String, version: String) async throws {
            var request = try Self.secure(server, "/client")
            request.fields = [
                ("Accept", "a/b"), ("Accept-Encoding", "br"), ("Accept-Language", "en"), ("User-Agent", "u/1"),
                ("X-Last", "x"),
            ].map { HTTPHeader(name: $0.0, value: $0.1) }
            let trace = try await CurlTransport(configuration: try #require(Environment.trusting)).run(request)
            trace.check(.response("a/b|br|en|u/1|x"))
            #expect(trace.metrics.first?.protocolName == version)
        }

        @Test(
            "HTTP/2 over plain TCP is used on request",
            .enabled(if: Environment.port("LARKSPUR_NGINX_H2C") != nil, "no LARKSPUR_NGINX_H2C"))
        func clearText() async throws {
            let port = try #require(Environment.port("LARKSPUR_NGINX_H2C"))
            var request = TransportRequest(url: try RequestURL("http://127.0.0.1:\(port)/hello"))
            request.version = .http2
            let trace = try await CurlTransport().run(request)
            trace.check(.response("Hello, world!"))
            #expect(trace.metrics.first?.protocolName == "h2")
        }

        @Test("A transport without references ends and closes its connections")
        func leavesNothing() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            for count in 1...50 {
                try await CurlTransport().run(request).check(.response("ok"))
                try await server.wait { $0.connectionCount == 0 && $0.connectionsAccepted == count }
            }
        }

        @Test(
            "An upload after a small body is sent again completely when its reused connection is lost",
            arguments: [40, nil])
        func uploadAfterPost(length: UInt64?) async throws {
            let server = try MockServer { .text("\($0.body.count)") }
            server.on("PUT", "/dies", MockResponse([.reset]), .text("again"))
            let transport = CurlTransport()
            var post = TransportRequest(method: "POST", url: try RequestURL(server.url + "/"))
            post.body = .data(Data([1, 2, 3]))
            try await transport.run(post).check(.response("3"))
            let source = TransportBodySource(length: length, isReplayable: true) {
                ArrayStream(.pattern(40), piece: 16)
            }
            let put = TransportRequest(
                method: "PUT", url: try RequestURL(server.url + "/dies"), body: .stream(source))
            let delegate = RecordingDelegate(answering: { question in
                if case .bodyFromStart(_, let reply) = question { reply(ArrayStream(.pattern(40), piece: 16)) }
            })
            transport.task(for: put, id: TransportTaskID(2), delegate: delegate).resume()
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("again"))
            #expect(server.requests.suffix(2).map(\.body.count) == [40, 40])
        }

        @Test("An error that arrives before the end of the body's stream ends the hop", arguments: [true, false])
        func earlyError(keepsAlive: Bool) async throws {
            let server = try MockServer()
            let refusal = MockResponse.text("too much", status: 413)
            // The server reads everything that is sent before the stream pends. Later bytes would cause a reset, which
            // may discard the response.
            server.on(
                "POST", "/", reading: .upTo(50), keepsAlive ? refusal : MockResponse(refusal.steps + [.close]))
            let gate = Gate()
            defer { gate.open() }
            let source = TransportBodySource(length: 100, isReplayable: false) {
                ArrayStream(.pattern(100), piece: 10, pendingAt: gate)
            }
            let request = TransportRequest(method: "POST", url: try RequestURL(server.url + "/"), body: .stream(source))
            let trace = try await CurlTransport().run(request)
            #expect(trace.heads.map(\.status) == [413])
            #expect(trace.isCompleted)
        }

        @Test(
            "A stream that claims more bytes than the buffer holds, or none, ends the hop with an error",
            arguments: [-1, 0, .max])
        func lyingStream(count: Int) async throws {
            final class Liar: TransportBodyStream {
                let count: Int
                init(_ count: Int) { self.count = count }
                func begin(wake: @escaping @Sendable () -> Void) {}
                func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead { .bytes(count) }
                func end() {}
            }
            let server = try MockServer { _ in .text("ok") }
            let source = TransportBodySource(length: 10, isReplayable: false) { Liar(count) }
            let request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/"), body: .stream(source))
            try await CurlTransport().run(request).check(.failure(.bodyFailed))
        }

        @Test("A file that has grown since the request was made is not sent partially")
        func grownFile() async throws {
            let server = try MockServer { _ in .text("ok") }
            let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try Data(count: 100_000).write(to: URL(fileURLWithPath: path))
            var request = TransportRequest(method: "PUT", url: try RequestURL(server.url + "/"))
            request.body = .file(path: path, length: 10)
            try await CurlTransport().run(request).check(.failure(.bodyFailed))
        }

        @Test("T3: a body goes with any method", arguments: ["GET", "DELETE", "PROPFIND"], [10, 100_000])
        func methods(method: String, size: Int) async throws {
            let server = try MockServer { .text("\($0.method) \($0.body.count)") }
            var request = TransportRequest(url: try RequestURL(server.url + "/"))
            (request.method, request.body) = (method, .data(Data(repeating: 7, count: size)))
            try await CurlTransport().run(request).check(.response("\(method) \(size)"))
        }

        private static func secure(_ name: String, _ path: String = "/hello") throws -> TransportRequest {
            let port = try #require(Environment.port("LARKSPUR_" + name))
            return TransportRequest(url: try RequestURL("https://localhost:\(port)\(path)"))
        }
    }
#endif
