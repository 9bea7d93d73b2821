import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// Bugs that were found and mended, one test each.
@Suite("Regressions of requests", .limited)
struct RequestRegressions {
    typealias Serializer = SerializerRulesTests.Serializer
    struct Refused: Error {}

    let session = Session(transport: StubTransport { _ in .text("x") })

    @Test("A request that finished before the session knew of it is not kept")
    func registeredTooLate() async throws {
        let recorder = EventRecorder()
        let request = await session.request("http://example.com").eventMonitor(recorder)
        let core = request.handle.core
        let opening = core.read { $0.start() == .run ? $0.open() : nil }
        request.cancel()
        await recorder.wait { $0.contains { $0.name == "finish" } }
        core.run(try #require(opening))
        #expect(await session.requests.isEmpty)
    }

    @Test("R1: chance is asked for an event stream's pause without a lock, and adds its part of the jitter")
    func jitter() async throws {
        let (clock, numbers, depths) = (ManualClock(), Counter(), Protected<[Int]>([]))
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.random = RandomSource {
                let depth = ThreadMarks.lockDepth
                depths.withLock { $0.append(depth) }
                return 1 << 63  // the middle
            }
        }
        let transport = StubTransport { _ in
            numbers.increment()
            let text = "data: \(numbers.value)\n\n"
            return .response(200, headers: ["Content-Type": "text/event-stream"], chunks: [Data(text.utf8)])
        }
        let session = Session(configuration: configuration, transport: transport)
        let iterator = await session.streamRequest("http://example.com").serverSentEvents().makeAsyncIterator()
        #expect(try await iterator.next()?.data == "1")
        let next = Task { try await iterator.next()?.data }
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(3_374))
        #expect(clock.sleepers == 1)
        clock.advance(by: .milliseconds(1))
        #expect(try await next.value == "2")
        #expect(depths.withLock { $0 } == [0])
    }

    @Test("A reader of a session's events keeps no request whose end it has received")
    func heardRequests() async throws {
        let events = await session.events
        weak var core: RequestCore?
        func perform() async throws {
            let request = await session.request("http://example.com")
            core = request.handle.core
            _ = try await request.serializingData().value
        }
        try await perform()
        for await event in events {
            if case .finish = event.event { break }
        }
        await poll { core == nil }
        withExtendedLifetime(events) {}
    }

    @Test("A closure, validator or handler that captures its own request does not keep it")
    func selfMention() async throws {
        weak var core: RequestCore?
        func perform() async throws {
            let request = await session.request("http://example.com")
            core = request.handle.core
            let done = Gate()
            request.validate { [request] _ in _ = request.status }
                .onRequestCreation { [request] _ in _ = request.status }
                .responseString { [request] _ in
                    _ = request.status
                    done.open()
                }
            _ = try await request.serializingData().value
            await done.pass()
        }
        try await perform()
        // The frame of the closure may still hold it for a moment.
        await poll { core == nil }
    }

    @Test("A request that the urlRequest bridge refused is not sent, also if the URL had a user")
    func forgivenProblem() async {
        let request = await session.request(
            "http://user:password@example.com", method: .post,
            requestModifier: { request in
                request.urlRequest.url = URL(string: "relative")
            })
        #expect(await request.serializingData().response.error?.code == .invalidURL)
        #expect(request.attempts.first?.hops.isEmpty == true)
    }

    @Test("A withdrawn serializer's failure asks no retrier")
    func withdrawnFailure() async throws {
        let asked = Counter()
        let gate = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("x") },
            interceptor: .retrier { _, _, _ in
                asked.increment()
                return .retry
            })
        let request = await session.request("http://example.com", startsAutomatically: false)
        let bad = request.serializingResponse(
            using: Serializer<Int> { _ in
                await gate.pass()
                throw Refused()
            })
        let good = request.serializingString()
        request.resume()
        await gate.arrived()
        bad.cancel()
        gate.open()
        #expect(try await good.value == "x")
        #expect(asked.value == 0)
    }

    @Test("Late closures are called as each serializer ends, and may wait for what comes later still")
    func lateOneByOne() async throws {
        let request = await session.request("http://example.com")
        _ = try await request.serializingData().value
        let gate = Gate()
        request.responseString { _ in gate.open() }
        let slow = request.serializingResponse(using: Serializer { _ in await gate.pass() })
        _ = await slow.response
    }

    @Test("Late serializers attached all at once run once each")
    func lateAtOnce() async throws {
        let request = await session.request("http://example.com")
        _ = try await request.serializingData().value
        let runs = Protected<[Int: Int]>([:])
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in 0..<100 {
                        let key = worker * 100 + number
                        let task = request.serializingResponse(
                            using: Serializer { _ in runs.withLock { $0[key, default: 0] += 1 } })
                        if number.isMultiple(of: 10) { _ = await task.response }
                    }
                }
            }
        }
        _ = await request.serializingData().response
        #expect(runs.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<800).map { ($0, 1) }))
    }

    @Test("A request that waits unstarted when its session is invalidated is told so")
    func waitingAtInvalidation() async {
        await session.invalidate()
        let request = await session.request("http://example.com", startsAutomatically: false)
        #expect(await request.serializingData().response.error?.code == .sessionInvalidated)
    }

    @Test("A handle made by a cancelled task sends nothing")
    func cancelledMaker() async {
        let sent = Counter()
        let session = Session(
            transport: StubTransport { _ in
                sent.increment()
                return .text("x")
            })
        let request = await session.request("http://example.com")
        let response = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await request.serializingString().response
        }.value
        #expect(response.error?.isCancelled == true)
        #expect(sent.value == 0)
    }

    @Test("After a cancel, adapters that were not asked yet never are")
    func staleAdapters() async {
        let gate = Gate()
        let left = Gate()
        let asked = Counter()
        let session = Session(
            transport: StubTransport { _ in .text("x") },
            interceptor: .adapter { _, _ in
                await gate.pass()
                left.open()
            })
        let request = await session.request("http://example.com")
            .adapt(using: .adapter { _, _ in asked.increment() })
            .onRequestCreation { _ in asked.increment() }
        let task = request.serializingString()
        await gate.arrived()
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
        gate.open()
        await left.pass()
        _ = await request.serializingString().response
        #expect(asked.value == 0)
        #expect(request.attempts.first?.request == nil)
    }

    @Test("A closure is never called before the function that attached it has returned")
    func callerHoldsALock() async {
        let lock = NSLock()
        let done = Gate()
        let request = await session.request("no URL at all")
        lock.withLock {
            _ = request.responseString { _ in
                lock.withLock {}
                done.open()
            }
        }
        await done.pass()
    }

    @Test("Code of the user's does not run on the thread that attaches the serializer")
    func adaptersElsewhere() async {
        let gate = DispatchSemaphore(value: 0)
        let session = Session(
            transport: StubTransport { _ in .text("x") }, interceptor: .adapter { _, _ in gate.wait() })
        let request = await session.request("http://example.com")
        let task = request.serializingString()
        gate.signal()  // never reached if the adapter held up the line above
        #expect(await task.response.value == "x")
    }

    @Test("A serializer's failure keeps the time it took")
    func durationOfFailure() async {
        let request = await session.request("http://example.com")
        let response = await request.serializingResponse(using: Serializer<Int> { _ in throw Refused() }).response
        #expect(response.serializationDuration > .zero)
    }

    @Test("A JSON value is sent with its digits and its order")
    func exactParameters() async throws {
        let text = #"{"zeta":12345678901234567890123,"alpha":1}"#
        let sent = Protected(Data())
        let session = Session(
            transport: StubTransport { request in
                if case .data(let data) = request.body { sent.withLock { $0 = data } }
                return .response()
            })
        let json = try JSON(text: text)
        _ = await session.request("http://example.com", method: .post, parameters: json, encoder: .json)
            .serializingData().response
        #expect(String(decoding: sent.withLock { $0 }, as: UTF8.self) == text)
    }

    @Test("A dictionary's parameters are sorted, so that the query is the same in every run")
    func sortedDictionary() throws {
        let letters = ["e": "1", "b": "2", "c": "3", "a": "4"]
        #expect(try URLEncodedFormEncoder().encode(letters) == "a=4&b=2&c=3&e=1")
        #expect(try URLEncodedFormEncoder().encode(["x": letters]) == "x%5Ba%5D=4&x%5Bb%5D=2&x%5Bc%5D=3&x%5Be%5D=1")
    }
}
