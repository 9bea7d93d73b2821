import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Response gates", .limited)
struct ResponseGateTests {
    private let log = TransportLog()
    private let journal = Journal()

    @Test("A gate is asked once, with the head, before validators and serializers; allowed, the request goes on")
    func allows() async throws {
        let request = await log.session { _, _ in .text("ok", status: 201) }.request("http://h/")
            .validate { [journal] _ in journal.note("validator") }
            .onResponseHead { [journal] head in
                journal.note("gate \(head.status) \(head["Content-Type"] ?? "")")
                return .allow
            }
        #expect(try await request.serializingString().value == "ok")
        #expect(try await request.serializingData().value.count == 2)
        #expect(journal.lines == ["gate 201 text/plain", "validator"])
    }

    @Test(
        "Refused, the request is cancelled: no validator, serializer or retrier is asked, and late serializers hear it")
    func cancels() async {
        let session = log.session(
            interceptor: .retrier { [journal] _, _, _ in
                journal.note("retrier")
                return .retry
            })
        let request = await session.request("http://h/")
            .validate { [journal] _ in journal.note("validator") }
            .onResponseHead { _ in .cancel }
        let (first, second) = (request.serializingString(), request.serializingData())
        await #expect(throws: CancellationError.self) { try await first.value }
        let response = await second.response
        #expect(response.error?.isCancelled == true)
        #expect(response.head?.status == 200, "what had come can be looked at")
        #expect(request.status == .cancelled)
        #expect(await request.serializingJSON().response.error?.isCancelled == true)
        #expect(journal.lines.isEmpty)
        #expect(log.count == 1)
    }

    @Test("A gate is asked about each attempt's response, and not about followed redirects")
    func delivered() async throws {
        let session = log.session { request, number in
            if request.url.path == "/a" { return .redirect(to: "/b") }
            return number == 2 ? .text("busy", status: 503) : .text("ok")
        }
        let request = await session.request("http://h/a").validate()
            .retry(using: .retrier { _, _, _ in .retry })
            .onResponseHead { [journal] head in
                journal.note("\(head.status)")
                return .allow
            }
        #expect(try await request.serializingString().value == "ok")
        #expect(journal.lines == ["503", "200"])
    }

    @Test("A gate is asked once the head has arrived, also if the body fails", arguments: [false, true])
    func failures(hasHead: Bool) async {
        let head = StubAnswer.Step.head(ResponseHead(status: 200))
        let failure = StubAnswer.Step.fail(TransportError(.connectionLost))
        let session = log.session { _, _ in StubAnswer(hasHead ? [head, failure] : [failure]) }
        let request = await session.request("http://h/").onResponseHead { [journal] _ in
            journal.note("asked")
            return .allow
        }
        #expect(await request.serializingData().response.error?.code == .connectionLost)
        #expect(journal.lines == (hasHead ? ["asked"] : []))
    }

    /// Requests whose body is kept in memory.
    enum Kind: CaseIterable, Sendable {
        case data, upload

        func request(_ url: String, in session: Session) async -> any SerializableRequest {
            switch self {
            case .data: await session.request(url)
            case .upload: await session.upload(Data("x".utf8), to: url)
            }
        }
    }

    @Test("A gate gets the head before the body, and can end an endless body", arguments: Kind.allCases)
    func endless(kind: Kind) async throws {
        let server = try MockServer { _ in
            MockResponse([.head(ResponseHead(status: 200)), .generated(count: nil) { _ in Data(count: 1_000) }])
        }
        let request = await kind.request(server.url, in: Session())
        request.onResponseHead { [journal] head in
            journal.note("\(head.status)")
            return .cancel
        }
        let response = await request.serializingData().response
        #expect(response.error?.isCancelled == true)
        #expect(response.head?.status == 200)
        #expect(journal.lines == ["200"])
        try await server.wait { $0.connectionCount == 0 }
    }

