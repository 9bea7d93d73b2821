import CAllocations
import Larkspur
import LarkspurInsight

#if os(Linux)
    /// The cost of the monitors of `LarkspurInsight`: requests a second of 64 tasks, and the CPU time of a request, each
    /// with the ratio to a session without monitors in the same round.
    struct InsightBenchmark: Sendable {
        private let url: String
        private let count: Int
        private let concurrency = 64

        init(url: String, count: Int) { (self.url, self.count) = (url, count) }

        private struct Figures {
            var rate = 0.0
            var microseconds = 0.0
        }

        func run() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            for round in 0..<8 {
                let archive = folder.appendingPathComponent("\(round).har")
                let har = HARRecorder(to: archive)
                let trace = TraceMonitor(recorder: Recorder())
                let plain = try await measured([])
                let metrics = try await measured([PrometheusMonitor()])
                let traces = try await measured([trace], fields: [trace])
                let recorder = try await measured([har])
                try await har.finish()
                let both = HARRecorder(to: archive)
                let all = try await measured([both, PrometheusMonitor()])
                try await both.finish()
                if round == 0 { continue }  // warm-up
                print(
                    "scenario=insight plain_rps=\(Int(plain.rate)) plain_us=\(plain.microseconds)",
                    line("metrics", metrics, plain), line("traces", traces, plain), line("har", recorder, plain),
                    line("har_and_metrics", all, plain))
            }
        }

        private func line(_ name: String, _ figures: Figures, _ plain: Figures) -> String {
            let more = ((figures.microseconds - plain.microseconds) * 10).rounded() / 10
            return "\(name)=\((figures.rate / plain.rate * 1_000).rounded() / 1_000) \(name)_more_us=\(more)"
        }

        private func measured(_ monitors: [any EventMonitor], fields: [any HopFieldSource] = []) async throws -> Figures
        {
            let transport = CurlTransport(configuration: .init { $0.maximumConnectionsPerHost = 2 * concurrency })
            let configuration = SessionConfiguration {
                $0.eventMonitors = monitors
                $0.hopFields = fields
            }
            let session = Session(configuration: configuration, transport: transport)
            let (start, cpu) = (ContinuousClock.now, larkspur_cpu_microseconds())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<concurrency {
                    group.addTask {
                        for _ in 0..<count / concurrency { _ = try await session.request(url).serializingData().value }
                    }
                }
                try await group.waitForAll()
            }
            let sent = Double(count / concurrency * concurrency)
            let rate = sent / ((ContinuousClock.now - start) / .seconds(1))
            return Figures(rate: rate, microseconds: ((larkspur_cpu_microseconds() - cpu) / sent * 10).rounded() / 10)
        }
    }

    /// A recorder whose spans go nowhere.
    private struct Recorder: SpanRecorder {
        struct Span: TraceSpan {
            let context: TraceContext
            func end(_ end: SpanEnd) {}
        }

        func start(_ span: SpanStart) -> any TraceSpan { Span(context: span.makeContext()) }
    }
#endif
