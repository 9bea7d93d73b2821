import Dispatch
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCombine
@testable import LarkspurCore

/// The requests of publishers, without Combine: a subscriber of the tests takes the place of Combine's.
@Suite("Requests with subscribers", .limited)
struct SubscribedRequestTests {
    private typealias Responses = SubscriptionCore<DataResponse<String>>

    private let log = TransportLog()

    private static func global(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async { work() }
    }

    /// Subscribes as a publisher does; returns the subscription.
    @discardableResult
    private func subscribe(
        _ subscriber: NotedSubscriber<DataResponse<String>>, to request: some SerializableRequest,
        handOver: (Responses) -> Void
    ) -> Responses? {
        var kept: Responses?
        Responses.subscribe(
            subscriber.receiver, to: request, on: Self.global,
            handOver: {
                kept = $0
                handOver($0)
            }, start: { request.send(responseOf: StringResponseSerializer(), to: $0) })
        return kept
    }

    enum Pace: CaseIterable { case lazy, manual, suspended }

    @Test("A subscription starts the request, and the response comes once, then the end", arguments: Pace.allCases)
    func response(_ pace: Pace) async {
        let request = await log.session().request("http://h/", startsAutomatically: pace == .lazy)
        if pace == .suspended { request.suspend() }
        #expect(request.status == (pace == .suspended ? .suspended : .initialized))
        let subscriber = NotedSubscriber<DataResponse<String>>()
        subscribe(subscriber, to: request) { $0.request(.unlimited) }
        await subscriber.received.reached(2)
        #expect(subscriber.elements.map(\.value) == ["ok"] && subscriber.ends == 1)
        #expect(log.count == 1)
    }

    @Test("The request is sent without demand, but its response waits for it")
    func demand() async {
        let request = await log.session().request("http://h/")
        let subscriber = NotedSubscriber<DataResponse<String>>()
        let subscription = subscribe(subscriber, to: request) { _ in }
        for await _ in request.heads {}
        // This closure is called after that of the subscription.
        let delivered = Gate()
        request.responseString { _ in delivered.open() }
        await delivered.pass()
        #expect(log.count == 1 && subscriber.elements.isEmpty && subscriber.ends == 0)
        subscription?.request(ElementDemand(1))
        await subscriber.received.reached(2)
        #expect(subscriber.elements.map(\.value) == ["ok"] && subscriber.ends == 1)
    }

    @Test("A failure is a response, and the end follows it")
    func failure() async {
        let request = await log.session { _, _ in .failure(.connectionRefused) }.request("http://h/")
        let subscriber = NotedSubscriber<DataResponse<String>>()
        subscribe(subscriber, to: request) { $0.request(.unlimited) }
        await subscriber.received.reached(2)
        #expect(subscriber.elements.map(\.error?.code) == [request.error?.code] && subscriber.ends == 1)
        #expect(request.error != nil)
    }

    @Test("Cancelling the subscription cancels the request; a cancel before the start sends nothing")
    func cancel() async {
        let stalled = await log.session { _, _ in StubAnswer([.stall]) }.request("http://h/")
        let subscriber = NotedSubscriber<DataResponse<String>>()
        let subscription = subscribe(subscriber, to: stalled) { $0.request(.unlimited) }
        let other = stalled.serializingString()
        subscription?.cancel()
        #expect(await other.response.error?.isCancelled == true)
        #expect(stalled.status == .cancelled && subscriber.elements.isEmpty && subscriber.ends == 0)

        let sent = log.count
        let unsent = await log.session().request("http://h/")
        subscribe(subscriber, to: unsent) { $0.cancel() }
        for await _ in unsent.heads {}
        #expect(unsent.status == .cancelled && log.count == sent && subscriber.elements.isEmpty)
    }

    /// Counts its calls.
    private struct CountingSerializer: ResponseSerializer {
        let calls: Counter

        func serialize(_ exchange: CompletedExchange) -> Int { calls.increment() }
    }

    @Test("A subscriber that cancels before the start attaches nothing, also to a finished request")
    func cancelBeforeStart() async throws {
        let request = await log.session().request("http://h/")
        _ = try await request.serializingString().value
        let calls = Counter()
        let subscriber = NotedSubscriber<DataResponse<Int>>()
        SubscriptionCore.subscribe(
            subscriber.receiver, to: request, on: Self.global, handOver: { $0.cancel() },
            start: { request.send(responseOf: CountingSerializer(calls: calls), to: $0) })
        // Late serializers run one after another, so this one is the first.
        #expect(try await request.serializingResponse(using: CountingSerializer(calls: calls)).value == 1)
        #expect(calls.value == 1 && subscriber.elements.isEmpty)
    }

