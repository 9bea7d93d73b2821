/// A streaming decoder for the content codings of a body. Its memory use does not depend on the body's length.
///
///     var decoder = try ContentDecoder(codings: ["gzip"], limits: DecodingLimits())
///     try decoder.decode(bytes) { decoded.append(contentsOf: $0) }
///     try decoder.finish()
///
/// A body that is damaged, ends early or continues after its end fails with `.undecodableContent`. There are two
/// exceptions, because servers send such bodies: an empty body is valid in every coding, and zeros may follow a gzip
/// stream.
///
/// Only one task may use a decoder at a time. After an error the decoder cannot be used any more.
package struct ContentDecoder: ~Copyable {
    /// The maximum number of codings of one body. Each coding costs memory and time, and servers do not need many.
    private static let maximumCodings = 5

    /// The stages in decoding order. The first stage gets the received bytes, each later stage the bytes of the stage
    /// before.
    private let stages: [DecodingStage]

    /// - Parameter codings: The names of the codings in the order in which the server applied them, as in
    ///   `Content-Encoding`.
    package init(codings: [String], limits: DecodingLimits) throws(RequestError) {
        guard codings.count <= Self.maximumCodings else {
            throw RequestError(
                .unsupportedCoding,
                "the body has \(codings.count) nested content codings; at most \(Self.maximumCodings) are supported")
        }
        stages = try codings.reversed().map { name throws(RequestError) in
            try DecodingStage(codingNamed: name, limits: limits)
        }
    }

    /// Decodes the next bytes of the body, and passes the decoded bytes to the closure, at most 64 KiB at a time.
    package mutating func decode(
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

    /// Ends the body. Throws if the data of a coding ended too early.
    package consuming func finish() throws(RequestError) {
        for stage in stages { try stage.finish() }
    }
}
