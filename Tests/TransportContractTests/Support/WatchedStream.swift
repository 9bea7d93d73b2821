import Larkspur

/// A streamed body that reports, before each read, how much of it is left.
final class WatchedStream: TransportBodyStream {
    static let piece = 50_000
    private let left: Protected<Int>
    private let isRead: @Sendable (_ left: Int) -> Void

    init(_ size: Int, isRead: @escaping @Sendable (_ left: Int) -> Void = { _ in }) {
        left = Protected(size)
        self.isRead = isRead
    }

    func begin(wake: @escaping @Sendable () -> Void) {}
    func end() {}

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        isRead(left.withLock { $0 })
        let count = left.withLock { left in
            let count = min(left, buffer.count, Self.piece)
            left -= count
            return count
        }
        buffer.prefix(count).copyBytes(from: [UInt8](repeating: 7, count: count))
        return count == 0 ? .end : .bytes(count)
    }
}
