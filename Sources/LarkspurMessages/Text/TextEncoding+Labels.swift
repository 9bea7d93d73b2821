extension TextEncoding {
    /// Creates the encoding for the label of a charset. The label must be in lower case. Returns nil if it is unknown.
    package init?(label: String) {
        let known = Self.labels[label] ?? Self.labels[label.trimmingSpaces]
        guard let encoding = known else { return nil }
        self = encoding
    }

    /// The encodings by label: the labels of the WHATWG Encoding Standard, and a few more. In that standard, the labels
    /// of ASCII mean windows-1252. Here they mean ASCII, and bytes beyond ASCII are an error, because such bytes are
    /// just as often UTF-8.
    private static let labels: [String: TextEncoding] = {
        var labels: [String: TextEncoding] = [:]
        for (name, decoder, names) in unicode + singleByte + multiByte {
            let encoding = TextEncoding(name: name, decoder: decoder)
            for label in [name.lowercased()] + names.split(separator: " ").map(String.init) { labels[label] = encoding }
        }
        return labels
    }()

    private typealias Row = (name: String, decoder: Decoder, labels: String)

    private static let unicode: [Row] = [
        ("UTF-8", .foundation(.utf8), "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"),
        ("US-ASCII", .foundation(.ascii), "ascii ansi_x3.4-1968 iso646-us"),
        ("UTF-16", .foundation(.utf16), "csunicode iso-10646-ucs-2 ucs-2 unicode"),
        ("UTF-16BE", .foundation(.utf16BigEndian), "unicodefffe"),
        ("UTF-16LE", .foundation(.utf16LittleEndian), "unicodefeff"),
        ("UTF-32", .foundation(.utf32), ""), ("UTF-32BE", .foundation(.utf32BigEndian), ""),
        ("UTF-32LE", .foundation(.utf32LittleEndian), ""),
    ]

    private static let singleByte: [Row] = [
        ("IBM866", .singleByte(iconv: "CP866"), "866 cp866 csibm866"),
        latin(2, "csisolatin2 iso-ir-101 iso_8859-2:1987 l2 latin2"),
        latin(3, "csisolatin3 iso-ir-109 iso_8859-3:1988 l3 latin3"),
        latin(4, "csisolatin4 iso-ir-110 iso_8859-4:1988 l4 latin4"),
        latin(5, "csisolatincyrillic cyrillic iso-ir-144 iso_8859-5:1988"),
        latin(
            6,
            "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i iso-ir-127"
                + " iso_8859-6:1987"),
        latin(7, "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso_8859-7:1987 sun_eu_greek"),
        latin(
            8,
            "csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8-e iso-8859-8-i iso-ir-138 iso_8859-8:1988 logical"
                + " visual"),
        latin(10, "csisolatin6 iso-ir-157 l6 latin6"), latin(13, ""), latin(14, ""), latin(15, "csisolatin9 l9"),
        latin(16, ""),
        ("KOI8-R", .singleByte(iconv: "KOI8-R"), "cskoi8r koi koi8 koi8_r"),
        ("KOI8-U", .singleByte(iconv: "KOI8-U", exceptions: [0xAE: "\u{45E}", 0xBE: "\u{40E}"]), "koi8-ru"),
        (
            "macintosh", .singleByte(iconv: "MACINTOSH", exceptions: [0xC6: "\u{2206}", 0xF0: "\u{F8FF}"]),
            "csmacintosh mac x-mac-roman"
        ),
        windows(874, "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620"), windows(1250, ""), windows(1251, ""),
        (
            "windows-1252", .western,
            "cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1"
                + " x-cp1252"
        ),
        windows(1253, ""),
        windows(
            1254, "csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"),
        windows(1255, ""), windows(1256, ""), windows(1257, ""), windows(1258, ""),
        (
            "x-mac-cyrillic", .singleByte(iconv: "MAC-CYRILLIC", exceptions: [0xFF: "\u{20AC}"]), "x-mac-ukrainian"
        ),
    ]

    /// The multi-byte encodings. For some labels the WHATWG standard uses a larger character set than iconv does for
    /// the same name. For these labels, `iconv` is the name of the larger character set, such as GB18030 for GBK.
    private static let multiByte: [Row] = [
        (
            "GBK", .multiByte(iconv: ["GB18030"]),
            "chinese cp936 csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk"
        ),
        ("gb18030", .multiByte(iconv: ["GB18030"]), ""),
        ("Big5", .multiByte(iconv: ["BIG5", "BIG5-HKSCS"]), "big5-hkscs cn-big5 cp950 csbig5 x-x-big5"),
        ("EUC-JP", .multiByte(iconv: ["EUC-JP-MS", "EUC-JP"]), "cseucpkdfmtjapanese x-euc-jp"),
        ("ISO-2022-JP", .multiByte(iconv: ["ISO-2022-JP"]), "csiso2022jp"),
        (
            "Shift_JIS", .multiByte(iconv: ["CP932"]),
            "cp932 csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis"
        ),
        (
            "EUC-KR", .multiByte(iconv: ["CP949"]),
            "cp949 cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"
        ),
    ]

    private static func latin(_ part: Int, _ labels: String) -> Row {
        let written = "iso8859-\(part) iso8859\(part) iso_8859-\(part) "
        return ("ISO-8859-\(part)", .singleByte(iconv: "ISO-8859-\(part)"), written + labels)
    }

    private static func windows(_ page: Int, _ labels: String) -> Row {
        ("windows-\(page)", .singleByte(iconv: "CP\(page)"), "cp\(page) x-cp\(page) " + labels)
    }
}
