import CAllocations

/// Runs requests according to a plan and prints one line of figures.
public struct Measurement: Sendable {
    private let plan: Plan
    private let perform: @Sendable () async throws -> Int

    /// - Parameter perform: Sends one request and returns the number of transferred bytes; throws if the request
    ///   failed.
    public init(_ plan: Plan, perform: @escaping @Sendable () async throws -> Int) {
        self.plan = plan
        self.perform = perform
    }

    public func run(variant: String) async {
        if plan.count == 0, !plan.isLong {
            _ = await round(count: 0, seconds: 0.3)  // warm-up: connections are opened and caches filled
        }
        let cpu = larkspur_cpu_microseconds()
        let start = ContinuousClock.now
        let tally = await round(count: plan.count, seconds: plan.seconds)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let cpuEach = (larkspur_cpu_microseconds() - cpu) / Double(max(1, tally.requests))
        print(
            "variant=\(variant) requests=\(tally.requests) seconds=\(rounded(seconds))",
            "rps=\(rounded(Double(tally.requests) / seconds)) cpu_us=\(rounded(cpuEach)) p50_us=\(tally.median)",
            "rss_kib=\(larkspur_peak_kib()) bytes=\(tally.bytes) errors=\(tally.errors)")
    }

    private func round(count: Int, seconds: Double) async -> Tally {
        let end = ContinuousClock.now + .seconds(seconds)
        return await withTaskGroup(of: Tally.self) { group in
            for worker in 0..<plan.concurrency {
                let share = count / plan.concurrency + (worker < count % plan.concurrency ? 1 : 0)
                group.addTask { await work(share: count > 0 ? share : nil, until: end, measures: worker == 0) }
            }
            return await group.reduce(into: Tally()) { $0.add($1) }
        }
    }

    /// Runs one of the concurrent workers. Only the first one records times, so that they need little memory.
    private func work(share: Int?, until end: ContinuousClock.Instant, measures: Bool) async -> Tally {
        var tally = Tally()
        if measures { tally.histogram = Array(repeating: 0, count: 100_000) }
        var now = ContinuousClock.now
        while share.map({ tally.requests < $0 }) ?? (now < end) {
            do {
                tally.bytes += try await perform()
            } catch {
                if tally.errors == 0, measures { print("first error: \(error)") }
                tally.errors += 1
            }
            tally.requests += 1
            let after = ContinuousClock.now
            if measures {
                let microseconds = Int((after - now) / .microseconds(1))
                tally.histogram[min(microseconds, tally.histogram.count - 1)] += 1
            }
            now = after
        }
        return tally
    }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

private struct Tally: Sendable {
    var requests = 0
    var errors = 0
    var bytes = 0
    var histogram: [UInt32] = []

    var median: Int {
        let half = (histogram.reduce(0) { $0 + Int($1) } + 1) / 2
        var seen = 0
        for (microseconds, count) in histogram.enumerated() {
            seen += Int(count)
            if seen >= half { return microseconds }
        }
        return 0
    }

    mutating func add(_ other: Tally) {
        requests += other.requests
        errors += other.errors
        bytes += other.bytes
        if !other.histogram.isEmpty { histogram = other.histogram }
    }
}
