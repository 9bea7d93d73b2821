internal import CLarkspur

/// One of a body's content codings while it is undone.
final class DecodingStage {
    private enum Place {
        case beginning
        case inside
        /// At the end of a coded stream: what follows, if anything does, is another one.
        case behind
        /// In the zeros after the last one.
        case padding
    }

    private let coding: ContentCoding
    private let functions: clarkspur_coder
    private let limits: DecodingLimits
    private var coder: Coder?
    private var place = Place.beginning
    private(set) var consumed: UInt64 = 0
    private var produced: UInt64 = 0
    private let piece: UnsafeMutableRawBufferPointer

    init(codingNamed name: String, limits: DecodingLimits) throws(RequestError) {
        guard let coding = ContentCoding(named: name), let functions = coding.decoder else {
            throw RequestError(
                .unsupportedCoding,
                "the body has the content coding \(name.prefix(40).debugDescription), which cannot be undone here; to get "
                    + "bodies as they are sent, set options.decodesContent to false")
        }
        self.coding = coding
        self.functions = functions.pointee
        self.limits = limits
        // Last: an object whose init throws has no deinit.
        piece = .allocate(byteCount: 64 * 1_024, alignment: 16)
    }

    deinit { piece.deallocate() }

    /// - Parameter received: How much of the body was used up until now, by which the ratio goes; nil for what this stage
    ///   itself has taken.
    func decode(
        _ bytes: UnsafeRawBufferPointer, received: UInt64?, into take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var rest = bytes
        while try prepare(&rest) {
            let before = rest.count
            guard let (count, state) = coder?.run(&rest, into: piece) else { return }
            consumed += UInt64(before - rest.count)
            produced += UInt64(count)
            try limits.check(produced, from: received ?? consumed)
            if count > 0 { try take(UnsafeRawBufferPointer(rebasing: piece[..<count])) }
            switch state {
            case .continues:
                // With room left in the piece all was said that can be said of these bytes.
                if count < piece.count, rest.isEmpty { return }
                if count == 0, rest.count == before { throw failure("its decoder does not get on with it") }
            case .ended: place = .behind
            case .failed(let problem): throw failure(problem)
            }
        }
    }

    /// Makes the coder ready for the next bytes; false if there are none for it.
    private func prepare(_ bytes: inout UnsafeRawBufferPointer) throws(RequestError) -> Bool {
        switch place {
        case .inside: return true
        case .beginning:
            guard let first = bytes.first else { return false }
            coder = Coder(functions, format: coding.format(beginningWith: first))
            if coder == nil { throw failure("there is no memory for its decoder") }
        case .behind:
            guard let next = bytes.first else { return false }
            if coding == .gzip, next == 0 {
                place = .padding
                return try prepare(&bytes)
            }
            // Several streams in a row are one body of gzip (RFC 1952) and of zstd (RFC 8878). Deflate has no such thing.
            guard coding != .deflate, coder?.reset() == true else { throw failure("it goes on after its end") }
        case .padding:
            guard bytes.allSatisfy({ $0 == 0 }) else { throw failure("it goes on after its end") }
            consumed += UInt64(bytes.count)
            return false
        }
        place = .inside
        return true
    }

    func finish() throws(RequestError) {
        if place == .inside { throw failure("it ends in the middle") }
    }

    private func failure(_ problem: String) -> RequestError {
        RequestError(
            .undecodableContent, "the body is not sound \(coding.rawValue): \(problem), at byte \(consumed)")
    }
}
