/// The progress of a body's transfer, in bytes on the wire.
public struct TransferProgress: Sendable, Hashable, CustomStringConvertible {
    /// The number of transferred bytes, at most the total.
    ///
    /// The number does not decrease: bytes that a retry or redirect sends again are counted once. The only exception is
    /// a later attempt with a shorter body.
    public let completed: UInt64
    /// The length of the body in bytes; nil if the length is not known before the end.
    public let total: UInt64?

    /// Creates a progress, for previews and tests.
    public init(completed: UInt64, total: UInt64?) {
        self.completed = completed
        self.total = total
    }

    /// The completed fraction, from 0 to 1; nil if the total is unknown. An empty body has the fraction 1.
    public var fraction: Double? {
        total.map { $0 == 0 ? 1 : Double(completed) / Double($0) }
    }

    public var description: String { "\(completed) of \(total.map { "\($0)" } ?? "?") bytes" }
}
