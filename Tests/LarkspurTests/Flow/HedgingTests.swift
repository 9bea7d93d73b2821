import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Hedging", .limited)
struct HedgingTests {
    private let clock = ManualClock()
    private let base = HeldTransport()

    private func transport(_ delay: HedgingTransport.Delay = .duration(.seconds(1)), atMost: Double = 1)
        -> HedgingTransport
    {
        HedgingTransport(base, after: delay, atMost: atMost, clock: clock)
    }

    @Test("The second request is sent after the delay, and the first answer is taken", arguments: [true, false])
    func race(hedgeWins: Bool) async throws {
        var hops = base.hops
        let transport = transport()
        let session = Session(transport: transport)
        let task = await session.request("http://h/").serializingString()
        let first = try #require(await hops.next())
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let second = try #require(await hops.next())
        (hedgeWins ? second : first).answer(200, body: "won")
        (hedgeWins ? first : second).answer(200, body: "lost")
        let response = await task.response
        #expect(response.value == "won")
        #expect(response.attempts.count == 1)
        #expect(response.metrics?.hedge == HedgeRecord(after: .seconds(1), hasWon: hedgeWins))
        #expect(transport.statistics.hedged == 1)
        #expect(transport.statistics.won == (hedgeWins ? 1 : 0))
    }

    @Test("An answer before the delay needs no second request")
    func fast() async throws {
        var hops = base.hops
        let session = Session(transport: transport())
        let task = await session.request("http://h/").serializingString()
        try #require(await hops.next()).answer(200, body: "ok")
        #expect(await task.response.value == "ok")
        await clock.waitForNoSleepers()
    }

    @Test("If one request fails, the other decides; if both fail, the first error is the hop's")
    func failures() async throws {
        var hops = base.hops
        let session = Session(transport: transport())
        for bothFail in [false, true] {
            let task = await session.request("http://h/").serializingString()
            let first = try #require(await hops.next())
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            let second = try #require(await hops.next())
            first.finish(TransportError(.connectionLost))
            if bothFail { second.finish(TransportError(.timedOut)) } else { second.answer(200, body: "ok") }
            let response = await task.response
            #expect(response.value == (bothFail ? nil : "ok"))
            #expect(response.error?.code == (bothFail ? .connectionLost : nil))
        }
    }

    @Test("A failure before the delay is the hop's, without a second request")
    func earlyFailure() async throws {
        var hops = base.hops
        let session = Session(transport: transport())
        let task = await session.request("http://h/").serializingString()
        try #require(await hops.next()).finish(TransportError(.connectionLost))
        #expect(await task.response.error?.code == .connectionLost)
    }

    @Test("A cancelled hop cancels both requests")
    func cancellation() async throws {
        var hops = base.hops
        let session = Session(transport: transport())
        let request = await session.request("http://h/")
        let task = request.serializingString()
        _ = try #require(await hops.next())
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        _ = try #require(await hops.next())
        request.cancel()
        #expect(await task.response.error?.code == .cancelled)
    }

    @Test("A POST, a stream and a request without a budget are sent once")
    func notHedged() async throws {
        func isHedged(_ transport: HedgingTransport, _ method: String, _ body: TransportBody = .none) throws -> Bool {
            let request = TransportRequest(method: method, url: try RequestURL("http://h/"), body: body)
            return transport.task(for: request, id: TransportTaskID(1), delegate: IgnoringDelegate()) is HedgedTask
        }
        #expect(try isHedged(transport(), "GET"))
        #expect(try isHedged(transport(), "PUT", .data(Data([1]))))
        #expect(try !isHedged(transport(), "POST"))
        let body = TransportBody.stream(
            TransportBodySource(length: nil, isReplayable: true) { TransportBody.none.open() })
        #expect(try !isHedged(transport(), "PUT", body))
        #expect(try !isHedged(transport(atMost: 0), "GET"))
        #expect(try !isHedged(transport(atMost: -.infinity), "GET"))
        #expect(try !isHedged(transport(atMost: .nan), "GET"))
    }

    @Test("The budget limits the second requests to a fraction of all")
    func budget() throws {
        let transport = transport(atMost: 0.05)
        let origin = try RequestURL("http://h/").origin
        var hedged = 0
        for _ in 0..<1_000 {
            _ = transport.begin(origin)
            if transport.withdraw() { hedged += 1 }
        }
        #expect(hedged == 50)
    }

    @Test("A second request that is not needed any more is not counted")
    func notCounted() async throws {
        let first = Protected<HeldHop?>(nil)
        // The first request is answered while the second one is being made.
        let made: @Sendable (HeldHop) -> Void = { hop in
            let before = first.withLock { known -> HeldHop? in
                defer { known = hop }
                return known
            }
            before?.answer(200, body: "ok")
        }
        let base = StartingTransport(make: made, start: { _ in })
        let transport = HedgingTransport(base, after: .duration(.seconds(1)), atMost: 1, clock: clock)
        let task = await Session(transport: transport).request("http://h/").serializingString()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let response = await task.response
        #expect(response.value == "ok")
        #expect(response.metrics?.hedge == nil)
        await poll { transport.statistics.hedged == 0 }
    }

