import LarkspurTesting
import Testing

@testable import Larkspur

@Suite("Limits of requests", .timeLimit(.minutes(3)))
struct RequestLimitsTests {
    private let recorder = EventRecorder()
    private let transport = HeldTransport()

    private func session(_ limits: RequestLimits, _ configure: (inout SessionConfiguration) -> Void = { _ in })
        -> Session
    {
        Session(
            configuration: SessionConfiguration {
                $0.limits = limits
                $0.eventMonitors = [recorder]
                configure(&$0)
            }, transport: transport)
    }

    private func waiting(in session: Session, _ count: Int) async {
        await poll { session.context.limiter?.counts.waiting == count }
    }

    @Test("Requests beyond the limit wait, and are served by priority")
    func priorities() async throws {
        let (log, clock) = (Journal(), ManualClock())
        let stub = StubTransport(clock: clock) { request in
            log.note("\(request.url.path), \(request.priority)")
            return request.url.path == "/first" ? .text("ok").after(.seconds(1)) : .text("ok")
        }
        let session = Session(
            configuration: SessionConfiguration {
                $0.limits = RequestLimits(total: 1)
                $0.options.priority = .low
            }, transport: stub)
        let first = await session.request("http://h/first").serializingData()
        await clock.waitForSleepers()
        let low = await session.request("http://h/low").serializingData()
        let normal = await session.request("http://h/normal").priority(.normal).serializingData()
        let high = await session.request("http://h/high").priority(.high).serializingData()
        await waiting(in: session, 3)
        clock.advance(by: .seconds(1))
        for task in [first, low, normal, high] { #expect(await task.response.error == nil) }
        #expect(log.lines == ["/first, low", "/high, high", "/normal, normal", "/low, low"])
        #expect(session.context.limiter?.counts.running == 0)
    }

    @Test("A queue that is full refuses at once with .overloaded")
    func overloaded() async throws {
        var hops = transport.hops
        let session = session(RequestLimits(total: 1, queue: 1))
        let first = await session.request("http://h/").serializingData()
        let second = await session.request("http://h/").serializingData()
        await waiting(in: session, 1)
        let error = try #require(await session.request("http://h/").serializingData().response.error)
        #expect(error.code == .overloaded)
        try #require(await hops.next()).answer(200)
        try #require(await hops.next()).answer(200)
        #expect(await first.response.error == nil)
        #expect(await second.response.metrics?.queued != nil)
    }

    @Test(
        "A limit that is not valid fails every request with .invalidLimit",
        arguments: [
            RequestLimits(total: 0), RequestLimits(total: -1), RequestLimits(perHost: 0),
            RequestLimits(total: 1, queue: -1), RequestLimits(total: .min, perHost: .min),
        ])
    func invalid(limits: RequestLimits) async {
        #expect(await session(limits).request("http://h/").serializingData().response.error?.code == .invalidLimit)
    }

    @Test("A request that a retrier makes during another one needs no place of that one: limit 1 works")
    func refresh() async throws {
        let log = TransportLog()
        let retrier = Interceptor(retry: { request, session, error in
            guard request.retryCount == 0 else { return .doNotRetry }
            let token = await session.request("http://h/token").serializingString().response
            return token.value == "ok" ? .retry : .doNotRetry
        })
        let configuration = SessionConfiguration {
            $0.limits = RequestLimits(total: 1)
            $0.validation = [.standard]
        }
        let session = log.session(configuration, interceptor: retrier) { request, number in
            request.url.path == "/data" && number == 1 ? .text("no", status: 401) : .text("ok")
        }
        #expect(await session.request("http://h/data").serializingString().response.value == "ok")
        #expect(log.count == 3)
    }

    @Test("A cancelled request that waits gives up its place in the queue")
    func cancellation() async throws {
        var hops = transport.hops
        let session = session(RequestLimits(total: 1))
        let first = await session.request("http://h/").serializingData()
        let second = await session.request("http://h/")
        let cancelled = second.serializingData()
        let third = await session.request("http://h/").serializingData()
        await waiting(in: session, 2)
        second.cancel()
        #expect(await cancelled.response.error?.code == .cancelled)
        #expect(session.context.limiter?.counts.waiting == 1)
        try #require(await hops.next()).answer(200)
        try #require(await hops.next()).answer(200)
        #expect(await first.response.error == nil)
        #expect(await third.response.error == nil)
    }

    @Test("The next request of one caller finds the place of its last one free")
    func oneAfterTheOther() async throws {
        let log = TransportLog()
        let configuration = SessionConfiguration {
            $0.limits = RequestLimits(total: 1)
            $0.eventMonitors = [recorder]
        }
        let session = log.session(configuration) { _, _ in .text("ok") }
        for _ in 0..<20 { #expect(await session.request("http://h/").serializingString().response.value == "ok") }
        await recorder.wait { $0.count { $0.name == "finish" } == 20 }
        #expect(!recorder.events.contains { $0.name == "awaitAdmission" })
    }

    @Test("A stream holds its place until its end, and an exempt one holds none")
    func streams() async throws {
        var hops = transport.hops
        let session = session(RequestLimits(total: 1))
        let stream = await session.streamRequest("http://h/")
        stream.resume()
        let hop = try #require(await hops.next())
        hop.receive(.head(ResponseHead(status: 200)))
        let other = await session.request("http://h/").serializingData()
        await waiting(in: session, 1)
        hop.finish(nil)
        try #require(await hops.next()).answer(200)
        #expect(await other.response.error == nil)

        let free = self.session(RequestLimits(total: 1, exempt: [.stream]))
        let open = await free.streamRequest("http://h/")
        open.resume()
        let endless = try #require(await hops.next())
        let beside = await free.request("http://h/").serializingData()
        try #require(await hops.next()).answer(200)
        #expect(await beside.response.error == nil)
        endless.answer(200)
    }

    @Test("Sessions with one transport share their places only if their limits are equal")
    func sharing() {
        let session = session(RequestLimits(total: 1))
        #expect(session.extending { $0.headers = [:] }.context.limiter === session.context.limiter)
        #expect(session.extending { $0.limits = RequestLimits(total: 2) }.context.limiter !== session.context.limiter)
        #expect(session.extending { $0.limits = nil }.context.limiter == nil)
    }

    @Test("Very many requests that wait end without a deep stack, each once")
    func manyRequests() async throws {
        let log = TransportLog()
        let session = log.session(SessionConfiguration { $0.limits = RequestLimits(total: 4, perHost: 3) }) { _, _ in
            .text("ok")
        }
        let count = 2_000
        let values = await withTaskGroup(of: String?.self) { group in
            for number in 0..<count {
                group.addTask {
                    await session.request("http://h\(number % 5)/").serializingString().response.value
                }
            }
            return await group.reduce(into: 0) { $0 += $1 == "ok" ? 1 : 0 }
        }
        #expect(values == count)
        await poll { session.context.limiter?.counts.running == 0 }
        #expect(session.context.limiter?.counts.waiting == 0)
    }
}
