/// Where the bytes of one hop's body go. Part of the request's box, it does no I/O: bytes are kept, or go on after unlocking.
package enum BodySink: Sendable {
    /// Kept, to become the response's data.
    case memory(Data)
    /// Handed to whoever reads the channel, with backpressure.
    case channel(ByteChannel)
    /// Thrown away, up to so many bytes: the body of a response that nobody will see.
    case discard(budget: Int)

    /// How much of an answered response's body is worth reading to keep its connection: more, and the hop is ended.
    package static let discardLimit = 64 * 1024

    /// How many bytes of a body may come while response gates decide on its head.
    static let gatedAllowance: UInt64 = 64 * 1024

    package enum Verdict { case proceed, endHop }

    /// Whether the next bytes will be appended to some that are there.
    var isGrowing: Bool {
        if case .memory(let data) = self { !data.isEmpty } else { false }
    }

    /// Takes the next bytes, except for a channel's: those are handed over after unlocking.
    package mutating func append(_ bytes: Data, expecting length: UInt64?) -> Verdict {
        switch self {
        case .memory(var data):
            self = .discard(budget: 0)  // gives up this reference, so that appending does not copy
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

    /// A declared length is the peer's word: it is believed only after the first bytes, and only up to a bound.
    private static let trustedLength = 16 * 1024
    private static let reserveLimit: UInt64 = 256 * 1024 * 1024
}
