// Contents that are produced while they are sent. Each function wraps the `TransportBody` function of the same name.

extension RequestContent {
    /// Returns content from the pieces of an asynchronous sequence, such as `Data` or `[UInt8]`. The content can be
    /// sent only once.
    ///
    /// The sequence is read as fast as the body is sent, with at most 256 KiB buffered. If `length` is nil, the body is
    /// sent in chunks. If it is not nil, the sequence must have exactly that many bytes, or the request fails.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        _ pieces: sending Pieces, length: UInt64? = nil
    ) -> RequestContent where Pieces.Element: DataProtocol {
        .body(.sequence(pieces, length: length))
    }

    /// Returns content from the bytes of an asynchronous sequence. The content can be sent only once. A sequence of
    /// pieces is much faster than a sequence of bytes.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        _ bytes: sending Bytes, length: UInt64? = nil
    ) -> RequestContent where Bytes.Element == UInt8 {
        .body(.sequence(bytes, length: length))
    }

    /// Returns content from the pieces of a sequence. The closure creates a sequence each time the body is sent, for
    /// example for a retry.
    ///
    ///     let upload = await session.upload(.sequence { lines() }, to: url)
    ///
    /// The closure must return a new sequence each time.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Pieces
    ) -> RequestContent where Pieces.Element: DataProtocol {
        .body(.sequence(length: length, make))
    }

    /// Returns content from the bytes of a sequence. The closure creates a sequence each time the body is sent.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Bytes
    ) -> RequestContent where Bytes.Element == UInt8 {
        .body(.sequence(length: length, make))
    }

    /// Returns content with the elements of a sequence as a JSON array, encoded while they are sent. The closure must
    /// return a new sequence each time the body is sent.
    ///
    ///     let upload = await session.upload(.jsonArray { database.records() }, to: url)
    ///
    /// The array is never in memory as a whole. With `.prettyPrinted`, each element is formatted by itself. The content
    /// type is `application/json`, unless the request has another.
    public static func jsonArray<Elements: AsyncSequence & SendableMetatype>(
        encoder: JSON.Encoder = JSON.Encoder(), _ make: @escaping @Sendable () async throws -> Elements
    ) -> RequestContent where Elements.Element: Encodable {
        let body = TransportBody.jsonArray(encoder: encoder, make)
        return RequestContent {
            $0.body = body
            if $0.headers["Content-Type"] == nil { $0.headers["Content-Type"] = "application/json" }
        }
    }
}
