import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

/// A hop is refused only if the bucket could not send it before its deadline.
@Suite("Rate limits: the estimate of a wait", .limited)
struct RateEstimateTests {
    private typealias Bucket = RateBucket<Int>

    private static func rate(_ status: Int, _ fields: (String, String)...) throws -> ServerRate {
        let fields = fields.map { HTTPHeader(name: $0, value: $1) }
        return try #require(ServerRate(ResponseHead(status: status, fields: fields)))
    }

    @Test("After Retry-After the bucket is full again, so a burst of hops is sent at once, and none of it is refused")
    func burstAfterDelay() throws {
        let rule = RateRule(interval: .milliseconds(600), burst: 100)
        var bucket = Bucket()
        _ = bucket.learn(try Self.rate(429, ("Retry-After", "10")), at: .zero, rule)
        for hop in 0..<100 {
            let arrival = bucket.arrive(hop, .normal, deadline: .seconds(10), at: .zero, rule)
            #expect(arrival == .queued)
        }
        let late = bucket.arrive(100, .normal, deadline: .milliseconds(10_599), at: .zero, rule)
        #expect(late == .late(.milliseconds(10_600)))
        let inTime = bucket.arrive(100, .normal, deadline: .milliseconds(10_600), at: .zero, rule)
        #expect(inTime == .queued)
        for hop in 0..<100 {
            let next = bucket.next(at: .seconds(10), rule)
            #expect(next == hop)
        }
        #expect(bucket.nextTime(at: .seconds(10), rule) == .milliseconds(10_600))
    }

