#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @Suite("Connections ahead of requests, over libcurl", .limited)
    struct CurlWarmingTests {
        private func warm(_ transport: CurlTransport, _ url: String) async throws -> Trace {
            let delegate = RecordingDelegate()
            let request = TransportRequest(url: try RequestURL(url))
            let task = try #require(
                transport.warmingTask(for: request, id: TransportTaskID(1), delegate: delegate))
            task.resume()
            return try await delegate.wait { $0.isCompleted && $0.depth == 0 }
        }

        @Test(
            "T34: a warming task connects and sends nothing, and the next request reuses the connection",
            arguments: [1, 4])
        func reuse(loops: Int) async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let transport = CurlTransport(configuration: CurlTransport.Configuration { $0.loops = loops })
            for _ in 1...3 {
                let trace = try await warm(transport, server.url + "/")
                #expect(trace.isSuccess && trace.heads.isEmpty && trace.metrics.count == 1)
                #expect(server.requests.isEmpty)
            }
            let request = TransportRequest(url: try RequestURL(server.url + "/"))
            for _ in 1...2 {
                let trace = try await transport.run(request)
                trace.check(.response("ok"))
                #expect(trace.metrics.first?.connectionWasReused == true)
            }
            #expect(server.log.connectionsAccepted == 1 && server.requests.count == 2)
            // The handles that have connected ahead send requests as all others do.
            let posted = TransportRequest(
                method: "POST", url: try RequestURL(server.url + "/"), body: .data(Data("x".utf8)))
            server.on("POST", "/", .text("posted"))
            try await transport.run(posted).check(.response("posted"))
        }

        @Test("T34: a failed connection, a cancel and an invalidation end a warming task with their errors")
        func failure() async throws {
            let server = try MockServer()
            let url = server.url + "/"
            await server.stop()
            let trace = try await warm(CurlTransport(), url)
            #expect(trace.failure == .connectionRefused && trace.metrics.count == 1)
            let (transport, delegate) = (CurlTransport(), RecordingDelegate())
            let request = TransportRequest(url: try RequestURL(url))
            let task = try #require(transport.warmingTask(for: request, id: TransportTaskID(1), delegate: delegate))
            task.cancel()
            #expect(try await delegate.wait { $0.isCompleted && $0.depth == 0 }.failure == .cancelled)
            transport.invalidate()
            #expect(try await warm(transport, url).failure == .invalidated)
        }

        @Test("A session warms its transport")
        func session() async throws {
            let server = try MockServer()
            server.on("GET", "/", .text("ok"))
            let session = Session(transport: CurlTransport())
            try await session.warm(server.url)
            let response = await session.request(server.url).serializingString().response
            #expect(response.value == "ok" && response.metrics?.connectionWasReused == true)
            #expect(server.log.connectionsAccepted == 1)
        }
    }
#endif
