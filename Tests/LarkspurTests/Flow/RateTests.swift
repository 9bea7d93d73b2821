import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Rate limits", .limited)
struct RateTests {
    private typealias Bucket = RateBucket<Int>

    // MARK: The bucket

    @Test("A full bucket admits a burst, and then a hop in each interval")
    func burst() {
        let rule = RateRule(interval: .milliseconds(100), burst: 3)
        var bucket = Bucket()
        let arrivals = (0..<5).map { bucket.arrive($0, .normal, deadline: nil, at: .seconds(1), rule) }
        #expect(arrivals == [.admitted, .admitted, .admitted, .queued, .queued])
        #expect(bucket.nextTime(at: .seconds(1), rule) == .milliseconds(1_100))
        #expect(bucket.next(at: .milliseconds(1_099), rule) == nil)
        #expect(bucket.next(at: .milliseconds(1_100), rule) == 3)
        #expect(bucket.next(at: .milliseconds(1_100), rule) == nil)
        #expect(bucket.next(at: .milliseconds(1_200), rule) == 4)
        #expect(bucket.nextTime(at: .milliseconds(1_200), rule) == nil)
    }

    @Test("A hop that would wait longer than it may is refused at once, by the number of hops before it")
    func deadlines() {
        let rule = RateRule(interval: .seconds(1), burst: 1)
        var bucket = Bucket()
        _ = bucket.arrive(0, .normal, deadline: nil, at: .zero, rule)
        _ = bucket.arrive(1, .normal, deadline: .seconds(1), at: .zero, rule)
        #expect(bucket.arrive(2, .normal, deadline: .seconds(1), at: .zero, rule) == .late(.seconds(2)))
        #expect(bucket.arrive(3, .high, deadline: .seconds(1), at: .zero, rule) == .queued)
    }

