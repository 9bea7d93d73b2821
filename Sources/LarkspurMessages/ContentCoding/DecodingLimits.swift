/// The limits for decoding the content codings of a body. They protect the memory from decompression bombs.
///
/// The limits are checked while the body is decoded, for each of its codings. A body that exceeds a limit fails with
/// `.contentTooLarge` before its receiver gets more bytes than the limit allows.
public struct DecodingLimits: Sendable, Hashable {
    /// The maximum size of a decoded body in bytes; 2 GiB by default. Download larger bodies to a file.
    public var maximumSize: UInt64 = 2 << 30

    /// The maximum ratio of decoded to received bytes; 200 by default. The ratio of text rarely exceeds 20, and the
    /// ratio of logs rarely exceeds 100. A gzip bomb reaches 1,030, and a brotli or zstd bomb reaches 10,000 and more.
    public var maximumRatio: UInt64 = 200

    /// The decoded size in bytes up to which the ratio is not checked; 4 MiB by default. Short repetitive bodies can
    /// have a high ratio, but are too small to fill the memory.
    public var sizeFreeOfRatio: UInt64 = 4 << 20

    /// The maximum number of received bytes that decode to nothing; 1 MiB by default. Each decoded byte allows for 64
    /// more. A coded body can have any number of empty blocks or streams, padding and metadata.
    public var maximumEmptySize: UInt64 = 1 << 20

    /// Creates the default limits.
    public init() {}

    /// No limits, for trusted servers.
    public static let none = {
        var limits = DecodingLimits()
        limits.maximumSize = .max
        limits.maximumRatio = .max
        limits.maximumEmptySize = .max
        return limits
    }()

    /// - Parameters:
    ///   - decoded: The number of bytes that a coding's decoder has decoded.
    ///   - consumed: The number of bytes that this decoder has read.
    ///   - encoded: The number of bytes of the body that were received.
    func check(_ decoded: UInt64, from consumed: UInt64, of encoded: UInt64) throws(RequestError) {
        let (free, isAny) = decoded.multipliedReportingOverflow(by: 64)
        guard isAny || consumed <= free || consumed - free <= maximumEmptySize else {
            throw RequestError(
                .contentTooLarge,
                "more than \(maximumEmptySize) bytes of the body decode to nothing, as in an endless row of empty blocks; "
                    + "raise options.decodingLimits to accept it")
        }
        guard decoded <= maximumSize else {
            throw RequestError(
                .contentTooLarge,
                "the decoded body is larger than \(maximumSize) bytes; raise options.decodingLimits to accept it")
        }
        let (allowed, isUnlimited) = encoded.multipliedReportingOverflow(by: maximumRatio)
        guard decoded <= sizeFreeOfRatio || isUnlimited || decoded <= allowed else {
            throw RequestError(
                .contentTooLarge,
                "the decoded body is more than \(maximumRatio) times as large as the received one, like a "
                    + "decompression bomb; raise options.decodingLimits to accept it")
        }
    }
}
