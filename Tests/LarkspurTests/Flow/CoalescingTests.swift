import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Coalescing", .limited)
struct CoalescingTests {
    private let transport = HeldTransport()

    private func session(_ configure: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.coalescing = .identicalReads
                configure(&$0)
            }, transport: transport)
    }

    /// Waits until so many requests share exchanges.
    private func joined(_ count: Int, in session: Session) async throws {
        let transport = try #require(session.context.transport as? CoalescingTransport)
        await poll { transport.joined == count }
    }

    @Test("Equal reads in flight share one exchange, each with its own serializer")
    func shared() async throws {
        var hops = transport.hops
        let session = session()
        let requests = [await session.request("http://h/a"), await session.request("http://h/a")]
        let text = requests[0].serializingString()
        let json = requests[1].serializingJSON()
        let hop = try #require(await hops.next())
        try await joined(2, in: session)
        hop.answer(200, body: "[1]")
        #expect(await text.response.value == "[1]")
        #expect(await json.response.value == [1])
        // The exchange is over, so the next request is sent.
        let next = await session.request("http://h/a").serializingString()
        try #require(await hops.next()).answer(200, body: "new")
        #expect(await next.response.value == "new")
    }

    @Test(
        "Requests that differ share nothing",
        arguments: [
            { $0.headers["Authorization"] = "Bearer other" }, { $0.headers["Accept"] = "x/y" }, { $0.method = .head },
            { $0.method = .post }, { $0.headers["Cookie"] = "a=b" }, { $0.options.httpVersion = .http1 },
            { $0.url = (try? RequestURL("http://h/b")) ?? $0.url },
            { $0.options.timeouts.idle = .seconds(3) }, { $0.options.priority = .high },
        ] as [@Sendable (inout OutgoingRequest) -> Void])
    func different(change: @escaping @Sendable (inout OutgoingRequest) -> Void) async throws {
        var hops = transport.hops
        let session = session { $0.headers = ["Authorization": "Bearer one"] }
        let first = await session.request("http://h/a").serializingData()
        let firstHop = try #require(await hops.next())
        let second = await session.request("http://h/a") { change(&$0) }.serializingData()
        let secondHop = try #require(await hops.next())
        firstHop.answer(200)
        secondHop.answer(200)
        #expect(await first.response.error == nil)
        #expect(await second.response.error == nil)
    }

    @Test("Only one of the requests that share an exchange counts its repetitions, and charges the retry budget")
    func repetitions() async throws {
        var hops = transport.hops
        let clock = ManualClock()
        let session = session {
            ($0.clock, $0.retryBudget) = (clock, RetryBudget(ratio: 0, minimumPerSecond: 3))
        }
        var tasks: [DataTask<String>] = []
        for _ in 0..<3 { tasks.append(await session.request("http://h/a").serializingString()) }
        let hop = try #require(await hops.next())
        try await joined(3, in: session)
        var metrics = TransportMetrics()
        metrics.repetitions = 1
        hop.receive(.head(ResponseHead(status: 200)), .metrics(metrics), .completed(nil))
        var counted = 0
        for task in tasks { counted += await task.response.metrics?.repetitions ?? 0 }
        #expect(counted == 1)
        let account = try #require(session.context.retryAccount)
        #expect((0..<10).prefix { _ in account.withdraw() }.count == 2)
    }

    @Test("Fields that do not matter may differ")
    func ignoredFields() async throws {
        var hops = transport.hops
        let session = session()
        let requests = [
            await session.request("http://h/a", headers: ["traceparent": "1"]),
            await session.request("http://h/a", headers: ["traceparent": "2"]),
        ]
        let tasks = requests.map { $0.serializingString() }
        let hop = try #require(await hops.next())
        try await joined(2, in: session)
        hop.answer(200, body: "ok")
        for task in tasks { #expect(await task.response.value == "ok") }
    }

    @Test("A request that leaves does not disturb the others, and the last one cancels the exchange")
    func leaving() async throws {
        var hops = transport.hops
        let session = session()
        let requests = [await session.request("http://h/a"), await session.request("http://h/a")]
        let tasks = requests.map { $0.serializingString() }
        let hop = try #require(await hops.next())
        try await joined(2, in: session)
        requests[0].cancel()
        #expect(await tasks[0].response.error?.isCancelled == true)
        hop.answer(200, body: "ok")
        #expect(await tasks[1].response.value == "ok")

        let last = await session.request("http://h/a")
        let lastTask = last.serializingString()
        let lastHop = try #require(await hops.next())
        last.cancel()
        #expect(await lastTask.response.error?.isCancelled == true)
        #expect(!hop.isCancelled)
        await poll { lastHop.isCancelled }
    }

    @Test("An error goes to all requests of the exchange")
    func failures() async throws {
        var hops = transport.hops
        let session = session()
        let requests = [await session.request("http://h/a"), await session.request("http://h/a")]
        let tasks = requests.map { $0.serializingString() }
        let hop = try #require(await hops.next())
        try await joined(2, in: session)
        hop.finish(TransportError(.connectionLost))
        for task in tasks { #expect(await task.response.error?.code == .connectionLost) }
    }

    @Test("Shared requests take one place of the limits, and each has its own timeout")
    func limits() async throws {
        var hops = transport.hops
        let clock = ManualClock()
        let session = session {
            $0.limits = RequestLimits(total: 1)
            $0.clock = clock
        }
        let requests = [
            await session.request("http://h/a").timeout(.total(.seconds(5))), await session.request("http://h/a"),
        ]
        let tasks = requests.map { $0.serializingString() }
        let hop = try #require(await hops.next())
        try await joined(2, in: session)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await tasks[0].response.error?.code == .timedOut)
        hop.answer(200, body: "ok")
        #expect(await tasks[1].response.value == "ok")
    }

    @Test("Very many equal requests get the same body, whatever they do")
    func manyRequests() async throws {
        let log = TransportLog()
        let body = String(repeating: "x", count: 100_000)
        let session = log.session(SessionConfiguration { $0.coalescing = .identicalReads }) { _, _ in .text(body) }
        let values = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let request = await session.request("http://h/")
                    let task = request.serializingString()
                    if number % 5 == 0 { request.cancel() }
                    let response = await task.response
                    return response.value == body || response.error?.isCancelled == true
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(values == 500)
    }
}
