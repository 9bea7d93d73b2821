import CAllocations
import Larkspur
import LarkspurFleet
import LarkspurTesting

/// The cost of a limit that processes share: GETs of 13 bytes over a stub transport, without a limit and with it.
struct AdmissionsBenchmark {
    let store: any SharedStore
    private static let rounds = 9
    private static let count = 50_000

    func run() async throws {
        var figures: [(plain: Double, limited: Double)] = []
        for round in 0...Self.rounds {
            let figure = (try await measure(isLimited: false), try await measure(isLimited: true))
            if round > 0 { figures.append(figure) }  // the first round warms up
        }
        let added = figures.map { max(0.01, $0.limited - $0.plain) }.sorted()[Self.rounds / 2]
        print(
            "scenario=admissions added_cpu_us=\((added * 100).rounded() / 100)",
            "admissions_per_second=\(Int(1_000_000 / added))")
    }

    /// Returns the CPU time of one request in microseconds. A window has a million permits, so the store is asked about
    /// ten times in a second.
    private func measure(isLimited: Bool) async throws -> Double {
        let answer = StubAnswer.text("Hello, world!")
        let limiter = SharedRateLimiter(
            store, name: "benchmark", 1_000_000, per: .seconds(1), ifStoreFails: .failClosed)
        let session = Session(
            configuration: SessionConfiguration { if isLimited { $0.admissions = [limiter] } },
            transport: StubTransport { _ in answer })
        let start = larkspur_cpu_microseconds()
        var bytes = 0
        for _ in 0..<Self.count {
            bytes += try await session.request("http://127.0.0.1:8080/hello").serializingData().value.count
        }
        precondition(bytes == Self.count * 13, "every request must have its body")
        return (larkspur_cpu_microseconds() - start) / Double(Self.count)
    }
}
