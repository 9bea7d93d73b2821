import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Limits of requests", .limited)
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
        await poll { session.context.participants.all.limiter?.counts.waiting == count }
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
        #expect(session.context.participants.all.limiter?.counts.running == 0)
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
        #expect(session.context.participants.all.limiter?.counts.waiting == 1)
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
        #expect(
            session.extending { $0.headers = [:] }.context.participants.all.limiter
                === session.context.participants.all.limiter
        )
        #expect(
            session.extending { $0.limits = RequestLimits(total: 2) }.context.participants.all.limiter
                !== session.context.participants.all.limiter)
        #expect(session.extending { $0.limits = nil }.context.participants.all.limiter == nil)
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
        await poll { session.context.participants.all.limiter?.counts.running == 0 }
        #expect(session.context.participants.all.limiter?.counts.waiting == 0)
    }

    @Test("Random requests, ends and cancels: the limits hold, no place is lost, and none is left unused")
    func randomRequests() async throws {
        for seed in 0..<UInt64(rounds(50, nightly: 2_000)) {
            var random = SeededRandom(seed: seed)
            let (total, perHost) = (Int.random(in: 1...5, using: &random), Int.random(in: 1...3, using: &random))
            let queue = Int.random(in: 0...6, using: &random)
            var walk = try LimitedWalk(RequestLimits(total: total, perHost: perHost, queue: queue))
            for step in 0..<30 {
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1, 2:
                    let host = ["a", "b", "c"].randomElement(using: &random) ?? "a"
                    let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
                    await walk.begin(host, priority, "seed \(seed), step \(step)")
                case 3: await walk.answer(random.next())
                default: await walk.cancel(random.next())
                }
                await walk.settle("seed \(seed), step \(step)")
            }
            await walk.end()
        }
    }
}

/// A session with limits whose hops the test ends, and the requests that have not ended.
private struct LimitedWalk {
    private let limits: (total: Int, perHost: Int, queue: Int)
    private let transport = HostTransport()
    private let session: Session
    private let limiter: Limiter
    private var open: [(url: String, host: String, request: DataRequest, task: DataTask<Data>)] = []
    private var begun = 0

    init(_ limits: RequestLimits) throws {
        self.limits = try (
            #require(limits.total), #require(limits.perHost), #require(limits.queue)
        )
        session = Session(
            configuration: SessionConfiguration {
                $0.headers = [:]
                $0.limits = limits
            }, transport: transport)
        limiter = try #require(session.context.participants.all.limiter)
    }

    mutating func begin(_ host: String, _ priority: RequestPriority, _ comment: Comment) async {
        let hops = transport.hops
        let isFull = hops.count == limits.total || hops.count { $0.host == host } == limits.perHost
        let isRefused = isFull && limiter.counts.waiting >= limits.queue
        begun += 1
        let url = "http://\(host)/\(begun)"
        let request = await session.request(url).priority(priority)
        let task = request.serializingData()
        if isRefused {
            #expect(await task.response.error?.code == .overloaded, comment)
        } else {
            open.append((url, host, request, task))
        }
    }

    /// Ends one of the hops that run, with a response or an error.
    mutating func answer(_ number: UInt64) async {
        guard let (url, _, hop) = pick(transport.hops, number) else { return }
        transport.remove(hop)
        hop.answer(200, error: number % 3 == 0 ? TransportError(.connectionLost) : nil)
        guard let index = open.firstIndex(where: { $0.url == url }) else {
            Issue.record("\(url) has ended")
            return
        }
        let response = await open.remove(at: index).task.response
        #expect(response.error?.code == (number % 3 == 0 ? .connectionLost : nil))
    }

    /// Cancels a request that runs or waits.
    mutating func cancel(_ number: UInt64) async {
        guard !open.isEmpty else { return }
        let (_, _, request, task) = open.remove(at: Int(number % UInt64(open.count)))
        request.cancel()
        #expect(await task.response.error?.code == .cancelled)
    }

    /// Waits until every place is used for which a request waits.
    func settle(_ comment: Comment) async {
        let wanted = Dictionary(grouping: open, by: \.host).values.reduce(0) { $0 + min($1.count, limits.perHost) }
        let running = min(limits.total, wanted)
        await poll {
            limiter.counts == (running, open.count - running) && transport.hops.count == running
        }
        let hosts = Dictionary(grouping: transport.hops, by: \.host)
        #expect(hosts.values.allSatisfy { $0.count <= limits.perHost }, comment)
    }

    mutating func end() async {
        while !open.isEmpty {
            await answer(1)
            await settle("end")
        }
        #expect(limiter.counts == (0, 0))
    }

    private func pick<Element>(_ elements: [Element], _ number: UInt64) -> Element? {
        elements.isEmpty ? nil : elements[Int(number % UInt64(elements.count))]
    }
}

/// A transport whose hops the test ends, each with its URL and host.
private final class HostTransport: Transport {
    typealias Entry = (url: String, host: String, hop: HeldHop)
    private let begun = Protected<[Entry]>([])

    /// The hops that run.
    var hops: [Entry] { begun.withLock { $0.filter { !$0.hop.isCancelled } } }

    func remove(_ hop: HeldHop) { begun.withLock { $0.removeAll { $0.hop === hop } } }

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        let (url, host) = (request.url.description, request.url.host.map(String.init) ?? "")
        return HeldHop(id, delegate) { [begun] hop in begun.withLock { $0.append((url, host, hop)) } }
    }

    func invalidate() {}
}
