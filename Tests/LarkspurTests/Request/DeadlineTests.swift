import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Deadlines", .limited)
struct DeadlineTests {
    enum Place: CaseIterable {
        case modifier, adapter, handler, hop, gate, validator, serializer, retrier, backOff

        /// The stage of the error of a limit.
        var stage: RequestError.Stage {
            switch self {
            case .modifier: .building
            case .adapter, .handler: .adapting
            case .hop: .sending
            case .gate, .validator: .validating
            case .serializer: .serializing
            case .retrier, .backOff: .retrying
            }
        }
    }
    enum End: CaseIterable { case cancel, total, attempt }

    private let clock = ManualClock()
    private let log = TransportLog()

    private func session(
        _ interceptor: (any RequestInterceptor)? = nil, configure: (inout SessionConfiguration) -> Void = { _ in },
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("body") }
    ) -> Session {
        log.session(
            SessionConfiguration {
                $0.clock = clock
                configure(&$0)
            }, interceptor: interceptor, answering: answer)
    }

    // MARK: Where a request waits

    /// A request that waits in one place for ever, in code that does not listen.
    private struct Held {
        let gate = Gate()
        /// Opens when the transport is asked for the first answer: a hop that ends before is never sent.
        let sent = Gate()
        let recorder = EventRecorder()
        let asked = Counter()

        func request(_ place: Place, _ end: End, _ test: DeadlineTests) async -> (DataRequest, DataTask<String>) {
            let (gate, sent, asked) = (gate, sent, asked)
            let interceptor = Interceptor(
                adapt: { _, state in if place == .adapter, state.attempt == 1 { await gate.pass() } },
                retry: { request, _, _ in
                    asked.increment()
                    if place == .retrier { await gate.pass() }
                    if place == .backOff { return .retryAfter(.seconds(1_000)) }
                    return request.retryCount == 0 ? .retry : .doNotRetry
                })
            let isFailing = [.retrier, .backOff].contains(place)
            let session = test.session(
                interceptor,
                answering: { _, number in
                    sent.open()
                    if isFailing { return .failure(.connectionLost) }
                    return place == .hop && number == 1 ? StubAnswer([.stall]) : .text("body")
                })
            let visits = Counter()
            let request = await session.request("http://h/") { _ in
                if place == .modifier, visits.increment() == 1 { await gate.pass() }
            }
            request.eventMonitor(recorder)
            request.validate { _ in if place == .validator, visits.increment() == 1 { await gate.pass() } }
            if place == .gate {
                request.onResponseHead { _ in
                    if visits.increment() == 1 { await gate.pass() }
                    return .allow
                }
            }
            if place == .handler {
                request.onRequestCreation { _ in if visits.increment() == 1 { await gate.pass() } }
            }
            request.timeout(.total(.seconds(5_000)), .attempt(end == .total ? nil : .seconds(60)))
            let serializer = Slow(gate: gate, isSlow: place == .serializer, visits: visits)
            return (request, request.serializingResponse(using: serializer))
        }
    }

    private struct Slow: ResponseSerializer {
        let gate: Gate
        let isSlow: Bool
        let visits: Counter

        func serialize(_ exchange: CompletedExchange) async throws -> String {
            if isSlow, visits.increment() == 1 { await gate.pass() }
            return "value"
        }
    }

    private static let cases = Place.allCases.flatMap { place in End.allCases.map { (place, $0) } }
        .filter { place, end in end != .attempt || ![.retrier, .backOff].contains(place) }

    @Test("R4: a request ends at once, and once, wherever it waits, by a cancel and by each limit", arguments: cases)
    func ends(place: Place, end: End) async throws {
        let held = Held()
        let (request, task) = await held.request(place, end, self)
        switch place {
        case .hop: await held.sent.pass()
        case .backOff: await clock.waitForSleepers(end == .total ? 2 : 3)
        case .modifier, .adapter, .handler, .gate, .validator, .serializer, .retrier: await held.gate.arrived()
        }
        await clock.waitForSleepers(end == .total ? 1 : 2)
        let askedBefore = held.asked.value
        switch end {
        case .cancel: request.cancel()
        case .total where place == .backOff:
            // A delay that is not over before the total was not begun; this total comes later.
            request.timeout(.total(.seconds(500)))
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(500))
        case .total: clock.advance(by: .seconds(5_000))
        case .attempt: clock.advance(by: .seconds(60))
        }
        let response = await task.response
        switch end {
        case .cancel:
            #expect(response.error?.isCancelled == true && request.status == .cancelled)
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(held.asked.value == askedBefore)
        case .total:
            let error = try #require(response.error)
            #expect(error.timeoutName == "total" && !error.isCancelled)
            #expect(error.stage == place.stage)
            #expect(error.isConnectivity == (place == .hop), "only a hop waits for the network")
            #expect(request.status == .finished && request.error?.isTimeout == true)
            await #expect(throws: RequestError.self) { try await task.value }
            #expect(request.attempts.last?.error != nil && held.asked.value == askedBefore)
        case .attempt:
            #expect(response.value == "value" && request.retryCount == 1)
            let error = try #require(request.attempts.first?.error)
            #expect(error.timeoutName == "attempt")
            #expect(error.stage != nil && held.asked.value == 1)
        }
        await clock.waitForNoSleepers()  // no timer is left
        let core = request.handle.core
        await poll { core.context.requests.isEmpty }
        #expect(core.read { $0.deadlines.isEmpty && $0.pipeline.task == nil && $0.session == nil && $0.hop == nil })
        await held.recorder.wait { $0.contains { $0.name == "finish" } }
        held.gate.open()
        #expect(held.recorder.names(of: request).count { $0 == "finish" } == 1)
        #expect(held.recorder.names(of: request).contains("cancel") == (end == .cancel))
    }

    @Test("R4: a total limit that races the end gives one answer: the value or the timeout")
    func race() async {
        for round in 0..<300 {
            let session = session(configure: { $0.options.timeouts.total = .seconds(1) })
            let task = await session.request("http://h/").serializingString()
            async let passed: Void = { clock.advance(by: .seconds(1)) }()
            async let cancelled: Void = { if round % 3 == 0 { task.cancel() } }()
            _ = await (passed, cancelled)
            clock.advance(by: .seconds(1))
            let response = await task.response
            let isAnswered = response.value == "body" || response.error?.isTimeout == true
            #expect(isAnswered || round % 3 == 0 && response.error?.isCancelled == true)
        }
        await clock.waitForNoSleepers()
    }

    // MARK: Limits

    @Test("A request without a limit that spans hops has no timer and no time left")
    func unlimited() async throws {
        let gate = Gate()
        let session = session(
            .adapter { _, state in
                #expect(state.timeLeft == nil)
                await gate.pass()
            })
        let request = await session.request("http://h/").timeout(.connect(.seconds(1)), .idle(nil))
        let task = request.serializingString()
        await gate.arrived()
        #expect(request.timeLeft == nil)
        await clock.waitForNoSleepers()
        gate.open()
        #expect(await task.response.value == "body")
        let sent = try #require(log.requests.first).timeouts
        #expect(sent.connect == .seconds(1) && sent.idle == nil && sent.firstByte == .seconds(60) && sent.total == nil)
    }

    @Test("Interceptors get the time that is left, and a hop gets the smaller of both limits")
    func timeLeft() async throws {
        let clock = clock
        let left = Protected<[Duration?]>([])
        let interceptor = Interceptor(
            adapt: { _, state in
                left.withLock { $0.append(state.timeLeft) }
                clock.advance(by: .seconds(1))
            },
            retry: { request, _, _ in
                left.withLock { $0.append(request.timeLeft) }
                return .retry
            })
        let session = session(interceptor, configure: { $0.options.timeouts.total = .seconds(10) }) { _, number in
            number < 3 ? .failure(.connectionLost) : .text("here")
        }
        let request = await session.request("http://h/").timeout(.attempt(.seconds(9)))
        #expect(await request.serializingString().response.value == "here")
        #expect(left.withLock { $0 } == [9, 8, 9, 8, 8].map { .seconds($0) })
        #expect(log.requests.map(\.timeouts.total) == [8, 8, 7].map { .seconds($0) })
        #expect(request.timeLeft == nil, "nothing is left to limit")
    }

    @Test("A request's limits override the session's, and those of modifiers and adapters override both")
    func precedence() async throws {
        let session = session(
            .adapter { request, _ in if request.url.path == "/adapted" { request.options.timeouts.total = .seconds(3) }
            },
            configure: { $0.options.timeouts.total = .seconds(9) })
        _ = await session.request("http://h/").serializingData().response
        _ = await session.request("http://h/").timeout(.total(.seconds(5))).serializingData().response
        _ = await session.request("http://h/").timeout(.total(nil)).serializingData().response
        _ = await session.request("http://h/") { $0.options.timeouts.total = .seconds(4) }.serializingData().response
        _ = await session.request("http://h/adapted").timeout(.total(.seconds(5))).serializingData().response
        var own = try OutgoingRequest("http://h/")
        own.options.timeouts.total = .seconds(2)
        _ = await session.request(own).serializingData().response
        #expect(log.requests.map(\.timeouts.total) == [9, 5, nil, 4, 3, 2].map { $0.map { .seconds($0) } })
        await clock.waitForNoSleepers()
    }

    @Test("A limit that a running request gets leaves its total alone, although an adapter has set that")
    func otherLimits() async {
        let request = await session(answering: { _, _ in StubAnswer([.stall]) }).request(
            "http://h/", interceptor: .adapter { request, _ in request.options.timeouts.total = .seconds(5) })
        let task = request.serializingData()
        await clock.waitForSleepers()
        let timeLeft = request.timeLeft
        request.timeout(.idle(.seconds(60)))
        #expect(request.timeLeft != nil && request.timeLeft == timeLeft)
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
    }

    @Test("A total that is set while the request runs counts from the start, or from then if none ran")
    func late() async {
        let stalled = session(answering: { _, _ in StubAnswer([.stall]) })
        for first in [Duration.seconds(100), nil] {
            let request = await stalled.request("http://h/").timeout(.total(first))
            let task = request.serializingData()
            if first != nil { await clock.waitForSleepers() }
            clock.advance(by: .seconds(10))
            request.timeout(.total(.seconds(30)))
            #expect(request.timeLeft == .seconds(first == nil ? 30 : 20))
            await clock.waitForSleepers()
            clock.advance(by: .seconds(30))
            #expect(await task.response.error?.isTimeout == true)
        }
    }

    /// A clock that runs code of the test when the time of a limit begins.
    private struct DoorClock: Clock {
        let clock: ManualClock
        let door: Protected<(@Sendable () -> Void)?>
        var now: ManualClock.Instant {
            door.withLock { $0.take() }?()
            return clock.now
        }
        var minimumResolution: Duration { clock.minimumResolution }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            try await clock.sleep(until: deadline, tolerance: tolerance)
        }
    }

    @Test("A total that is set while another one is put in place stands")
    func overtaking() async {
        let door = Protected<(@Sendable () -> Void)?>(nil)
        let stalled = session(configure: { $0.clock = DoorClock(clock: clock, door: door) }) { _, _ in
            StubAnswer([.stall])
        }
        let request = await stalled.request("http://h/").timeout(.total(.seconds(100)))
        door.withLock { $0 = { request.timeout(.total(.seconds(30))) } }
        let task = request.serializingData()
        #expect(request.timeLeft == .seconds(30))
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
    }

    @Test("A total that is set while the request is built stands, whatever it was built with", arguments: [50, nil])
    func whileBuilding(first: Int?) async {
        let gate = Gate()
        let session = session(.adapter { _, _ in await gate.pass() })
        let request = await session.request("http://h/").timeout(.total(first.map { .seconds($0) }))
        let shown = Gate()
        request.onRequestCreation { _ in await shown.pass() }
        let task = request.serializingData()
        await gate.arrived()
        request.timeout(.total(.seconds(30)))
        gate.open()
        await shown.arrived()
        #expect(request.timeLeft == .seconds(30))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await task.response.error?.isTimeout == true)
        shown.open()
    }

    @Test("A delay that the total limit would cut short does not start: the error is final at once")
    func hopelessDelay() async throws {
        let session = session(
            .retrier { _, _, _ in .retryAfter(.seconds(5)) }, configure: { $0.options.timeouts.total = .seconds(5) },
            answering: { _, _ in .failure(.connectionLost) })
        let error = try #require(await session.request("http://h/").serializingData().response.error)
        #expect(error.code == .connectionLost && error.retryRefusal?.contains("total timeout") == true)
        let policy = RetryPolicy(backoff: .init(scale: .seconds(5), jitter: .none))
        let request = await session.extending { $0.interceptors = [policy] }.request("http://h/")
        #expect(await request.serializingData().response.error?.retryRefusal?.contains("total timeout") == true)
        #expect(log.count == 2)
        await clock.waitForNoSleepers()
    }

    @Test(
        "A hop that the transport ends by a timeout has the error of the limit that was due", arguments: [true, false])
    func hopsLimit(isLast: Bool) async throws {
        let clock = clock
        let asked = Counter()
        let session = session(
            .retrier { _, _, _ in
                asked.increment()
                return .doNotRetry
            },
            answering: { request, _ in
                // As a transport does that is quicker than the session's own timer.
                if isLast, let limit = request.timeouts.total { clock.advance(by: limit - .milliseconds(1)) }
                return .failure(.timedOut)
            })
        let total = await session.request("http://h/").timeout(.total(.seconds(5))).serializingData().response
        #expect(total.error?.isTimeout == true && (total.error?.timeoutName == "total") == isLast)
        #expect(asked.value == (isLast ? 0 : 1), "no retrier is asked after the total time")
        let attempt = await session.request("http://h/").timeout(.attempt(.seconds(5))).serializingData().response
        #expect(attempt.error?.isTimeout == true && (attempt.error?.timeoutName == "attempt") == isLast)
        #expect(asked.value == (isLast ? 1 : 2))
    }

    @Test("The whole time is over for late serializers too, and its error is not a cancel's")
    func lateSerializers() async {
        let session = session(configure: { $0.options.timeouts.total = .seconds(5) }) { _, _ in StubAnswer([.stall]) }
        let request = await session.request("http://h/")
        let task = request.serializingData()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await task.response.error?.isTimeout == true)
        #expect(await request.serializingString().response.error?.isTimeout == true)
        await poll { await session.requests.isEmpty }
    }

    @Test("On the real clock a silent server is left within the total limit")
    func realClock() async throws {
        let session = Session(transport: StubTransport { _ in StubAnswer([.stall]) })
        let start = ContinuousClock.now
        let request = await session.request("http://h/").timeout(.total(.milliseconds(50)))
        await #expect(throws: RequestError.self) { try await request.serializingData().value }
        #expect(ContinuousClock.now - start >= .milliseconds(49))
    }

    #if os(Linux)
        @Test("Over the network too the error names the limit that spans hops, also if the transport ends the hop")
        func network() async throws {
            let server = try MockServer()
            server.on("GET", "/silent") { _ in .stall }
            let session = Session(interceptor: RetryPolicy(limit: 1, backoff: .init(scale: .zero)))
            for _ in 0..<3 {
                let request = await session.request(server.url + "/silent")
                let total = await request.timeout(.total(.milliseconds(60))).serializingData().response
                #expect(total.error?.timeoutName == "total")
                #expect(request.retryCount == 0)
                let again = await session.request(server.url + "/silent").timeout(.attempt(.milliseconds(40)))
                let attempt = await again.serializingData().response
                #expect(attempt.error?.timeoutName == "attempt")
                #expect(again.attempts.count == 2)
            }
        }

        @Test(
            "The error names the hop's own limit",
            arguments: [
                ("/silent", RequestTimeouts.Limit.firstByte(.milliseconds(40)), "first byte"),
                ("/broken", .idle(.milliseconds(40)), "idle"),
            ])
        func hopsOwn(path: String, limit: RequestTimeouts.Limit, name: String) async throws {
            let server = try MockServer()
            server.on("GET", "/silent") { _ in .stall }
            server.on("GET", "/broken") { _ in .text("a long text").truncated(after: 3, by: .stall) }
            let error = await Session().request(server.url + path).timeout(limit).serializingData().response.error
            #expect(error?.timeoutName == name)
        }
    #endif
}
