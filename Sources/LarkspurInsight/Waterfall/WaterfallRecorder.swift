import Larkspur
internal import LarkspurAnnex

/// A monitor that keeps the last requests of sessions in memory, and draws them as a ``Waterfall`` at any time.
///
///     let recorder = WaterfallRecorder()
///     let session = Session(eventMonitors: [recorder])
///     …
///     try await recorder.waterfall().write(to: page)
///
/// Each hop is a row. URLs, fields and bodies are redacted as in logs. If requests are faster than the recorder, it
/// misses events, and delays no request; use ``HARRecorder`` to record all.
public final class WaterfallRecorder: EventMonitor {
    private struct State {
        /// The last entries; the oldest is at ``oldest`` once the list is full.
        var entries: [HARArchive.Entry] = []
        var oldest = 0

        mutating func append(_ entry: HARArchive.Entry, limit: Int) {
            guard entries.count == limit else { return entries.append(entry) }
            entries[oldest] = entry
            oldest = (oldest + 1) % limit
        }
    }

    public let bodyLimit: Int
    private let entryLimit: Int
    private let format: HARFormat
    private let collector: HARCollector
    private let state = Guarded(State())

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - entryLimit: The maximum number of hops that are kept; 1,000 by default. Newer ones replace the oldest.
    ///   - bodyLimit: The maximum number of bytes of each body as sent on the wire; 4 KiB by default. With 0, the
    ///     recorder leaves bodies out.
    ///   - redaction: The rules for secrets.
    public init(entryLimit: Int = 1_000, bodyLimit: Int = 4 << 10, redacting redaction: Redaction = .standard) {
        self.entryLimit = max(1, entryLimit)
        self.bodyLimit = min(max(0, bodyLimit), 1 << 20)
        format = HARFormat(redaction: redaction, bodyLimit: self.bodyLimit)
        collector = HARCollector(bodyLimit: self.bodyLimit)
    }

    /// Returns the picture of the requests up to now. Hops in flight are marked, and end at this moment.
    public func waterfall(title: String = "Requests") async -> Waterfall {
        await receiveAllEvents()
        await collector.waitForFinishedRequests()
        let open = collector.hops
        let ended = state.withLock { Array($0.entries[$0.oldest...] + $0.entries[..<$0.oldest]) }
        let now = Date()
        let pending = open.map { hop in
            var entry = hop.entry(endingWith: nil, format)
            entry.time = .seconds(max(0, now.timeIntervalSince(entry.startedAt)))
            entry.timings = HARArchive.Timings()
            return entry
        }
        return Waterfall(ended + pending, pending: pending.count, title: title)
    }

    public func request(_ request: any Request, did event: RequestEvent) {
        guard case .endHop(let error) = event else {
            _ = collector.receive(event, of: request)
            return
        }
        guard let entry = collector.receive(event, of: request)?.entry(endingWith: error?.description, format) else {
            return
        }
        state.withLock { $0.append(entry, limit: entryLimit) }
    }
}
