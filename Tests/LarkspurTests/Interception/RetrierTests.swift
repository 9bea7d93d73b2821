import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Retriers", .limited)
struct RetrierTests {
    private let log = TransportLog()
    private let journal = Journal()
    private let clock = ManualClock()

    private func answering(_ name: String, _ result: RetryResult) -> Interceptor {
        Interceptor(retry: { [journal] _, _, _ in
            journal.note(name)
            return result
        })
    }

    private func session(
        _ interceptor: (any RequestInterceptor)? = nil, configure: (inout SessionConfiguration) -> Void = { _ in },
        failures: Int = 1
    ) -> Session {
        let configuration = SessionConfiguration {
            $0.clock = clock
            configure(&$0)
        }
        return log.session(configuration, interceptor: interceptor) { _, number in
            number <= failures ? .failure(.connectionLost) : .text("ok")
        }
    }

    // MARK: Who decides

    @Test("The first answer other than .doNotRetry wins: the session's retriers first, then the request's")
    func firstAnswerWins() async throws {
        let session = session(.composed(answering("s1", .doNotRetry), answering("s2", .doNotRetry)))
        let request = await session.request("http://h/", interceptor: answering("r1", .doNotRetry))
        request.interceptor(answering("r2", .retry)).retry(using: answering("r3", .doNotRetryWithError(ForeignError())))
        #expect(await request.serializingString().response.value == "ok")
        #expect(journal.lines == ["s1", "s2", "r1", "r2"])
    }

    @Test("A session's answer is final: the request's retriers are not asked")
    func sessionWins() async throws {
        let session = session(answering("s", .doNotRetryWithError(ForeignError())))
        let request = await session.request("http://h/", interceptor: answering("r", .retry))
        #expect(await request.serializingData().response.error?.code == .retryFailed)
        #expect(journal.lines == ["s"])
    }

    @Test("If no retrier wants another attempt, the error stays, and each retrier was asked once")
    func nobodyWants() async throws {
        let session = session(answering("s", .doNotRetry))
        let request = await session.request("http://h/", interceptor: answering("r", .doNotRetry))
        #expect(await request.serializingData().response.error?.code == .connectionLost)
        #expect(journal.lines == ["s", "r"])
        #expect(log.count == 1)
    }

    @Test(
        "Retriers are asked about a failure of every stage",
        arguments: [
            (RequestError.Stage.building, RequestError.Code.invalidURL), (.adapting, .adaptationFailed),
            (.sending, .connectionLost), (.validating, .unacceptableStatus), (.serializing, .invalidJSON),
        ])
    func stages(stage: RequestError.Stage, code: RequestError.Code) async throws {
        let adapter = Interceptor(adapt: { _, state in
            if stage == .adapting, state.attempt == 1 { throw ForeignError() }
        })
        let session = log.session(interceptor: adapter) { _, number in
            switch stage {
            case .sending where number == 1: .failure(.connectionLost)
            case .validating where number == 1: .response(500)
            case .serializing where number == 1: .text("no json")
            default: .json("[1]")
            }
        }
        let urls = Journal()
        let request = await session.request(
            Computed { stage == .building && urls.count() == 1 ? "nowhere" : "http://h/" },
            interceptor: .retrier { [journal] request, _, error in
                journal.note("\(error.stage?.rawValue ?? "-") \(error.code) \(error.attempts) \(request.retryCount)")
                return .retry
            })
        #expect(await request.validate().serializingJSON().response.value == [1])
        #expect(journal.lines == ["\(stage.rawValue) \(code) 1 0"])
        #expect(request.retryCount == 1)
        #expect(request.attempts.map { $0.error?.code } == [code, nil])
    }

    private struct Computed: URLConvertible {
        let text: @Sendable () -> String
        func asRequestURL() throws -> RequestURL { try text().asRequestURL() }
    }

