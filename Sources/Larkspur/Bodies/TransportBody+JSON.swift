extension TransportBody {
    /// Returns a body with the elements of a sequence as a JSON array. The closure creates a sequence each time the
    /// body is sent, for example for a retry.
    ///
    /// Each element is encoded when the sequence returns it, so the array is never in memory as a whole: at most
    /// 256 KiB and one element are buffered. The body has no length and is sent in chunks. If the sequence or the
    /// encoding of an element fails, the request fails with `.bodyFailed`.
    public static func jsonArray<Elements: AsyncSequence & SendableMetatype>(
        encoder: JSON.Encoder = JSON.Encoder(), _ make: @escaping @Sendable () async throws -> Elements
    ) -> TransportBody where Elements.Element: Encodable {
        pumped(nil, isReplayable: true) { try await $0.pump(elements: try await make(), encoder) }
    }
}

extension BodyPipe {
    /// The number of bytes from which on encoded elements are written. Short elements are written together.
    private static let pieceSize = 1 << 14

    fileprivate func pump<Elements: AsyncSequence>(
        elements: Elements, _ encoder: JSON.Encoder
    ) async throws where Elements.Element: Encodable {
        var piece = Data([UInt8(ascii: "[")])
        var isFirst = true
        for try await element in elements {
            if Task.isCancelled { return }  // an element takes long if nothing waits for the transport
            if !isFirst { piece.append(UInt8(ascii: ",")) }
            isFirst = false
            piece.append(try encoder.encode(element))
            guard piece.count >= Self.pieceSize else { continue }
            guard await writeAll(piece) else { return }
            piece = Data()
        }
        piece.append(UInt8(ascii: "]"))
        _ = await writeAll(piece)
    }
}