    @Test("A server's delay holds up all hops, and refuses those that have not so much time")
    func serverDelay() throws {
        let rule = RateRule(interval: .seconds(1), burst: 1)
        var bucket = Bucket()
        for hop in 0..<3 {
            _ = bucket.arrive(hop, .normal, deadline: hop == 1 ? .seconds(10) : nil, at: .zero, rule)
        }
        let rate = try #require(
            ServerRate(ResponseHead(status: 429, fields: [HTTPHeader(name: "Retry-After", value: "30")])))
        let late = bucket.learn(rate, at: .zero, rule)
        #expect(late.map(\.0) == [1])
        #expect(bucket.next(at: .seconds(29), rule) == nil)
        #expect(bucket.next(at: .seconds(30), rule) == 2)
    }

    @Test("The rest of a server's quota is spread over the time until its reset")
    func serverQuota() throws {
        let rule = RateRule(interval: .milliseconds(10), burst: 100)
        var bucket = Bucket()
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "RateLimit", value: #""default";r=5;t=10"#)])
        _ = bucket.learn(try #require(ServerRate(head)), at: .zero, rule)
        var times: [Duration] = []
        for hop in 0..<5 {
            if bucket.arrive(hop, .normal, deadline: nil, at: .zero, rule) == .admitted { times.append(.zero) }
        }
        while let time = bucket.nextTime(at: times.last ?? .zero, rule) {
            #expect(bucket.next(at: time, rule) != nil)
            times.append(time)
        }
        #expect(times == [0, 2, 4, 6, 8].map(Duration.seconds))
        #expect(bucket.arrive(6, .normal, deadline: nil, at: .seconds(11), rule) == .admitted)
    }

    @Test("A token that goes back is there for the next hop")
    func returnedToken() {
        var bucket = Bucket()
        let rule = RateRule(interval: .seconds(60), burst: 1)
        #expect(bucket.arrive(1, .normal, deadline: nil, at: .zero, rule) == .admitted)
        bucket.giveBack(rule)
        #expect(bucket.arrive(2, .normal, deadline: nil, at: .zero, rule) == .admitted)
        #expect(bucket.arrive(3, .normal, deadline: nil, at: .zero, rule) == .queued)
    }

    @Test("Random arrivals and withdrawals: no interval has more hops than the rule allows, and none is lost")
    func model() {
        for seed in 0..<UInt64(rounds(200, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let burst = Int.random(in: 1...5, using: &random)
            let rule = RateRule(interval: .milliseconds(100), burst: burst)
            var (bucket, now) = (Bucket(), 0)
            var (sent, waiting): ([Int], [Int]) = ([], [])
            // The plain model: tokens in thousandths, refilled by the time that has passed.
            var (tokens, last) = (burst * 1_000, 0)
            func refill() {
                tokens = min(burst * 1_000, tokens + (now - last) * 10)
                last = now
            }
            for hop in 0..<50 {
                now += Int.random(in: 0...120, using: &random)
                while let next = bucket.next(at: .milliseconds(now), rule) {
                    refill()
                    guard tokens >= 1_000, waiting.first == next else {
                        Issue.record("seed \(seed), hop \(hop): \(next) was admitted wrongly")
                        return
                    }
                    tokens -= 1_000
                    waiting.removeFirst()
                    sent.append(now)
                }
                refill()
                if random.once(in: 4), let withdrawn = waiting.randomElement(using: &random) {
                    let isWithdrawn = bucket.withdraw(withdrawn)
                    #expect(isWithdrawn)
                    waiting.removeAll { $0 == withdrawn }
                }
                guard waiting.isEmpty || tokens < 1_000 else {
                    Issue.record("seed \(seed), hop \(hop): a hop waits although there is a token")
                    return
                }
                let arrival = bucket.arrive(hop, .normal, deadline: nil, at: .milliseconds(now), rule)
                guard (arrival == .admitted) == (waiting.isEmpty && tokens >= 1_000) else {
                    Issue.record("seed \(seed), hop \(hop): \(arrival) with \(tokens) tokens")
                    return
                }
                if arrival == .admitted { tokens -= 1_000 } else { waiting.append(hop) }
            }
        }
    }

    @Test("A fair queue serves by priority and age, without those that were removed")
    func fairQueue() {
        var queue = FairQueue<Int>()
        for number in 0..<40 { queue.append(number, number % 2 == 0 ? .high : .low, UInt64(number)) }
        let removed = [2, 2].map { queue.remove($0) }
        #expect(removed == [2, nil])
        #expect(queue.count(before: .high) == 19)
        #expect(queue.count(before: .low) == 39)
        #expect(queue.count(before: .normal) == 8, "the ninth is served after eight of a higher priority")
        var served: [Int] = []
        while let next = queue.removeFirst() { served.append(next) }
        #expect(Array(served.prefix(10)) == [0, 4, 6, 8, 10, 12, 14, 16, 1, 18])
        #expect(served.count == 39)
        #expect(served.filter { $0 % 2 == 0 } == served.filter { $0 % 2 == 0 }.sorted())
    }

    // MARK: The fields

    @Test(
        "Announced limits are read in every syntax",
        arguments: [
            ([("RateLimit", "limit=100, remaining=7, reset=30")], 7, 30),
            ([("RateLimit", #""default";r=7;t=30"#)], 7, 30),
            ([("RateLimit", #""a,b;c";r=7;t=30;pk=:cHsdsRa894==:"#)], 7, 30),
            ([("RateLimit", #""minute";r=50;t=10, "day";r=0;t=500"#)], 0, 500),
            ([("RateLimit", #""x";r=3"#), ("RateLimit-Policy", #""x";q=100;w=60"#)], 3, 60),
            ([("RateLimit-Policy", "100;w=60, 1000;w=86400")], 1_000, 86_400),
            ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "5")], 0, 5),
            ([("X-RateLimit-Remaining", "4"), ("X-RateLimit-Reset", "60")], 4, 60),
            ([("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1.7")], 0, 1),
            (
                [
                    ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "784111787"),
                ], 0, 784_111_787
            ),
        ] as [([(String, String)], Int, Int)])
    func syntaxes(fields: [(String, String)], count: Int, seconds: Int) throws {
        let head = ResponseHead(status: 200, fields: fields.map { HTTPHeader(name: $0, value: $1) })
        #expect(ServerRate(head)?.quota == ServerRate.Quota(count: count, time: .seconds(seconds)))
    }

    @Test(
        "A large reset is a point of time, in seconds or milliseconds",
        arguments: ["1700000042", "1700000042000"])
    func pointsOfTime(reset: String) {
        let head = ResponseHead(
            status: 403,
            fields: [
                HTTPHeader(name: "Date", value: "Tue, 14 Nov 2023 22:13:20 GMT"),
                HTTPHeader(name: "X-RateLimit-Remaining", value: "0"),
                HTTPHeader(name: "X-RateLimit-Reset", value: reset),
            ])
        #expect(ServerRate(head)?.quota == ServerRate.Quota(count: 0, time: .seconds(42)))
    }

    @Test(
        "Fields that are not valid announce nothing",
        arguments: [
            ("RateLimit", ""), ("RateLimit", "a;b;c"), ("RateLimit", "limit=100"), ("RateLimit", #""x;r=1;t=2"#),
            ("RateLimit-Policy", "0;w=60"), ("RateLimit-Policy", "100;w=0"), ("RateLimit-Policy", "-5;w=-5"),
            ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "9"), ("Retry-After", "9"), ("RateLimit", ";;;==,,"),
        ])
    func invalid(name: String, value: String) {
        #expect(ServerRate(ResponseHead(status: 200, fields: [HTTPHeader(name: name, value: value)])) == nil)
    }

    @Test("Absurd values are cut: a long delay, and a quota whose pace is kept")
    func caps() throws {
        let delay = ResponseHead(status: 503, fields: [HTTPHeader(name: "Retry-After", value: "99999999999999999999")])
        #expect(try #require(ServerRate(delay)).capped(at: .seconds(300)).delay == .seconds(300))
        let quota = ResponseHead(
            status: 200, fields: [HTTPHeader(name: "RateLimit", value: #""d";r=100;t=999999999999999999"#)])
        #expect(try #require(ServerRate(quota)).capped(at: .seconds(300)).quota?.time == .seconds(300))
        let day = ResponseHead(status: 200, fields: [HTTPHeader(name: "RateLimit", value: #""d";r=86400;t=86400"#)])
        #expect(
            try #require(ServerRate(day)).capped(at: .seconds(300)).quota
                == ServerRate.Quota(count: 300, time: .seconds(300)))
    }

    // MARK: In a session

    private let clock = ManualClock()
    private let log = TransportLog()

    private func session(
        _ limiter: RateLimiter, answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) -> Session {
        log.session(
            SessionConfiguration {
                $0.clock = clock
                $0.rateLimit = limiter
            }, answering: answer)
    }

    @Test("Hops beyond the rate wait for their token, each bucket for itself")
    func hostsWait() async throws {
        let session = session(RateLimiter(.perHost, 1, per: .seconds(1))) { _, _ in .text("ok") }
        let first = await session.request("http://a/").serializingString()
        let second = await session.request("http://a/").serializingString()
        let other = await session.request("http://b/").serializingString()
        #expect(await first.response.value == "ok")
        #expect(await other.response.value == "ok")
        #expect(log.count == 2)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let response = await second.response
        #expect(response.value == "ok")
        #expect(response.metrics?.queued != nil)
    }

    @Test("After a 429 with Retry-After, the next requests wait, too")
    func requestsAfterRefusal() async throws {
        let session = session(RateLimiter(.perHost, 100, per: .seconds(1))) { _, number in
            number == 1 ? .response(429, headers: ["Retry-After": "20"]) : .text("ok")
        }
        #expect(await session.request("http://a/").serializingData().response.head?.status == 429)
        let next = await session.request("http://a/").serializingString()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(19))
        #expect(log.count == 1)
        clock.advance(by: .seconds(1))
        #expect(await next.response.value == "ok")
    }

    @Test("A request whose total timeout ends before its token fails at once")
    func deadlineBeforeToken() async throws {
        let session = session(RateLimiter(.perHost, 1, per: .seconds(60))) { _, _ in .text("ok") }
        #expect(await session.request("http://a/").serializingString().response.value == "ok")
        let late = await session.request("http://a/").timeout(.total(.seconds(5))).serializingString().response
        #expect(late.error?.code == .rateLimited)
        #expect(log.count == 1)
    }

    @Test("A request that ends while its token is taken leaves the token to the next one")
    func endedMeanwhile() async throws {
        let cancelled = Protected<DataRequest?>(nil)
        let limiter = RateLimiter(
            .by { _ in
                cancelled.withLock { $0.take() }?.cancel()
                return "one"
            }, 1, per: .seconds(60))
        let session = session(limiter) { _, _ in .text("ok") }
        let request = await session.request("http://a/")
        cancelled.withLock { $0 = request }
        #expect(await request.serializingString().response.error?.code == .cancelled)
        let next = await session.request("http://a/").timeout(.total(.seconds(5))).serializingString().response
        #expect(next.value == "ok")
    }

    @Test("Random priorities: each second admits one request, equal ones in order, and none waits for ever")
    func fairness() async throws {
        for seed in 0..<UInt64(rounds(5, nightly: 50)) {
            let (log, clock) = (TransportLog(), ManualClock())
            let limiter = RateLimiter(.perHost, 1, per: .seconds(1), burst: 1)
            let session = log.session(
                SessionConfiguration {
                    $0.clock = clock
                    $0.rateLimit = limiter
                }
            ) { _, _ in .text("ok") }
            #expect(await session.request("http://a/first").serializingString().response.value == "ok")
            var random = SeededRandom(seed: seed)
            var waiting: [(number: Int, priority: RequestPriority)] = []
            var tasks: [DataTask<String>] = []
            /// The number of requests of higher priorities that were served while requests of a priority waited.
            var passedOver: [RequestPriority: Int] = [:]
            var next = 0
            while next < 40 || !waiting.isEmpty {
                while next < 40, waiting.isEmpty || !random.once(in: 3) {
                    // Many have a high priority, so that the others need their turn.
                    let priority = random.once(in: 4) ? RequestPriority.low : random.once(in: 3) ? .normal : .high
                    let request = await session.request("http://a/\(next)").priority(priority)
                    tasks.append(request.serializingString())
                    waiting.append((next, priority))
                    next += 1
                    let count = waiting.count
                    await poll { limiter.waitingCount == count }
                }
                let (before, rest) = (log.count, waiting.count - 1)
                await clock.waitForSleepers()
                clock.advance(by: .seconds(1))
                await poll { log.count > before && limiter.waitingCount == rest }
                let served = try #require(log.requests.last.flatMap { Int($0.url.path.dropFirst()) })
                let index = try #require(waiting.firstIndex { $0.number == served }, "seed \(seed)")
                let entry = waiting.remove(at: index)
                #expect(!waiting.contains { $0.priority == entry.priority && $0.number < served }, "seed \(seed)")
                passedOver[entry.priority] = 0
                for lower in RequestPriority.allCases where lower < entry.priority {
                    guard waiting.contains(where: { $0.priority == lower }) else { continue }
                    passedOver[lower, default: 0] += 1
                    #expect(passedOver[lower, default: 0] <= 10, "seed \(seed)")
                }
            }
            for task in tasks { #expect(await task.response.value == "ok") }
        }
    }

    @Test("A closure's key or the session chooses the bucket")
    func keys() async throws {
        let limiter = RateLimiter(.by { $0.url.path == "/free" ? nil : "one" }, 1, per: .seconds(60))
        let session = session(limiter) { _, _ in .text("ok") }
        for url in ["http://a/free", "http://b/free", "http://a/x"] {
            #expect(await session.request(url).serializingString().response.value == "ok")
        }
        let request = await session.request("http://b/y")
        let waiting = request.serializingString()
        await clock.waitForSleepers()
        #expect(limiter.waitingCount == 1)
        request.cancel()
        #expect(await waiting.response.error?.code == .cancelled)
        #expect(limiter.waitingCount == 0)

        let perSession = RateLimiter(.perSession, 1, per: .seconds(60))
        for _ in 0..<2 {
            let session = self.session(perSession) { _, _ in .text("ok") }
            #expect(await session.request("http://a/").serializingString().response.value == "ok")
        }
    }

    @Test(
        "A rate that is not valid fails every request with .invalidLimit",
        arguments: [
            RateLimiter(.perHost, 0, per: .seconds(1)), RateLimiter(.perHost, -5, per: .seconds(1)),
            RateLimiter(.perHost, 5, per: .zero),
            RateLimiter(.perHost, 5, per: .seconds(-1)), RateLimiter(.perHost, 5, per: .seconds(1), burst: 0),
        ])
    func invalidRates(limiter: RateLimiter) async {
        let session = session(limiter) { _, _ in .text("ok") }
        #expect(await session.request("http://a/").serializingData().response.error?.code == .invalidLimit)
    }
}
