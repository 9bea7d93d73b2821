import Foundation
import Larkspur

/// The same request many times, and what its times are.
struct RepeatRun {
    let settings: Settings
    let plan: RequestPlan
    let session: Session
    let output: Terminal
    let count: Int

    private struct Sample: Sendable {
        let time: Duration
        let bytes: Int
        let outcome: String
        let isFailure: Bool
    }

    func run() async throws -> ExitCode {
        let clock = ContinuousClock()
        let start = clock.now
        let bar = ProgressBar("requests", after: .milliseconds(300))
        var samples: [Sample] = []
        // As many requests are in flight as --concurrency says: each that ends starts the next one.
        await withTaskGroup(of: Sample?.self) { group in
            for _ in 0..<min(count, settings.concurrency) { group.addTask { await sample() } }
            var started = min(count, settings.concurrency)
            for await sample in group {
                guard let sample else { continue }
                samples.append(sample)
                if started < count, !Task.isCancelled {
                    started += 1
                    group.addTask { await self.sample() }
                }
                let rate = Double(samples.count) / max(1e-9, (clock.now - start) / .seconds(1))
                await bar.draw(
                    TransferProgress(completed: UInt64(samples.count), total: UInt64(count)), rate: Int(rate),
                    left: Double(count - samples.count) / rate, unit: "requests")
            }
        }
        let time = clock.now - start
        await bar.finish()
        guard !samples.isEmpty else { throw CancellationError() }
        let style = Style(settings, output, environment: ProcessInfo.processInfo.environment)
        try output.write(report(samples, time, style))
        if Task.isCancelled { throw CancellationError() }
        if samples.allSatisfy(\.isFailure) { throw Exit(.connection, "all requests failed") }
        return samples.contains(where: \.isFailure) ? .other : .success
    }

    private func sample() async -> Sample? {
        let clock = ContinuousClock()
        let start = clock.now
        let response = await session.request(
            plan.url, method: plan.method, headers: plan.headers, body: plan.body
        ).serializingData().response
        if Task.isCancelled { return nil }
        let outcome = response.error.map { "\($0.code)" } ?? response.head.map { "\($0.status)" } ?? "none"
        return Sample(
            time: clock.now - start, bytes: response.data?.count ?? 0, outcome: outcome,
            isFailure: response.error != nil)
    }

    private func report(_ samples: [Sample], _ time: Duration, _ style: Style) -> String {
        let seconds = time / .seconds(1)
        let bytes = samples.reduce(0) { $0 + $1.bytes }
        var text = "\(samples.count) requests in \(Self.format(time)), \(settings.concurrency) at once\n"
        text += "  \(String(format: "%.1f", Double(samples.count) / seconds)) requests/s, "
        text +=
            "\(MessagePrinter.bytes(UInt64(Double(bytes) / seconds)))/s of bodies, \(MessagePrinter.bytes(UInt64(bytes))) in all\n"
        let outcomes = Dictionary(grouping: samples, by: \.outcome).sorted { $0.value.count > $1.value.count }
        for (outcome, samples) in outcomes {
            let color: Style.Color = samples[0].isFailure ? .failed : outcome.first == "2" ? .good : .refused
            text += "  \(style.paint(outcome, color)): \(samples.count)\n"
        }
        let times = samples.map(\.time).sorted()
        text += "\nlatency\n"
        for (name, share) in [("50 %", 0.5), ("75 %", 0.75), ("90 %", 0.9), ("95 %", 0.95), ("99 %", 0.99), ("max", 1)]
        {
            let index = max(0, Int((Double(times.count) * share).rounded(.up)) - 1)
            text += "  \(name.padded(to: 6))\(Self.format(times[index]).rightAligned(to: 10))\n"
        }
        return text + "\n" + histogram(times, style)
    }

    /// Ten classes of equal width up to the 99th percentile; the last one has all slower requests, too.
    private func histogram(_ times: [Duration], _ style: Style) -> String {
        let least = times[0]
        let most = times[max(0, Int((Double(times.count) * 0.99).rounded(.up)) - 1)]
        let classes = 10
        let width = max((most - least) / classes, .microseconds(1))
        var counts = [Int](repeating: 0, count: classes)
        for time in times { counts[min(classes - 1, Int((time - least) / width))] += 1 }
        let highest = counts.max() ?? 1
        let columns = min(40, output.size.columns - 24)
        return counts.enumerated().map { index, count in
            let length = count == 0 ? 0 : max(1, count * columns / highest)
            let bar = style.paint(String(repeating: "█", count: length), .string) + (count == 0 ? "" : " ")
            return "  \(Self.format(least + width * index).rightAligned(to: 10))  \(bar)\(count)\n"
        }.joined()
    }

    private static func format(_ time: Duration) -> String {
        let seconds = time / .seconds(1)
        return seconds < 1 ? String(format: "%.2f ms", seconds * 1_000) : String(format: "%.2f s", seconds)
    }
}
