import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The retry policy", .limited)
struct RetryPolicyTests {
    private let log = TransportLog()

    private func session(
        _ policy: any RequestInterceptor = RetryPolicy(), fraction: UInt64 = .max,
        configure: (inout SessionConfiguration) -> Void = { _ in },
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) -> Session {
        log.session(
            SessionConfiguration {
                $0.clock = LeapingClock()
                $0.random = RandomSource { fraction }
                $0.headers = [:]
                $0.validation = [.status(200..<300)]
                configure(&$0)
            }, interceptor: policy, answering: answer)
    }

    private func response(_ request: DataRequest) async -> DataResponse<Data> {
        await request.serializingData().response
    }

    // MARK: Retried requests

    @Test("A limit beyond the number of attempts that a request remembers holds, too")
    func highLimit() async {
        let session = session(RetryPolicy(limit: 150)) { _, number in
            number > 200 ? .text("too many") : .failure(.connectionLost)
        }
        #expect(await response(await session.request("http://h/")).error?.code == .connectionLost)
        #expect(log.count == 151)
    }

    @Test("A request has its first attempt and two more by default, and then the error stands")
    func limit() async {
        let session = session { _, _ in .failure(.connectionLost) }
        let request = await session.request("http://h/")
        let response = await response(request)
        #expect(response.error?.code == .connectionLost && response.error?.attempts == 3)
        #expect(response.error?.retryRefusal == nil)
        #expect(log.count == 3 && request.retryCount == 2)
        #expect(request.attempts.map { $0.error?.code } == [.connectionLost, .connectionLost, .connectionLost])
        #expect(request.attempts.allSatisfy { $0.metrics != nil && $0.request?.method == .get })
    }

    @Test(
        "Only requests with idempotent methods are retried",
        arguments: [
            (HTTPMethod.get, 3), (.head, 3), (.options, 3), (.put, 3), (.delete, 3), (.trace, 3), (.query, 3),
            (.post, 1),
            (.patch, 1), (.connect, 1), ("get", 1), ("LINK", 1),
        ])
    func methods(method: HTTPMethod, attempts: Int) async {
        let session = session { _, _ in .failure(.timedOut) }
        let request = await session.request("http://h/", method: method)
        #expect(await response(request).error?.code == .timedOut)
        #expect(log.count == attempts)
    }

    @Test("The request's own method decides, not the method of a redirect")
    func redirectedMethod() async {
        let session = session { request, _ in
            request.method == "POST" ? .redirect(303, to: "/there") : .failure(.connectionLost)
        }
        _ = await response(session.request("http://h/", method: .post))
        #expect(log.requests.map(\.method) == ["POST", "GET"])
    }

    @Test(
        "A temporary status is retried if a validator rejects it",
        arguments: [408, 425, 429, 500, 502, 503, 504, 400, 401, 404, 409, 501, 505])
    func statuses(status: Int) async {
        let session = session { _, _ in .text("why", status: status) }
        let error = await response(session.request("http://h/")).error
        #expect(error?.statusCode == status && error?.code == .unacceptableStatus)
        #expect(log.count == (RetryPolicy.passingStatuses.contains(status) ? 3 : 1))
    }

    @Test("A token that was renewed leaves the limit as it was")
    func renewed() async {
        let renewing = Interceptor(retry: { _, _, error in error.statusCode == 401 ? .retry : .doNotRetry })
        let session = session(Interceptor(interceptors: [renewing, RetryPolicy(limit: 1)])) { _, number in
            .text("why", status: [401, 503][min(number, 2) - 1])
        }
        #expect(await response(session.request("http://h/")).error?.statusCode == 503)
        #expect(log.count == 3)
    }

    @Test("A status that no validator refuses is a response like any other")
    func unvalidated() async {
        let session = session(configure: { $0.validation = [] }) { _, _ in .text("why", status: 503) }
        #expect(await response(session.request("http://h/")).value == Data("why".utf8))
        #expect(log.count == 1)
    }

    @Test(
        "A network error is retried, other errors are not",
        arguments: [
            TransportError.Code.nameLookup, .connectionRefused, .unreachable, .connectionLost, .timedOut, .handshake,
            .truncated, .untrusted, .protocolViolation, .contentTooLarge,
        ])
    func codes(code: TransportError.Code) async {
        let session = session { _, _ in .failure(code) }
        let error = await response(session.request("http://h/")).error
        #expect(log.count == (error?.isConnectivity == true ? 3 : 1))
    }

