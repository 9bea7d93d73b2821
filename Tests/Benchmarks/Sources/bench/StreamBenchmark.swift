import CAllocations
import Larkspur
import Measuring

#if os(Linux)
    /// The speed and the memory of reading one large body with a reader that is slower than the network.
    struct StreamBenchmark: Sendable {
        /// The number of bytes after which the reader pauses for a millisecond, so that bytes have to wait.
        private static let stretch: UInt64 = 4 << 20

        let plan: Plan

        /// Prints the figures, and returns the growth of the memory peak in KiB after the first byte arrived.
        func run() async throws -> Double {
            let request = await Session().streamRequest(plan.url).validate()
            let start = ContinuousClock.now
            var (count, pauses) = (UInt64(0), UInt64(0))
            var before: Int?
            for try await chunk in request.bytes {
                if before == nil { before = larkspur_peak_kib() }
                count += UInt64(chunk.count)
                if count / Self.stretch > pauses {
                    pauses += 1
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let growth = larkspur_peak_kib() - (before ?? 0)
            print(
                "scenario=stream bytes=\(count) rss_kib=\(larkspur_peak_kib()) rss_growth_kib=\(growth)",
                "mbps=\((Double(count) / seconds / 1e6).rounded())")
            return Double(growth)
        }
    }
#endif
