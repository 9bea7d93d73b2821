import CAllocations
import Larkspur
import LarkspurTesting

/// The cost of the cache in memory: GETs of 13 bytes over a stub transport, without a cache, from the cache, and past it.
struct CacheBenchmark {
    private enum Subject: String, CaseIterable {
        case none, hit
        case missNotStored = "miss_not_stored"
        case missStored = "miss_stored"

        /// The fields that decide whether the cache stores the response.
        var control: String {
            switch self {
            case .none, .hit, .missStored: "max-age=600"
            case .missNotStored: "no-store"
            }
        }
    }

    private static let rounds = 9
    private static let count = 20_000

    /// - Parameter only: The only subject to measure, for a look with a profiler; nil for all.
    func run(only: String? = nil) async throws {
        larkspur_count_allocations()
        let subjects = Subject.allCases.filter { only == nil || $0.rawValue == only || $0 == .none }
        var figures: [Subject: [(cpu: Double, allocations: Double)]] = [:]
        for round in 0...Self.rounds {
            for subject in subjects {
                let figure = try await measure(subject)
                if round > 0 { figures[subject, default: []].append(figure) }  // the first round warms up
            }
        }
        let floors = figures[Subject.none, default: []].map(\.cpu)
        for subject in subjects {
            let own = figures[subject, default: []]
            let ratio = median(zip(own, floors).map { $0.cpu / $1 })
            print(
                "scenario=cache-\(subject.rawValue) metric=cpu_us value=\(rounded(median(own.map(\.cpu))))",
                "allocations=\(rounded(median(own.map(\.allocations)))) vs_none=\(rounded(ratio))")
        }
    }

    /// Returns the CPU time in microseconds and the allocations of one request.
    private func measure(_ subject: Subject) async throws -> (cpu: Double, allocations: Double) {
        let head = ResponseHead(
            status: 200,
            fields: [
                HTTPHeader(name: "Content-Type", value: "text/plain"),
                HTTPHeader(name: "Content-Length", value: "13"),
                HTTPHeader(name: "Cache-Control", value: subject.control),
            ])
        let answer = StubAnswer([.head(head), .body(Data("Hello, world!".utf8))])
        let session = Session(
            configuration: SessionConfiguration {
                $0.cache = subject == .none ? nil : .inMemory(limit: 16 << 20)
            }, transport: StubTransport { _ in answer })
        let urls = (0..<(subject == .missStored ? Self.count : 1)).map { "http://127.0.0.1:8080/hello?\($0)" }
        _ = try await session.request(urls[0]).serializingData().value
        let (cpu, allocations) = (larkspur_cpu_microseconds(), larkspur_allocations())
        var bytes = 0
        for number in 0..<Self.count {
            let url = urls.count == 1 ? urls[0] : urls[number]
            bytes += try await session.request(url).serializingData().value.count
        }
        precondition(bytes == Self.count * 13, "every request must have its body")
        let count = Double(Self.count)
        return (
            (larkspur_cpu_microseconds() - cpu) / count, Double(larkspur_allocations() - allocations) / count
        )
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}