    @Test("Random events of both requests: the hop has the outcome of a plain model")
    func model() {
        for seed in 0..<UInt64(rounds(500, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let delegate = IgnoringDelegate()
            let legs = [1, 2].map { HeldHop(TransportTaskID($0), delegate) { _ in } }
            var state = HedgedState(delegate: delegate, allowed: 0)
            state.first = legs[0]
            _ = state.resume()
            var scripts = (0...1).map { Self.script(of: $0, &random) }
            var (model, delivered) = (Model(), [TransportEvent]())
            while !scripts[0].isEmpty || !scripts[1].isEmpty && model.isHedged {
                if !model.isHedged, random.once(in: 4) {
                    let isKept = state.hedge(legs[1], after: .seconds(1))
                    #expect(isKept == model.mayHedge, "seed \(seed)")
                    if isKept { model.isHedged = true }
                }
                if random.once(in: 20), !model.isCancelled {
                    #expect(state.cancel().count == model.legsInFlight, "seed \(seed)")
                    model.isCancelled = true
                    for leg in 0...1 where !scripts[leg].isEmpty {
                        // The metrics may have come already.
                        let metrics = scripts[leg].dropLast().suffix(1)
                        scripts[leg] = metrics + [.completed(TransportError(.cancelled))]
                    }
                }
                let leg = scripts[0].isEmpty || model.isHedged && !scripts[1].isEmpty && random.once(in: 2) ? 1 : 0
                guard !scripts[leg].isEmpty, leg == 0 || model.isHedged else { break }
                let event = scripts[leg].removeFirst()
                let step = state.receive(event, from: leg == 0 ? .first : .second)
                let loser = model.receive(event, from: leg)
                #expect(step.loser === loser.map { legs[$0] }, "seed \(seed)")
                guard step.delivers else { continue }
                while let (event, _) = state.nextEvent() { delivered.append(event) }
            }
            #expect(delivered.map(Self.summary) == model.delivered.map(Self.summary), "seed \(seed)")
        }
    }

    /// The events of one request: a failure before its head, or a head with some bytes and an end.
    private static func script(of leg: Int, _ random: inout SeededRandom) -> [TransportEvent] {
        let fails = random.once(in: 3)
        let error: TransportError? = fails ? TransportError(leg == 0 ? .connectionLost : .timedOut) : nil
        let end: [TransportEvent] = [.metrics(TransportMetrics()), .completed(error)]
        if fails, random.once(in: 2) { return end }
        let bytes = (0..<Int.random(in: 0...3, using: &random)).map {
            TransportEvent.body(Data([UInt8(leg), UInt8($0)]))
        }
        return [.head(ResponseHead(status: 200 + leg))] + bytes + end
    }

    private static func summary(_ event: TransportEvent) -> String {
        switch event {
        case .head(let head): "head \(head.status)"
        case .body(let bytes): "body \(Array(bytes))"
        case .metrics: "metrics"
        case .completed(let error): "completed \(error.map { "\($0.code)" } ?? "")"
        default: "other"
        }
    }

    /// The first head decides. Without a head, the last failure ends the hop, with the error of the first request.
    private struct Model {
        var isHedged = false
        var isCancelled = false
        var delivered: [TransportEvent] = []
        private var winner: Int?
        private var failures: [TransportError?] = [nil, nil]
        private var isOver = false

        var mayHedge: Bool { winner == nil && failures[0] == nil && !isCancelled && !isOver }
        var legsInFlight: Int { isOver ? 0 : isHedged ? 2 : 1 }

        /// Returns the request to cancel.
        mutating func receive(_ event: TransportEvent, from leg: Int) -> Int? {
            guard !isOver, winner == nil || winner == leg else { return nil }
            switch event {
            case .head:
                winner = leg
                delivered.append(event)
                return isHedged ? 1 - leg : nil
            case .completed(let error):
                failures[leg] = error
                let isLast = winner != nil || isCancelled || !isHedged || failures[1 - leg] != nil
                guard isLast else { return nil }
                isOver = true
                delivered += [
                    .metrics(TransportMetrics()), .completed(winner != nil || isCancelled ? error : failures[0]),
                ]
            case .metrics: break  // delivered with the end
            default: delivered.append(event)
            }
            return nil
        }
    }

    @Test("A percentile needs enough responses, and follows the latest ones")
    func percentiles() {
        var latencies = Latencies()
        for number in 1..<Latencies.minimum { latencies.add(.milliseconds(number)) }
        #expect(latencies.percentile(0.95) == nil)
        latencies.add(.milliseconds(20))
        #expect(latencies.percentile(0.95) == .milliseconds(20))
        #expect(latencies.percentile(0.5) == .milliseconds(11))
        for _ in 0..<200 { latencies.add(.seconds(1)) }
        #expect(latencies.percentile(0.5) == .seconds(1))
    }
}