    @Test(
        "While it is asked no more than the first part of the body comes, and then the rest", arguments: Kind.allCases)
    func firstPart(kind: Kind) async throws {
        let part = Data(count: 64 * 1024)
        let session = log.session { _, _ in .response(chunks: Array(repeating: part, count: 4)) }
        let request = await kind.request("http://h/", in: session)
        request.onResponseHead { [log] _ in
            #expect(log.requests.map(\.initialAllowance) == [64 * 1024])
            return .allow
        }
        #expect(try await request.serializingData().value.count == 4 * part.count)
        _ = try await session.request("http://h/").serializingData().value
        #expect(log.requests.last?.initialAllowance == .max, "without a gate the body comes at once")
    }

    @Test("A redirect that is not followed is the response, and its head is seen once")
    func deliveredRedirect() async throws {
        let session = log.session { _, _ in .redirect(to: "/b") }
        let request = await session.request("http://h/a").redirect(using: .doNotFollow)
            .onResponseHead { [journal] head in
                journal.note("\(head.status)")
                return .allow
            }
        #expect(await request.serializingData().response.head?.status == 302)
        #expect(journal.lines == ["302"])
    }

    @Test("With middleware it sees the response that the middleware gives")
    func middleware() async throws {
        let session = log.session { _, _ in .text("ok") }
        let request = await session.request("http://h/")
            .middleware(
                ClosureMiddleware { exchange, next in
                    var response = try await next(exchange)
                    response.headers.update(name: "X-Seen", value: "yes")
                    return response
                }
            )
            .onResponseHead { [journal] head in
                journal.note(head["X-Seen"] ?? "no")
                return .allow
            }
        #expect(try await request.serializingString().value == "ok")
        #expect(journal.lines == ["yes"])
    }

    @Test("The request waits for the answer; a cancel meanwhile does not, and the answer changes nothing any more")
    func held() async throws {
        let (gate, left) = (Gate(), Gate())
        let session = log.session()
        let waiting = await session.request("http://h/").validate { [journal] _ in journal.note("validator") }
            .onResponseHead { _ in
                await gate.pass()
                left.open()
                return .allow
            }
        let task = waiting.serializingString()
        await gate.arrived()
        #expect(journal.lines.isEmpty && waiting.status == .resumed)
        waiting.cancel()
        #expect(await task.response.error?.isCancelled == true)
        gate.open()
        await left.pass()
        #expect(await waiting.serializingString().response.error?.isCancelled == true)
        #expect(journal.lines.isEmpty)
    }

    @Test("Several are asked in the order of their attachment, until one cancels", arguments: [2, 3])
    func several(cancelling: Int) async {
        let request = await log.session().request("http://h/")
        for number in 1...3 {
            request.onResponseHead { [journal] _ in
                journal.note("\(number)")
                return number == cancelling ? .cancel : .allow
            }
        }
        #expect(await request.serializingData().response.error?.isCancelled == true)
        #expect(journal.lines == (1...cancelling).map { "\($0)" })
    }

    @Test("A gate that is added during the response is asked; after the end it is ignored, with an event")
    func late() async throws {
        let (transport, recorder) = (HeldTransport(), EventRecorder())
        let request = await Session(transport: transport).request("http://h/")
        let task = request.serializingString()
        request.onResponseHead { [journal] _ in
            journal.note("asked")
            return .allow
        }
        transport.answer()
        #expect(try await task.value == "text")
        #expect(journal.lines == ["asked"])

        let told = await Session(transport: log.transport(), eventMonitors: [recorder]).request("http://h/")
        _ = await told.serializingData().response
        told.onResponseHead { _ in .cancel }
        #expect(try await told.serializingString().value == "ok")
        await recorder.wait { events in events.contains { if case .ignoreOption = $0 { true } else { false } } }
    }

    @Test("Uploads have gates as well; none runs under a lock or on a transport's thread (R1, R2)")
    func uploads() async {
        let recorder = EventRecorder()
        let request = await log.session().upload(Data("x".utf8), to: "http://h/")
            .onResponseHead { _ in
                recorder.probe("a gate")
                return .cancel
            }
        #expect(await request.serializingData().response.error?.isCancelled == true)
        #expect(recorder.violations.isEmpty)
    }
}
