/// How far a body has come, in bytes as they go over the wire.
public struct TransferProgress: Sendable, Hashable {
    /// Never falls, and never exceeds the total: what a retry or a redirect sends once more is not counted again.
    public let completed: UInt64
    /// Nil if nobody knows before the end.
    public let total: UInt64?

    /// From 0 to 1; nil without a total. An empty body is complete.
    public var fraction: Double? {
        total.map { $0 == 0 ? 1 : Double(completed) / Double($0) }
    }
}

extension TransferProgress: CustomStringConvertible {
    public var description: String { "\(completed) of \(total.map { "\($0)" } ?? "?") bytes" }
}

/// A request's progress as a sequence: the latest value each time that its reader comes back, so a slow one delays
/// nobody. It ends with the request; iterating it starts the request.
public struct ProgressSequence: AsyncSequence, Sendable {
    public typealias Element = TransferProgress

    let observe: @Sendable () -> AsyncStream<TransferProgress>

    public func makeAsyncIterator() -> AsyncStream<TransferProgress>.Iterator { observe().makeAsyncIterator() }
}

/// Somebody who follows a request's progress. It keeps the latest value only, and ends when the request lets go of it.
final class ProgressObserver: Sendable {
    let stream: AsyncStream<TransferProgress>
    private let continuation: AsyncStream<TransferProgress>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { end() }

    func tell(_ progress: TransferProgress) { continuation.yield(progress) }
    func end() { continuation.finish() }
}
