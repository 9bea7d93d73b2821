import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The duration of a response", .limited)
struct ResponseDurationTests {
    private func attempt(_ times: [(queued: Duration?, total: Duration?)], delay: Duration? = nil) throws -> Attempt {
        var attempt = Attempt()
        for time in times {
            var metrics = TransportMetrics()
            (metrics.queued, metrics.total) = (time.queued, time.total)
            attempt.append(
                Hop(request: OutgoingRequest(method: .get, url: try RequestURL("http://h/")), metrics: metrics))
        }
        attempt.delay = delay
        return attempt
    }

    @Test("It is the time of all hops of all attempts, with the waits before hops and retries")
    func attempts() throws {
        let first = try attempt([(.seconds(1), .seconds(2)), (nil, .seconds(4))], delay: .seconds(8))
        let last = try attempt([(.seconds(16), .seconds(32)), (nil, nil)])
        let exchange = CompletedExchange(
            hop: last.lastHop, attempts: 2, past: CompletedExchange.Past(earlier: [first], last: last))
        #expect(DataResponse<Int>(exchange: exchange, result: .success(1)).duration == .seconds(63))
        #expect(DataResponse<Int>(exchange: CompletedExchange(), result: .success(1)).duration == .zero)
    }
}
