import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Testing your app", word for word.

@Suite("The guide to tests", .limited)
struct TestingExamples {
    private func stubbed() -> (Session, StubTransport) {
        let stub = StubTransport { request in
            switch request.url.path {
            case "/users/7": .json(#"{"id": 7, "name": "Ada"}"#)
            case "/old": .redirect(to: "https://api.example.com/users/7")
            case "/down": .failure(.connectionLost)
            default: .response(404)
            }
        }
        let session = Session(transport: stub)
        return (session, stub)
    }

    @Test("A stub answers by the path")
    func stub() async throws {
        let (session, _) = stubbed()
        #expect(try await session.request("https://api.example.com/old").serializingJSON().value["name"] == "Ada")
        let response = await session.request("https://api.example.com/down").serializingData().response
        #expect(response.error?.isConnectivity == true)
        let offline = Session(
            transport: StubTransport { _ in .json(#"{"setup": "knock"}"#) })
        let joke = try await offline.request("https://api.example.com/joke").serializingJSON().value
        #expect(joke["setup"] == "knock")
    }

    #if os(Linux)
        @Test("Faults are added to real traffic")
        func flaky() {
            let flaky = FaultTransport(CurlTransport(), seed: 7) {
                $0.refused = 0.05
                $0.latency = .milliseconds(50)...(.milliseconds(400))
                $0.bytesPerSecond = 64_000
            }
            #expect(flaky.faults.refused == 0.05)
        }
    #endif

    @Test("A stub's response may fail in the middle")
    func steps() async throws {
        let halfway = StubAnswer([
            .head(ResponseHead(status: 200)), .body(Data("the beginning".utf8)),
            .fail(TransportError(.connectionLost)),
        ])
        let response = await Session(transport: StubTransport { _ in halfway }).request("http://h/").serializingData()
            .response
        #expect(response.error?.code == .connectionLost)
    }

    #if os(Linux)
        @Test("A server answers over sockets, and fails as configured")
        func server() async throws {
            let session = Session()
            let server = try MockServer()
            server.on("GET", "/joke") { request in .json(#"{"setup": "knock"}"#) }
            server.on("GET", "/flaky", .text("try again", status: 503), .text("ok"))

            let joke = try await session.request(server.url + "/joke")
                .serializingJSON().value
            #expect(joke["setup"] == "knock")
            #expect(server.requests.first?.headers["Accept"] != nil)

            server.on("GET", "/slow") { _ in .text("at last").after(.seconds(2)) }
            server.on("GET", "/cut") { _ in
                .text("a long text").truncated(after: 4)
            }
            server.on("GET", "/drip") { _ in
                .text("a long text").dripping(bytes: 1, every: .milliseconds(10))
            }
            server.on("GET", "/never") { _ in .stall }
            server.on("GET", "/reset") { _ in MockResponse([.reset]) }

            let statuses = [
                await session.request(server.url + "/flaky").serializingData().response.head?.status,
                await session.request(server.url + "/flaky").serializingData().response.head?.status,
            ]
            #expect(statuses == [503, 200])
            let cut = await session.request(server.url + "/cut").serializingData().response
            #expect(cut.error?.code == .truncated)
            let reset = await session.request(server.url + "/reset").serializingData().response
            #expect(reset.error?.isConnectivity == true)
            let (signals, signal) = AsyncStream.makeStream(of: Void.self)
            server.on("GET", "/held") { _ in
                MockResponse([
                    .head(ResponseHead(status: 200)), .body(Data("held".utf8)),
                    .pause { for await _ in signals { break } },
                ])
            }
            let held = await session.streamRequest(server.url + "/held")
            var text = ""
            for try await chunk in held.strings {
                text += chunk
                if text == "held" { signal.yield() }
            }
            #expect(text == "held")
            await server.stop()
        }
    #endif

    @Test("A delay ends when the test decides")
    func time() async throws {
        let failing = TransportLog().transport { _, number in number == 1 ? .response(503) : .text("ok") }
        let clock = ManualClock()
        let patient = Session(
            configuration: SessionConfiguration {
                $0.clock = clock
                $0.validation = [.status([200])]
            }, transport: failing, interceptor: .retry(limit: 1))
        async let response = patient.request("https://api.example.com/down")
            .serializingString().response
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await response.value == "ok")
    }

    @Test("A recorder keeps the events")
    func recorder() async throws {
        let (_, stub) = stubbed()
        let recorder = EventRecorder()
        let recorded = Session(transport: stub, eventMonitors: [recorder])
        let request = await recorded.request("https://api.example.com/old")
        _ = await request.serializingData().response
        await recorder.wait { $0.contains { $0.name == "finish" } }
        let names = recorder.names(of: request)
        #expect(names.filter { $0 == "redirect" }.count == 1)
        #expect(recorder.violations.isEmpty)
    }
}
