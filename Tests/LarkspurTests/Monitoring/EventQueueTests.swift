import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Slow monitors: nothing waits for them, and they miss whole requests", .limited)
struct EventQueueTests {
    private let session = Session(transport: StubTransport { _ in .text("x") })

    /// A monitor that does not return from its first call before it is released.
    private final class Stuck: EventMonitor {
        let released = DispatchSemaphore(value: 0)
        let entered = Gate()
        let told = Gate()
        let box = Protected<(names: [RequestID: [String]], missed: Int)>(([:], 0))

        func request(_ request: any Request, did event: RequestEvent) {
            let isFirst = box.withLock { box in
                box.names[request.id, default: []].append(event.name)
                return box.names.count == 1 && box.names[request.id]?.count == 1
            }
            guard isFirst else { return }
            entered.open()
            released.wait()
        }

        func didMiss(_ requests: Int) {
            box.withLock { $0.missed += requests }
            told.open()
        }
    }

    @Test(
        "While two monitors block, 5,000 requests finish; the monitors get complete requests, and the number of missed ones"
    )
    func stuck() async throws {
        let monitors = [Stuck(), Stuck()]
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: monitors)
        let count = 5_000
        _ = await session.request("http://h/").serializingData().response
        for monitor in monitors { await monitor.entered.pass() }
        for _ in 1..<count {
            #expect(try await session.request("http://h/").serializingData().value == Data("x".utf8))
        }
        for monitor in monitors { monitor.released.signal() }
        for monitor in monitors {
            await monitor.told.pass()
            let (names, missed) = monitor.box.withLock { ($0.names, $0.missed) }
            #expect(names.count + missed == count)
            #expect(names.count > EventQueue.limit / 20)
            let whole = [
                "start", "create", "beginHop", "receiveHead", "receiveBody", "gatherMetrics", "endHop", "serialize",
                "finish",
            ]
            #expect(names.values.allSatisfy { $0 == whole })
        }
    }

    /// A full queue with entries of one unfinished request.
    private func fullQueue(of request: any Request) -> EventQueue {
        var queue = EventQueue()
        for event in [RequestEvent.start] + Array(repeating: .suspend, count: EventQueue.limit - 1) {
            queue.post(event, from: request)
        }
        return queue
    }

    @Test("An admitted request has all its events, and its body is one event while the queue is full")
    func admitted() async {
        let request = await session.request("http://h/")
        var queue = fullQueue(of: request)
        let rest: [RequestEvent] = [
            .sendBody(1), .sendBody(3), .receiveBody(1), .receiveBody(2), .suspend, .receiveBody(4), .receiveBody(5),
            .finish(nil),
        ]
        for event in rest { queue.post(event, from: request) }
        let told = queue.take().entries.dropFirst(EventQueue.limit).map { entry in
            switch entry.event {
            case .sendBody(let count): "sent \(count)"
            case .receiveBody(let count): "received \(count)"
            default: entry.event.name
            }
        }
        #expect(told == ["sent 3", "received 3", "suspend", "received 9", "finish"])
    }

    @Test("A body that is sent while another one is received is merged too")
    func bothWays() async {
        let request = await session.request("http://h/")
        var queue = fullQueue(of: request)
        for count in 1...1_000 {
            queue.post(.sendBody(UInt64(count)), from: request)
            queue.post(.receiveBody(1), from: request)
        }
        queue.post(.finish(nil), from: request)
        let told = queue.take().entries.dropFirst(EventQueue.limit)
        #expect(told.map(\.event.name) == ["sendBody", "receiveBody", "finish"])
        guard case .sendBody(1_000) = told.first?.event, case .receiveBody(1_000) = told.dropFirst().first?.event else {
            Issue.record("not all of the bodies is told")
            return
        }
    }

    @Test(
        "A request that starts while the queue is full stays refused until its finish, also with free space",
        arguments: [RequestEvent.start, .cancel])
    func refused(beginning: RequestEvent) async {
        let (first, late, next) = await (
            session.request("http://h/"), session.request("http://h/"), session.request("http://h/")
        )
        var queue = fullQueue(of: first)
        queue.post(beginning, from: late, .first)
        #expect(queue.take().missed == 1)
        queue.post(.endHop(nil), from: late)
        queue.post(.finish(nil), from: late)
        #expect(queue.entries.isEmpty)
        queue.post(.start, from: next, .first)
        queue.post(.finish(nil), from: next)
        #expect(queue.take().entries.map(\.event.name) == ["start", "finish"])
        #expect(queue.missed == 0)
    }

    @Test("While the queue is full, the cancel of an earlier request is accepted, and that of an unstarted one refused")
    func cancelled() async throws {
        let monitor = Stuck()
        let session = Session(transport: HeldTransport(), eventMonitors: [monitor])
        let (running, unstarted) = await (
            session.request("http://h/"), session.request("http://h/", startsAutomatically: false)
        )
        running.resume()
        await monitor.entered.pass()
        for _ in 0..<EventQueue.limit { running.handle.core.emit(.suspend) }
        for request in [running, unstarted] { request.cancel() }
        for request in [running, unstarted] { #expect(await request.serializingData().response.error != nil) }
        monitor.released.signal()
        await monitor.told.pass()
        let (names, missed) = monitor.box.withLock { ($0.names, $0.missed) }
        #expect(names.keys.map { $0 } == [running.id] && missed == 1)
        #expect(try #require(names[running.id]).contains("cancel"))
    }

    @Test("While the queue is full, events before the start and after the finish are not kept")
    func outside() async {
        let request = await session.request("http://h/")
        var queue = fullQueue(of: request)
        queue.post(.suspend, from: request, .outside)
        queue.post(.finish(nil), from: request)
        queue.post(.ignoreOption("validator"), from: request, .outside)
        #expect(queue.take().entries.dropFirst(EventQueue.limit).map(\.event.name) == ["finish"])
        queue.post(.ignoreOption("validator"), from: request, .outside)
        #expect(queue.entries.count == 1)
    }

    @Test("A request's own monitor gets all its events, also when the queue is full")
    func own() async {
        let request = await session.request("http://h/")
        var queue = EventQueue(admitting: request.id)
        for _ in 0..<EventQueue.limit { queue.post(.suspend, from: request) }
        queue.post(.start, from: request, .first)
        queue.post(.finish(nil), from: request)
        #expect(queue.entries.suffix(2).map(\.event.name) == ["start", "finish"])
    }

    @Test("While the queue is full, events of WebSockets are dropped and counted, also those of admitted requests")
    func webSocket() async {
        let request = await session.request("http://h/")
        for var queue in [EventQueue(), EventQueue(admitting: request.id)] {
            queue.post(.start, from: request)
            for _ in 0..<EventQueue.limit + 2 { queue.post(.webSocket(.sendPing), from: request) }
            queue.post(.finish(nil), from: request)
            let batch = queue.take()
            #expect(batch.entries.count == EventQueue.limit + 1)
            #expect(batch.entries.last?.event.name == "finish")
            #expect(batch.dropped == 3)
        }
    }

    @Test("The bytes of a dropped message are dropped, too, also if the queue has been emptied in between")
    func webSocketContent() async {
        let request = await session.request("http://h/")
        func content(_ text: String, isSent: Bool) -> RequestEvent {
            let kind: BodyPart.Message = isSent ? .sentMessage(isText: true) : .receivedMessage(isText: true)
            return .copyBody(BodyPart(of: kind, offset: 0, bytes: Data(text.utf8)))
        }
        for isEmptied in [false, true] {
            var queue = EventQueue(acceptsAll: true)
            queue.post(.start, from: request)
            for _ in 1..<EventQueue.limit { queue.post(.suspend, from: request) }
            for isSent in [true, false] {
                queue.post(.webSocket(isSent ? .sendMessage(4) : .receiveMessage(4)), from: request)
                if isEmptied { #expect(queue.take().dropped == (isSent ? 1 : 2)) }
                let count = queue.entries.count
                queue.post(content("lost", isSent: isSent), from: request)
                #expect(queue.entries.count == count)
                for _ in queue.entries.count..<EventQueue.limit { queue.post(.suspend, from: request) }
            }
            #expect(queue.take().dropped == (isEmptied ? 1 : 4))
            queue.post(.webSocket(.sendMessage(2)), from: request)
            queue.post(content("ok", isSent: true), from: request)
            #expect(queue.take().entries.count == 2)
        }
    }
}
