import LarkspurTransport

/// The limit on what a peer may send.
extension HopProgress {
    /// What is kept in memory must have an end somewhere.
    private static let limitInMemory: UInt64 = 2 << 30

    private var limit: UInt64 {
        if let limit = request.options.maximumBodySize { return limit }
        if case .memory = sink { return Self.limitInMemory }
        return .max
    }

    /// Only where a limit was asked for: the other one is far away, and reading a length costs.
    func acceptsDeclaredLength() -> Bool {
        guard request.options.maximumBodySize != nil, request.method != .head, head?.status != 304 else { return true }
        return accepts(0, of: head?.contentLength)
    }

    func accepts(_ bytes: Data, expecting length: UInt64?) -> Bool { accepts(UInt64(bytes.count), of: length) }

    /// Counts what has come. From the refusal on the body is thrown away, until the transport has ended the hop.
    private func accepts(_ count: UInt64, of length: UInt64?) -> Bool {
        received += count
        if case .discard = sink { return true }
        let limit = limit
        guard max(received, length ?? 0) > limit else { return true }
        refusal = TransportError(
            .contentTooLarge,
            "the body has more than the \(limit) bytes that are allowed; raise options.maximumBodySize if that is right",
            phase: .receiving)
        sink = .discard(budget: .max)
        return false
    }
}
