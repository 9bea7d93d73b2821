// Contents that are produced while they are sent. Each wraps the `TransportBody` of the same name.

extension RequestContent {
    /// Returns the pieces of an asynchronous sequence, `Data` or `[UInt8]`, which can be sent once.
    ///
    /// The sequence is read as fast as the body is sent, with at most 256 KiB buffered. Without a length the body is
    /// sent in chunks. With a length, the sequence must have exactly that many bytes, or the request fails.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        _ pieces: sending Pieces, length: UInt64? = nil
    ) -> RequestContent where Pieces.Element: DataProtocol {
        .body(.sequence(pieces, length: length))
    }

    /// Returns the bytes of an asynchronous sequence, which can be sent once. A sequence of pieces is much faster.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        _ bytes: sending Bytes, length: UInt64? = nil
    ) -> RequestContent where Bytes.Element == UInt8 {
        .body(.sequence(bytes, length: length))
    }

    /// Returns the pieces of a sequence that the closure creates each time they are sent, for example for a retry.
    ///
    ///     let upload = await session.upload(.sequence { lines() }, to: url)
    ///
    /// The closure must make a new sequence each time.
    public static func sequence<Pieces: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Pieces
    ) -> RequestContent where Pieces.Element: DataProtocol {
        .body(.sequence(length: length, make))
    }

    /// Returns the bytes of a sequence that the closure creates each time they are sent.
    public static func sequence<Bytes: AsyncSequence & SendableMetatype>(
        length: UInt64? = nil, _ make: @escaping @Sendable () async throws -> Bytes
    ) -> RequestContent where Bytes.Element == UInt8 {
        .body(.sequence(length: length, make))
    }

    /// Returns the bytes of a Foundation stream, which can be sent once. A thread reads the stream while it is sent.
    public static func inputStream(_ stream: sending InputStream, length: UInt64? = nil) -> RequestContent {
        .body(.inputStream(stream, length: length))
    }

    /// Returns the bytes of a Foundation stream that the closure creates each time they are sent.
    public static func inputStream(
        length: UInt64? = nil, _ make: @escaping @Sendable () throws -> InputStream?
    ) -> RequestContent {
        .body(.inputStream(length: length, make))
    }
}
