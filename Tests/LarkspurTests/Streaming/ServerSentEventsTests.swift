import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Server-sent events", .limited)
struct ServerSentEventsTests {
    private let url = "http://example.com/events"
    private let clock = ManualClock()
    private let log = TransportLog()

    private func session(
        interceptor: (any RequestInterceptor)? = nil, headers: HTTPHeaders = [:], total: Duration? = nil,
        _ answer: @escaping @Sendable (Int) -> StubAnswer
    ) -> Session {
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.headers = headers
            $0.random = RandomSource { 0 }
            ($0.options.timeouts.total, $0.options.timeouts.attempt) = (total, total)
        }
        return log.session(configuration, interceptor: interceptor) { _, number in answer(number) }
    }

    private static func events(
        _ texts: String..., end: StubAnswer.Step? = nil, status: Int = 200, type: String = "text/event-stream"
    ) -> StubAnswer {
        let answer = StubAnswer.response(status, headers: ["Content-Type": type], chunks: texts.map { Data($0.utf8) })
        return StubAnswer(answer.steps + (end.map { [$0] } ?? []))
    }

    private static let drop = StubAnswer.Step.fail(TransportError(.connectionLost))

    /// Advances the clock as soon as a task waits for it.
    private func pass(_ duration: Duration, sleepers: Int = 1) async {
        await clock.waitForSleepers(sleepers)
        clock.advance(by: duration)
    }

    private func data(of events: ServerSentEvents<ServerSentEvent>) async throws -> [String] {
        var all: [String] = []
        for try await event in events { all.append(event.data) }
        return all
    }

    // MARK: Time

    @Test(
        "The session's time limits do not apply to event streams; the request's own do",
        arguments: [nil, .seconds(7)] as [Duration?])
    func limits(own: Duration?) async throws {
        let session = session(total: .seconds(5)) { _ in Self.events("data: one\n\n") }
        let request = await session.streamRequest(url)
        if let own { request.timeout(.total(own)) }
        #expect(try await data(of: request.serverSentEvents(policy: .once)) == ["one"])
        #expect(log.requests.map(\.timeouts.total) == [own])
    }

    @Test("A started request cannot become an event stream, and fails with a clear error")
    func startedBefore() async throws {
        let session = session { _ in Self.events("data: one\n\n") }
        let request = await session.streamRequest(url)
        let events = request.serverSentEvents()
        request.resume()
        let error = await #expect(throws: RequestError.self) { try await data(of: events) }
        #expect(error?.code == .alreadyStarted)
        #expect(events.state.isClosed)
        request.cancel()  // it has no reader, so it would wait forever
        _ = await request.completion
    }

    @Test("A rejected response that goes silent does not delay the end of the stream")
    func silentRefusal() async throws {
        let session = session { _ in Self.events("overloaded", end: .stall, status: 503) }
        let events = await session.streamRequest(url).serverSentEvents()
        let error = await #expect(throws: RequestError.self) { try await data(of: events) }
        #expect(error?.responseData == Data("overloaded".utf8))
    }

    // MARK: Reconnection

    @Test("A stream that breaks within an event continues after the last complete one, after the pause")
    func reconnecting() async throws {
        let session = session { number in
            switch number {
            case 1: Self.events("id: 1\ndata: one\n\nid: 2\nda", end: Self.drop)
            case 2: Self.events("id: 2\ndata: two\n\n")
            default: .response(204)
            }
        }
        let events = await session.streamRequest(url).serverSentEvents()
        let reading = Task { try await data(of: events) }
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(2_999))
        #expect(log.count == 1)
        clock.advance(by: .milliseconds(1))
        await pass(.seconds(3))
        #expect(try await reading.value == ["one", "two"])
        #expect(log.requests.map { $0["Last-Event-ID"] } == [nil, "1", "2"])
        #expect(log.requests.allSatisfy { $0["Accept"] == "text/event-stream" && $0["Cache-Control"] == "no-cache" })
        #expect(events.state.isClosed)
    }

    @Test("The server can set the pause")
    func serverPause() async throws {
        let session = session { $0 == 1 ? Self.events("retry: 250\n\n", end: Self.drop) : .response(204) }
        let events = await session.streamRequest(url).serverSentEvents()
        let reading = Task { try await data(of: events) }
        await pass(.milliseconds(250))
        #expect(try await reading.value.isEmpty)
        #expect(log.count == 2)
    }

    @Test("Fields of the request are kept, except `Last-Event-ID`; fields of the session are overridden")
    func fields() async throws {
        let session = session(headers: ["Accept": "application/json", "X-Kept": "yes"]) { number in
            number == 1 ? Self.events("id: 8\ndata\n\n") : .response(204)
        }
        let request = await session.streamRequest(url, headers: ["Cache-Control": "no-store", "Last-Event-ID": "5"])
        let reading = Task { [events = request.serverSentEvents()] in try await data(of: events) }
        await pass(.seconds(3))
        _ = try await reading.value
        #expect(log.requests.map { $0["Last-Event-ID"] } == ["5", "8"])
        #expect(log.requests.allSatisfy { $0["Accept"] == "text/event-stream" && $0["Cache-Control"] == "no-store" })
        #expect(log.requests.allSatisfy { $0["X-Kept"] == "yes" && $0.timeouts.idle == nil })
        let later = await session.streamRequest(url).serverSentEvents(lastEventID: "7")
        _ = try await data(of: later)
        #expect(log.requests.last?["Last-Event-ID"] == "7")
    }

    @Test("Adapters run for each connection, validators too, and a POST's body is sent again")
    func eachConnection() async throws {
        let tokens = Counter()
        let adapter = Interceptor(adapt: { request, _ in request.headers["X-Token"] = "\(tokens.increment())" })
        let session = session(interceptor: adapter) { number in
            number < 3 ? Self.events("data: \(number)\n\n") : Self.events("data: forbidden\n\n")
        }
        let validated = Counter()
        let request = await session.streamRequest(
            url, method: .post, parameters: ["prompt": "hello"], encoder: .json
        ).validate { _ in if validated.increment() == 3 { throw ForeignError() } }
        let events = request.serverSentEvents()
        let reading = Task { try await data(of: events) }
        for _ in 1...2 { await pass(.seconds(3)) }
        let error = await #expect(throws: RequestError.self) { try await reading.value }
        #expect(error?.underlying as? ForeignError == ForeignError())
        #expect(log.requests.map { $0["X-Token"] } == ["1", "2", "3"])
        #expect(log.requests.map(\.text) == Array(repeating: #"{"prompt":"hello"}"#, count: 3))
        #expect(log.requests.allSatisfy { $0.method == "POST" })
    }

    @Test("Retriers run within a connection, before the stream counts it as lost")
    func retriers() async throws {
        let session = session(interceptor: Interceptor(retry: { _, _, _ in .retry })) { number in
            number < 3 ? .failure(.connectionRefused) : Self.events("data: a\n\n")
        }
        let events = await session.streamRequest(url).serverSentEvents(policy: .once)
        #expect(try await data(of: events) == ["a"])
        #expect(log.count == 3)
    }

    @Test("A body that can be sent once allows one connection, and the error says so")
    func onceOnly() async throws {
        let session = session { _ in Self.events("data: a\n\n") }
        for policy in [ServerSentEventsPolicy(), .once] {
            let request = await session.streamRequest(url, method: .post) { $0.body = .onceOnly }
            let iterator = request.serverSentEvents(policy: policy).makeAsyncIterator()
            #expect(try await iterator.next()?.data == "a")
            if policy.maximumAttempts == 0 {
                #expect(try await iterator.next() == nil)
            } else {
                await #expect { try await iterator.next() } throws: {
                    ($0 as? RequestError)?.code == .bodyNotReplayable
                }
            }
        }
        #expect(log.count == 2)
    }

    // MARK: Endings

    @Test(
        "A response that is not an event stream fails the stream, with the server's text",
        arguments: [
            (503, "text/event-stream", .unacceptableStatus), (404, "text/plain", .unacceptableStatus),
            (200, "text/html", .unacceptableContentType),
        ] as [(Int, String, RequestError.Code)])
    func refused(_ status: Int, _ type: String, _ code: RequestError.Code) async throws {
        let session = session { _ in Self.events("not ", "here", status: status, type: type) }
        let events = await session.streamRequest(url).serverSentEvents()
        let iterator = events.makeAsyncIterator()
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == code)
        #expect(error?.responseData == Data("not here".utf8))
        #expect(try await iterator.next() == nil)
        #expect(events.state.error?.code == code)
        #expect(log.count == 1)
    }

    @Test("A status that the policy lists causes a pause")
    func retriedStatus() async throws {
        let session = session { $0 == 1 ? .text("busy", status: 503) : Self.events("data: a\n\n") }
        let policy = ServerSentEventsPolicy { $0.retriedStatusCodes = [503] }
        let iterator = await session.streamRequest(url).serverSentEvents(policy: policy).makeAsyncIterator()
        async let time: Void = pass(.seconds(3))
        #expect(try await iterator.next()?.data == "a")
        await time
    }

    @Test("A redirect is followed within a connection")
    func redirect() async throws {
        let session = session { $0 == 1 ? .redirect(307, to: "/moved") : Self.events("data: a\n\n") }
        #expect(try await data(of: session.streamRequest(url).serverSentEvents(policy: .once)) == ["a"])
        #expect(log.requests.last?.url.path == "/moved")
        #expect(log.requests.last?["Accept"] == "text/event-stream")
    }

    @Test("A silent connection is lost after the policy's time on the session's clock, which each byte restarts")
    func silence() async throws {
        let first = StubAnswer(
            Self.events("data: a\n\n").steps + [.wait(.seconds(40)), .body(Data("data: b\n\n".utf8)), .stall])
        let transport = StubTransport(clock: clock) { request in
            HTTPHeaders(request.fields)["Last-Event-ID"] == nil && request.url.query == nil ? first : .response(204)
        }
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.random = RandomSource { 0 }
        }
        let session = Session(configuration: configuration, transport: transport)
        let recorder = EventRecorder()
        let request = await session.streamRequest(url).eventMonitor(recorder)
        let events = request.serverSentEvents(policy: ServerSentEventsPolicy { $0.idleTimeout = .seconds(60) })
        let iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        async let time: Void = pass(.seconds(40), sleepers: 2)
        #expect(try await iterator.next()?.data == "b")
        await time
        let waiting = Task { try await iterator.next() }
        await pass(.seconds(20))  // sixty since the head, twenty since the second event
        await clock.waitForSleepers()
        #expect(request.status == .resumed)
        // The silence counts from the moment at which the reader waits. Only the idle timer sleeps until the connection
        // is lost, and only the pause sleeps afterwards.
        while !events.state.isConnecting {
            clock.advance(by: .seconds(20))
            await clock.waitForSleepers()
        }
        #expect(request.error?.code == .timedOut)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test(
        "Cancelling the task ends the stream at once, in every phase",
        arguments: ["request", "reading", "pause"])
    func cancelling(_ place: String) async throws {
        let sent = Gate()
        let session = session { _ in
            sent.open()
            return switch place {
            case "request": StubAnswer([.stall])
            case "reading": Self.events("data: a\n\n", end: .stall)
            default: Self.events("data: a\n\n")
            }
        }
        let (recorder, first) = (EventRecorder(), Gate())
        first.open()
        let request = await session.streamRequest(url).eventMonitor(recorder)
        let events = request.serverSentEvents()
        let reading = Task { for try await _ in events { await first.pass() } }
        switch place {
        case "request": await sent.pass()  // its "beginHop" comes before it is sent
        case "reading": await first.arrived()
        default: await clock.waitForSleepers()
        }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(events.state.isClosed && events.state.error == nil)
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == (place == "pause" ? .finished : .cancelled))
        await clock.waitForNoSleepers()
        #expect(log.count == 1)
    }

    @Test("Leaving the loop ends the stream and its connection")
    func leaving() async throws {
        let session = session { _ in Self.events("data: a\n\n", end: .stall) }
        let recorder = EventRecorder()
        let request = await session.streamRequest(url).eventMonitor(recorder)
        let events = request.serverSentEvents(policy: ServerSentEventsPolicy { $0.idleTimeout = .seconds(60) })
        for try await _ in events { break }
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == .cancelled)
        #expect(events.state.isClosed)
        await #expect { try await data(of: events) } throws: { ($0 as? RequestError)?.code == .alreadyIterated }
    }

    // MARK: State and values

    @Test("The state can be followed from any time to the end")
    func states() async throws {
        let gate = Gate()
        let session = session { $0 == 1 ? Self.events("data: a\n\n") : .response(204) }
        let events = await session.streamRequest(url).serverSentEvents()
        var states = events.states.makeAsyncIterator()
        #expect(await states.next()?.isConnecting == true)
        let reading = Task { for try await _ in events { await gate.pass() } }
        #expect(await states.next()?.isOpen == true)
        var late = events.states.makeAsyncIterator()
        #expect(await late.next()?.isOpen == true)
        await gate.arrived()
        gate.open()
        #expect(await states.next()?.isConnecting == true)
        await pass(.seconds(3))
        #expect(await states.next()?.isClosed == true)
        #expect(await states.next() == nil)
        try await reading.value
        var afterwards = events.states.makeAsyncIterator()
        #expect(await afterwards.next()?.isClosed == true)
        #expect(await afterwards.next() == nil)
    }

    @Test("Events are decoded as values of the caller's type; invalid data ends the stream")
    func typed() async throws {
        let session = session { _ in Self.events("data: 1\n\ndata: 2\n\ndata: x\n\ndata: 4\n\n") }
        let events = await session.streamRequest(url).serverSentEvents(of: Int.self)
        var values: [Int] = []
        let error = await #expect(throws: RequestError.self) { for try await value in events { values.append(value) } }
        #expect(values == [1, 2])
        #expect(error?.code == .decodingFailed)
        #expect(events.state.error?.code == .decodingFailed)
    }

    @Test("An event that is too large ends the stream, without a reconnection")
    func tooLarge() async throws {
        let session = session { _ in Self.events("data: 0123456789\n\n") }
        let events = await session.streamRequest(url).serverSentEvents(maximumEventSize: 8)
        await #expect { try await data(of: events) } throws: { ($0 as? RequestError)?.code == .messageTooLarge }
        #expect(log.count == 1)
    }

    @Test("A stream keeps its session between connections, and ends when the session is invalidated")
    func session() async throws {
        var held: Session? = session { _ in Self.events("data: a\n\n") }
        let events = try #require(await held?.streamRequest(url)).serverSentEvents()
        let invalidate: @Sendable () async -> Void = { [weak held] in await held?.invalidate() }
        held = nil
        let iterator = events.makeAsyncIterator()
        for _ in 1...2 {
            let isPausing = log.count > 0
            async let time: Void = isPausing ? pass(.seconds(3)) : ()
            #expect(try await iterator.next()?.data == "a")
            await time
        }
        // The session is invalidated while the stream waits to connect again.
        async let end: Void = {
            await clock.waitForSleepers(1)
            await invalidate()
            clock.advance(by: .seconds(3))
        }()
        await #expect { try await iterator.next() } throws: { ($0 as? RequestError)?.code == .sessionInvalidated }
        await end
    }

    @Test("Over a real connection that breaks within an event, no event is lost or repeated")
    func wire() async throws {
        let server = try MockServer()
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Type", value: "text/event-stream")])
        server.on("GET", "/events") { request in
            let start = Int(request.headers["Last-Event-ID"] ?? "0") ?? 0
            if start >= 9 { return .response(204) }
            let whole = (start + 1...start + 3).map { "id: \($0)\ndata: \($0)\n\n" }.joined()
            return MockResponse([
                .head(head, .chunked), .body(Data("retry: 1\n\n\(whole)id: \(start + 4)\ndata: ha".utf8)),
                start == 0 ? .close : .reset,
            ])
        }
        let policy = ServerSentEventsPolicy { $0.minimumDelay = .zero }
        let events = await Session().streamRequest(server.url + "/events").serverSentEvents(policy: policy)
        let numbers = try await data(of: events).compactMap { Int($0) }
        #expect(numbers == Array(1...max(1, numbers.count)) && numbers.count >= 9)
    }
}

extension ServerSentEventsState {
    fileprivate var isConnecting: Bool { if case .connecting = self { true } else { false } }
    fileprivate var isOpen: Bool { if case .open = self { true } else { false } }
    fileprivate var isClosed: Bool { if case .closed = self { true } else { false } }
    fileprivate var error: RequestError? { if case .closed(let error) = self { error } else { nil } }
}
