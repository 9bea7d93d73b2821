import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Whole requests at the same time, in random order: attempts, refusals, refreshes, delays, deadlines and cancels, over
/// a transport without a network and on a clock that moves only when the test advances it.
@Suite("Random interleavings of complete requests", .limited)
struct InterleavingTests {
    static let count = rounds(1_000, nightly: 10_000)
    static let lanes = 4

    @Test("R4: each is answered exactly once, within its limits, and nothing is left", arguments: 0..<lanes)
    func interleavings(lane: Int) async throws {
        var ends: [String: Int] = [:]
        for seed in stride(from: lane, to: Self.count, by: Self.lanes) {
            let world = PlayedWorld(seed: UInt64(seed))
            let faults = await world.run()
            try #require(faults.isEmpty, "seed \(seed): \(faults)")
            ends.merge(world.ends, uniquingKeysWith: +)
        }
        guard Self.count >= 1_000 else { return }  // fewer do not cover every end
        for end in ["success", "cancelled", "timedOut", "unacceptableStatus", "connectionLost", "authentication"] {
            #expect(ends[end, default: 0] > Self.count / 500, "the mix covers every end: \(ends)")
        }
    }
}

/// One session with a few requests, and random actions on them.
private final class PlayedWorld: Sendable {
    private static let retries = 2
    /// The additional attempts that refused credentials may cause: see `AuthenticationInterceptor`.
    private static let refusals = 2

    private struct Played: Sendable {
        let request: DataRequest
        let task: DataTask<String>
        let total: Duration?
        let answers = Counter()
    }

    private let clock = ManualClock()
    private let chance: Protected<SeededRandom>
    /// Whether no step of the requests needs a task, as long as nothing fails.
    private let isPlain: Bool
    private let refreshes = Counter()
    private let outcome = Protected<[String: Int]>([:])

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        isPlain = random.once(in: 3)
        chance = Protected(random)
    }

    /// How the requests ended.
    var ends: [String: Int] { outcome.withLock { $0 } }

    private func draw(_ range: ClosedRange<Int>) -> Int { chance.withLock { Int.random(in: range, using: &$0) } }

    /// Plays to the end, and returns the faults.
    func run() async -> [String] {
        weak var gone: Session?
        var faults: [String] = []
        do {
            let session = makeSession()
            gone = session
            let played = await start(session)
            await play(played)
            for one in played { faults += await check(one) }
            await poll { await session.requests.isEmpty }
        }
        // A finished or cancelled request still unwinds for a moment.
        await poll { gone == nil }
        await clock.waitForNoSleepers()
        return faults
    }

    private func makeSession() -> Session {
        isPlain ? Session(configuration: configuration, transport: transport) : makeGuardedSession()
    }

    private var transport: StubTransport { StubTransport(clock: clock) { self.answer($0) } }

    private var configuration: SessionConfiguration {
        SessionConfiguration {
            $0.headers = [:]
            $0.validation = [.standard]
            $0.clock = clock
            $0.random = RandomSource { self.chance.withLock { $0.next() } }
        }
    }

    private func makeGuardedSession() -> Session {
        let tokens = Keys(
            KeyAuthenticator { _, _ in try await self.renew() }, credential: draw(0...1) == 0 ? .old : .revoked,
            refreshTimeout: .seconds(30), clock: clock)
        return Session(
            configuration: configuration, transport: transport,
            interceptor: .composed(.authentication(tokens), .retry(limit: Self.retries)))
    }

    private func renew() async throws -> Key {
        refreshes.increment()
        switch draw(0...5) {
        case 0: throw ForeignError()
        case 1: try await clock.sleep(for: .seconds(3_600))
        case 2, 3: try await clock.sleep(for: .seconds(draw(1...5)))
        default: break
        }
        return .new
    }

    private func answer(_ request: TransportRequest) -> StubAnswer {
        switch draw(0...9) {
        case 0: .text("busy", status: 503)
        case 1: .failure(.connectionLost)
        case 2: (isPlain ? .text("ok") : StubAnswer.guarding(request)).after(.seconds(draw(1...8)))
        case 3: StubAnswer([.stall])
        case 4 where request.url.path == "/": .redirect(to: "/there")
        default: isPlain ? .text("ok") : .guarding(request)
        }
    }

    private func start(_ session: Session) async -> [Played] {
        var played: [Played] = []
        for _ in 0..<draw(1...4) where isPlain {
            let request = await session.request("http://example.com/")
            let one = Played(request: request, task: request.serializingString(), total: nil)
            Task {
                _ = await one.task.response
                one.answers.increment()
            }
            played.append(one)
        }
        for _ in 0..<draw(1...4) where !isPlain {
            let total: Duration? = draw(0...2) == 0 ? .seconds(draw(1...20)) : nil
            let request = await session.request("http://example.com/", method: draw(0...3) == 0 ? .post : .get)
            if let total { request.timeout(.total(total)) }
            if draw(0...3) == 0 { request.timeout(.attempt(.seconds(draw(1...10)))) }
            let one = Played(request: request, task: request.serializingString(), total: total)
            request.responseString { _ in one.answers.increment() }
            played.append(one)
        }
        return played
    }

    /// Advances the clock, cancels, and yields to other tasks, so that each seed interleaves them in another way. A
    /// request that is left at the end waits for a silent peer, and is cancelled.
    private func play(_ played: [Played]) async {
        for _ in 0..<draw(4...20) {
            switch draw(0...9) {
            case 0...3: clock.advance(by: .milliseconds(draw(100...4_000)))
            case 4 where draw(0...2) == 0: played[draw(0...played.count - 1)].request.cancel()
            case 5 where draw(0...2) == 0: played[draw(0...played.count - 1)].task.cancel()
            default: await Task.yield()
            }
        }
        for one in played where draw(0...1) == 0 { one.request.cancel() }
        var rounds = 0
        await poll {
            for _ in 0..<40 where played.contains(where: { $0.answers.value == 0 }) {
                clock.advance(by: .seconds(10))
                await Task.yield()
            }
            rounds += 1
            if rounds == 5 { for one in played { one.request.cancel() } }
            return played.allSatisfy { $0.answers.value > 0 }
        }
    }

    private func check(_ one: Played) async -> [String] {
        var faults: [String] = []
        let response = await one.task.response
        let attempts = one.request.attempts
        if one.answers.value != 1 { faults.append("a closure was answered \(one.answers.value) times") }
        if attempts.count > 1 + Self.retries + Self.refusals { faults.append("\(attempts.count) attempts") }
        if let total = one.total, attempts.compactMap(\.delay).reduce(.zero, +) >= total {
            faults.append("a delay was begun that could not end in time")
        }
        if case .success(let text) = response.result, text != "ok" { faults.append("answered \(text)") }
        if one.request.status != .finished, one.request.status != .cancelled { faults.append("\(one.request.status)") }
        let end =
            response.error.map { $0.authenticationError == nil ? $0.code.rawValue : "authentication" } ?? "success"
        outcome.withLock { $0[end, default: 0] += 1 }
        return faults
    }
}
