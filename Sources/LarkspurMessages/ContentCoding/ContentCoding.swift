internal import CLarkspur

/// A content coding that the library can decode. The raw value is the coding's name in header fields.
package enum ContentCoding: String, CaseIterable, Sendable {
    // The cases are in order of preference. Brotli compresses text best. zstd compresses nearly as well, and decodes
    // faster. Every server supports gzip. deflate is last, because servers disagree about its format.
    case br, zstd, gzip, deflate

    /// Creates the coding of this name, ignoring case (RFC 9110); nil if it is not supported.
    init?(named name: some StringProtocol) {
        let name = name.lowercased()
        guard let coding = Self(rawValue: name == "x-gzip" ? "gzip" : name) else { return nil }
        self = coding
    }

    /// The names of the codings that can be decoded on this machine, in order of preference.
    static let available = allCases.filter { $0.decoder != nil }.map(\.rawValue)

    /// Returns the codings that the `Content-Encoding` fields name, in the order in which the server applied them.
    package static func names(in values: [String]) -> [String] {
        values.flatMap(\.listed).filter { !isNoCoding($0.lowercased()) }
    }

    /// Returns the transfer codings that the transport has not decoded, in the order in which the server applied them.
    package static func transferNames(in head: ResponseHead) -> [String] {
        head.values(for: "Transfer-Encoding").flatMap(\.listed).filter {
            !["chunked", "identity"].contains($0.lowercased())
        }
    }

    /// Returns whether this name in `Content-Encoding` means that the body is not coded. Some servers write charsets,
    /// media types and mail encodings into that field; curl and browsers leave such bodies unchanged.
    private static func isNoCoding(_ name: String) -> Bool {
        let names = [
            "identity", "none", "chunked", "aws-chunked", "7bit", "8bit", "binary", "ascii", "us-ascii", "unicode",
            "latin1", "shift_jis", "shift-jis", "sjis", "gbk", "gb2312", "gb18030", "big5",
        ]
        let beginnings = [
            "utf-", "utf8", "utf16", "iso-8859", "iso8859", "windows-", "cp125", "koi8", "euc-", "charset=",
        ]
        return names.contains(name) || beginnings.contains { name.hasPrefix($0) } || name.contains("/")
    }

    var decoder: UnsafePointer<clarkspur_coder>? {
        switch self {
        case .br: clarkspur_brotli_decoder()
        case .zstd: clarkspur_zstd_decoder()
        case .gzip, .deflate: clarkspur_zlib_decoder()
        }
    }

    /// Returns the format for opening the decoder, for a body that begins with this byte.
    ///
    /// `deflate` means the zlib format, but many servers send raw deflate. A zlib header has the value 8 in the low
    /// four bits of its first byte. In raw deflate, the value 8 would mean a stored block with non-zero padding. No
    /// encoder writes such a block.
    func format(beginningWith byte: UInt8) -> Int {
        switch self {
        case .deflate: byte & 0x0F == 8 ? clarkspur_format_zlib : clarkspur_format_raw
        case .gzip, .br, .zstd: clarkspur_format_gzip
        }
    }
}