    @Test("The slow pace of a server's quota counts only until the quota ends")
    func quotaWithEnd() throws {
        let rule = RateRule(interval: .milliseconds(100), burst: 10)
        var bucket = Bucket()
        _ = bucket.learn(try Self.rate(200, ("RateLimit", #""default";r=6;t=60"#)), at: .zero, rule)
        let first = bucket.arrive(0, .normal, deadline: nil, at: .zero, rule)
        #expect(first == .admitted)
        for hop in 1...20 {
            let arrival = bucket.arrive(hop, .normal, deadline: nil, at: .zero, rule)
            #expect(arrival == .queued)
        }
        // Five hops are sent at 10, 20, … 50 s, and ten more at 60 s, when the quota ends.
        let late = bucket.arrive(21, .normal, deadline: .seconds(60), at: .zero, rule)
        #expect(late == .late(.milliseconds(60_600)))
        let inTime = bucket.arrive(21, .normal, deadline: .milliseconds(60_600), at: .zero, rule)
        #expect(inTime == .queued)
    }

    @Test("A hop of a low priority counts only those that are certain to be sent before it")
    func lowPriority() {
        let rule = RateRule(interval: .seconds(1), burst: 1)
        var bucket = Bucket()
        for hop in 0...100 { _ = bucket.arrive(hop, .high, deadline: nil, at: .zero, rule) }
        let late = bucket.arrive(101, .low, deadline: .seconds(8), at: .zero, rule)
        #expect(late == .late(.seconds(9)))
        let inTime = bucket.arrive(101, .low, deadline: .seconds(9), at: .zero, rule)
        #expect(inTime == .queued)
        for time in 1...8 { _ = bucket.next(at: .seconds(time), rule) }
        let next = bucket.next(at: .seconds(9), rule)
        #expect(next == 101)
    }

    @Test("Random buckets: a hop is refused if and only if the bucket would send it too late")
    func model() throws {
        for seed in 0..<UInt64(rounds(400, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let rule = RateRule(
                interval: .milliseconds(Int.random(in: 1...300, using: &random)),
                burst: Int.random(in: 1...12, using: &random))
            let hasPriorities = random.once(in: 2)
            var (bucket, now, last) = (Bucket(), Duration.zero, 0)
            func priority() -> RequestPriority {
                hasPriorities ? RequestPriority.allCases.randomElement(using: &random) ?? .normal : .normal
            }
            for _ in 0..<60 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    last += 1
                    _ = bucket.arrive(last, priority(), deadline: nil, at: now, rule)
                case 5: _ = bucket.withdraw(Int.random(in: 0...last, using: &random))
                case 6 where random.once(in: 3):
                    let delay = Int.random(in: 0...5, using: &random)
                    _ = bucket.learn(try Self.rate(429, ("Retry-After", "\(delay)")), at: now, rule)
                case 6:
                    let (count, time) = (Int.random(in: 0...20, using: &random), Int.random(in: 1...6, using: &random))
                    let field = ("RateLimit", #""d";r=\#(count);t=\#(time)"#)
                    _ = bucket.learn(try Self.rate(200, field), at: now, rule)
                case 7: bucket.giveBack(rule)
                default:
                    now += .milliseconds(Int.random(in: 0...400, using: &random))
                    while bucket.next(at: now, rule) != nil {}
                }
                let priority = priority()
                guard let time = Self.timeOfNewHop(priority, in: bucket, at: now, rule) else { continue }
                var copy = bucket
                let inTime = copy.arrive(-1, priority, deadline: time, at: now, rule)
                guard inTime == .queued else {
                    Issue.record("seed \(seed): a hop that would be sent at \(time) is refused: \(inTime)")
                    return
                }
                guard !hasPriorities else { continue }
                copy = bucket
                let late = copy.arrive(-1, priority, deadline: time - .nanoseconds(1), at: now, rule)
                guard late == .late(time - now) else {
                    Issue.record("seed \(seed): a hop that would be sent at \(time) is accepted: \(late)")
                    return
                }
            }
        }
    }

    /// Returns the time at which the bucket sends a new hop, if nothing else happens; nil if it does not have to wait.
    private static func timeOfNewHop(
        _ priority: RequestPriority, in bucket: Bucket, at now: Duration, _ rule: RateRule
    ) -> Duration? {
        var (bucket, time) = (bucket, now)
        guard bucket.arrive(-1, priority, deadline: nil, at: now, rule) == .queued else { return nil }
        while let next = bucket.nextTime(at: time, rule) {
            time = next
            if bucket.next(at: time, rule) == -1 { return time }
        }
        return nil
    }

    @Test("A server's delay refuses the hops with an earlier deadline and no others, the earliest first")
    func refusals() throws {
        for seed in 0..<UInt64(rounds(100, nightly: 5_000)) {
            var random = SeededRandom(seed: seed)
            let rule = RateRule(interval: .milliseconds(1), burst: 1)
            var bucket = Bucket()
            _ = bucket.arrive(-1, .normal, deadline: nil, at: .zero, rule)
            /// The deadlines of the hops that wait; `.max` stands for none.
            var waiting: [Int: Int] = [:]
            for hop in 0..<50 {
                let deadline = random.once(in: 5) ? Int.max : Int.random(in: 100...20_000, using: &random)
                let arrival = bucket.arrive(
                    hop, .normal, deadline: deadline == .max ? nil : .milliseconds(deadline), at: .zero, rule)
                #expect(arrival == .queued, "seed \(seed)")
                waiting[hop] = deadline
                if random.once(in: 6), let other = waiting.keys.sorted().randomElement(using: &random) {
                    let isWithdrawn = bucket.withdraw(other)
                    #expect(isWithdrawn, "seed \(seed)")
                    waiting[other] = nil
                }
            }
            for delay in [5, 10, 15] {
                let late = bucket.learn(try Self.rate(503, ("Retry-After", "\(delay)")), at: .zero, rule)
                let expected = waiting.filter { $0.value < delay * 1_000 }
                #expect(Set(late.map(\.0)) == Set(expected.keys), "seed \(seed)")
                #expect(late.map { waiting[$0.0] ?? 0 } == expected.values.sorted(), "seed \(seed)")
                #expect(late.allSatisfy { $0.1 == .seconds(delay) }, "seed \(seed)")
                for hop in expected.keys { waiting[hop] = nil }
                #expect(bucket.waitingCount == waiting.count, "seed \(seed)")
            }
        }
    }
}
