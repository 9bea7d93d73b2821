import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The order of events, for every kind of request and end", .limited)
struct EventOrderTests {
    private let recorder = EventRecorder()
    private let url = "http://example.com/"

    private func session(
        validation: [ResponseValidator] = [], interceptor: (any RequestInterceptor)? = nil,
        _ answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) -> Session {
        Session(
            configuration: SessionConfiguration { $0.validation = validation },
            transport: StubTransport(answer: answer), interceptor: interceptor, eventMonitors: [recorder])
    }

    private func names(of request: any Request) async -> [String] {
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(recorder.violations.isEmpty)
        return recorder.names(of: request)
    }

    private func chunks(_ texts: String...) -> StubAnswer { .response(chunks: texts.map { Data($0.utf8) }) }

    @Test("An adapt event precedes the create event, and comes only if adapters changed the request")
    func adapted() async {
        let adapter = Interceptor(adapt: { request, _ in
            if request.method == .post { request.headers["X"] = "1" }
        })
        let session = session(interceptor: adapter) { _ in .text("x") }
        let request = await session.request(url, method: .post)
        _ = await request.serializingString().response
        #expect(await names(of: request).prefix(3) == ["start", "adapt", "create"])
        guard case .adapt(let before, let after) = recorder.events[1] else {
            Issue.record("no adapt event")
            return
        }
        #expect(before.headers["X"] == nil && after.headers["X"] == "1")
        let other = await session.request(url)
        _ = await other.serializingString().response
        await recorder.wait { $0.count { $0.name == "finish" } == 2 }
        #expect(!recorder.names(of: other).contains("adapt"))
    }

    @Test(
        "A request that cannot be built or adapted has an event for it, and finishes",
        arguments: [RequestError.Stage.building, .adapting])
    func failedCreation(stage: RequestError.Stage) async {
        let adapter = Interceptor(adapt: { _, _ in throw ForeignError() })
        let session = session(interceptor: adapter) { _ in .text("x") }
        let request = await session.request(stage == .building ? "no URL" : url)
        _ = await request.serializingString().response
        #expect(await names(of: request) == ["start", "failCreation", "serialize", "finish"])
        guard case .failCreation(let error) = recorder.events[1] else { return }
        #expect(error.stage == stage)
    }

