import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("A transport that injects faults", .limited)
struct FaultTransportTests {
    private let log = TransportLog()
    private let clock = ManualClock()

    private func session(
        seed: UInt64 = 1, answer: StubAnswer = .text("body"), _ configure: (inout FaultTransport.Faults) -> Void
    ) -> Session {
        let base = log.transport { _, _ in answer }
        return Session(
            configuration: .bare, transport: FaultTransport(base, seed: seed, clock: clock, configure))
    }

    private func code(_ session: Session, _ url: String = "http://h/") async -> RequestError.Code? {
        await session.request(url).serializingData().response.error?.code
    }

    @Test("Without faults nothing changes")
    func none() async throws {
        #expect(try await session { _ in }.request("http://h/").serializingString().value == "body")
        #expect(log.count == 1)
    }

    @Test("A refused hop is not sent; a lost one is sent, and its response does not arrive; a body ends early")
    func faults() async throws {
        #expect(await code(session { $0.refused = 1 }) == .connectionRefused)
        #expect(log.count == 0)
        #expect(await code(session { $0.lost = 1 }) == .connectionLost)
        #expect(log.count == 1)
        let response = await session { $0.truncated = 1 }.request("http://h/").serializingData().response
        #expect(response.error?.code == .truncated && response.head?.status == 200)
        #expect(await code(session(answer: .response(204)) { $0.truncated = 1 }) == nil)
    }

    @Test("A seed gives the same faults in each run, also in another order, and another seed gives others")
    func seeds() async {
        func run(seed: UInt64, _ urls: [String]) async -> [String: [Bool]] {
            let session = session(seed: seed) { $0.refused = 0.5 }
            var outcomes: [String: [Bool]] = [:]
            for url in urls { outcomes[url, default: []].append(await code(session, url) != nil) }
            return outcomes
        }
        let urls = (0..<8).flatMap { number in Array(repeating: "http://h/\(number)", count: 8) }
        let first = await run(seed: 1, urls)
        #expect(await run(seed: 1, urls.reversed()) == first)
        #expect(await run(seed: 2, urls) != first)
        let failures = first.values.joined().count { $0 }
        #expect((10...54).contains(failures))
    }

    @Test("A hop is sent after its latency, and a cancel ends the wait")
    func latency() async throws {
        let session = session { $0.latency = .seconds(2)...(.seconds(2)) }
        let first = await session.request("http://h/a")
        async let value = first.serializingString().value
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(log.count == 0)
        clock.advance(by: .seconds(1))
        #expect(try await value == "body" && log.count == 1)
        let second = await session.request("http://h/b")
        async let error = second.serializingString().response.error
        await clock.waitForSleepers()
        second.cancel()
        #expect(await error?.isCancelled == true && log.count == 1)
        await clock.waitForNoSleepers()
    }

    @Test("A body arrives at the bandwidth")
    func bandwidth() async throws {
        let chunks = (0..<4).map { _ in Data(repeating: 7, count: 1_000) }
        let session = session(answer: .response(chunks: chunks)) { $0.bytesPerSecond = 500 }
        let stream = await session.streamRequest("http://h/").bytes
        async let sizes = stream.reduce(into: [Int]()) { $0.append($1.count) }
        var waits = 0
        let start = clock.now
        while waits < 3 {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(2))
            waits += 1
        }
        #expect(try await sizes.reduce(0, +) == 4_000)
        #expect(start.duration(to: clock.now) == .seconds(6))
    }

    @Test("Faults can change while the transport is in use")
    func changed() async {
        let transport = FaultTransport(log.transport(), seed: 1, clock: clock) { $0.refused = 1 }
        let session = Session(transport: transport)
        #expect(await code(session) == .connectionRefused)
        transport.faults.refused = 0
        #expect(await code(session) == nil)
    }
}
