import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Monitors that delay requests: hops wait for room, and no request is missed", .limited)
struct DelayingMonitorTests {
    /// A monitor that delays requests, unless told otherwise, and does not return from its first event before it is released.
    private final class Held: EventMonitor {
        let delaysRequests: Bool
        let released = DispatchSemaphore(value: 0)
        let entered = Gate()
        let finished = Counter()
        let box = Protected<(names: [RequestID: [String]], missed: Int, dropped: Int)>(([:], 0, 0))

        init(delaysRequests: Bool = true) { self.delaysRequests = delaysRequests }

        func request(_ request: any Request, did event: RequestEvent) {
            let isFirst = box.withLock { box in
                defer { box.names[request.id, default: []].append(event.name) }
                return box.names.isEmpty
            }
            if isFirst {
                entered.open()
                released.wait()
            }
            if case .finish = event { finished.increment() }
        }

        func didMiss(_ requests: Int) { box.withLock { $0.missed += requests } }
        func didDrop(_ events: Int) { box.withLock { $0.dropped += events } }
    }

    private let monitor = Held()

    private func queue(of session: Session) -> MonitorQueue { session.context.monitors[0] }

    /// Fills the queue of the monitor, which is held.
    private func fill(_ session: Session) async {
        let other = await session.request("http://other/", startsAutomatically: false)
        queue(of: session).post(.suspend, from: other)
        await monitor.entered.pass()
        for _ in 0..<EventQueue.limit { queue(of: session).post(.suspend, from: other) }
        #expect(!queue(of: session).isOpen)
    }

