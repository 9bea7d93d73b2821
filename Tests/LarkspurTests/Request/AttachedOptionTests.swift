import Larkspur
import LarkspurTesting
import TestSupport
import Testing

private struct Feature: RequestOption {
    var name = "none"
}

@Suite("Values that a program attaches to requests", .limited)
struct AttachedOptionTests {
    private let log = TransportLog()

    /// Notes the value at each event that it knows.
    private final class Watcher: EventMonitor {
        let journal: Journal

        init(journal: Journal) { self.journal = journal }

        func request(_ request: any Request, did event: RequestEvent) {
            switch event {
            case .start, .finish: journal.note("\(event.name) \(request[Feature.self].name)")
            case .create(let created): journal.note("create \(created[Feature.self].name)")
            default: break
            }
        }
    }

    @Test("Adapters, middleware, participants' hops and monitors see the value, from the start to the finish")
    func seen() async throws {
        let (journal, watched) = (Journal(), Journal())
        let watcher = Watcher(journal: watched)
        let adapter = Interceptor(adapt: { request, _ in journal.note("adapt \(request[Feature.self].name)") })
        let middleware = ClosureMiddleware { exchange, next in
            journal.note("middleware \(exchange.request[Feature.self].name)")
            return try await next(exchange)
        }
        let session = log.session(SessionConfiguration { $0.eventMonitors = [watcher] }, interceptor: adapter)
        let request = await session.request("http://h/").middleware(middleware).option(Feature(name: "search"))
        _ = try await request.serializingData().value
        await watcher.receiveAllEvents()
        #expect(journal.lines == ["adapt search", "middleware search"])
        #expect(watched.lines == ["start search", "create search", "finish search"])
        #expect(request[Feature.self].name == "search")
        #expect(request.attempts.first?.hops.first?.request[Feature.self].name == "search")
    }

    @Test("A request's value counts more than that of its target, and this more than the session's")
    func order() async throws {
        var configuration = SessionConfiguration.bare
        configuration.options[Feature.self].name = "session"
        let session = log.session(configuration)
        var target = try OutgoingRequest("http://h/")
        let plain = await session.request(target)
        #expect(plain[Feature.self].name == "session")
        target[Feature.self].name = "target"
        let own = await session.request(target)
        _ = try await own.serializingData().value
        #expect(own[Feature.self].name == "target")
        let changed = await session.request(target)
        changed[Feature.self].name = "request"
        #expect(changed[Feature.self].name == "request")
        _ = try await changed.serializingData().value
        #expect(changed.attempts.last?.request?[Feature.self].name == "request")
        #expect(await log.session().request("http://h/")[Feature.self].name == "none")
    }

    @Test("A value that is set between attempts is that of the next attempt")
    func retried() async throws {
        let retrier = Interceptor(retry: { request, _, _ in
            request[Feature.self].name = "again"
            return .retry
        })
        let session = log.session(.validating, interceptor: retrier) { _, number in
            number == 1 ? .text("", status: 500) : .text("ok")
        }
        let request = await session.request("http://h/").option(Feature(name: "first"))
        _ = try await request.serializingData().value
        #expect(request.attempts.map { $0.request?[Feature.self].name } == ["first", "again"])
    }
}
