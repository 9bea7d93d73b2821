import Larkspur

/// The events that one task delivered, in order.
struct Trace: Sendable {
    enum What: Sendable {
        case event(TransportEvent)
        case question(TransportQuestion)
    }

    struct Record: Sendable {
        let what: What
        let task: TransportTaskID
        let thread: String
    }

    private(set) var records: [Record] = []
    private(set) var bodyCount = 0
    private(set) var isCompleted = false
    /// The violations that the delegate detected during its calls.
    var faults: [String] = []
    /// The number of running calls of the delegate.
    var depth = 0

    mutating func add(_ record: Record) {
        records.append(record)
        switch record.what {
        case .event(.body(let bytes)): bodyCount += bytes.count
        case .event(.completed): isCompleted = true
        default: break
        }
    }

    var events: [TransportEvent] {
        records.compactMap { if case .event(let event) = $0.what { event } else { nil } }
    }

    var questions: [TransportQuestion] {
        records.compactMap { if case .question(let question) = $0.what { question } else { nil } }
    }

    var information: [ResponseHead] {
        events.compactMap { if case .information(let head) = $0 { head } else { nil } }
    }
    var heads: [ResponseHead] { events.compactMap { if case .head(let head) = $0 { head } else { nil } } }
    var chunks: [Data] { events.compactMap { if case .body(let bytes) = $0 { bytes } else { nil } } }
    var trailers: [HTTPHeaders] { events.compactMap { if case .trailers(let fields) = $0 { fields } else { nil } } }
    var sent: [UInt64] { events.compactMap { if case .bodySent(let count) = $0 { count } else { nil } } }
    var metrics: [TransportMetrics] { events.compactMap { if case .metrics(let value) = $0 { value } else { nil } } }

    var completions: [TransportError?] {
        events.compactMap { if case .completed(let error) = $0 { .some(error) } else { nil } }
    }

    var body: Bytes { Bytes(chunks.reduce(into: Data()) { $0.append($1) }) }
    var isSuccess: Bool { completions.first.map { $0 == nil } ?? false }
    var error: TransportError? { completions.first ?? nil }
    var failure: TransportError.Code? { error?.code }

    /// Returns the number of body events that begin at or after this position.
    func chunks(past position: Int) -> Int {
        var start = 0
        return chunks.count { chunk in
            defer { start += chunk.count }
            return start >= position
        }
    }
}

extension Trace.What {
    var name: String {
        switch self {
        case .event(.admission): "admission"
        case .event(.waitsForNetwork): "waitsForNetwork"
        case .event(.information): "information"
        case .event(.cache): "cache"
        case .event(.head): "head"
        case .event(.body): "body"
        case .event(.trailers): "trailers"
        case .event(.bodySent): "bodySent"
        case .event(.metrics): "metrics"
        case .event(.completed): "completed"
        case .question(let question): String("\(question)".prefix { $0 != "(" })
        }
    }
}

extension Trace {
    /// Returns every violation of T4 to T7 and T11 in the trace of a task that has ended.
    func audit(wasResumed: Bool = true, bodyIsBegunAgain: Bool = false) -> [String] {
        faults + auditEnd() + auditOrder() + auditHeads() + auditMetrics(wasResumed)
            + (bodyIsBegunAgain ? [] : auditSent())
    }

    private var names: [String] { records.map(\.what.name) }

    private func auditEnd() -> [String] {
        var faults: [String] = []
        if completions.count != 1 { faults.append("T4: \(completions.count) completions") }
        if let end = names.firstIndex(of: "completed"), end != names.count - 1 {
            faults.append("T4: \(names[end + 1]) came after completed")
        }
        if Set(records.map(\.task)).count > 1 { faults.append("T4: the events name several tasks") }
        return faults
    }

    private func auditOrder() -> [String] {
        let ranks = ["information": 0, "head": 1, "body": 2, "trailers": 3, "metrics": 4, "completed": 5]
        var faults: [String] = []
        var last = 0
        if names.drop(while: { $0 == "admission" }).contains("admission") {
            faults.append("T5: admission came after another event")
        }
        for name in names {
            if name == "bodySent", last >= 4 { faults.append("T5: bodySent came after metrics") }
            guard let rank = ranks[name] else { continue }
            if rank < last { faults.append("T5: \(name) came too late") }
            last = max(rank, last)
        }
        // 101 is not an interim head: the bytes after it are not HTTP.
        for head in heads where head.status < 200 && head.status != 101 {
            faults.append("T5: the interim head \(head.status) was delivered")
        }
        for head in information where head.status >= 200 || head.status == 100 || head.status == 101 {
            faults.append("T27: the head \(head.status) was delivered as an interim head")
        }
        if trailers.count > 1 { faults.append("T28: trailers came \(trailers.count) times") }
        if !trailers.isEmpty, !isSuccess { faults.append("T28: a failed task delivered trailers") }
        return faults
    }

    private func auditHeads() -> [String] {
        let names = names
        let caches = names.indices.filter { names[$0] == "cache" }
        if caches.count > 1 || caches.contains(where: { !names.indices.contains($0 + 1) || names[$0 + 1] != "head" }) {
            return ["T5: cache is not directly before the head"]
        }
        if heads.count > 1 { return ["T6: \(heads.count) heads"] }
        if heads.isEmpty, isSuccess { return ["T6: a success without a head"] }
        if heads.isEmpty, !chunks.isEmpty { return ["T6: body bytes without a head"] }
        return []
    }

    private func auditMetrics(_ wasResumed: Bool) -> [String] {
        let expected = wasResumed ? 1 : 0
        if metrics.count != expected { return ["T7: \(metrics.count) metrics instead of \(expected)"] }
        if wasResumed, names.dropLast().last != "metrics" { return ["T7: metrics not just before completed"] }
        return []
    }

    private func auditSent() -> [String] {
        zip(sent, sent.dropFirst()).filter { $0 > $1 }.map { "T11: bodySent fell from \($0) to \($1)" }
    }
}

extension TransportError {
    /// The timeout that has passed, such as "total" or "first byte". Only the message has it.
    var timeoutName: String? {
        guard code == .timedOut, let end = message.range(of: " timeout of "),
            let start = message[..<end.lowerBound].range(of: "the ", options: .backwards)
        else { return nil }
        return String(message[start.upperBound..<end.lowerBound])
    }
}