    @Test("An answered challenge is another hop, but not a redirect")
    func amended() async {
        let session = session { request in
            request["Authorization"] != nil
                ? .text("x") : .response(401, headers: ["WWW-Authenticate": "Basic realm=\"a\""])
        }
        let request = await session.request(url).authenticate(username: "u", password: "p")
        _ = await request.serializingString().response
        #expect(
            await names(of: request) == [
                "start", "create", "beginHop", "receiveHead", "gatherMetrics", "endHop", "amend", "beginHop",
                "receiveHead", "receiveBody", "gatherMetrics", "endHop", "serialize", "finish",
            ])
    }

    @Test("An upload has events for the bytes sent and for a repeated body")
    func upload() async throws {
        let answer = StubAnswer([.sent(4), .rewind, .sent(4)] + chunks("x").steps)
        let session = session { _ in answer }
        let body = TransportBody.sequence(length: 4) { AsyncStream { $0.finish() } as AsyncStream<Data> }
        let request = await session.upload(body, to: url)
        _ = await request.serializingString().response
        #expect(
            await names(of: request) == [
                "start", "create", "beginHop", "sendBody", "sendBody", "rewindBody", "sendBody", "receiveHead",
                "receiveBody", "gatherMetrics", "endHop", "serialize", "finish",
            ])
    }

    @Test("A stream is validated before its bytes are delivered")
    func stream() async throws {
        let answer = StubAnswer(Array(chunks("a", "b").steps))
        let session = session(validation: [.standard]) { _ in answer }
        let request = await session.streamRequest(url)
        for try await _ in request.bytes {}
        let names = await names(of: request)
        #expect(
            names.filter { $0 != "validate" } == [
                "start", "create", "beginHop", "receiveHead", "receiveBody", "receiveBody", "gatherMetrics", "endHop",
                "finish",
            ])
        #expect(names.count { $0 == "validate" } == 1)
    }

    @Test("A resumed download has events for its position and its file")
    func download() async throws {
        let folder = try TemporaryFolder()
        let served = ServedFile()
        let first = {
            var first = served; first.cut = 40_000; return first
        }()
        let attempts = Counter()
        let session = session(interceptor: .retrier { _, _, _ in .retry }) { request in
            (attempts.increment() == 1 ? first : served).answer(to: request)
        }
        let request = await session.download(url, to: .file(folder["file"]))
        _ = try await request.serializingFile().value
        let names = await names(of: request).filter { $0 != "receiveBody" }
        // A separate thread writes the file, while the hop ends.
        let told = Set(["start", "create", "beginHop", "endHop", "retry", "finish", "serialize", "placeFile"])
        #expect(
            names.filter(told.contains) == [
                "start", "create", "beginHop", "endHop", "retry", "create", "beginHop", "endHop", "placeFile",
                "serialize", "finish",
            ])
        for event in recorder.events {
            if case .continueFile(let offset) = event { #expect(offset == 40_000) }
            if case .placeFile(let placed) = event { #expect(placed.url == folder["file"]) }
        }
        #expect(names.count { $0 == "continueFile" } == 1)
    }

    @Test("A decoded body has an event with both sizes")
    func decoded() async {
        let body = CodedBody.gzip
        let session = session { _ in
            .response(headers: ["Content-Encoding": "gzip"], chunks: [Data(body.bytes)])
        }
        let request = await session.request(url)
        _ = await request.serializingData().response
        #expect(await names(of: request).suffix(4) == ["endHop", "decode", "serialize", "finish"])
        for case .decode(let codings, let before, let after) in recorder.events {
            #expect(codings == ["gzip"] && before == body.bytes.count && after == CodedBody.text.count)
        }
    }

    @Test("A request that is cancelled before its start is cancelled, and finishes")
    func cancelledUnstarted() async {
        let session = session { _ in .text("x") }
        let request = await session.request(url, startsAutomatically: false)
        let task = request.serializingString()
        request.cancel()
        _ = await task.response
        #expect(await names(of: request) == ["cancel", "serialize", "finish"])
    }

    @Test(
        "A session's invalidation is reported once, and before its effects on requests",
        arguments: [false, true])
    func invalidated(isBusy: Bool) async {
        final class Ends: EventMonitor {
            let journal = Journal()
            let told = Gate()
            /// If the monitor is busy, several events are delivered together.
            let busy = DispatchSemaphore(value: 0)
            func request(_ request: any Request, did event: RequestEvent) {
                if case .start = event { busy.wait() }
                if case .finish(let error?) = event { journal.note(error.code.rawValue) }
                if case .finish = event { told.open() }
            }
            func sessionDidInvalidate(_ error: (any Error)?) { journal.note("end") }
        }
        let ends = Ends()
        let session = Session(transport: StubTransport { _ in StubAnswer([.stall]) }, eventMonitors: [ends])
        if !isBusy { ends.busy.signal() }
        let request = await session.request(url).resume()
        await session.invalidate()
        await session.invalidate()
        _ = await request.serializingData().response
        if isBusy { ends.busy.signal() }
        await ends.told.pass()
        #expect(ends.journal.lines == ["end", "invalidated"])
    }

    @Test("With concurrent cancels a start comes first and a finish last, and both once")
    func raced() async {
        let count = rounds(4_000, nightly: 20_000)
        let (journal, ends, done) = (Protected<[RequestID: [String]]>([:]), Counter(), Gate())
        let monitor = ClosureEventMonitor { request, event in
            journal.withLock { $0[request.id, default: []].append(event.name) }
            if case .finish = event, ends.increment() == count { done.open() }
        }
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [monitor])
        for _ in 0..<count {
            let request = await session.request(url)
            async let started: Void = { _ = request.resume() }()
            async let cancelled: Void = { _ = request.cancel() }()
            _ = await (started, cancelled)
            _ = await request.serializingData().response
        }
        await done.pass()
        for names in journal.withLock({ $0.values }) {
            #expect(!names.dropFirst().contains("start"))
            #expect(names.last { $0 != "serialize" } == "finish")
            #expect(names.count { $0 == "beginHop" } == names.count { $0 == "endHop" })
            if let end = names.firstIndex(of: "endHop"), let begin = names.firstIndex(of: "beginHop") {
                #expect(begin < end)
            }
        }
    }

    @Test("The hop of a cancelled stream ends before its finish, also with a slow transport")
    func cancelledStream() async {
        let transport = LateTransport()
        let session = Session(transport: transport, eventMonitors: [recorder])
        let request = await session.streamRequest(url)
        let reader = Task { for try await _ in request.bytes {} }
        await recorder.wait { $0.contains { $0.name == "receiveHead" } }
        request.cancel()
        _ = await reader.result
        await recorder.wait { $0.contains { $0.name == "finish" } }
        transport.end()
        _ = await session.request(url).resume()
        await recorder.wait { $0.count { $0.name == "beginHop" } == 2 }
        #expect(
            recorder.names(of: request) == ["start", "create", "beginHop", "receiveHead", "cancel", "endHop", "finish"])
        transport.end()
        await recorder.wait { $0.count { $0.name == "finish" } == 2 }
    }
}

/// A transport that delivers a head, and ends cancelled hops late.
private final class LateTransport: Transport {
    private final class Late: TransportTask {
        let id: TransportTaskID
        let delegate: any TransportDelegate

        init(id: TransportTaskID, delegate: any TransportDelegate) { (self.id, self.delegate) = (id, delegate) }

        func resume() { delegate.received(.head(ResponseHead(status: 200)), for: id) }
        func suspend() {}
        func cancel() {}
        func allow(upTo position: UInt64) {}
    }

    private let tasks = Protected<[Late]>([])

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        let task = Late(id: id, delegate: delegate)
        tasks.withLock { $0.append(task) }
        return task
    }

    func invalidate() {}

    /// Completes each task twice, and releases them.
    func end() {
        let ended = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in ended + ended { task.delegate.received(.completed(.cancelled), for: task.id) }
    }
}
