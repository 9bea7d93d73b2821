import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Circuit breakers", .limited)
struct CircuitBreakerTests {
    private static let rule = BreakerRule(
        failureRate: 0.5, minimumCount: 4, window: .seconds(10), pause: .seconds(5), probes: 2)

    // MARK: The table

    /// One row of the state machine: a phase, an outcome of a request of this phase, and the phase after it.
    private struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let before: [BreakerState.Outcome]
        let outcome: BreakerState.Outcome
        let after: BreakerState.Phase

        var testDescription: String { name }
    }

    private static let rows = [
        Row(name: "closed, too few outcomes", before: [.failure, .failure], outcome: .failure, after: .closed),
        Row(
            name: "closed, enough failures", before: [.success, .success, .failure], outcome: .failure,
            after: .open(until: .seconds(5))),
        Row(
            name: "closed, enough successes", before: [.success, .success, .success], outcome: .failure, after: .closed),
        Row(
            name: "closed, a success never opens", before: [.failure, .failure, .failure], outcome: .success,
            after: .closed),
        Row(
            name: "closed, neutral outcomes do not count", before: [.failure, .neutral, .neutral, .failure],
            outcome: .failure, after: .closed),
    ]

    @Test("A closed circuit opens at the rate of failures", arguments: rows)
    private func closed(row: Row) throws {
        var state = BreakerState()
        for outcome in row.before + [row.outcome] {
            guard case .send(let ticket) = state.admit(at: .zero, Self.rule) else {
                Issue.record("the circuit is open")
                return
            }
            state.record(outcome, ticket, at: .zero, Self.rule)
        }
        #expect(state.phase == row.after)
    }

    private func opened() -> BreakerState {
        var state = BreakerState()
        for _ in 0..<4 {
            guard case .send(let ticket) = state.admit(at: .zero, Self.rule) else { break }
            state.record(.failure, ticket, at: .zero, Self.rule)
        }
        return state
    }

    @Test("An open circuit refuses until its pause is over, then sends probes, and closes after enough successes")
    func probes() throws {
        var state = opened()
        #expect(state.phase == .open(until: .seconds(5)))
        let early = state.admit(at: .seconds(2), Self.rule)
        #expect(early == .refuse(wait: .seconds(3)))
        guard case .send(let first) = state.admit(at: .seconds(5), Self.rule),
            case .send(let second) = state.admit(at: .seconds(5), Self.rule)
        else {
            Issue.record("no probe is sent")
            return
        }
        let third = state.admit(at: .seconds(5), Self.rule)
        #expect(third == .refuse(wait: .zero))
        state.record(.success, first, at: .seconds(6), Self.rule)
        #expect(state.phase == .halfOpen(running: 1, succeeded: 1))
        state.record(.success, second, at: .seconds(6), Self.rule)
        #expect(state.phase == .closed)
    }

    @Test("If no probe ends, another one is sent after each pause")
    func lostProbes() {
        var state = opened()
        for time in [5, 5, 10, 15] {
            guard case .send = state.admit(at: .seconds(time), Self.rule) else {
                Issue.record("no probe is sent at \(time) s")
                return
            }
        }
        let next = state.admit(at: .seconds(16), Self.rule)
        #expect(next == .refuse(wait: .zero))
        #expect(!state.isIdle(at: .seconds(29), Self.rule))
        #expect(state.isIdle(at: .seconds(30), Self.rule))
    }

    @Test("A probe that fails opens the circuit again; one without an outcome leaves its place to another")
    func failedProbe() {
        var state = opened()
        guard case .send(let first) = state.admit(at: .seconds(5), Self.rule) else {
            Issue.record("no probe is sent")
            return
        }
        state.record(.neutral, first, at: .seconds(5), Self.rule)
        #expect(state.phase == .halfOpen(running: 0, succeeded: 0))
        guard case .send(let second) = state.admit(at: .seconds(5), Self.rule) else {
            Issue.record("no probe is sent")
            return
        }
        state.record(.failure, second, at: .seconds(6), Self.rule)
        #expect(state.phase == .open(until: .seconds(11)))
    }

    @Test("A circuit that is opened by hand ignores its probe; a shorter pause changes nothing, and a longer one does")
    func openedByHand() {
        var state = opened()
        guard case .send(let probe) = state.admit(at: .seconds(5), Self.rule) else {
            Issue.record("no probe is sent")
            return
        }
        state.open(until: .seconds(9))
        #expect(state.phase == .open(until: .seconds(9)))
        state.record(.success, probe, at: .seconds(6), Self.rule)
        state.open(until: .seconds(8))
        #expect(state.phase == .open(until: .seconds(9)))
        state.open(until: .seconds(20))
        #expect(state.phase == .open(until: .seconds(20)))
        state.close()
        #expect(state.phase == .closed)
    }

    @Test("To close a closed circuit keeps its outcomes")
    func closedByHand() {
        var state = BreakerState()
        for count in 1...4 {
            guard case .send(let ticket) = state.admit(at: .zero, Self.rule) else { break }
            state.record(.failure, ticket, at: .zero, Self.rule)
            if count < 4 { state.close() }
        }
        #expect(state.phase == .open(until: .seconds(5)))
    }

    @Test("Outcomes of requests from an earlier phase are ignored, and old outcomes expire")
    func lateOutcomes() {
        var state = BreakerState()
        guard case .send(let slow) = state.admit(at: .zero, Self.rule) else { return }
        for _ in 0..<4 {
            guard case .send(let ticket) = state.admit(at: .zero, Self.rule) else { break }
            state.record(.failure, ticket, at: .zero, Self.rule)
        }
        state.record(.success, slow, at: .zero, Self.rule)
        #expect(state.phase == .open(until: .seconds(5)))

        var other = BreakerState()
        for time in [0, 0, 0, 20] {
            guard case .send(let ticket) = other.admit(at: .seconds(time), Self.rule) else { break }
            other.record(.failure, ticket, at: .seconds(time), Self.rule)
        }
        #expect(other.phase == .closed)
        #expect(other.isIdle(at: .seconds(60), Self.rule))
    }

    @Test("Random outcomes: the phase follows a plain model")
    func model() {
        for seed in 0..<UInt64(rounds(200, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let rule = BreakerRule(
                failureRate: 0.5, minimumCount: 3, window: .seconds(1_000_000), pause: .seconds(5), probes: 1)
            var (state, now) = (BreakerState(), 0)
            var running: [(BreakerState.Ticket, era: Int)] = []
            // The model: the outcomes since the circuit closed, or the time at which it may be tried
            // again, and the time of the last probe, after which another one may be sent in case it is lost.
            var (outcomes, openUntil, lastProbe, era): ([Bool], Int?, Int?, Int) = ([], nil, nil, 0)
            for step in 0..<50 {
                now += Int.random(in: 0...2, using: &random)
                if random.once(in: 2) {
                    let verdict = state.admit(at: .seconds(now), rule)
                    let isAllowed = openUntil.map { now >= lastProbe.map { $0 + 5 } ?? $0 } ?? true
                    guard case .send(let ticket) = verdict else {
                        guard !isAllowed else {
                            Issue.record("seed \(seed), step \(step): refused wrongly")
                            return
                        }
                        continue
                    }
                    guard isAllowed else {
                        Issue.record("seed \(seed), step \(step): sent wrongly")
                        return
                    }
                    if openUntil != nil {
                        if lastProbe == nil { era += 1 }
                        lastProbe = now
                    }
                    running.append((ticket, era))
                } else if let index = running.indices.randomElement(using: &random) {
                    let (ticket, ticketEra) = running.remove(at: index)
                    // The table above covers probes without an outcome.
                    let possible: [BreakerState.Outcome] =
                        openUntil == nil ? [.success, .failure, .neutral] : [.success, .failure]
                    let outcome = possible.randomElement(using: &random) ?? .failure
                    state.record(outcome, ticket, at: .seconds(now), rule)
                    guard ticketEra == era else { continue }
                    switch (outcome, openUntil) {
                    case (.neutral, _): break
                    case (_, _?):
                        (lastProbe, era) = (nil, era + 1)
                        openUntil = outcome == .failure ? now + 5 : nil
                        outcomes = []
                    case (_, nil):
                        outcomes.append(outcome == .success)
                        let failures = outcomes.count { !$0 }
                        if outcome == .failure, outcomes.count >= 3, 2 * failures >= outcomes.count {
                            (openUntil, outcomes, era) = (now + 5, [], era + 1)
                        }
                    }
                }
            }
        }
    }

    // MARK: In a session

    private let clock = ManualClock()
    private let log = TransportLog()

    @Test("A server that fails is left alone for a while, and tried again")
    func session() async throws {
        let breaker = CircuitBreaker(minimumCount: 3, pause: .seconds(10))
        let isUp = Protected(false)
        let session = log.session(
            SessionConfiguration {
                $0.clock = clock
                $0.middleware = [breaker]
            }
        ) { request, _ in
            request.url.host == "bad" && !isUp.withLock { $0 } ? .text("no", status: 503) : .text("ok")
        }
        var changes = breaker.changes.makeAsyncIterator()
        for _ in 0..<3 {
            #expect(await session.request("http://bad/").serializingString().response.head?.status == 503)
        }
        #expect(await changes.next()?.state == .open(.seconds(10)))
        clock.advance(by: .seconds(4))
        #expect(breaker.state(of: "http://bad/x") == .open(.seconds(6)))
        let error = try #require(await session.request("http://bad/").serializingString().response.error)
        #expect(error.code == .circuitOpen)
        #expect((error.underlying as? CircuitOpen)?.retryAfter == .seconds(6))
        #expect(log.count == 3)
        #expect(await session.request("http://good/").serializingString().response.value == "ok")

        clock.advance(by: .seconds(6))
        isUp.withLock { $0 = true }
        #expect(await session.request("http://bad/").serializingString().response.value == "ok")
        #expect(breaker.state(of: "http://bad/") == .closed)
        #expect(await changes.next()?.state == .halfOpen)
        #expect(await changes.next()?.state == .closed)
    }

    @Test("A circuit is opened and closed by hand, also before the first request")
    func byHand() async throws {
        let breaker = CircuitBreaker(pause: .seconds(10))
        let session = log.session(
            SessionConfiguration {
                $0.clock = clock
                $0.middleware = [breaker]
            }
        ) { _, _ in .text("ok") }
        var changes = breaker.changes.makeAsyncIterator()
        #expect(breaker.pause == .seconds(10))
        breaker.open("http://h")
        #expect(await changes.next() == .init(origin: try "http://h".asRequestURL().origin, state: .open(.seconds(10))))
        let error = await session.request("http://h/").serializingString().response.error
        let wait = try #require((error?.underlying as? CircuitOpen)?.retryAfter)
        #expect(wait > .seconds(5) && wait <= .seconds(10), "the time before the first request counts too")
        breaker.close("http://h")
        #expect(await changes.next()?.state == .closed)
        breaker.open("http://h/x")
        #expect(await changes.next()?.state == .open(.seconds(10)))
        clock.advance(by: .seconds(8))
        breaker.open("http://h", for: .seconds(1))
        #expect(breaker.state(of: "http://h/") == .open(.seconds(2)))
        breaker.open("http://h", for: .seconds(30))
        #expect(await changes.next()?.state == .open(.seconds(30)))
        breaker.close("http://h")
        #expect(await changes.next()?.state == .closed)
        #expect(await session.request("http://h/").serializingString().response.value == "ok")
        breaker.open("http://h", for: .seconds(-1))
        #expect(breaker.state(of: "http://h/") == .open(.milliseconds(10)))
        for url in ["/relative", ""] {
            breaker.open(url)
            breaker.close(url)
            #expect(breaker.state(of: url) == .closed)
        }
    }

    @Test("Network failures count, and cancelled requests do not")
    func judged() async {
        let breaker = CircuitBreaker(minimumCount: 2)
        let session = log.session(SessionConfiguration { $0.middleware = [breaker] }) { request, _ in
            request.url.path == "/lost" ? .failure(.connectionLost) : StubAnswer([.stall])
        }
        for _ in 0..<4 {
            let request = await session.request("http://h/stall")
            let task = request.serializingData()
            await poll { request.request != nil }
            request.cancel()
            _ = await task.response
        }
        #expect(breaker.state(of: "http://h/") == .closed)
        for _ in 0..<2 {
            #expect(await session.request("http://h/lost").serializingData().response.error?.code == .connectionLost)
        }
        #expect(await session.request("http://h/lost").serializingData().response.error?.code == .circuitOpen)
    }

    @Test("Values that are not valid are changed to valid ones")
    func absurdValues() async {
        let breaker = CircuitBreaker(
            failureRate: .nan, minimumCount: -1, window: .seconds(-1), pause: .seconds(Int64.max), probes: 0)
        let session = log.session(SessionConfiguration { $0.middleware = [breaker] }) { _, _ in .text("no", status: 500)
        }
        _ = await session.request("http://h/").serializingData().response
        #expect(await session.request("http://h/").serializingData().response.error?.code == .circuitOpen)
    }
}
