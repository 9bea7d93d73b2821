import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurReachability

@Suite("The details of events", .limited)
struct EventDetailsTests {
    private let recorder = EventRecorder()
    private let url = "http://example.com/"

    private struct User: Decodable, Sendable { let name: String }

    private func session(
        validation: [ResponseValidator] = [.standard], monitors: [any EventMonitor] = [],
        _ answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) -> Session {
        Session(
            configuration: SessionConfiguration { $0.validation = validation },
            transport: StubTransport(answer: answer), eventMonitors: [recorder] + monitors)
    }

    private func finished() async -> [RequestEvent] {
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(recorder.violations.isEmpty)
        return recorder.events
    }

    // MARK: Responses

    @Test("Validation and serialization tell request, response, an excerpt without secrets, and the value's type")
    func response() async throws {
        let session = session { _ in .json(#"{"name": "Ada", "password": "hunter2"}"#) }
        let request = await session.request(url, method: .post)
        _ = try await request.serializingDecodable(User.self).value
        let events = await finished()
        let validation = try #require(events.lazy.compactMap(\.validation).first)
        let serialization = try #require(events.lazy.compactMap(\.serialization).first)
        for report in [validation.response, serialization.response] {
            #expect(report.request?.method == .post && report.head?.status == 200)
            #expect(report.size == 38 && report.duration == report.exchange.metrics?.total && report.fileURL == nil)
            let excerpt = try #require(report.excerpt())
            #expect(excerpt.hasPrefix(#"{ "name": "Ada""#))
            for text in [excerpt, "\(report)", String(reflecting: report)] { #expect(!text.contains("hunter2")) }
            #expect(report.excerpt(upTo: 3)?.hasPrefix("{") == true)
        }
        #expect(validation.error == nil && serialization.error == nil)
        #expect(serialization.valueType == User.self)
    }

    @Test("A refused response and a failed serializer have an error, and the body of the server")
    func failures() async throws {
        let session = session { request in
            request.method == "GET" ? .json(#"{"problem": "none left"}"#, status: 409) : .text("no JSON")
        }
        let refused = await session.request(url).serializingDecodable(User.self).response
        #expect(refused.error?.isValidation == true)
        let failed = await session.request(url, method: .put).serializingDecodable(User.self).response
        #expect(failed.error?.stage == .serializing)
        await recorder.wait { $0.count { $0.name == "finish" } == 2 }
        let validation = try #require(recorder.events.lazy.compactMap(\.validation).first)
        #expect(validation.error?.code == .unacceptableStatus)
        #expect(validation.response.excerpt()?.contains("none left") == true)
        let serializations = recorder.events.compactMap(\.serialization)
        #expect(serializations.map { $0.error == nil } == [true, false])
        #expect(serializations.allSatisfy { $0.valueType == User.self })
        #expect(serializations.last?.response.excerpt() == "no JSON")
    }

    @Test("A serializer that is attached after the finish, and one of a cancelled request, tell their types too")
    func late() async throws {
        let session = session { request in request.method == "GET" ? .text("x") : StubAnswer([.stall]) }
        let request = await session.request(url)
        _ = await request.serializingData().response
        _ = await finished()
        _ = await request.serializingString().response
        await recorder.wait { $0.count { $0.name == "serialize" } == 2 }
        let cancelled = await session.request(url, method: .put)
        let task = cancelled.serializingDecodable(User.self)
        cancelled.cancel()
        _ = await task.response
        await recorder.wait { $0.count { $0.name == "serialize" } == 3 }
        let types = recorder.events.compactMap(\.serialization).map { $0.valueType.map { "\($0)" } }
        #expect(types == ["Data", "String", "User"])
    }

    @Test("A download tells its file, its size and the response")
    func download() async throws {
        let folder = try TemporaryFolder()
        let session = session { _ in .text("twelve bytes") }
        _ = try await session.download(url, to: .file(folder["file"])).serializingFile().value
        let events = await finished()
        let placed = try #require(
            events.lazy.compactMap { if case .placeFile(let event) = $0 { event } else { nil } }.first)
        #expect(placed.url == folder["file"] && placed.size == 12)
        #expect(placed.response.head?.status == 200 && placed.response.request?.url.host == "example.com")
        let serialization = try #require(events.lazy.compactMap(\.serialization).first)
        #expect(serialization.response.fileURL == folder["file"] && serialization.valueType == URL.self)
        #expect(serialization.response.size == 12)
    }

    // MARK: Streams

    /// A recorder of the values of streams.
    private final class Sampler: EventMonitor {
        let parsingInterval: Int
        let numbers = Protected<[Int]>([])
        let errors = Protected<[RequestError]>([])
        let isDone = Gate()
        private let last: Int

        init(_ interval: Int, last: Int) { (parsingInterval, self.last) = (interval, last) }

        func request(_ request: any Request, did event: RequestEvent) {
            if case .parse(let event) = event {
                numbers.withLock { $0.append(event.number) }
                if let error = event.error { errors.withLock { $0.append(error) } }
                if event.number == last || event.error != nil { isDone.open() }
            }
        }
    }

    @Test("Each monitor receives the values of its own interval, also in a composite; others receive none")
    func values() async throws {
        let (second, third, inner) = (Sampler(2, last: 12), Sampler(3, last: 12), Sampler(4, last: 12))
        let other = ClosureEventMonitor { _, event in #expect(event.name != "parse") }
        let composite = CompositeEventMonitor([inner, other])
        #expect(composite.parsingInterval == 4)
        let session = session(monitors: [second, third, composite]) { _ in
            .response(chunks: (1...12).map { Data("\($0)\n".utf8) })
        }
        var count = 0
        for try await _ in await session.streamRequest(url).lines { count += 1 }
        for sampler in [second, third, inner] { await sampler.isDone.pass() }
        #expect(count == 12)
        #expect(second.numbers.withLock { $0 } == [2, 4, 6, 8, 10, 12])
        #expect(third.numbers.withLock { $0 } == [3, 6, 9, 12])
        #expect(inner.numbers.withLock { $0 } == [4, 8, 12])
        #expect(!recorder.events.contains { $0.name == "parse" })
    }

    @Test("The error of a parser is told with each interval, and names the element")
    func parserError() async {
        let sampler = Sampler(100, last: 100)
        let lines = Data("{\"name\": \"Ada\"}\nno JSON\n".utf8)
        let session = session(monitors: [sampler]) { _ in .response(chunks: [lines]) }
        let stream = await session.streamRequest(url)
        await #expect(throws: RequestError.self) {
            for try await _ in stream.bytes.decodables(of: User.self, framing: .jsonLines) {}
        }
        await sampler.isDone.pass()
        #expect(sampler.numbers.withLock { $0 } == [2])
        #expect(sampler.errors.withLock { $0 }.first?.stage == .serializing)
    }

    @Test("While the queue is full, values of streams are dropped and counted")
    func fullQueue() async {
        let request = await session { _ in .text("x") }.request(url)
        for var queue in [EventQueue(), EventQueue(acceptsAll: true)] {
            queue.post(.start, from: request)
            for number in 1...EventQueue.limit + 2 {
                queue.post(.parse(ParsingEvent(number: number, valueType: String.self)), from: request)
            }
            queue.post(.finish(nil), from: request)
            let batch = queue.take()
            #expect(batch.entries.last?.event.name == "finish" && batch.dropped == 3)
        }
    }

    // MARK: Servers and networks

    @Test("The evaluation of a server is told before the head, with the decision", arguments: [true, false])
    func evaluation(isTrusted: Bool) async throws {
        let own = try Certificate(Certificate.own)
        let pinned = isTrusted ? own : try Certificate(Certificate.other)
        let session = Session(
            configuration: SessionConfiguration {
                $0.serverTrust = ServerTrustManager(evaluators: ["a.test": .pinnedCertificates([pinned])])
            },
            transport: StubTransport { _ in
                .text("ok").by(PeerTrust(host: "a.test", port: 443, certificates: [own.bytes]))
            }, eventMonitors: [recorder])
        _ = await session.request("https://a.test/").serializingData().response
        let events = await finished()
        let evaluation = try #require(
            events.lazy.compactMap { if case .evaluateServer(let event) = $0 { event } else { nil } }.first)
        #expect(evaluation.peer.host == "a.test" && evaluation.peer.certificates == [own.bytes])
        guard isTrusted else {
            if case .refused(_, let code) = evaluation.decision {
                #expect(code == .pinMismatch)
            } else {
                Issue.record("not refused")
            }
            return
        }
        #expect(evaluation.decision == .trusted || evaluation.decision == .platformDefault)
        let names = events.map(\.name)
        #expect(try #require(names.firstIndex(of: "evaluateServer")) < #require(names.firstIndex(of: "receiveHead")))
    }

    @Test("A request that waits for the network tells it, with the host and the limit")
    func offline() async throws {
        let (network, count) = (ScriptedNetwork(), Counter())
        let retrier = OfflineRetrier(maximumWait: .seconds(30), monitor: NetworkMonitor(source: network))
        let session = Session(
            configuration: SessionConfiguration { $0.clock = ManualClock() },
            transport: StubTransport { _ in count.increment() == 1 ? .failure(.unreachable) : .text("ok") },
            interceptor: Interceptor(interceptors: [retrier]), eventMonitors: [recorder])
        let request = await session.request(url)
        async let value = request.serializingString().value
        await network.watched.reached(1)
        network.become(ScriptedNetwork.online)
        #expect(try await value == "ok")
        let events = await finished()
        let wait = events.lazy.compactMap { if case .waitForNetwork(let event) = $0 { event } else { nil } }.first
        #expect(wait == NetworkWaitEvent(host: "example.com", limit: .seconds(30)))
        let names = events.map(\.name)
        #expect(try #require(names.firstIndex(of: "waitForNetwork")) < #require(names.firstIndex(of: "retry")))
    }

    /// A transport that waits for the network before each hop.
    private final class Waiting: TransportWrapper {
        private final class Delegate: TransportDelegate {
            private let delegate: any TransportDelegate
            init(_ delegate: any TransportDelegate) { self.delegate = delegate }

            func received(_ event: TransportEvent, for task: TransportTaskID) {
                if case .head = event { delegate.received(.waitsForNetwork, for: task) }
                delegate.received(event, for: task)
            }
            func answer(_ question: TransportQuestion, for task: TransportTaskID) {
                delegate.answer(question, for: task)
            }
        }

        let base: any Transport
        init(_ base: any Transport) { self.base = base }

        func task(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> any TransportTask {
            base.task(for: request, id: id, delegate: Delegate(delegate))
        }
    }

    @Test(
        "A transport that waits for the network tells it, also below limits, shared reads, a cache or hedging",
        arguments: [0, 1, 2, 3, 4])
    func waitingTransport(layer: Int) async throws {
        let configuration = SessionConfiguration {
            switch layer {
            case 1: $0.limits = RequestLimits(perHost: 1)
            case 2: $0.coalescing = .identicalReads
            case 3: $0.cache = .inMemory()
            default: break
            }
        }
        var transport: any Transport = Waiting(StubTransport { _ in .text("ok") })
        if layer == 4 { transport = HedgingTransport(transport, after: .duration(.seconds(60))) }
        let session = Session(configuration: configuration, transport: transport, eventMonitors: [recorder])
        #expect(try await session.request(url).serializingString().value == "ok")
        let events = await finished()
        let wait = events.lazy.compactMap { if case .waitForNetwork(let event) = $0 { event } else { nil } }.first
        #expect(wait == NetworkWaitEvent(host: "example.com"))
    }
}

extension RequestEvent {
    fileprivate var validation: ValidationEvent? { if case .validate(let event) = self { event } else { nil } }
    fileprivate var serialization: SerializationEvent? { if case .serialize(let event) = self { event } else { nil } }
}