    @Test("Several subscriptions share one request; a finished one still answers")
    func several() async {
        let request = await log.session().request("http://h/")
        let subscribers = (0..<3).map { _ in NotedSubscriber<DataResponse<String>>() }
        for subscriber in subscribers {
            subscribe(subscriber, to: request) { $0.request(.unlimited) }
            await subscriber.received.reached(2)
        }
        #expect(subscribers.allSatisfy { $0.elements.map(\.value) == ["ok"] && $0.ends == 1 })
        #expect(log.count == 1)
    }

    @Test("The unserialized response of a request is its body, that of a download its file")
    func unserialized() async throws {
        let session = log.session()
        #expect(
            try await session.request("http://h/").serializingResponse(using: UnserializedDataSerializer()).value
                == Data("ok".utf8))
        let url = try await session.download("http://h/").serializingResponse(using: UnserializedFileSerializer()).value
        let file = try #require(url)
        #expect(try Data(contentsOf: file) == Data("ok".utf8))
        try FileManager.default.removeItem(at: file)
        let none = try await session.request("http://h/").serializingResponse(using: UnserializedFileSerializer()).value
        #expect(none == nil)
    }

    // MARK: Streams

    private typealias Events = SubscriptionCore<DataStreamRequest.Stream<Data>>

    private func subscribe(
        _ subscriber: NotedSubscriber<DataStreamRequest.Stream<Data>>, to request: DataStreamRequest
    ) -> Events? {
        var kept: Events?
        Events.subscribe(
            subscriber.receiver, to: request, on: Self.global, handOver: { kept = $0 },
            start: { request.send(eventsTo: $0) { request.responseStream(stream: $0) } })
        return kept
    }

    @Test("A stream's events come as demanded, then the completion and the end", arguments: Pace.allCases)
    func stream(_ pace: Pace) async {
        let session = log.session { _, _ in .response(chunks: ["a", "b", "c"].map { Data($0.utf8) }) }
        let request = await session.streamRequest("http://h/", startsAutomatically: pace == .lazy)
        if pace == .suspended { request.suspend() }
        let subscriber = NotedSubscriber<DataStreamRequest.Stream<Data>>()
        let subscription = subscribe(subscriber, to: request)
        for count in 1...4 {
            #expect(subscriber.elements.count == count - 1)
            subscription?.request(ElementDemand(1))
            await subscriber.received.reached(count)
        }
        await subscriber.received.reached(5)
        #expect(subscriber.elements.compactMap(\.value).map { String(decoding: $0, as: UTF8.self) } == ["a", "b", "c"])
        #expect(subscriber.elements.last?.completion?.head?.status == 200 && subscriber.ends == 1)
    }

    @Test("Without demand the response stands still; with it, all of it comes")
    func backPressure() async {
        let size = 1_000
        let received = ByteCounter()
        let answer = StubAnswer.response(chunks: Array(repeating: Data(count: size), count: 1_000))
        let session = Session(
            configuration: .bare, transport: log.transport { _, _ in answer }, eventMonitors: [received])
        let request = await session.streamRequest("http://h/", bufferSize: 20 * size)
        let subscriber = NotedSubscriber<DataStreamRequest.Stream<Data>>()
        let subscription = subscribe(subscriber, to: request)
        var count = 0
        var read = 0
        while subscriber.elements.last?.completion == nil {
            // The buffers, and the one chunk that waits for demand.
            #expect(received.value - read <= 24 * size)
            count += 1
            subscription?.request(ElementDemand(1))
            await subscriber.received.reached(count)
            read = subscriber.elements.reduce(0) { $0 + ($1.value?.count ?? 0) }
        }
        #expect(read == 1_000 * size)
    }

    @Test("A cancel without demand cancels the stream's request, and releases the subscriber and the reader")
    func cancelledStream() async {
        let session = log.session { _, _ in
            StubAnswer([.head(ResponseHead(status: 200)), .body(Data("a".utf8)), .stall])
        }
        let request = await session.streamRequest("http://h/")
        let released = Gate()
        let subscription = subscribe(NotedSubscriber(probe: ReleaseProbe(opening: released)), to: request)
        for await _ in request.heads.prefix(1) {}
        subscription?.cancel()
        await released.pass()
        #expect(await request.completion.error?.isCancelled == true)
        #expect(request.status == .cancelled)
        await poll { request.hub.isUnread }
    }

    @Test("A cancel after the completion has arrived leaves the other readers their bytes")
    func cancelAfterCompletion() async throws {
        let session = log.session { _, _ in .response(chunks: [Data("abc".utf8)]) }
        let request = await session.streamRequest("http://h/")
        let other = request.bytes
        let subscriber = NotedSubscriber<DataStreamRequest.Stream<Data>>()
        let subscription = subscribe(subscriber, to: request)
        subscription?.request(.unlimited)
        await subscriber.received.reached(3)
        subscription?.cancel()
        var bytes = Data()
        for try await chunk in other { bytes += chunk }
        #expect(bytes == Data("abc".utf8))
    }
}
