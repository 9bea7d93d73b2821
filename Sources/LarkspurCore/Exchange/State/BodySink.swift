/// The destination of a hop's body. The sink is part of the request's state and does no I/O. Bytes for a channel are
/// passed on by the caller after unlocking.
package enum BodySink: Sendable {
    /// Keeps the bytes in memory as the response's data.
    case memory(Data)
    /// Passes the bytes to a channel, with back pressure.
    case channel(ByteChannel)
    /// Discards the body of a response, because another hop follows. A body longer than the budget ends the hop.
    case discard(budget: Int)

    /// The maximum number of bytes to read and discard, so that the connection can be reused. A longer body ends the
    /// hop.
    package static let discardLimit = 64 * 1024

    /// The number of bytes that the transport may deliver while the response gates decide about the head.
    static let gatedAllowance: UInt64 = 64 * 1024

    package enum Verdict { case proceed, endHop }

    /// Whether the next bytes are appended to bytes that are already in memory.
    var isGrowing: Bool {
        if case .memory(let data) = self { !data.isEmpty } else { false }
    }

    /// Stores or discards the next bytes. Does nothing with bytes for a channel, which the caller passes on after
    /// unlocking.
    package mutating func append(_ bytes: Data, expecting length: UInt64?) -> Verdict {
        switch self {
        case .memory(var data):
            self = .discard(budget: 0)  // releases the second reference to the data, so that appending does not copy
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

    /// The length that a server declares may be false. So memory for the declared length is reserved only after more
    /// than `trustedLength` bytes have arrived, and only for lengths below `reserveLimit`.
    private static let trustedLength = 16 * 1024
    private static let reserveLimit: UInt64 = 256 * 1024 * 1024
}
