/// Undoes the content codings of a body, piece by piece, in memory that does not grow with it.
///
///     var decoder = try ContentDecoder(codings: ["gzip"], limits: DecodingLimits())
///     try decoder.decode(bytes) { decoded.append(contentsOf: $0) }
///     try decoder.finish()
///
/// Only a body that is whole and sound passes: one that is damaged, that ends early or goes on after its end fails with
/// `.undecodableContent`. Two liberties that servers take are allowed: an empty body is empty in every coding, and after a
/// gzip stream zeros may follow, with which tapes were once filled up.
///
/// It belongs to one task at a time. After an error it is of no use.
struct ContentDecoder: ~Copyable {
    /// Each coding costs memory and time, and no server needs many.
    private static let maximumCodings = 5

    /// What is received goes through the first.
    private let stages: [DecodingStage]

    /// - Parameter codings: Their names in the order in which they were applied, as `Content-Encoding` has them.
    init(codings: [String], limits: DecodingLimits) throws(RequestError) {
        guard codings.count <= Self.maximumCodings else {
            throw RequestError(
                .unsupportedCoding,
                "the body has \(codings.count) content codings, one over another; at most "
                    + "\(Self.maximumCodings) are undone")
        }
        stages = try codings.reversed().map { name throws(RequestError) in
            try DecodingStage(codingNamed: name, limits: limits)
        }
    }

    /// Takes the next bytes of the body; the closure is given what becomes of them, at most 64 KiB at a time.
    mutating func decode(
        _ bytes: UnsafeRawBufferPointer, into take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try decode(bytes, through: stages[...], into: take)
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer, through stages: ArraySlice<DecodingStage>,
        into take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard let stage = stages.first else { return try take(bytes) }
        let received = stage === self.stages[0] ? nil : self.stages[0].consumed
        try stage.decode(bytes, received: received) { piece in
            try decode(piece, through: stages.dropFirst(), into: take)
        }
    }

    /// The body is at its end: fails unless each coding is.
    consuming func finish() throws(RequestError) {
        for stage in stages { try stage.finish() }
    }
}
