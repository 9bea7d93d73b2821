import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to monitoring, word for word.

@Suite("The guide to monitoring", .limited)
struct MonitoringExamples {
    private let log = TransportLog()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("A log has its destination, and hides the configured names")
    func logs() async throws {
        func plain() -> Session {
            let session = Session(eventMonitors: [LogMonitor(level: .headers)])
            return session
        }
        #expect(plain().configuration.eventMonitors.count == 1)
        let file = folder["log"]
        var redaction = Redaction.standard
        redaction.names.insert("salary")
        let log = LogMonitor(
            level: .body, to: try .file(file), redacting: redaction)
        #expect(FileManager.default.fileExists(atPath: file.path))
        _ = log
        let tenant = "hidden"
        var configuration = SessionConfiguration.bare
        configuration.headers.add(
            HTTPHeader(name: "X-Tenant", value: tenant, isSecret: true))
        configuration.options.confidentialQueryItems = ["appid"]
        let request = await self.log.session(configuration).request("http://h/?appid=hidden")
        _ = try await request.serializingData().value
        #expect(!request.cURLDescription().contains("hidden"))
    }

    @Test("Monitors and sequences get a request's events")
    func events() async throws {
        func session() -> Session {
            let monitor = ClosureEventMonitor { request, event in
                print(request.id, event.name)
            }
            let session = Session(eventMonitors: [monitor])
            return session
        }
        #expect(session().configuration.eventMonitors.count == 1)
        let (session, monitor, url) = (log.session(), EventRecorder(), "http://h/")
        let request = await session.request(url).eventMonitor(monitor)
        let reader = Task {
            for await event in await session.events { print(event) }
        }
        for await event in request.events { print(event) }
        await monitor.wait { $0.last?.name == "finish" }
        reader.cancel()
        await reader.value
        #expect(request.status == .finished)
    }

    @Test("A monitor prints the details of responses")
    func details() async throws {
        let printer = ClosureEventMonitor { request, event in
            guard case .serialize(let event) = event else { return }
            let type = event.valueType.map { "\($0)" } ?? "nothing"
            print(
                request.id, event.response, type,
                event.response.excerpt() ?? "")
        }
        let request = await log.session().request("http://h/").eventMonitor(printer)
        #expect(try await request.serializingString().value == "ok")
    }

    @Test("A recorder delays requests and receives bodies")
    func recorder() async throws {
        final class Archive: EventMonitor {
            let delaysRequests = true
            let bodyLimit = 64 << 10

            func request(_ request: any Request, did event: RequestEvent) {
                guard case .copyBody(let part) = event else { return }
                store(part.bytes, at: part.offset, of: part.message, request.id)
            }
        }
        let session = Session(transport: StubTransport { _ in .text("an archived text") }, eventMonitors: [Archive()])
        _ = try await session.request("http://h/").serializingData().value
        await stored.reached(1)
    }
}

private let stored = Counter()

private func store(_ bytes: Data, at offset: UInt64, of message: BodyPart.Message, _ request: RequestID) {
    if bytes == Data("an archived text".utf8), offset == 0, message == .response { stored.increment() }
}
