#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurCurl

    @Suite("Several loops of a CurlTransport", .limited)
    struct CurlLoopsTests {
        private static func transport(loops: Int, limit: Int = 64) -> CurlTransport {
            CurlTransport(
                configuration: .init {
                    $0.loops = loops
                    $0.maximumConnectionsPerHost = limit
                })
        }

        private static func gated(_ gate: Gate) throws -> MockServer {
            let server = try MockServer()
            server.on(
                "GET", "/",
                MockResponse([.pause { try await gate.passUnlessCancelled() }] + MockResponse.text("ok").steps))
            server.on("GET", "/now", .text("now"))
            return server
        }

        private static func finish(_ delegates: [RecordingDelegate]) async throws -> [Trace] {
            var traces: [Trace] = []
            for delegate in delegates {
                let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                trace.check(.response("ok"))
                traces.append(trace)
            }
            return traces
        }

        @Test("A busy origin's requests run in all loops and on their threads; the limit holds for all loops together")
        func spreading() async throws {
            let gate = Gate()
            let (server, transport) = (try Self.gated(gate), Self.transport(loops: 2, limit: 25))
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            let delegates = (0..<60).map { _ in transport.start(request) }
            try await server.wait { $0.requests.count == 25 }
            #expect(transport.shared.origins.withLock { $0.running } == [13, 12])
            // When this is answered, the first loop has sent everything that it would send by itself.
            let other = try MockServer { _ in .text("now") }
            for _ in 0..<3 { _ = try await transport.run(TransportRequest(url: try RequestURL(other.url + "/"))) }
            #expect(server.requests.count == 25)
            gate.open()
            let threads = try await Self.finish(delegates).compactMap { $0.records.last?.thread }
            #expect(Set(threads).count >= 2)
            #expect(server.requests.count == 60)
            #expect(server.log.connectionsAccepted == 25)
            #expect(transport.shared.origins.withLock { $0.running } == [0, 0])
        }

        @Test("Few requests at once stay in one loop and reuse its connections")
        func reuse() async throws {
            let server = try MockServer { _ in .text("ok") }
            let transport = Self.transport(loops: 4)
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            for _ in 0..<20 { try await transport.run(request).check(.response("ok")) }
            #expect(server.log.connectionsAccepted == 1)
        }

        @Test(
            "A limit that is lower than the number of loops holds too", arguments: [(2, 1), (3, 2), (8, 3), (64, 1)])
        func lowLimits(loops: Int, limit: Int) async throws {
            let gate = Gate()
            let (server, transport) = (try Self.gated(gate), Self.transport(loops: loops, limit: limit))
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            let delegates = (0..<12).map { _ in transport.start(request) }
            try await server.wait { $0.requests.count == limit }
            #expect(transport.shared.origins.withLock { $0.running.reduce(0, +) } == limit)
            gate.open()
            _ = try await Self.finish(delegates)
            #expect(server.log.connectionsAccepted == limit)
        }

        @Test("Concurrent requests to many origins all end, and no connection slot is lost", arguments: [1, 2, 5])
        func manyOrigins(loops: Int) async throws {
            let servers = try (0..<6).map { _ in try MockServer { _ in .text("ok") } }
            let transport = Self.transport(loops: loops, limit: 3)
            let urls = try servers.map { try RequestURL($0.url + "/") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<24 {
                    group.addTask {
                        for step in 0..<30 {
                            let delegate = RecordingDelegate()
                            let request = TransportRequest(url: urls[(round + step) % urls.count])
                            let task = transport.task(for: request, id: TransportTaskID(1), delegate: delegate)
                            task.resume()
                            // Cancels some requests while they wait and others while they run.
                            if step % 7 == round % 7 { task.cancel() }
                            let trace = try await delegate.wait { $0.isCompleted && $0.depth == 0 }
                            trace.check(trace.error == nil ? .response("ok") : .failure(.cancelled))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(transport.shared.origins.withLock { $0.running.allSatisfy { $0 == 0 } })
        }

        @Test("A waiting request that is cancelled ends at once and gives its turn to the next", arguments: [1, 2])
        func cancelling(loops: Int) async throws {
            let gate = Gate()
            let (server, transport) = (try Self.gated(gate), Self.transport(loops: loops, limit: 2))
            let url = try RequestURL(server.url + "/")
            let running = (0..<2).map { _ in transport.start(TransportRequest(url: url)) }
            try await server.wait { $0.requests.count == 2 }
            let waiting = (0..<200).map { _ -> (any TransportTask, RecordingDelegate) in
                let delegate = RecordingDelegate()
                let task = transport.task(
                    for: TransportRequest(url: url), id: TransportTaskID(1), delegate: delegate)
                task.resume()
                return (task, delegate)
            }
            for (task, _) in waiting.dropLast() { task.cancel() }
            for (_, delegate) in waiting.dropLast() {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.cancelled))
            }
            gate.open()
            _ = try await Self.finish(running + [waiting[199].1])
            #expect(server.requests.count == 3)
        }

        @Test("T22: invalidate() ends the running and waiting tasks of all loops", arguments: [2, 4])
        func invalidating(loops: Int) async throws {
            let server = try MockServer()
            server.on("GET", "/", .stall)
            let transport = Self.transport(loops: loops, limit: 24)
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            let delegates = (0..<50).map { _ in transport.start(request) }
            try await server.wait { $0.requests.count == 24 }
            transport.invalidate()
            for delegate in delegates + [transport.start(request)] {
                try await delegate.wait { $0.isCompleted && $0.depth == 0 }.check(.failure(.invalidated))
            }
        }

        @Test("The numbers of loops and of idle connections are kept within their limits")
        func numbers() {
            #expect(Self.transport(loops: 0).loops.count == 1)
            #expect(Self.transport(loops: -7).loops.count == 1)
            #expect(Self.transport(loops: .max).loops.count == 64)
            #expect((1...8).contains(CurlTransport.Configuration().loops))
            for maximum in [1, 7, 256] {
                let shared = CurlShared(
                    .init {
                        $0.loops = 3
                        $0.maximumIdleConnections = maximum
                    })
                #expect((0..<3).reduce(0) { $0 + shared.idleConnections(of: $1) } == maximum)
            }
            let unlimited = CurlShared(
                .init {
                    $0.loops = 1
                    $0.maximumIdleConnections = .max
                })
            #expect(unlimited.idleConnections(of: 0) == 1 << 20, "a loop adds its connections in use to this number")
        }
    }
#endif
