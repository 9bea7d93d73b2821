/// The destination of a hop's body. It is part of the request's state and does no I/O: the caller passes bytes to a
/// channel after unlocking.
package enum BodySink: Sendable {
    /// Keeps the bytes in memory as the response's data.
    case memory(Data)
    /// Passes the bytes to a channel, with back pressure.
    case channel(ByteChannel)
    /// Discards the body of a response that another hop follows. A body longer than the budget ends the hop.
    case discard(budget: Int)

    /// The maximum number of bytes to discard so that the connection can be reused. A longer body ends the hop.
    package static let discardLimit = 64 * 1024

    /// The number of bytes that the transport may deliver while response gates decide on the head.
    static let gatedAllowance: UInt64 = 64 * 1024

    package enum Verdict { case proceed, endHop }

    /// Whether the next bytes are appended to earlier ones.
    var isGrowing: Bool {
        if case .memory(let data) = self { !data.isEmpty } else { false }
    }

    /// Stores or discards the next bytes. Those for a channel are passed on after unlocking.
    package mutating func append(_ bytes: Data, expecting length: UInt64?) -> Verdict {
        switch self {
        case .memory(var data):
            self = .discard(budget: 0)  // releases this reference, so that appending does not copy
            if data.isEmpty {
                data = bytes
            } else {
                if data.count + bytes.count > Self.trustedLength, let length, length < Self.reserveLimit {
                    data.reserveCapacity(Int(length))
                }
                data.append(bytes)
            }
            self = .memory(data)
            return .proceed
        case .channel:
            return .proceed
        case .discard(let budget):
            self = .discard(budget: budget - bytes.count)
            return bytes.count > budget ? .endHop : .proceed
        }
    }

    /// Memory for the declared length is reserved only once more than `trustedLength` bytes arrive, and only for
    /// lengths below `reserveLimit`, because the length that a server declares may be false.
    private static let trustedLength = 16 * 1024
    private static let reserveLimit: UInt64 = 256 * 1024 * 1024
}
