internal import CLarkspur

/// A content coding that can be undone, by the name it has in header fields.
enum ContentCoding: String, CaseIterable, Sendable {
    // In the order of preference: the fewest bytes first. Brotli packs texts smallest; zstd nearly as small, and unpacks
    // faster; gzip is understood everywhere; deflate comes last, because servers disagree about what it is.
    case br, zstd, gzip, deflate

    /// Nil for a coding that nobody here knows. Names are compared as RFC 9110 has it, whatever their case.
    init?(named name: some StringProtocol) {
        let name = name.lowercased()
        guard let coding = Self(rawValue: name == "x-gzip" ? "gzip" : name) else { return nil }
        self = coding
    }

    /// The names of the codings that can be undone on this machine, in the order of preference.
    static let available = allCases.filter { $0.decoder != nil }.map(\.rawValue)

    /// The names of codings that `Content-Encoding` fields list, in the order in which they were applied.
    static func names(in values: [String]) -> [String] {
        values.flatMap(\.listed).filter { !isNoCoding($0.lowercased()) }
    }

    /// The transfer codings that a transport leaves on a body, in the order in which they were applied.
    static func transferNames(in head: ResponseHead) -> [String] {
        head.values(for: "Transfer-Encoding").flatMap(\.listed).filter {
            !["chunked", "identity"].contains($0.lowercased())
        }
    }

    /// Whether the name stands for no change of the body. Servers write charsets, media types and the encodings of mail
    /// into `Content-Encoding`; curl and browsers read such bodies as they are.
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

    /// The format of a body that begins with this byte.
    ///
    /// `deflate` means the zlib format, but many servers send the raw one. A zlib header says 8 in its low bits; of a raw
    /// stream that would be a stored block with its padding set, which no encoder writes.
    func format(beginningWith byte: UInt8) -> Int {
        switch self {
        case .deflate: byte & 0x0F == 8 ? clarkspur_format_zlib : clarkspur_format_raw
        case .gzip, .br, .zstd: clarkspur_format_gzip
        }
    }
}
