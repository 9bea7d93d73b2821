import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The retry schedule", .limited)
struct RetryScheduleTests {
    private func schedule(_ jitter: RetryPolicy.Backoff.Jitter = .full, limit: Int? = nil) -> RetrySchedule {
        RetrySchedule(
            limit: limit, backoff: .init(scale: .seconds(1), cap: .seconds(8), jitter: jitter),
            minimumDelay: .seconds(2), maximumRetryAfter: .seconds(60))
    }

    private func delays(_ step: RetrySchedule.Step) -> ClosedRange<Duration>? {
        if case .retry(let delays) = step { delays } else { nil }
    }

    private func head(_ retryAfter: String) -> ResponseHead {
        ResponseHead(status: 503, fields: [HTTPHeader(name: "Retry-After", value: retryAfter)])
    }

    @Test("Delays double up to the cap, with the jitter of the backoff")
    func growing() {
        for (number, seconds) in [1, 2, 4, 8, 8].enumerated() {
            #expect(delays(schedule().step(retry: number, after: nil)) == .zero...(.seconds(seconds)))
            let added = delays(schedule(.added(0.5)).step(retry: number, after: nil))
            #expect(added == .seconds(seconds)...(.milliseconds(1_500 * seconds)))
        }
    }

    @Test("The limit ends the retries, also where the response says when to come back", arguments: [0, 3])
    func limit(limit: Int) {
        for number in 0...4 {
            for head in [nil, head("1")] {
                let step = schedule(limit: limit).step(retry: number, after: head)
                #expect((delays(step) != nil) == (number < limit))
            }
        }
    }

    @Test(
        "A `Retry-After` is the delay, never below the minimum, and never shortened by jitter",
        arguments: [("0", 2), ("2", 2), ("5", 5), ("60", 60)])
    func retryAfter(text: String, seconds: Int) {
        #expect(delays(schedule().step(retry: 0, after: head(text))) == .seconds(seconds)...(.seconds(seconds)))
        let added = delays(schedule(.added(0.5)).step(retry: 0, after: head(text)))
        #expect(added == .seconds(seconds)...(.milliseconds(1_500 * seconds)))
    }

    @Test("A longer `Retry-After` than the maximum is refused with a reason")
    func tooLong() {
        guard case .refuse(let refusal) = schedule().step(retry: 0, after: head("61")) else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.reason.contains("61") && refusal.reason.contains("60"))
    }

    @Test("A retry policy allows requests by their method, or with a key")
    func repeatable() throws {
        var policy = RetryPolicy()
        let (get, post) = (try OutgoingRequest("http://h/"), try OutgoingRequest("http://h/", method: .post))
        #expect(policy.allows(get) && !policy.allows(post))
        policy.idempotencyKey = .automatic()
        #expect(!policy.allows(post))
        var keyed = post
        keyed.headers.update(name: "Idempotency-Key", value: "1")
        #expect(policy.allows(keyed))
        keyed.method = "LINK"
        #expect(!policy.allows(keyed))
    }
}
