#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    /// Tasks that wait for a connection slot. The end of another task starts them, in its loop.
    @Suite("Tasks that have waited for a connection slot", .limited)
    struct CurlWaitingTests {
        private let gate = Gate()
        private let server: MockServer

        init() throws {
            server = try MockServer()
            let gate = gate
            server.on(
                "GET", "/",
                MockResponse([.pause { try await gate.passUnlessCancelled() }] + MockResponse.text("ok").steps))
            server.on("GET", "/stall", .stall)
            server.on("GET", "/large", .text(String(repeating: "x", count: 300_000)))
            server.on("POST", "/upload") { .text("\($0.body.count)") }
        }

        /// A task that has waited, and has started when the task before it has ended.
        private func started(
            _ request: TransportRequest, loops: Int
        ) async throws -> (task: any TransportTask, delegate: RecordingDelegate) {
            let transport = CurlTransport(
                configuration: .init {
                    $0.loops = loops
                    $0.maximumConnectionsPerHost = 1
                })
            let first = transport.start(TransportRequest(url: try RequestURL(server.url + "/")))
            try await server.wait { $0.requests.count == 1 }
            let delegate = RecordingDelegate()
            let task = transport.task(for: request, id: TransportTaskID(2), delegate: delegate)
            task.resume()
            gate.open()
            try await first.wait { $0.isCompleted && $0.depth == 0 }.check(.response("ok"))
            return (task, delegate)
        }

        private func request(_ path: String) throws -> TransportRequest {
            TransportRequest(url: try RequestURL(server.url + path))
        }

        @Test("T12: cancel() ends a task that has waited, although its server never answers", arguments: [1, 2])
        func cancel(loops: Int) async throws {
            let (task, delegate) = try await started(request("/stall"), loops: loops)
            try await server.wait { $0.requests.count == 2 }
            task.cancel()
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.cancelled))
        }

        @Test("T16: the paused body of a task that has waited continues", arguments: [1, 2])
        func allowance(loops: Int) async throws {
            var request = try request("/large")
            request.initialAllowance = 1
            let (task, delegate) = try await started(request, loops: loops)
            _ = try await delegate.wait { $0.bodyCount >= 1 }
            task.allow(upTo: .max)
            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
            #expect(trace.isSuccess)
            #expect(trace.bodyCount == 300_000)
        }

        @Test("The streamed body of a task that has waited is sent as it comes", arguments: [1, 2])
        func upload(loops: Int) async throws {
            let stream = TestStream()
            stream.add(.pattern(100))
            var request = try request("/upload")
            request.method = "POST"
            request.body = .stream(TransportBodySource(length: nil, isReplayable: false) { stream })
            let (_, delegate) = try await started(request, loops: loops)
            for number in 1...5 {
                _ = try await delegate.wait { $0.records.count { $0.what.name == "bodySent" } >= number }
                stream.add(.pattern(100))
            }
            stream.finish()
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.response("600"))
        }

        @Test("A task that has waited is refused if the transport cannot send its request", arguments: [1, 2])
        func refusal(loops: Int) async throws {
            var request = try request("/")
            request.method = "HEAD"
            request.body = .data(Data([1]))
            let (_, delegate) = try await started(request, loops: loops)
            try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.bodyFailed))
            #expect(server.requests.count == 1)
        }
    }
#endif
