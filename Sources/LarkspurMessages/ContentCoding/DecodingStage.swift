internal import CLarkspur

/// The decoder of one content coding of a body.
final class DecodingStage {
    private enum Position {
        case start
        case inside
        /// After the end of a coded stream. Another stream may follow.
        case afterStream
        /// In the zeros that some servers send after the last gzip stream.
        case padding
    }

    private let coding: ContentCoding
    private let functions: clarkspur_coder
    private let limits: DecodingLimits
    private var coder: Coder?
    private var position = Position.start
    private(set) var consumed: UInt64 = 0
    private var produced: UInt64 = 0
    private let piece: UnsafeMutableRawBufferPointer

    init(codingNamed name: String, limits: DecodingLimits) throws(RequestError) {
        guard let coding = ContentCoding(named: name), let functions = coding.decoder else {
            throw RequestError(
                .unsupportedCoding,
                "the body has the content coding \(name.prefix(40).debugDescription), which is not supported here; to "
                    + "receive bodies undecoded, set options.decodesContent to false")
        }
        self.coding = coding
        self.functions = functions.pointee
        self.limits = limits
        // The buffer is allocated last. If the initializer throws, `deinit` does not run, so an earlier allocation
        // would leak.
        piece = .allocate(byteCount: 64 * 1_024, alignment: 16)
    }

    deinit { piece.deallocate() }

    /// - Parameter received: The number of bytes of the body received so far, for computing the ratio. If nil, the
    ///   number of bytes that this stage has consumed is used.
    func decode(
        _ bytes: UnsafeRawBufferPointer, received: UInt64?, into take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var rest = bytes
        while try prepare(&rest) {
            let before = rest.count
            guard let (count, state) = coder?.run(&rest, into: piece) else { return }
            consumed += UInt64(before - rest.count)
            produced += UInt64(count)
            try limits.check(produced, from: consumed, of: received ?? consumed)
            if count > 0 { try take(UnsafeRawBufferPointer(rebasing: piece[..<count])) }
            switch state {
            case .continues:
                // If the output buffer is not full, the decoder has no more output for these bytes.
                if count < piece.count, rest.isEmpty { return }
                if count == 0, rest.count == before { throw failure("the decoder makes no progress") }
            case .ended: position = .afterStream
            case .failed(let problem): throw failure(problem)
            }
        }
    }

    /// Prepares the coder for the next bytes; returns false if no bytes are left to decode.
    private func prepare(_ bytes: inout UnsafeRawBufferPointer) throws(RequestError) -> Bool {
        switch position {
        case .inside: return true
        case .start:
            guard let first = bytes.first else { return false }
            coder = Coder(functions, format: coding.format(beginningWith: first))
            if coder == nil { throw failure("there is no memory for the decoder") }
        case .afterStream:
            guard let next = bytes.first else { return false }
            if coding == .gzip, next == 0 {
                position = .padding
                return try prepare(&bytes)
            }
            // Several streams in a row are one valid body in gzip (RFC 1952) and zstd (RFC 8878). A body in deflate or
            // brotli has only one stream.
            guard coding != .deflate, coder?.reset() == true else { throw failure("it continues after its end") }
        case .padding:
            guard bytes.allSatisfy({ $0 == 0 }) else { throw failure("it continues after its end") }
            consumed += UInt64(bytes.count)
            try limits.check(produced, from: consumed, of: consumed)
            return false
        }
        position = .inside
        return true
    }

    func finish() throws(RequestError) {
        if position == .inside { throw failure("it ends early") }
    }

    private func failure(_ problem: String) -> RequestError {
        RequestError(
            .undecodableContent, "the body is not valid \(coding.rawValue): \(problem), at byte \(consumed)")
    }
}
