import Larkspur
import LarkspurInsight

/// A recorder that keeps all spans for a test.
final class SpanLog: SpanRecorder {
    struct Entry: Sendable {
        let start: SpanStart
        let context: TraceContext
        var ends: [SpanEnd] = []

        /// The attributes of the start and of the end.
        var attributes: [String: SpanValue] {
            start.attributes.merging(ends.last?.attributes ?? [:]) { $1 }
        }

        func text(_ name: String) -> String? {
            switch attributes[name] {
            case .string(let text)?: text
            case .int(let number)?: "\(number)"
            default: nil
            }
        }
    }

    private struct Span: TraceSpan {
        let context: TraceContext
        let number: Int
        let log: SpanLog

        func end(_ end: SpanEnd) {
            log.box.withLock { $0[number].ends.append(end) }
            log.ends.increment()
        }
    }

    /// The number of ends.
    let ends = Counter()
    private let box = Protected<[Entry]>([])

    var entries: [Entry] { box.withLock { $0 } }

    func entries(_ kind: SpanStart.Kind) -> [Entry] { entries.filter { $0.start.kind == kind } }

    func start(_ span: SpanStart) -> any TraceSpan {
        let context = span.makeContext()
        let number = box.withLock { entries in
            entries.append(Entry(start: span, context: context))
            return entries.count - 1
        }
        return Span(context: context, number: number, log: self)
    }
}