    @Test("A retrier is given the request itself, its session and the error")
    func arguments() async throws {
        let session = session()
        let request = await session.request("http://h/")
        request.retry(
            using: Interceptor(retry: { [id = request.id] asked, askedSession, error in
                #expect(asked.id == id)
                #expect(asked is DataRequest)
                #expect(askedSession === session)
                #expect(error.requestID == id)
                #expect(asked.attempts.last?.hops.count == 1)
                return .doNotRetry
            }))
        #expect(await request.serializingData().response.error?.code == .connectionLost)
    }

    // MARK: .doNotRetryWithError

    @Test("A retrier's own error gives .retryFailed with both errors, and keeps what is known of the exchange")
    func ownError() async throws {
        let retrier = answering("r", .doNotRetryWithError(ForeignError(description: "no token")))
        let session = log.session(interceptor: retrier) { _, _ in .text("why", status: 401) }
        let request = await session.request("http://h/p").validate()
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == .retryFailed)
        #expect(error.stage == .retrying)
        #expect(error.statusCode == 401)
        #expect(error.responseData == Data("why".utf8))
        #expect(error.url?.text == "http://h/p")
        #expect(error.requestID == request.id)
        #expect(error.attempts == 1)
        let both = try #require(error.underlying as? RetryFailed)
        #expect(both.retryError as? ForeignError == ForeignError(description: "no token"))
        #expect(both.originalError.code == .unacceptableStatus)
        #expect(both.originalError.stage == .validating)
        #expect(journal.lines == ["r"])
    }

    @Test("Another attempt is refused when the body can be sent only once")
    func onceOnlyBody() async throws {
        let request = await session(answering("r", .retry)).request("http://h/", method: .post) { $0.body = .onceOnly }
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == .bodyNotReplayable)
        #expect(error.stage == .retrying)
        let original = try #require(error.underlying as? RequestError)
        #expect(original.code == .connectionLost)
        #expect(log.count == 1)
    }

    @Test("A serializer's failure is replaced by the retrier's error as well")
    func serializerFailure() async throws {
        let session = log.session(interceptor: answering("r", .doNotRetryWithError(ForeignError())))
        let error = try #require(await session.request("http://h/").serializingJSON().response.error)
        #expect(error.code == .retryFailed)
        #expect((error.underlying as? RetryFailed)?.originalError.code == .invalidJSON)
    }

    // MARK: Delays

    @Test("A delay is slept on the session's clock, and recorded")
    func delay() async throws {
        let session = session(
            .retrier { request, _, _ in .retryAfter(.seconds(10 * (request.retryCount + 1))) }, failures: 2)
        let request = await session.request("http://h/")
        let task = request.serializingString()
        await clock.waitForSleepers()
        #expect(log.count == 1)
        clock.advance(by: .seconds(9))
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(1))
        await clock.waitForSleepers()
        #expect(log.count == 2)
        clock.advance(by: .seconds(20))
        #expect(await task.response.value == "ok")
        #expect(log.count == 3)
        #expect(request.attempts.map(\.delay) == [.seconds(10), .seconds(20), nil])
        #expect(request.attempts.map { $0.error?.code } == [.connectionLost, .connectionLost, nil])
    }

    @Test("A delay of nothing, or less, is none", arguments: [Duration.zero, .seconds(-5)])
    func noDelay(delay: Duration) async throws {
        let request = await session(answering("r", .retryAfter(delay))).request("http://h/")
        #expect(await request.serializingString().response.value == "ok")
        #expect(request.attempts.first?.delay == .zero)
    }

    @Test(
        "A delay within a range is drawn from the session's random source",
        arguments: [
            (UInt64.min, Duration.milliseconds(1000)), (1 << 63, .milliseconds(2000)), (1 << 62, .milliseconds(1500)),
        ])
    func randomDelay(number: UInt64, expected: Duration) async throws {
        let session = session(
            .retrier { _, session, _ in .retryAfter(within: .seconds(1)...(.seconds(3)), for: session) },
            configure: { $0.random = RandomSource { number } })
        let request = await session.request("http://h/")
        let task = request.serializingString()
        await clock.waitForSleepers()
        clock.advance(by: expected)
        #expect(await task.response.value == "ok")
        #expect(request.attempts.first?.delay == expected)
    }

    @Test("The largest random number stays within the range, and a range of one value is that value")
    func randomBounds() async {
        let session = session(configure: { $0.random = RandomSource { .max } })
        guard case .retryAfter(let delay) = RetryResult.retryAfter(within: .zero...(.seconds(1)), for: session),
            case .retryAfter(let fixed) = RetryResult.retryAfter(within: .seconds(7)...(.seconds(7)), for: session)
        else {
            Issue.record()
            return
        }
        #expect(delay > .milliseconds(999) && delay <= .seconds(1))
        #expect(fixed == .seconds(7))
    }

    @Test("The system's random source gives fractions from 0 up to 1, and not always the same")
    func systemRandom() {
        let fractions = (0..<1000).map { _ in RandomSource.system.fraction() }
        #expect(fractions.allSatisfy { (0..<1).contains($0) })
        #expect(Set(fractions).count > 900)
    }

    // MARK: Cancelling

    @Test("A cancel during the delay ends the request, and no retrier is asked again")
    func cancelInDelay() async throws {
        let request = await session(answering("r", .retryAfter(.seconds(60))), failures: 9).request("http://h/")
        let task = request.serializingData()
        await clock.waitForSleepers()
        request.cancel()
        let response = await task.response
        #expect(response.error?.isCancelled == true)
        clock.advance(by: .seconds(120))
        #expect(journal.lines == ["r"])
        #expect(log.count == 1)
    }

    /// Cancels its request, and then fails.
    private struct CancellingSerializer: ResponseSerializer {
        let session: Session

        func serialize(_ exchange: CompletedExchange) async throws -> Data {
            for request in await session.requests { request.cancel() }
            throw ForeignError()
        }
    }

    @Test(
        "No retrier is asked after a cancel",
        arguments: ["before", "adapting", "sending", "validating", "serializing", "retrying"])
    func notAfterCancel(time: String) async throws {
        let cancelling = Interceptor(
            adapt: { request, state in
                guard time == "adapting" else { return }
                for request in await state.session.requests { request.cancel() }
                throw ForeignError()
            },
            retry: { [journal] request, _, _ in
                journal.note("asked")
                if time == "retrying" { request.cancel() }
                return time == "retrying" ? .doNotRetry : .retry
            })
        let started = Journal()
        let session = log.session(interceptor: cancelling) { _, _ in
            started.note("")
            switch time {
            case "sending": return StubAnswer([.stall])
            case "validating", "serializing": return .text("x")
            default: return .failure(.timedOut)
            }
        }
        let request = await session.request("http://h/").validate { _ in
            guard time == "validating" else { return }
            for request in await session.requests { request.cancel() }
            throw ForeignError()
        }
        request.retry(using: answering("asked second", .retry))
        if time == "before" { request.cancel() }
        let task =
            time == "serializing"
            ? request.serializingResponse(using: CancellingSerializer(session: session)) : request.serializingData()
        if time == "sending" { request.cancel() }
        #expect(await task.response.error?.isCancelled == true)
        #expect(journal.lines == (time == "retrying" ? ["asked"] : []))
        #expect(started.lines.count <= 1)
    }

    @Test("value throws CancellationError for a cancel, and a RequestError for everything else")
    func thrown() async throws {
        let stalled = await log.session { _, _ in StubAnswer([.stall]) }.request("http://h/")
        let task = stalled.serializingData()
        stalled.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let failing = await session(failures: 9).request("http://h/").serializingData()
        await #expect(throws: RequestError.self) { try await failing.value }
    }
}
