extension TransportBody {
    /// Returns a body with the elements of a sequence as a JSON array. The closure must return a new sequence each time
    /// the body is sent, for example for a retry.
    ///
    /// Each element is encoded when the sequence returns it, so the array is never in memory as a whole. At most
    /// 272 KiB and the text of one element are buffered. With `.prettyPrinted`, each element is formatted by itself, as
    /// if it were not in an array. The body has no length and is sent in chunks. If the sequence or the encoding of an
    /// element fails, the request fails with `.bodyFailed`.
    public static func jsonArray<Elements: AsyncSequence & SendableMetatype>(
        encoder: JSON.Encoder = JSON.Encoder(), _ make: @escaping @Sendable () async throws -> Elements
    ) -> TransportBody where Elements.Element: Encodable {
        pumped(nil, isReplayable: true) { try await $0.pump(elements: try await make(), encoder) }
    }
}

extension BodyPipe {
    /// The minimum number of bytes per write.
    private static let pieceSize = 1 << 14

    fileprivate func pump<Elements: AsyncSequence>(
        elements: Elements, _ encoder: JSON.Encoder
    ) async throws where Elements.Element: Encodable {
        var piece = Data([UInt8(ascii: "[")])
        var index = 0
        for try await element in elements {
            try Task.checkCancellation()  // an element takes long if nothing waits for the transport
            if index > 0 { piece.append(UInt8(ascii: ",")) }
            piece.append(try Self.encoded(element, index, encoder))
            index += 1
            guard piece.count >= Self.pieceSize else { continue }
            guard await writeAll(piece) else { return }
            piece = Data()
        }
        // Some sequences end when their task is cancelled. The array must not look complete then.
        try Task.checkCancellation()
        piece.append(UInt8(ascii: "]"))
        _ = await writeAll(piece)
    }

    private static func encoded(_ element: some Encodable, _ index: Int, _ encoder: JSON.Encoder) throws -> Data {
        do {
            return try encoder.encode(element)
        } catch EncodingError.invalidValue(_, let context) {
            // An encoding error contains the value, which may be secret. Messages must not contain it.
            let path = context.codingPath.map { "/" + $0.stringValue }.joined()
            throw BodyProblem("element \(index) cannot be encoded at \"\(path)\": \(context.debugDescription)")
        }
    }
}
