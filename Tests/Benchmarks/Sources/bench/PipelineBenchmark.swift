import CAllocations
import Larkspur
import LarkspurTesting

/// The framework's own cost: GETs over a transport that answers at once.
struct PipelineBenchmark: Sendable {
    let count: Int
    let concurrency: Int

    /// Prints the figures, and returns the allocations of one request.
    func run() async throws -> Double {
        let head = ResponseHead(
            status: 200,
            fields: [
                HTTPHeader(name: "Content-Type", value: "text/plain"),
                HTTPHeader(name: "Content-Length", value: "13"),
            ])
        let answer = StubAnswer([.head(head), .body(Data("Hello, world!".utf8))])
        let session = Session(transport: StubTransport { _ in answer })

        larkspur_count_allocations()
        _ = try await requests(10_000, on: session)  // warm-up
        let (cpu, allocations) = (larkspur_cpu_microseconds(), larkspur_allocations())
        let start = ContinuousClock.now
        let bytes = try await requests(count, on: session)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let cpuEach = (larkspur_cpu_microseconds() - cpu) / Double(count)
        let allocationsEach = Double(larkspur_allocations() - allocations) / Double(count)
        precondition(bytes == count * 13, "every request must have its body")
        print(
            "scenario=pipeline metric=cpu_us value=\(rounded(cpuEach)) allocations=\(rounded(allocationsEach))",
            "rps=\(Int(Double(count) / seconds)) concurrency=\(concurrency)")
        return rounded(allocationsEach)
    }

    private func requests(_ count: Int, on session: Session) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<concurrency {
                let share = count / concurrency + (worker < count % concurrency ? 1 : 0)
                group.addTask {
                    var bytes = 0
                    for _ in 0..<share {
                        bytes += try await session.request("http://127.0.0.1:8080/hello").serializingData().value.count
                    }
                    return bytes
                }
            }
            return try await group.reduce(0, +)
        }
    }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}
