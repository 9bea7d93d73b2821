import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The retry budget", .limited)
struct RetryBudgetTests {
    private let log = TransportLog()
    private let clock = ManualClock()
    private static let atOnce = RetryPolicy(limit: 5, backoff: .init(scale: .zero))

    private func account(_ ratio: Double, minimum: Int = 0, lifetime: Duration = .seconds(10)) -> RetryAccount {
        RetryAccount(RetryBudget(ratio: ratio, minimumPerSecond: minimum, lifetime: lifetime), on: clock)
    }

    private func withdrawals(_ account: RetryAccount) -> Int {
        (0..<10_000).prefix { _ in account.withdraw() }.count
    }

    // MARK: The account

    @Test(
        "So many first attempts allow their part of retries, and not one more",
        arguments: [
            (0.1, 9, 0), (0.1, 10, 1), (0.1, 1_000, 100), (0.25, 7, 1), (1, 5, 5), (3, 4, 12), (0, 1_000, 0),
            (-1, 1_000, 0), (.nan, 1_000, 0), (.infinity, 1_000, 0),
        ])
    func deposits(ratio: Double, attempts: Int, retries: Int) {
        let account = account(ratio)
        for _ in 0..<attempts { account.add() }
        #expect(withdrawals(account) == retries)
    }

    @Test("The free ones come again evenly within a second, and are not saved up", arguments: [1, 3, 10])
    func free(minimum: Int) {
        let account = account(0, minimum: minimum)
        #expect(withdrawals(account) == minimum)
        clock.advance(by: .seconds(1) / minimum)
        #expect(withdrawals(account) == 1)
        clock.advance(by: .seconds(3_600))
        #expect(withdrawals(account) == minimum)
    }

    @Test("A deposit is gone when its lifetime is over, and what was used is what would have gone first")
    func lifetime() {
        let account = account(1)
        for _ in 0..<3 { account.add() }
        clock.advance(by: .seconds(5))
        for _ in 0..<4 { account.add() }
        #expect(account.withdraw())
        clock.advance(by: .seconds(5))
        #expect(withdrawals(account) == 4)
        for _ in 0..<4 { account.add() }
        clock.advance(by: .seconds(11))
        #expect(withdrawals(account) == 0)
        account.add()
        clock.advance(by: .seconds(86_400_000))
        #expect(withdrawals(account) == 0)
    }

    @Test("Numbers that make no sense are no budget, or a large one, but never a trap")
    func nonsense() {
        for lifetime in [Duration.zero, .seconds(-1), .seconds(Int64.max)] {
            let account = account(.greatestFiniteMagnitude, minimum: .max, lifetime: lifetime)
            for _ in 0..<100 { account.add() }
            #expect(account.withdraw())
            clock.advance(by: .seconds(1_000_000))
        }
        #expect(withdrawals(account(0, minimum: -5)) == 0)
    }

    // MARK: Sessions

    /// A session on the test's clock whose server fails every request.
    private func failing(
        _ interceptor: any RequestInterceptor = atOnce, budget: RetryBudget? = RetryBudget()
    ) -> Session {
        log.session(SessionConfiguration { ($0.clock, $0.retryBudget) = (clock, budget) }, interceptor: interceptor) {
            _, _ in .failure(.connectionLost)
        }
    }

    private func storm(_ session: Session, requests: Int) async -> [RequestError] {
        await withTaskGroup(of: RequestError?.self) { group in
            for _ in 0..<requests {
                group.addTask { await session.request("http://h/").serializingData().response.error }
            }
            return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
        }
    }

    @Test("A server that fails every request gets a tenth more of them, and the few that are free")
    func storm() async {
        let errors = await storm(failing(), requests: 500)
        #expect(errors.count == 500 && errors.allSatisfy { $0.code == .connectionLost })
        let refused = errors.filter { $0.retryRefusal?.contains("budget") == true }
        #expect(refused.count > 400)
        #expect(log.count > 500 + 50 && log.count <= 500 + 50 + 10)
    }

    @Test("A request allows its part once, however many policies it meets")
    func severalPolicies() async {
        let twice = Interceptor(interceptors: [Self.atOnce, Self.atOnce])
        _ = await storm(failing(twice, budget: RetryBudget(ratio: 1, minimumPerSecond: 0)), requests: 1)
        #expect(log.count == 2)
    }

    @Test("Without a budget every request has all its retries")
    func unlimited() async {
        let errors = await storm(failing(budget: nil), requests: 50)
        #expect(errors.allSatisfy { $0.retryRefusal == nil })
        #expect(log.count == 300)
    }

    @Test("A child shares its parent's budget, unless it has one of its own")
    func children() async {
        let parent = failing(budget: RetryBudget(ratio: 0, minimumPerSecond: 5))
        var counts: [Int] = []
        for session in [
            parent, parent.extending { $0.headers = [:] },
            parent.extending { $0.retryBudget = RetryBudget(ratio: 0, minimumPerSecond: 2) },
        ] {
            let before = log.count
            _ = await storm(session, requests: 1)
            counts.append(log.count - before)
        }
        #expect(counts == [6, 1, 3])
    }

    @Test("A repetition by the transport within a hop counts as a retry", arguments: [(0, 4), (1, 2), (9, 1)])
    func repetitions(each count: Int, attempts: Int) async {
        let hops = Protected(0)
        let transport = StartingTransport { hop in
            hops.withLock { $0 += 1 }
            var metrics = TransportMetrics()
            metrics.repetitions = count
            hop.receive(.metrics(metrics), .completed(TransportError(.connectionLost)))
        }
        let budget = RetryBudget(ratio: 0, minimumPerSecond: 3)
        let configuration = SessionConfiguration { ($0.clock, $0.retryBudget) = (clock, budget) }
        let session = Session(configuration: configuration, transport: transport, interceptor: Self.atOnce)
        let error = await session.request("http://h/").serializingData().response.error
        #expect(error?.retryRefusal?.contains("budget") == true)
        #expect(hops.withLock { $0 } == attempts)
    }

    @Test("Only first attempts deposit, and only where there is a policy")
    func depositing() async throws {
        let budget = RetryBudget(ratio: 1, minimumPerSecond: 0)
        let session = log.session(
            SessionConfiguration { ($0.clock, $0.retryBudget) = (clock, budget) }, interceptor: nil
        ) { _, number in number % 2 == 0 ? .failure(.connectionLost) : .text("") }
        let account = try #require(session.context.retryAccount)
        _ = await session.request("http://h/").serializingData().response
        #expect(!account.withdraw(), "nobody asked for retries")
        let request = await session.request("http://h/", interceptor: Self.atOnce)
        #expect(await request.serializingData().response.error == nil)
        #expect(request.retryCount == 1, "the deposit is used up by the retry")
        #expect(!account.withdraw())
    }
}
