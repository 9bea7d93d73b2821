/// A response's body in parts, with its content codings, such as gzip, decoded. The body can be iterated once.
struct HopBody: AsyncSequence, Sendable {
    private let channel: ByteChannel
    private let hop: Hop

    init(_ channel: ByteChannel, of hop: Hop) {
        self.channel = channel
        self.hop = hop
    }

    /// The channel of the body if it has no content codings; nil otherwise.
    var plain: ByteChannel? { hop.codings.isEmpty ? channel : nil }

    func makeAsyncIterator() -> Iterator { Iterator(channel, hop) }

    /// Returns the whole body; nil if the hop fails or the body is no longer needed. Throws if the body cannot be
    /// decoded, as soon as the bytes show it.
    func collected(while isNeeded: () -> Bool) async throws -> Data? {
        try await makeAsyncIterator().rest(while: isNeeded)
    }

    final class Iterator: AsyncIteratorProtocol {
        /// The number of encoded bytes to decode at a time. This number is small, because the decoded bytes stay in
        /// memory until the reader requests them.
        private static let pieceSize = 4 * 1024

        private let channel: ByteChannel
        private let hop: Hop
        private let codings: [String]
        private var decoder: ContentDecoder?
        private var chunk: Data.SubSequence?

        init(_ channel: ByteChannel, _ hop: Hop) {
            self.channel = channel
            self.hop = hop
            codings = hop.codings
        }

        func next() async throws -> Data? { try await next(isolation: nil) }

        func next(isolation: isolated (any Actor)?) async throws -> Data? {
            guard !codings.isEmpty else { return try await channel.next() }
            try begin()
            while true {
                if chunk?.isEmpty ?? true { chunk = try await channel.next() }
                guard chunk != nil else { break }
                let decoded = try decodePiece()
                if !decoded.isEmpty { return decoded }
            }
            try decoder.take()?.finish()
            return nil
        }

        fileprivate func rest(while isNeeded: () -> Bool) async throws -> Data? {
            struct NotNeeded: Error {}
            var rest = Data()
            // An unknown coding is an error at once: the body may never come, or never end.
            try begin()
            while isNeeded() {
                let next: Data?
                do { next = try await channel.next() } catch is RequestError { return nil }
                guard let next else {
                    try decoder.take()?.finish()
                    return rest
                }
                do {
                    try next.withUnsafeBytes { bytes in
                        try decoder?.decode(bytes) { piece in
                            try Task.checkCancellation()
                            guard isNeeded() else { throw NotNeeded() }
                            rest.append(contentsOf: piece)
                        }
                    }
                } catch is NotNeeded {
                    return nil
                }
            }
            return nil
        }

        private func begin() throws(RequestError) {
            guard decoder == nil else { return }
            decoder = try ContentDecoder(
                codings: codings, limits: hop.request.options.decodingLimits ?? DecodingLimits())
        }

        private func decodePiece() throws -> Data {
            var decoded = Data()
            let piece = chunk?.prefix(Self.pieceSize) ?? Data()
            chunk?.removeFirst(piece.count)
            try piece.withUnsafeBytes { try decoder?.decode($0) { decoded.append(contentsOf: $0) } }
            return decoded
        }
    }
}

extension AsyncSequence where Element == Data {
    func start(upTo limit: Int) async -> Data {
        var start = Data()
        do {
            for try await chunk in self {
                start += chunk.prefix(limit - start.count)
                if start.count == limit { break }
            }
        } catch {}
        return start
    }
}
