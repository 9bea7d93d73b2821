import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Events as sequences, closures and notifications", .limited)
struct EventSequenceTests {
    private let session = Session(transport: StubTransport { _ in .text("x") })
    private let url = "http://example.com/?token=s3cret"
    private static let plain = [
        "start", "create", "beginHop", "receiveHead", "receiveBody", "gatherMetrics", "endHop", "serialize", "finish",
    ]

    @Test("Iterating a request's events starts the request, and ends with its finish")
    func ofRequest() async {
        let request = await session.request(url)
        let task = request.events
        var names: [String] = []
        for await event in task {
            #expect(event.request == request.id && event.description == "\(request.id) \(event.event.name)")
            names.append(event.event.name)
        }
        #expect(names == Self.plain.filter { $0 != "serialize" })
        for await event in task { Issue.record("\(event) after the finish") }
    }

    @Test("A session's events are those of later requests, and end with the session")
    func ofSession() async {
        var session: Session? = Session(transport: StubTransport { _ in .text("x") })
        guard let events = await session?.events else { return }
        let request = await session?.request(url)
        _ = await request?.serializingString().response
        session = nil
        var names: [String] = []
        for await event in events { names.append(event.event.name) }
        #expect(names == Self.plain)
    }

    @Test("A session's events include the later connections of an event stream that is already open")
    func ofReconnection() async throws {
        let clock = ManualClock()
        let session = TransportLog().session(SessionConfiguration { $0.clock = clock }) { _, number in
            if number > 1 { return .response(204) }
            return .response(headers: ["Content-Type": "text/event-stream"], chunks: [Data("data: a\n\n".utf8)])
        }
        let stream = await session.streamRequest(url).serverSentEvents()
        let reading = Task { for try await _ in stream {} }
        await clock.waitForSleepers()
        let events = await session.events
        clock.advance(by: .seconds(60))
        try await reading.value
        // The events of this request follow those of the second connection.
        _ = await session.request(url).serializingData().response
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.request == RequestID(2))
    }

    @Test("A released sequence releases its queue")
    func given() async {
        weak var queue: MonitorQueue?
        do {
            let subscription = EventSubscription()
            queue = subscription.queue
            _ = subscription.stream
            let request = await session.request(url)
            queue?.post(.start, from: request)
        }
        #expect(queue == nil)
        _ = await session.events
        _ = await session.request(url)
        let request = await session.request(url)
        #expect(request.handle.core.read { $0.settings.monitors }.isEmpty)
    }

    @Test("A request is released after the reader of its events has stopped")
    func abandoned() async {
        weak var request: DataRequest?
        do {
            let made = await session.request(url)
            request = made
            for await _ in made.events { break }
            let finished = EventRecorder()
            made.eventMonitor(finished)
            _ = await made.serializingString().response
        }
        await poll { request == nil }
    }

    @Test("A cancelled reader gets no further events, and the request continues")
    func cancelled() async throws {
        let gate = Gate()
        let request = await Session(transport: StubTransport { _ in StubAnswer([.stall]) }).request(url)
        let reader = Task {
            var count = 0
            for await _ in request.events {
                count += 1
                gate.open()
            }
            return count
        }
        await gate.pass()
        reader.cancel()
        #expect(await reader.value > 0)
        #expect(request.status == .resumed)
        request.cancel()
    }

    @Test("When one of several readers of a session's events stops, the others get the waiting and the later events")
    func readers() async {
        let events = await session.events
        let journal = Journal()
        let done = Gate()
        let readers = (1...3).map { number in
            Task {
                for await event in events {
                    if journal.count(event.event.name) == Self.plain.count { done.open() }
                    if number < 3 { return }
                }
            }
        }
        _ = await session.request(url).serializingString().response
        await done.pass()
        #expect(journal.lines.count == Self.plain.count)
        for reader in readers { reader.cancel() }
    }

    @Test("A composite passes an event to all its monitors before the next event")
    func composite() async {
        let journal = Journal()
        let done = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("x") },
            eventMonitors: [
                CompositeEventMonitor([
                    ClosureEventMonitor { _, event in journal.note("a \(event.name)") },
                    ClosureEventMonitor { _, event in
                        journal.note("b \(event.name)")
                        if case .finish = event { done.open() }
                    },
                ])
            ])
        _ = await session.request(url).serializingString().response
        await done.pass()
        #expect(journal.lines == Self.plain.flatMap { ["a \($0)", "b \($0)"] })
    }

    @Test("Notifications report the main events of a request, with the request")
    func notifications() async {
        let center = NotificationCenter()
        let journal = Journal()
        let done = Gate()
        let names: [Notification.Name] = [
            .larkspurRequestDidStart, .larkspurRequestDidSuspend, .larkspurRequestDidResume, .larkspurRequestDidCancel,
            .larkspurRequestDidBeginHop, .larkspurRequestDidEndHop, .larkspurRequestDidFinish,
        ]
        let observers = names.map { name in
            center.addObserver(forName: name, object: nil, queue: nil) { notification in
                journal.note(
                    "\(name.rawValue.split(separator: ".").last ?? "") \(notification.larkspurRequest?.id.description ?? "")"
                )
                if name == .larkspurRequestDidFinish { done.open() }
            }
        }
        let session = Session(
            transport: StubTransport { _ in StubAnswer([.stall]) }, eventMonitors: [NotificationMonitor(center: center)]
        )
        let request = await session.request(url)
        let task = request.serializingString()
        request.suspend().resume().cancel()
        _ = await task.response
        await done.pass()
        #expect(
            journal.lines
                == ["didStart", "didBeginHop", "didSuspend", "didResume", "didCancel", "didEndHop", "didFinish"]
                .map { "\($0) #1" })
        for observer in observers { center.removeObserver(observer) }
    }
}
