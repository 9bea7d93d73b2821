import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Cancelling", .limited)
struct CancellationTests {
    let stalling = Session(transport: StubTransport { _ in StubAnswer([.stall]) })

    @Test("A cancelled awaiter gets CancellationError at once, and the request goes on for the others")
    func oneAwaiter() async throws {
        let gate = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("here") }, interceptor: .adapter { _, _ in await gate.pass() })
        let request = await session.request("http://example.com")
        let string = request.serializingString()
        // Both wait before one is cancelled: an immediate task runs up to its first wait.
        let impatient = Task.immediate { try await string.value }
        let patient = Task.immediate { try await string.value }
        await gate.arrived()
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        gate.open()
        #expect(try await patient.value == "here")
        #expect(request.status == .finished)
    }

    @Test("The last awaiter of the last unfinished serializer takes the request along")
    func lastAwaiter() async throws {
        let request = await stalling.request("http://example.com")
        let recorder = EventRecorder()
        request.eventMonitor(recorder)
        let string = request.serializingString()
        let awaiter = Task.immediate { try await string.value }
        await recorder.wait { $0.contains { $0.name == "beginHop" } }
        awaiter.cancel()
        await #expect(throws: CancellationError.self) { try await awaiter.value }
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == .cancelled)
        #expect(request.error?.isCancelled == true)
    }

    @Test("A serializer that is not awaited keeps the request alive")
    func unawaited() async throws {
        let gate = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("here") }, interceptor: .adapter { _, _ in await gate.pass() })
        let request = await session.request("http://example.com")
        let kept = request.serializingData()
        let string = request.serializingString()
        let awaiter = Task.immediate { try await string.value }
        await gate.arrived()
        awaiter.cancel()
        await #expect(throws: CancellationError.self) { try await awaiter.value }
        gate.open()
        #expect(try await kept.value == Data("here".utf8))
    }

    @Test("automaticallyCancelling: false leaves the request running when its last awaiter is cancelled")
    func optedOut() async throws {
        let gate = Gate()
        let session = Session(
            transport: StubTransport { _ in .text("here") }, interceptor: .adapter { _, _ in await gate.pass() })
        let string = await session.request("http://example.com").serializingString(automaticallyCancelling: false)
        let awaiter = Task.immediate { try await string.value }
        await gate.arrived()
        awaiter.cancel()
        await #expect(throws: CancellationError.self) { try await awaiter.value }
        gate.open()
        #expect(try await string.value == "here")
    }

    @Test("A handle made by a cancelled task is cancelled at once")
    func cancelledAtCreation() async {
        let request = await stalling.request("http://example.com")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await request.serializingString().response
        }
        #expect(await task.value.error?.isCancelled == true)
    }

    @Test("DataTask.cancel() withdraws one serializer; the last one takes the request along")
    func withdrawn() async {
        let request = await stalling.request("http://example.com")
        let first = request.serializingString()
        let second = request.serializingData()
        first.cancel()
        #expect(await first.response.error?.isCancelled == true)
        #expect(request.status == .resumed)
        second.cancel()
        #expect(await second.response.error?.isCancelled == true)
        #expect(request.status == .cancelled)
    }

    @Test("request.cancel() answers every caller, with an error that isCancelled and has the request")
    func everybody() async throws {
        let request = await stalling.request("http://example.com/path?token=secret")
        let string = request.serializingString()
        let closure = Gate()
        request.responseData { response in
            #expect(response.error?.isCancelled == true)
            #expect(!Task.isCancelled, "closures do not run in a cancelled task")
            closure.open()
        }
        request.cancel()
        await #expect(throws: CancellationError.self) { try await string.value }
        await closure.pass()
        let error = try #require(await string.response.error)
        #expect(error.requestID == request.id)
        #expect(error.url?.path == "/path")
    }

    enum Place: String, CaseIterable { case adapter, retrier, backOff, serializer, validator, hop }

    @Test("A request ends at once wherever it waits, also in code that does not listen", arguments: Place.allCases)
    func deaf(_ place: Place) async {
        let gate = Gate()
        let clock = ManualClock()
        let recorder = EventRecorder()
        let interceptor = Interceptor(
            adapt: { _, _ in if place == .adapter { await gate.pass() } },
            retry: { _, _, _ in
                if place == .retrier { await gate.pass() }
                return place == .backOff ? .retryAfter(.seconds(1_000)) : .doNotRetry
            })
        let isFailing = [.retrier, .backOff].contains(place)
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock },
            transport: StubTransport { _ in
                place == .hop ? StubAnswer([.stall]) : isFailing ? .failure(.connectionLost) : .text("body")
            }, interceptor: interceptor, eventMonitors: [recorder])
        let request = await session.request("http://example.com")
        request.validate { _ in if place == .validator { await gate.pass() } }
        let task = request.serializingResponse(
            using: SerializerRulesTests.Serializer { _ in if place == .serializer { await gate.pass() } })
        switch place {
        case .backOff: await clock.waitForSleepers()
        case .hop: await recorder.wait { $0.contains { $0.name == "beginHop" } }
        case .adapter, .retrier, .serializer, .validator: await gate.arrived()
        }
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
        #expect(request.status == .cancelled)
        gate.open()
        #expect(await request.serializingString().response.error?.isCancelled == true)
        await clock.waitForNoSleepers()
    }

    @Test("A request cancelled before its start answers its serializers and never reaches the transport")
    func beforeStart() async {
        let sent = Counter()
        let session = Session(
            transport: StubTransport { _ in
                sent.increment(); return .response()
            })
        let request = await session.request("http://example.com", startsAutomatically: false)
        let task = request.serializingData()
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
        request.resume()
        #expect(request.status == .cancelled)
        #expect(sent.value == 0)
    }

    @Test("A finished request cannot be cancelled: its result stands, late serializers deliver")
    func afterFinish() async throws {
        let session = Session(transport: StubTransport { _ in .text("done") })
        let request = await session.request("http://example.com")
        #expect(try await request.serializingString().value == "done")
        request.cancel()
        #expect(request.status == .finished)
        #expect(try await request.serializingString().value == "done")
    }

    @Test("Retriers are never asked after a cancel")
    func noRetry() async {
        let asked = Counter()
        let session = Session(
            transport: StubTransport { _ in StubAnswer([.stall]) },
            interceptor: .retrier { _, _, _ in
                asked.increment(); return .retry
            })
        let request = await session.request("http://example.com")
        let task = request.serializingData()
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
        #expect(asked.value == 0)
    }

    @Test("R4: a cancel racing the end gives one answer: the value or the cancel")
    func race() async {
        for _ in 0..<2_000 {
            let session = Session(transport: StubTransport { _ in .text("x") })
            let request = await session.request("http://example.com", startsAutomatically: false)
            let task = request.serializingString()
            async let started: Void = { request.resume() }()
            async let cancelled: Void = { request.cancel() }()
            _ = await (started, cancelled)
            let response = await task.response
            #expect(response.value == "x" || response.error?.isCancelled == true)
        }
    }
}
