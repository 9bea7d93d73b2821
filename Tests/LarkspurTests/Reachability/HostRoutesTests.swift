import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurReachability

@Suite("Routes to hosts", .limited)
struct HostRoutesTests {
    /// Answers lookups when the test says so, on the threads of the lookups.
    private final class Resolver: Sendable {
        let begun = Counter()
        private let released = DispatchSemaphore(value: 0)
        let names = Journal()

        func find(_ host: String, _ isAddress: Bool) -> HostRoute {
            if isAddress { return host == "192.0.2.1" ? .exists : .unknownName }
            names.note(host)
            begun.increment()
            released.wait()
            return .exists
        }

        /// Ends this many lookups, now or later.
        func release(_ count: Int) { for _ in 0..<count { released.signal() } }
    }

    private let resolver = Resolver()
    private let routes: HostRoutes

    init() { routes = HostRoutes(find: resolver.find) }

    private func waiting(_ count: Int) async { await poll { [routes] in routes.waiting == count } }

    @Test("The system has a route to the loopback interface", arguments: ["127.0.0.1", "localhost", "A.LocalHost"])
    func loopback(host: String) async {
        #expect(await HostRoutes.shared.route(to: host, within: .seconds(60)) == .exists)
    }

    @Test(
        "A host that cannot be a name or an address has no route",
        arguments: ["", "127.0.0.1\0.example", "[]", "255.255.255.255"])
    func invalid(host: String) async {
        #expect(await HostRoutes.shared.route(to: host, within: .seconds(60)) != .exists)
    }

    @Test("An address needs no thread", arguments: ["192.0.2.1", "[192.0.2.1]"])
    func address(host: String) async {
        #expect(await routes.route(to: host, within: .seconds(60)) == .exists)
        #expect(resolver.names.lines.isEmpty && routes.threads == 0)
    }

    @Test("Callers that ask for one name share a lookup")
    func shared() async {
        async let first = routes.route(to: "name", within: .seconds(60))
        async let second = routes.route(to: "NAME", within: .seconds(60))
        async let third = routes.route(to: "name", within: .seconds(60))
        await waiting(3)
        resolver.release(1)
        #expect(await [first, second, third] == [.exists, .exists, .exists])
        #expect(resolver.names.lines == ["name"])
    }

    @Test("A lookup that takes too long has no answer, and its thread ends with it")
    func limit() async {
        #expect(await routes.route(to: "name", within: .milliseconds(1)) == .noAnswer)
        #expect(routes.waiting == 0)
        resolver.release(1)
        await poll { [routes] in routes.threads == 0 }
    }

    @Test("A cancel ends the wait for a lookup", arguments: [true, false])
    func cancel(isBefore: Bool) async {
        let task = Task { [routes] in await routes.route(to: "name", within: .seconds(60)) }
        if !isBefore { await resolver.begun.reached(1) }
        task.cancel()
        #expect(await task.value == .noAnswer)
        resolver.release(1)
    }

    @Test("Many names wait for a few threads, and names that are no longer waited for are skipped")
    func threads() async {
        let tasks = (0..<12).map { number in
            Task { [routes] in await routes.route(to: "name-\(number)", within: .seconds(60)) }
        }
        await waiting(12)
        await resolver.begun.reached(8)
        #expect(routes.threads == 8)
        let begun = Set(resolver.names.lines)
        let queued = (0..<12).filter { !begun.contains("name-\($0)") }
        #expect(queued.count == 4)
        tasks[queued[0]].cancel()
        #expect(await tasks[queued[0]].value == .noAnswer)
        resolver.release(12)
        for number in 0..<12 where number != queued[0] { #expect(await tasks[number].value == .exists) }
        await poll { [routes] in routes.threads == 0 }
        #expect(!resolver.names.lines.contains("name-\(queued[0])") && resolver.names.lines.count == 11)
    }
}
