/// How much may become of a body when its content coding is undone: what keeps a few bytes from a peer from filling the
/// memory.
///
/// The limits hold at every moment and for each of several codings by itself, so a body that breaks them fails with
/// `.contentTooLarge` before more than they allow was made of it.
public struct DecodingLimits: Sendable, Hashable {
    /// How many bytes a body may have when it is decoded; 2 GiB unless set. What is larger belongs in a file.
    public var maximumSize: UInt64 = 2 << 30

    /// How many times as large as what was received a body may get; 200 unless set. Texts seldom get beyond 20 and logs
    /// beyond 100; a bomb made with gzip is at 1,030, one made with brotli or zstd at 10,000 and more.
    public var maximumRatio: UInt64 = 200

    /// The ratio does not matter for what is not larger than this; 4 MiB unless set. A short body that repeats itself
    /// harms nobody.
    public var sizeFreeOfRatio: UInt64 = 4 << 20

    /// The limits as they are unless set.
    public init() {}

    /// Whatever comes: for peers that are trusted.
    public static let none = {
        var limits = DecodingLimits()
        limits.maximumSize = .max
        limits.maximumRatio = .max
        return limits
    }()

    func check(_ decoded: UInt64, from encoded: UInt64) throws(RequestError) {
        guard decoded <= maximumSize else {
            throw RequestError(
                .contentTooLarge,
                "the decoded body is larger than \(maximumSize) bytes; raise options.decodingLimits if that is right")
        }
        let (allowed, isUnlimited) = encoded.multipliedReportingOverflow(by: maximumRatio)
        guard decoded <= sizeFreeOfRatio || isUnlimited || decoded <= allowed else {
            throw RequestError(
                .contentTooLarge,
                "the body gets more than \(maximumRatio) times as large by decoding, as if it were made to fill the "
                    + "memory; raise options.decodingLimits if that is right")
        }
    }
}