    @Test("While the monitor blocks, requests wait with their hops; then it receives all events of each request")
    func all() async throws {
        let (calls, count) = (Counter(), rounds(10_000, nightly: 10_000))
        let transport = StubTransport { _ in
            calls.increment()
            return .text("x")
        }
        let session = Session(transport: transport, eventMonitors: [monitor])
        var tasks: [DataTask<Data>] = []
        for _ in 0..<count { tasks.append(await session.request("http://h/").serializingData()) }
        #expect(calls.value < count)
        monitor.released.signal()
        for task in tasks { #expect(try await task.value == Data("x".utf8)) }
        await monitor.finished.reached(count)
        let (names, missed, dropped) = monitor.box.withLock { ($0.names, $0.missed, $0.dropped) }
        let whole = [
            "start", "create", "beginHop", "receiveHead", "receiveBody", "gatherMetrics", "endHop", "serialize",
            "finish",
        ]
        #expect(names.count == count && missed == 0 && dropped == 0)
        #expect(names.values.allSatisfy { $0 == whole })
    }

    @Test("Hops begin in the order in which they have waited")
    func order() async {
        let paths = Protected<[String]>([])
        let transport = StubTransport { request in
            paths.withLock { $0.append(String(request.url.path)) }
            return .text("x")
        }
        let session = Session(transport: transport, eventMonitors: [monitor])
        await fill(session)
        let expected = (0..<200).map { "/\($0)" }
        var tasks: [DataTask<Data>] = []
        for path in expected {
            tasks.append(await session.request("http://h\(path)").serializingData())
            await poll { queue(of: session).waitingHops == tasks.count }
        }
        #expect(paths.withLock { $0 }.isEmpty)
        monitor.released.signal()
        for task in tasks { _ = await task.response }
        #expect(paths.withLock { $0 } == expected)
    }

    @Test("A cancel ends the wait, and the hop is not sent")
    func cancelled() async {
        let calls = Counter()
        let transport = StubTransport { _ in
            calls.increment()
            return .text("x")
        }
        let session = Session(transport: transport, eventMonitors: [monitor])
        await fill(session)
        let (first, second) = await (session.request("http://h/1"), session.request("http://h/2"))
        let (task, next) = (first.serializingString(), second.serializingString())
        await poll { queue(of: session).waitingHops == 2 }
        first.cancel()
        #expect(await task.response.error?.code == .cancelled)
        #expect(queue(of: session).waitingHops == 1)
        #expect(calls.value == 0)
        monitor.released.signal()
        #expect(await next.response.value == "x")
        #expect(calls.value == 1)
    }

    @Test("Timeouts end the wait, and the hop is not sent", arguments: ["attempt", "total"])
    func timeouts(scope: String) async {
        let (clock, calls) = (ManualClock(), Counter())
        let transport = StubTransport { _ in
            calls.increment()
            return .text("x")
        }
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock }, transport: transport, eventMonitors: [monitor])
        await fill(session)
        let request = await session.request("http://h/")
        request.timeout(scope == "total" ? .total(.seconds(5)) : .attempt(.seconds(5)))
        let task = request.serializingString()
        await poll { queue(of: session).waitingHops == 1 }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await task.response.error?.code == .timedOut)
        #expect(calls.value == 0)
        monitor.released.signal()
    }

    @Test("The hop after a redirect waits, too")
    func redirected() async {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport, eventMonitors: [monitor])
        let request = await session.request("http://h/")
        let task = request.serializingString()
        let first = await hops.next()
        await fill(session)
        first?.answer(302, ["Location": "/next"])
        await poll { queue(of: session).waitingHops == 1 }
        monitor.released.signal()
        let second = await hops.next()
        second?.answer(200, body: "moved")
        #expect(await task.response.value == "moved")
    }

    @Test("A request that the monitor makes and waits for does not wait for the monitor")
    func ownRequests() async {
        final class Asking: EventMonitor {
            let delaysRequests = true
            let session = Protected<Session?>(nil)
            let answer = Protected<String?>(nil)
            let done = Gate()
            let isFirst = Protected(true)

            func request(_ request: any Request, did event: RequestEvent) {
                let isFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                guard isFirst, let session = session.withLock({ $0 }) else { return }
                for _ in 0..<EventQueue.limit { session.context.monitors[0].post(.suspend, from: request) }
                let answered = DispatchSemaphore(value: 0)
                Task {
                    let value = try? await session.request("http://own/").serializingString().value
                    self.answer.withLock { $0 = value }
                    answered.signal()
                }
                answered.wait()
                self.session.withLock { $0 = nil }
                done.open()
            }
        }
        let asking = Asking()
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [asking])
        asking.session.withLock { $0 = session }
        #expect(await session.request("http://h/").serializingString().response.value == "x")
        await asking.done.pass()
        #expect(asking.answer.withLock { $0 } == "x")
    }

    @Test("A full queue keeps all events that hops limit; it drops and counts the others")
    func dropped() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let (first, late) = await (session.request("http://h/"), session.request("http://h/"))
        var queue = EventQueue(acceptsAll: true)
        for _ in 0..<EventQueue.limit + 3 { queue.post(.webSocket(.sendPing), from: first) }
        for event in [RequestEvent.start, .webSocket(.receivePing), .receiveBody(1), .receiveBody(2), .finish(nil)] {
            queue.post(event, from: late)
        }
        let batch = queue.take()
        #expect(batch.entries.dropFirst(EventQueue.limit).map(\.event.name) == ["start", "receiveBody", "finish"])
        #expect(batch.dropped == 4)
        #expect(batch.missed == 0)
    }

    @Test("Dropped events between parts of a body add no entries")
    func droppedBetweenParts() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://h/")
        var queue = EventQueue(acceptsAll: true)
        for _ in 0..<EventQueue.limit { queue.post(.webSocket(.sendPing), from: request) }
        for _ in 0..<100 {
            queue.post(.receiveBody(1), from: request)
            queue.post(.webSocket(.receivePing), from: request)
        }
        let batch = queue.take()
        #expect(batch.entries.count == EventQueue.limit + 1 && batch.dropped == 100)
        let isMerged = if case .receiveBody(100)? = batch.entries.last?.event { true } else { false }
        #expect(isMerged)
    }

    @Test("At most 512 hops get a turn for each batch that the monitor takes; the end of a turn gives the next one")
    func turns() async {
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [monitor])
        await fill(session)
        let queue = queue(of: session)
        let (begun, count) = (Counter(), 2_000)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let turn = await queue.turn()
                    begun.increment()
                    turn?.end()
                }
            }
            await poll { queue.waitingHops == count }
            group.cancelAll()
        }
        #expect(begun.value == count && queue.waitingHops == 0)
        let turn = Task { await queue.turn() }
        await poll { queue.waitingHops == 1 }
        let next = Task { await queue.turn() }
        await poll { queue.waitingHops == 2 }
        _ = queue.take()  // as if the monitor took its events
        await poll { queue.waitingHops == 1 }
        _ = queue.take()
        #expect(queue.waitingHops == 1)
        await turn.value?.end()
        await next.value?.end()
        monitor.released.signal()
    }

    @Test("A recorder can wait until it has received all events up to now, also as a part of a composite")
    func allReceived() async throws {
        let composed = Held()
        composed.released.signal()
        let session = Session(
            transport: StubTransport { _ in .text("x") },
            eventMonitors: [monitor, CompositeEventMonitor([composed])])
        await monitor.receiveAllEvents()
        let count = 100
        let other = await session.request("http://h/", startsAutomatically: false)
        for _ in 0..<count { session.context.monitors.forEach { $0.post(.suspend, from: other) } }
        await composed.receiveAllEvents()
        #expect(composed.box.withLock { $0.names.values.joined().count } == count)
        await monitor.entered.pass()
        let wait = Task { await monitor.receiveAllEvents() }
        monitor.released.signal()
        await wait.value
        #expect(monitor.box.withLock { $0.names.values.joined().count } == count)
    }

    @Test("A monitor of a session can wait for its events, also if it delays no request")
    func receivedWithoutDelay() async {
        let monitor = Held(delaysRequests: false)
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [monitor])
        let other = await session.request("http://h/", startsAutomatically: false)
        for _ in 0..<100 { queue(of: session).post(.suspend, from: other) }
        await monitor.entered.pass()
        #expect(MonitorQueues.queues(of: monitor).count == 1)
        let wait = Task { await monitor.receiveAllEvents() }
        monitor.released.signal()
        await wait.value
        #expect(monitor.box.withLock { $0.names.values.joined().count } == 100)
    }

    @Test("The queues of a monitor are forgotten with their session", arguments: [true, false])
    func forgotten(delaysRequests: Bool) async {
        let monitor = Held(delaysRequests: delaysRequests)
        do {
            let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [monitor])
            #expect(MonitorQueues.queues(of: monitor).count == 1)
            _ = session
        }
        await poll { MonitorQueues.queues(of: monitor).isEmpty }
    }
}