    @Test("Limit, methods, statuses and codes are the policy's to choose")
    func choices() async {
        let policy = RetryPolicy(limit: 1, methods: [.post], statuses: [404], codes: [.untrusted])
        let session = session(policy) { request, _ in
            request.url.path == "/lost"
                ? .failure(.untrusted) : .text("", status: request.url.path == "/404" ? 404 : 503)
        }
        var counts: [Int] = []
        for (path, method) in [("lost", .post), ("404", .post), ("503", .post), ("404", .get)] as [(String, HTTPMethod)]
        {
            let before = log.count
            _ = await response(session.request("http://h/\(path)", method: method))
            counts.append(log.count - before)
        }
        #expect(counts == [2, 2, 1, 1])
    }

    @Test(
        "The closure decides, or leaves the decision to the policy",
        arguments: [
            (RetryPolicy.Decision.byRules, "GET", 500, 3), (.byRules, "POST", 500, 1), (.retry, "POST", 404, 3),
            (.doNotRetry, "GET", 500, 1),
        ])
    func predicate(answer: RetryPolicy.Decision, method: String, status: Int, attempts: Int) async {
        let policy = RetryPolicy(shouldRetry: { error, request in
            #expect(error.statusCode == status && request.retryCount < 2)
            return answer
        })
        let session = session(policy) { _, _ in .text("", status: status) }
        _ = await response(session.request("http://h/", method: HTTPMethod(rawValue: method)))
        #expect(log.count == attempts)
    }

    @Test(
        "The policy for lost connections tries again after those, and after nothing else",
        arguments: [TransportError.Code.connectionLost, .truncated, .timedOut, .connectionRefused, nil])
    func lostConnections(code: TransportError.Code?) async {
        let session = session(.retryingLostConnections()) { _, _ in
            code.map { .failure($0) } ?? .text("", status: 503)
        }
        _ = await response(session.request("http://h/"))
        #expect(log.count == ([.connectionLost, .truncated].contains(code) ? 3 : 1))
    }

    @Test("A body that can be sent only once is not sent again, and costs the budget nothing")
    func onceOnlyBody() async throws {
        let session = session(
            .retry(backoff: .init(scale: .zero)),
            configure: { $0.retryBudget = RetryBudget(ratio: 0, minimumPerSecond: 1) }
        ) {
            _, _ in .failure(.connectionLost)
        }
        let once = await response(session.request("http://h/", method: .put) { $0.body = .onceOnly })
        #expect(once.error?.code == .bodyNotReplayable)
        #expect((once.error?.underlying as? RequestError)?.code == .connectionLost)
        #expect(log.count == 1)
        _ = await response(session.request("http://h/", method: .put) { $0.body = .data(Data("x".utf8)) })
        #expect(log.count == 3, "the one retry of the budget was left")
    }

    // MARK: Delays

    typealias Jitter = RetryPolicy.Backoff.Jitter

