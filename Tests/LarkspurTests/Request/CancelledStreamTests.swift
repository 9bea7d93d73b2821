import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Streams after a cancel", .limited)
struct CancelledStreamTests {
    private let url = "http://example.com/stream"

    enum End: CaseIterable, Sendable { case request, token, session, task }

    /// Whether the response is complete when the request is cancelled, or still being received.
    enum Body: CaseIterable, Sendable { case whole, open }

    /// A session's end does not concern a request that has finished.
    private static let ends = End.allCases.flatMap { end in Body.allCases.map { (end, $0) } }
        .filter { end, body in end != .session || body == .open }

    private func session(_ body: Body, _ chunks: [String]) -> Session {
        let answer = StubAnswer.response(
            headers: ["Content-Type": "text/event-stream"], chunks: chunks.map { Data($0.utf8) })
        return Session(
            transport: StubTransport { _ in body == .whole ? answer : StubAnswer(answer.steps + [.stall]) })
    }

    /// Reads one element, cancels the request, and reads on: no further element may come.
    private func read<Elements: AsyncSequence & Sendable>(
        _ elements: Elements, of request: DataStreamRequest, _ session: Session, until end: End, _ body: Body,
        count: Int
    ) async {
        let recorder = EventRecorder()
        request.eventMonitor(recorder)
        // A separate task, because one of the ends cancels it.
        let reading = Task {
            var iterator = elements.makeAsyncIterator()
            #expect(try await iterator.next() != nil)
            switch body {
            case .whole: await recorder.wait { $0.contains { $0.name == "finish" } }
            case .open: await poll { request.hub.sent >= count }
            }
            switch end {
            case .request: request.cancel()
            case .token: DataStreamRequest.CancellationToken(request: request).cancel()
            case .session: await session.invalidate()
            case .task: withUnsafeCurrentTask { $0?.cancel() }
            }
            while let element = try await iterator.next() { Issue.record("\(element) came after the cancel") }
        }
        let result = await reading.result
        switch end {
        case .request, .token, .task: #expect(throws: CancellationError.self) { try result.get() }
        case .session:
            let error = #expect(throws: RequestError.self) { try result.get() }
            #expect(error?.code == .sessionInvalidated)
        }
    }

    @Test("No chunk comes after a cancel", arguments: ends)
    func chunks(end: End, body: Body) async {
        let session = session(body, ["a", "b", "c"])
        let request = await session.streamRequest(url)
        await read(request.bytes, of: request, session, until: end, body, count: 3)
    }

    @Test("No line comes after a cancel, also not from the chunk that is being read", arguments: ends)
    func lines(end: End, body: Body) async {
        let session = session(body, ["one\ntwo\nthr", "ee\nfour"])
        let request = await session.streamRequest(url)
        await read(request.lines, of: request, session, until: end, body, count: 18)
    }

    @Test("No text comes after a cancel", arguments: ends)
    func strings(end: End, body: Body) async {
        let session = session(body, ["a", "b", "c"])
        let request = await session.streamRequest(url)
        await read(request.strings, of: request, session, until: end, body, count: 3)
    }

    @Test("No value comes after a cancel", arguments: ends)
    func values(end: End, body: Body) async {
        let session = session(body, ["1\n2\n3\n", "4\n"])
        let request = await session.streamRequest(url)
        let values = request.decodables(of: Int.self, framing: .jsonLines)
        await read(values, of: request, session, until: end, body, count: 8)
    }

    @Test("No event comes after a cancel", arguments: ends)
    func events(end: End, body: Body) async {
        let session = session(body, ["data: 1\n\ndata: 2\n\n", "data: 3\n\n"])
        let request = await session.streamRequest(url)
        let events = request.serverSentEvents(policy: .once)
        await read(events, of: request, session, until: end, body, count: 27)
    }

    @Test("Every reader of a cancelled request ends, the slow ones too", arguments: Body.allCases)
    func readers(body: Body) async throws {
        let recorder = EventRecorder()
        let request = await session(body, ["a", "b", "c"]).streamRequest(url).eventMonitor(recorder)
        let iterators = (0..<5).map { _ in request.bytes.makeAsyncIterator() }
        for iterator in iterators { #expect(try await iterator.next() == Data("a".utf8)) }
        if body == .whole { await recorder.wait { $0.contains { $0.name == "finish" } } }
        request.cancel()
        for iterator in iterators {
            await #expect(throws: CancellationError.self) { try await iterator.next() }
        }
    }

    #if os(Linux)
        @Test("A chunk that is on its way to a waiting reader is dropped")
        func onItsWay() async throws {
            let clock = ManualClock()
            let transport = StubTransport(clock: clock) { _ in
                StubAnswer([
                    .head(ResponseHead(status: 200)), .wait(.seconds(1)), .body(Data("a".utf8)), .stall,
                ])
            }
            let request = await Session(transport: transport).streamRequest(url)
            let (bytes, executor) = (request.bytes, HeldExecutor())
            let reading = Task(executorPreference: executor) { try await bytes.makeAsyncIterator().next() }
            executor.runWhatIsThere()
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            await poll { request.hub.sent == 1 }
            request.cancel()
            executor.letGo()
            await #expect(throws: CancellationError.self) { try await reading.value }
        }
    #endif

    @Test("A reader that has read everything is not told of a later cancel")
    func afterTheEnd() async throws {
        let request = await session(.whole, ["a\nb"]).streamRequest(url)
        var lines = request.lines.makeAsyncIterator()
        while try await lines.next() != nil {}
        request.cancel()
        #expect(try await lines.next() == nil)
        #expect(request.status == .finished)
    }

    @Test("A handler gets its completion next, and the completion says why", arguments: Body.allCases)
    func handlers(body: Body) async {
        let (events, end) = AsyncStream.makeStream(of: String.self)
        let recorder = EventRecorder()
        let session = session(body, ["a\nb\n", "c\n"])
        let request = await session.streamRequest(url, startsAutomatically: false).eventMonitor(recorder)
        request.responseStream(using: LineParser()) { stream in
            switch stream.event {
            case .stream(let line):
                end.yield((try? line.get()) ?? "failure")
                if body == .whole { await recorder.wait { $0.contains { $0.name == "finish" } } }
                stream.cancel()
            case .complete(let completion):
                end.yield("complete \(completion.error?.code.rawValue ?? "well")")
                end.finish()
            }
        }
        withExtendedLifetime(session) { _ = request.resume() }
        #expect(await events.reduce(into: []) { $0.append($1) } == ["a", "complete cancelled"])
    }

    @Test("A total timeout leaves the bytes that came in time to the reader")
    func timeouts() async throws {
        let clock = ManualClock()
        let answer = StubAnswer(StubAnswer.response(chunks: [Data("a".utf8), Data("b".utf8)]).steps + [.stall])
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock }, transport: StubTransport { _ in answer })
        let request = await session.streamRequest(url).timeout(.total(.seconds(5)))
        let iterator = request.bytes.makeAsyncIterator()
        #expect(try await iterator.next() == Data("a".utf8))
        await poll { request.hub.sent == 2 }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(try await iterator.next() == Data("b".utf8))
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.isTimeout == true)
    }
}
