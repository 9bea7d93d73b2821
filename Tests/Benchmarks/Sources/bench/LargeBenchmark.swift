import CAllocations
import Larkspur
import Measuring

#if os(Linux)
    /// The memory for one large body as one value, compared with the body itself.
    struct LargeBenchmark: Sendable {
        let plan: Plan

        /// Prints the figures, and returns the peak of memory as a multiple of the body's size.
        func run() async throws -> Double {
            let start = ContinuousClock.now
            let body = try await Session().request(plan.url).validate().serializingData().value
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let ratio = Double(larkspur_peak_kib()) * 1_024 / Double(max(1, body.count))
            print(
                "scenario=large bytes=\(body.count) rss_kib=\(larkspur_peak_kib()) vs_size=\(rounded(ratio, 1_000))",
                "mbps=\(rounded(Double(body.count) / seconds / 1e6, 1))")
            return ratio
        }

        private func rounded(_ value: Double, _ places: Double) -> Double { (value * places).rounded() / places }
    }
#endif
