import CAllocations

/// The throughput of a repeated operation, in megabytes a second of CPU time.
public struct Rate: Sendable {
    /// Measures an operation for about 0.15 s, after a warm-up of the same length. It uses CPU time, which other load
    /// on the machine hardly affects.
    public static func megabytesASecond(of bytes: Int, _ perform: () async throws -> Void) async rethrows -> Double {
        var rate = 0.0
        for _ in 0..<2 {
            var done = 0
            let start = larkspur_cpu_microseconds()
            var microseconds = 0.0
            while microseconds < 150_000 {
                for _ in 0..<10 { try await perform() }
                done += 10 * bytes
                microseconds = larkspur_cpu_microseconds() - start
            }
            rate = Double(done) / microseconds
        }
        return rate
    }

    public static func median(_ values: [Double]) -> Double {
        (values.sorted()[values.count / 2] * 100).rounded() / 100
    }
}