    @Test(
        "Delays grow by the base from the scale up to the cap; chance takes of them what the jitter allows",
        arguments: [
            (2, 500, 30_000, Jitter.none, 0, [500, 1_000, 2_000, 4_000]),
            (2, 500, 3_000, .none, 0, [500, 1_000, 2_000, 3_000]),
            (2, 500, 3_000, .full, 0, [0, 0, 0, 0]), (2, 500, 3_000, .full, 1 << 63, [250, 500, 1_000, 1_500]),
            (2, 500, 3_000, .equal, 0, [250, 500, 1_000, 1_500]),
            (2, 500, 3_000, .equal, 1 << 63, [375, 750, 1_500, 2_250]),
            (2, 500, 3_000, .added(0.5), 1 << 63, [625, 1_250, 2_500, 3_750]),
            (2, 500, 3_000, .added(-1), .max, [500, 1_000, 2_000, 3_000]),
            (2, 500, 3_000, .added(.nan), .max, [500, 1_000, 2_000, 3_000]),
            (4, 125, 5_000, .none, 0, [125, 500, 2_000, 5_000]), (1, 100, 2_000, .none, 0, [100, 100, 100, 100]),
            (.infinity, 100, 2_000, .none, 0, [100, 2_000, 2_000, 2_000]),
            (.nan, 100, 2_000, .none, 0, [100, 2_000, 2_000, 2_000]),
            (-2, 100, 2_000, .none, 0, [100, 0, 400, 0]), (2, -100, 2_000, .none, 0, [0, 0, 0, 0]),
            (2, 100, -1, .none, 0, [0, 0, 0, 0]),
        ] as [(Double, Int, Int, Jitter, UInt64, [Int])])
    func backoff(base: Double, scale: Int, cap: Int, jitter: Jitter, number: UInt64, expected: [Int]) {
        let backoff = RetryPolicy.Backoff(
            base: base, scale: .milliseconds(scale), cap: .milliseconds(cap), jitter: jitter)
        let delays = (0..<4).map { RandomSource { number }.duration(in: backoff.delays(retry: $0)) }
        #expect(delays == expected.map { .milliseconds($0) })
    }

    @Test("No delay is too long to be counted")
    func longest() {
        let backoff = RetryPolicy.Backoff(scale: .seconds(Int64.max), cap: .seconds(Int64.max), jitter: .none)
        #expect(backoff.delays(retry: .max) == .seconds(1_000_000_000)...(.seconds(1_000_000_000)))
    }

    private static func seeded() -> RandomSource {
        let random = Protected(SeededRandom(seed: 7))
        return RandomSource { random.withLock { $0.next() } }
    }

