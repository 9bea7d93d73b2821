/// How far a body has come, in bytes as they go over the wire.
public struct TransferProgress: Sendable, Hashable, CustomStringConvertible {
    /// Never exceeds the total, and never falls: what a retry or a redirect sends once more is not counted again. (Only a
    /// later attempt with a shorter body, whose total is another, can bring it down.)
    public let completed: UInt64
    /// Nil if nobody knows before the end.
    public let total: UInt64?

    /// A value of one's own, for previews and tests.
    public init(completed: UInt64, total: UInt64?) {
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1; nil without a total. An empty body is complete.
    public var fraction: Double? {
        total.map { $0 == 0 ? 1 : Double(completed) / Double($0) }
    }

    public var description: String { "\(completed) of \(total.map { "\($0)" } ?? "?") bytes" }
}

/// A request's progress as a sequence: the latest value each time that its reader comes back.
public typealias ProgressSequence = RequestSequence<TransferProgress>
