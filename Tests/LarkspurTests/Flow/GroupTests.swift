import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Batches and groups", .limited)
struct GroupTests {
    private let log = TransportLog()

    private func endpoints(_ paths: [String]) -> [Endpoint<String>] { paths.map { Endpoint(.get, "http://h/\($0)") } }

    private func session(failing: Set<String> = []) -> Session {
        log.session { request, _ in
            failing.contains(String(request.url.path)) ? .text("no", status: 500) : .text(String(request.url.path))
        }
    }

    // MARK: Batches

    @Test("A batch returns the responses in the order of the endpoints, failures among them")
    func batch() async {
        let paths = (0..<50).map { "\($0)" }
        let responses = await session(failing: ["/7"]).batch(endpoints(paths), atOnce: 5)
        #expect(responses.count == 50)
        for (index, response) in responses.enumerated() where index != 7 { #expect(response.value == "/\(index)") }
        #expect(responses[7].error?.statusCode == 500)
    }

    @Test("An empty batch completes, and its progress is complete")
    func emptyBatch() async {
        let reports = Protected<[GroupProgress]>([])
        let responses = await session().batch(endpoints([])) { value in reports.withLock { $0.append(value) } }
        #expect(responses.isEmpty)
        #expect(reports.withLock { $0.map(\.fraction) } == [1])
    }

    @Test("No more requests are in flight than allowed; a limit below 1 means 1", arguments: [(3, 3), (0, 1), (-7, 1)])
    func parallelism(atOnce: Int, expected: Int) async throws {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport)
        async let responses = session.batch(endpoints(["a", "b", "c", "d", "e"]), atOnce: atOnce)
        var first: [HeldHop] = []
        while first.count < expected { first.append(try #require(await hops.next())) }
        #expect(await session.requests.count == expected)
        for hop in first { hop.answer(200, body: "x") }
        for _ in expected..<5 {
            let hop = try #require(await hops.next())
            #expect(await session.requests.count <= expected)
            hop.answer(200, body: "x")
        }
        #expect(await responses.count == 5)
    }

    @Test("With .stop, a failure cancels the others, and those that wait are not sent")
    func failFast() async {
        let responses = await session(failing: ["/1"])
            .batch(endpoints((0..<20).map { "\($0)" }), atOnce: 1, onFailure: .stop)
        #expect(responses[0].value == "/0")
        #expect(responses[1].error?.statusCode == 500)
        #expect(responses[2...].allSatisfy { $0.error?.isCancelled == true })
        #expect(log.count == 2)
    }

    @Test("The progress counts requests and bytes, and its last value is complete")
    func progress() async throws {
        let reports = Protected<[GroupProgress]>([])
        let responses = await session(failing: ["/b"]).batch(endpoints(["a", "b", "ccc"])) { value in
            reports.withLock { $0.append(value) }
        }
        #expect(responses.count == 3)
        let all = reports.withLock { $0 }
        let last = try #require(all.last)
        #expect((last.finished, last.failed, last.total) == (3, 1, 3))
        #expect(last.receivedBytes == UInt64(responses.reduce(0) { $0 + ($1.data?.count ?? 0) }))
        #expect(
            zip(all, all.dropFirst()).allSatisfy { $0.finished <= $1.finished && $0.receivedBytes <= $1.receivedBytes })
    }

    @Test("Random batches: each response is at the place of its endpoint, and a stop leaves no other outcome")
    func randomBatches() async {
        for seed in 0..<UInt64(rounds(20, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let paths = (0..<Int.random(in: 0...12, using: &random)).map { "\($0)" }
            let failing = Set(paths.filter { _ in random.once(in: 4) }.map { "/" + $0 })
            let onFailure: GroupFailure = random.once(in: 2) ? .stop : .collect
            let responses = await session(failing: failing)
                .batch(endpoints(paths), atOnce: Int.random(in: 1...5, using: &random), onFailure: onFailure)
            #expect(responses.count == paths.count, "seed \(seed)")
            for (path, response) in zip(paths, responses) {
                let isStopped = response.error?.isCancelled == true
                #expect(!isStopped || onFailure == .stop && !failing.isEmpty, "seed \(seed)")
                guard !isStopped else { continue }
                #expect(response.value == (failing.contains("/" + path) ? nil : "/" + path), "seed \(seed)")
            }
            if let first = paths.firstIndex(where: { failing.contains("/" + $0) }) {
                #expect(responses.contains { $0.error?.statusCode == 500 }, "seed \(seed)")
                #expect(onFailure == .stop || responses[first].error?.statusCode == 500, "seed \(seed)")
            }
        }
    }

    @Test("Responses come as they are there, each with its index, and the end of the iteration cancels the rest")
    func asTheyCome() async throws {
        let clock = ManualClock()
        let stub = StubTransport(clock: clock) { request in
            request.url.path == "/slow" ? .text("slow").after(.seconds(1)) : .text("fast")
        }
        let session = Session(transport: stub)
        var values: [String] = []
        for await (index, response) in session.responses(to: endpoints(["slow", "fast"]), atOnce: 2) {
            values.append("\(index): \(response.value ?? "-")")
            guard values.count == 1 else { continue }
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        #expect(values == ["1: fast", "0: slow"])

        for await (index, _) in session.responses(to: endpoints(["fast", "slow"]), atOnce: 2) {
            #expect(index == 0)
            break
        }
        await poll { await session.requests.isEmpty }
    }

    @Test("A cancelled task gets a response for each endpoint")
    func cancelledBatch() async {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport)
        let endpoints = endpoints(["a", "b", "c"])
        let task = Task { await session.batch(endpoints, atOnce: 1) }
        _ = await hops.next()
        task.cancel()
        let responses = await task.value
        #expect(responses.count == 3)
        #expect(responses.allSatisfy { $0.error?.isCancelled == true })
    }

    @Test("Responses as they come have the progress of the whole, which is complete before the stream ends")
    func progressAsTheyCome() async throws {
        let reports = Protected<[GroupProgress]>([])
        var received: UInt64 = 0
        let session = session(failing: ["/b"])
        for await (_, response) in session.responses(
            to: endpoints(["a", "b", "ccc"]), atOnce: 2, progress: { value in reports.withLock { $0.append(value) } })
        {
            received += UInt64(response.data?.count ?? 0)
        }
        let all = reports.withLock { $0 }
        let last = try #require(all.last)
        #expect((last.finished, last.failed, last.total, last.receivedBytes) == (3, 1, 3, received))
        #expect(all.count { $0.finished == 3 } == 1)

        let (ended, end) = AsyncStream.makeStream(of: GroupProgress.self)
        for await _ in session.responses(
            to: endpoints((0..<9).map { "\($0)" }), atOnce: 1,
            progress: { value in if value.finished == value.total { end.yield(value) } })
        {
            break
        }
        for await value in ended {
            #expect((value.finished, value.total) == (9, 9))
            break
        }
    }

    // MARK: Groups

    @Test("Requests of a group run after those that they wait for, and the group ends after all closures")
    func order() async throws {
        let session = session()
        let group = RequestGroup(session, atOnce: 4)
        let journal = Journal()
        let (a, b, c) = (
            await session.request("http://h/a"), await session.request("http://h/b"),
            await session.request("http://h/c")
        )
        try group.add(c)
        try group.add(b)
        try group.add(a)
        try group.add(c, after: [b])
        try group.add(b, after: [a])
        for request in [a, b, c] {
            request.responseString { response in
                await Task.yield()
                journal.note(response.value ?? "-")
            }
        }
        #expect(log.count == 0)
        try await group.run()
        #expect(journal.lines == ["/a", "/b", "/c"])
        #expect((group.currentProgress.finished, group.currentProgress.total) == (3, 3))
    }

    @Test("Cycles, requests of other sessions, unknown and started requests are refused, and change nothing")
    func refusals() async throws {
        let session = session()
        let group = RequestGroup(session)
        let (a, b) = (await session.request("http://h/a"), await session.request("http://h/b"))
        func code(_ body: () throws -> Void) -> RequestError.Code? {
            do {
                try body()
                return nil
            } catch { return (error as? RequestError)?.code }
        }
        #expect(code { try group.add(b, after: [a]) } == .foreignRequest)
        try group.add(a)
        try group.add(b, after: [a])
        #expect(code { try group.add(a, after: [b]) } == .dependencyCycle)
        #expect(code { try group.add(a, after: [a]) } == .dependencyCycle)
        let foreign = await self.session().request("http://h/x")
        #expect(code { try group.add(foreign) } == .foreignRequest)
        let started = await session.request("http://h/s")
        _ = await started.serializingString().response
        #expect(code { try group.add(started) } == .alreadyStarted)
        try await group.run()
        #expect(group.currentProgress.finished == 2)
        let late = await session.request("http://h/late")
        #expect(code { try group.add(late) } == .alreadyStarted)
        await #expect(throws: RequestError.self) { try await group.run() }
    }

    @Test("If a request fails, those that wait for it fail without being sent, and run() throws the first error")
    func failedDependency() async throws {
        let session = session(failing: ["/a"])
        let group = RequestGroup(session, atOnce: 1)
        let (a, b, c, d) = (
            await session.request("http://h/a").validate(), await session.request("http://h/b"),
            await session.request("http://h/c"), await session.request("http://h/d")
        )
        try group.add(a)
        try group.add(b, after: [a])
        try group.add(c, after: [b])
        try group.add(d)
        let last = c.serializingString()
        let error = await #expect(throws: RequestError.self) { try await group.run() }
        #expect(error?.statusCode == 500)
        #expect(await last.response.error?.code == .dependencyFailed)
        #expect(d.error == nil && d.head?.status == 200)
        #expect(log.requests.map(\.url.path) == ["/a", "/d"])
    }

    @Test("A group that stops at a failure cancels the others", arguments: [GroupFailure.stop, .collect])
    func stopping(onFailure: GroupFailure) async throws {
        let session = session(failing: ["/a"])
        let group = RequestGroup(session, atOnce: 1, onFailure: onFailure)
        let (a, b) = (await session.request("http://h/a").validate(), await session.request("http://h/b"))
        try group.add(a)
        try group.add(b)
        await #expect(throws: RequestError.self) { try await group.run() }
        #expect(log.count == (onFailure == .stop ? 1 : 2))
    }

    @Test("A group is cancelled as a whole, by its task or by cancel(), and a single request by itself")
    func cancellation() async throws {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport)
        for byTask in [true, false] {
            let group = RequestGroup(session, atOnce: 1)
            let (a, b) = (await session.request("http://h/a"), await session.request("http://h/b"))
            try group.add(a)
            try group.add(b, after: [a])
            let run = Task { try await group.run() }
            _ = await hops.next()
            if byTask { run.cancel() } else { group.cancel() }
            await #expect(throws: CancellationError.self) { try await run.value }
            #expect(a.error?.isCancelled == true)
            #expect(b.error?.isCancelled == true)
        }
        let group = RequestGroup(session, atOnce: 2)
        let (a, b) = (await session.request("http://h/a"), await session.request("http://h/b"))
        try group.add(a)
        try group.add(b)
        b.cancel()
        let run = Task { try await group.run() }
        try #require(await hops.next()).answer(200)
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(a.error == nil)
    }

    @Test("An empty group ends at once")
    func emptyGroup() async throws { try await RequestGroup(session()).run() }

    @Test("Very large groups: each request is looked at a few times, and not once for each other one")
    func largeGroups() {
        let count = 200_000
        var wide = GroupState(atOnce: 4)
        for _ in 0..<count { _ = wide.add() }
        var running = wide.begin().start
        while let member = running.popLast() { running += wide.end(member, failed: false).start }
        #expect(wide.isOver)

        var deep = GroupState(atOnce: 4)
        for number in 0..<count { _ = deep.add(after: number == 0 ? [] : [number - 1]) }
        running = deep.begin().start
        while let member = running.popLast() {
            let step = deep.end(member, failed: true)
            running += step.start + step.skip
        }
        #expect(deep.isOver)
    }

    @Test(
        "Only the first failure of a group that stops cancels all requests", arguments: [GroupFailure.stop, .collect])
    func cancels(onFailure: GroupFailure) {
        var state = GroupState(atOnce: 2, onFailure: onFailure)
        for _ in 0..<5 { _ = state.add() }
        var cancels: [Bool] = []
        var running = state.begin().start
        while let member = running.popLast() {
            let step = state.end(member, failed: cancels.count > 0)
            cancels.append(step.cancelsAll)
            running += step.start
        }
        #expect(cancels == [false, onFailure == .stop, false, false, false])
    }

    @Test("In a group of many requests, the first failure cancels those in flight and those that wait")
    func largeStop() async throws {
        let session = session(failing: ["/0"])
        let group = RequestGroup(session, atOnce: 1, onFailure: .stop)
        let count = 2_000
        for number in 0..<count { try group.add(await session.request("http://h/\(number)").validate()) }
        let error = await #expect(throws: RequestError.self) { try await group.run() }
        #expect(error?.statusCode == 500)
        #expect(log.count == 1)
        #expect((group.currentProgress.finished, group.currentProgress.failed) == (count, count))
    }

    @Test("Random groups: no request starts before those that it waits for, and never too many at once")
    func model() {
        for seed in 0..<UInt64(rounds(500, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let (count, atOnce) = (Int.random(in: 0...8, using: &random), Int.random(in: 1...3, using: &random))
            var state = GroupState(atOnce: atOnce)
            var edges: [(Int, Int)] = []
            for number in 0..<count { #expect(state.add() == number) }
            func reaches(_ from: Int, _ to: Int) -> Bool {
                from == to || edges.contains { $0.0 == from && reaches($0.1, to) }
            }
            for _ in 0..<count {
                let a = Int.random(in: 0..<count, using: &random)
                let others = (0..<2).map { _ in Int.random(in: 0..<count, using: &random) }
                let isCycle = others.contains { reaches($0, a) }
                #expect(state.add(a, after: others) == (isCycle ? nil : a), "seed \(seed)")
                if !isCycle { edges += others.map { (a, $0) } }
            }
            var (running, ended, failed, skipped): ([Int], Set<Int>, Set<Int>, Set<Int>) = ([], [], [], [])
            func check(_ step: GroupState.Step) {
                for member in step.start + step.skip {
                    let before = edges.filter { $0.0 == member }.map(\.1)
                    #expect(before.allSatisfy(ended.contains), "seed \(seed): \(member) starts too early")
                    #expect(before.contains(where: failed.contains) == step.skip.contains(member), "seed \(seed)")
                }
                running += step.start + step.skip
                skipped.formUnion(step.skip)
                #expect(running.count { !skipped.contains($0) } <= atOnce, "seed \(seed): too many at once")
            }
            check(state.begin())
            while let index = running.indices.randomElement(using: &random) {
                let member = running.remove(at: index)
                let before = edges.filter { $0.0 == member }.map(\.1)
                let fails = before.contains(where: failed.contains) || random.once(in: 4)
                ended.insert(member)
                if fails { failed.insert(member) }
                check(state.end(member, failed: fails))
            }
            #expect(state.isOver && ended.count == count, "seed \(seed): not all have ended")
        }
    }
}