    @Test("Each retry waits for its delay on the session's clock, drawn from the session's random source")
    func waiting() async {
        let clock = ManualClock()
        let expected = Self.seeded()
        let fractions = (0..<2).map { _ in expected.fraction() }
        let session = session(configure: { ($0.clock, $0.random) = (clock, Self.seeded()) }) { _, number in
            number < 3 ? .failure(.connectionLost) : .text("here")
        }
        let request = await session.request("http://h/")
        let task = request.serializingString()
        let delays = [Duration.milliseconds(500) * fractions[0], .seconds(1) * fractions[1]]
        for (index, delay) in delays.enumerated() {
            await clock.waitForSleepers()
            clock.advance(by: delay - .nanoseconds(1))
            #expect(clock.sleepers == 1 && log.count == index + 1)
            clock.advance(by: .nanoseconds(1))
        }
        #expect(await task.response.value == "here")
        #expect(request.attempts.map(\.delay) == delays + [nil])
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        "Retry-After says how long is waited, in seconds or as a date",
        arguments: [
            ("0", 0), ("7", 7), ("007", 7), ("60", 60), ("Sun, 06 Nov 1994 08:50:00 GMT", 23),
            ("Sunday, 06-Nov-94 08:50:00 GMT", 23), ("Sun Nov  6 08:50:00 1994", 23), (date, 0),
            ("Sun, 06 Nov 1994 08:49:00 GMT", 0), ("Sat, 06 Nov 1993 08:50:00 GMT", 0),
            // Longer than a minute
            ("61", nil), ("Sun, 06 Nov 1994 08:51:00 GMT", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", nil),
            ("9223372036854775807", nil), ("99999999999999999999999999", nil),
        ] as [(String, Int?)])
    func retryAfter(value: String, seconds: Int?) async {
        let session = session { _, number in
            number == 1 ? .response(429, headers: ["Retry-After": value, "Date": Self.date]) : .text("here")
        }
        let request = await session.request("http://h/")
        let response = await response(request)
        guard let seconds else {
            #expect(response.error?.code == .unacceptableStatus && response.error?.statusCode == 429)
            #expect(response.error?.retryRefusal?.contains("maximumRetryAfter") == true)
            return #expect(log.count == 1)
        }
        #expect(response.value == Data("here".utf8))
        #expect(request.attempts.first?.delay == .seconds(seconds))
    }

    @Test(
        "A Retry-After that cannot be read is none: the delay is the policy's",
        arguments: ["", "-5", "+5", "1.5", "soon", "5 s", "5, 6", "٥", "Sun, 32 Nov 1994 08:50:00 GMT", "0x10"])
    func unreadable(value: String) async {
        let policy = RetryPolicy(backoff: .init(scale: .seconds(3), jitter: .none))
        let session = session(policy) { _, number in
            number == 1 ? .response(503, headers: ["Retry-After": value, "Date": Self.date]) : .text("here")
        }
        let request = await session.request("http://h/")
        #expect(await response(request).value == Data("here".utf8))
        #expect(request.attempts.first?.delay == .seconds(3))
    }

    @Test("Without a Date of the response's own, a Retry-After's date counts from now")
    func ownClock() async {
        let head = { (value: String) in
            ResponseHead(status: 503, fields: [HTTPHeader(name: "Retry-After", value: value)])
        }
        #expect(RetryAfter.delay(in: head(Self.date)) == .zero)
        #expect(RetryAfter.delay(in: head("Fri, 31 Dec 9999 23:59:59 GMT")) == RetryAfter.longest)
        #expect(RetryAfter.delay(in: nil) == nil)
    }

    // MARK: Keys

    @Test("With an idempotency key, POST and PATCH are retried; each request has one key for all its attempts")
    func keys() async throws {
        let policy = RetryPolicy.retry(idempotencyKey: .automatic())
        let session = session(policy, configure: { $0.random = .system }) { _, _ in .failure(.connectionLost) }
        for method in [HTTPMethod.post, .patch, .put] {
            _ = await response(session.request("http://h/", method: method))
        }
        let keys = log.requests.map { $0["Idempotency-Key"] }
        #expect(keys.count == 9)
        #expect(Set(keys[0..<3]).count == 1 && Set(keys[3..<6]).count == 1 && keys[0] != keys[3])
        #expect(keys[6...].allSatisfy { $0 == nil })
        let uuid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        for key in keys[0..<6] { #expect(try uuid.wholeMatch(in: key ?? "") != nil) }
    }

    @Test("A key that the request has already stands, under whatever name keys have")
    func ownKey() async {
        let session = session(RetryPolicy(limit: 1, idempotencyKey: .automatic(header: "X-Key"))) { _, _ in
            .failure(.connectionLost)
        }
        _ = await response(session.request("http://h/", method: .post, headers: ["x-key": "mine"]))
        _ = await response(session.request("http://h/", method: .post))
        #expect(log.requests.map { $0.fields.count } == [1, 1, 1, 1])
        #expect(log.requests.prefix(2).map { $0["X-Key"] } == ["mine", "mine"])
        #expect(log.requests[2]["X-Key"] == log.requests[3]["X-Key"] && log.requests[2]["X-Key"] != "mine")
    }

    @Test(
        "A policy that a request gets as its retrier sets the key too",
        arguments: [
            RetryPolicy(limit: 1, idempotencyKey: .automatic()),
            ConnectionLostRetryPolicy(limit: 1, idempotencyKey: .automatic()),
        ] as [any RequestRetrier])
    func retrierWithKey(policy: any RequestRetrier) async {
        let session = session(Interceptor(adapter: nil, retrier: nil)) { _, _ in .failure(.connectionLost) }
        let request = await session.request("http://h/", method: .post)
        _ = await response(request.retry(using: policy))
        let keys = log.requests.map { $0["Idempotency-Key"] }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    @Test("A UUID from the session's random source has every bit but those of its version from there")
    func uuids() {
        #expect(RandomSource { 0 }.uuid().uuidString == "00000000-0000-4000-8000-000000000000")
        #expect(RandomSource { .max }.uuid().uuidString == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
    }

    // MARK: Refusals

    @Test("A retrier's refusal keeps the error, and adds the reason of the refusal")
    func refusal() async throws {
        let asked = Counter()
        let session = session(
            .composed(
                Interceptor(retry: { _, _, _ in .doNotRetryWithError(RetryRefusal("closed for today")) }),
                Interceptor(retry: { _, _, _ in
                    asked.increment(); return .retry
                }))
        ) { _, _ in .text("why", status: 503) }
        let error = try #require(await response(session.request("http://h/")).error)
        #expect(
            error.code == .unacceptableStatus && error.stage == .validating && error.responseData == Data("why".utf8))
        #expect(error.retryRefusal == "closed for today")
        #expect(asked.value == 0)
    }
}
