import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The retry schedule that event streams share with retry policies and uploads.
@Suite("Retries of server-sent events", .limited)
struct ServerSentEventsRetryTests {
    private let clock = ManualClock()
    private let log = TransportLog()

    /// Returns a stream of a session with this budget.
    private func events(
        budget: RetryBudget? = nil, attempts: Int? = nil, _ answer: @escaping @Sendable (Int) -> StubAnswer
    ) async -> ServerSentEvents<ServerSentEvent> {
        let configuration = SessionConfiguration {
            ($0.clock, $0.headers, $0.retryBudget) = (clock, [:], budget)
            $0.random = RandomSource { 0 }
        }
        let session = log.session(configuration) { _, number in answer(number) }
        let policy = ServerSentEventsPolicy { ($0.retriedStatusCodes, $0.maximumAttempts) = ([503], attempts) }
        return await session.streamRequest("http://example.com/events").serverSentEvents(policy: policy)
    }

    private static let one = StubAnswer.response(
        headers: ["Content-Type": "text/event-stream"], chunks: [Data("data: one\n\n".utf8)])

    private static func refusal(_ retryAfter: String) -> StubAnswer {
        .response(503, headers: ["Retry-After": retryAfter])
    }

    private func data(of events: ServerSentEvents<ServerSentEvent>) async throws -> [String] {
        var all: [String] = []
        for try await event in events { all.append(event.data) }
        return all
    }

    @Test("A `Retry-After` replaces the pause, which is never shorter than the minimum")
    func retryAfter() async throws {
        let events = await events { number in
            switch number {
            case 1: Self.refusal("40")
            case 2: Self.refusal("0")
            default: .response(204)
            }
        }
        let reading = Task { try await data(of: events) }
        for pause in [Duration.seconds(40), .milliseconds(100)] {
            await clock.waitForSleepers()
            clock.advance(by: pause - .milliseconds(1))
            #expect(clock.sleepers == 1)
            clock.advance(by: .milliseconds(1))
        }
        #expect(try await reading.value.isEmpty)
        #expect(log.count == 3)
    }

    @Test("A `Retry-After` longer than the maximum pause ends the stream with an error about it")
    func longRetryAfter() async {
        let events = await events { _ in Self.refusal("301") }
        let error = await #expect(throws: RequestError.self) { try await data(of: events) }
        #expect(error?.statusCode == 503)
        #expect(error?.retryRefusal?.contains("301") == true)
        #expect(log.count == 1)
    }

    @Test(
        "A connection after a failure needs the session's budget; without it the stream pauses again, longer each time",
        arguments: [(0.0, 1), (1.0, 2), (2.0, 3)])
    func budget(ratio: Double, connections: Int) async {
        let budget = RetryBudget(ratio: ratio, minimumPerSecond: 0)
        let events = await events(budget: budget, attempts: 4) { _ in .failure(.connectionRefused) }
        let reading = Task { try await data(of: events) }
        var pause = Duration.seconds(3)
        for _ in 1...4 {
            await clock.waitForSleepers()
            clock.advance(by: pause)
            pause = pause * 2
        }
        let error = await #expect(throws: RequestError.self) { try await reading.value }
        #expect(error?.code == .connectionRefused)
        #expect(error?.retryRefusal?.contains("budget") == true)
        #expect(log.count == connections)
    }

    @Test("A reconnection after a normal end needs no budget")
    func ended() async throws {
        let events = await events(budget: RetryBudget(ratio: 0, minimumPerSecond: 0)) { number in
            number < 3 ? Self.one : .response(204)
        }
        let reading = Task { try await data(of: events) }
        for _ in 1...2 {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(3))
        }
        #expect(try await reading.value == ["one", "one"])
    }
}
