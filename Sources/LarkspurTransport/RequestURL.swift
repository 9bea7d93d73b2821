/// An absolute URL: one normalised text and the offsets of its parts.
///
/// The whole library parses URLs here and nowhere else, because two parsers that disagree about where a host ends are
/// a security hole: one checks the host, the other connects. Parsing follows RFC 3986 and is strict about the authority
/// (which decides where bytes go) and lenient about path, query and fragment (which servers send us unescaped).
///
/// A text that is normal already is kept as it is: parsing it copies nothing. Otherwise the scheme and host are
/// lower-cased, default ports dropped, dot segments removed, percent triplets made canonical and illegal characters
/// escaped. A percent sign that starts no triplet (`/50%`) is kept. Parsing `text` again gives the same URL, without the
/// userinfo. ``init(verbatim:idna:)`` keeps path and query as they are.
///
/// Any scheme parses, so that a caller can refuse `file:` by its name. A URL without an authority, `http:g` included,
/// has no host: check ``host`` before connecting.
///
/// ```swift
/// let url = try RequestURL("HTTP://Example.com:80/a/../b?q=x y")
/// url.text      // http://example.com/b?q=x%20y
/// url.target    // /b?q=x%20y
/// ```
public struct RequestURL: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The normalised URL with its fragment: always ASCII, and always without user and password. Secrets in its query are part
    /// of it; ``description`` hides them.
    public let text: String
    let layout: Layout
    /// `user` or `user:password`, still percent-encoded; apart from `text` so that no printed URL can show it.
    let userInfo: String?
    /// Names of query items whose values descriptions hide, beside those that `Redaction.standard` knows.
    package private(set) var secretItems: [String] = []

    /// Offsets are 16 bits wide, so neither a text nor its normal form may be longer than this many bytes.
    static let limit = Int(UInt16.max)

    /// Parses an absolute URL.
    ///
    /// `idna` turns a non-ASCII host into its ASCII form (`bücher.example` → `xn--bcher-kva.example`);
    /// its answer is validated like any host. Without it such a host is refused.
    public init(_ text: String, idna: ((String) -> String?)? = nil) throws(RequestURLError) {
        self = try Self.parse(text, removesDots: false, idna: idna)
    }

    /// Parses an absolute URL whose path, query and fragment stay as they are, byte for byte: a URL that was signed, such as a
    /// pre-signed one of a storage service, or one that a server compares as text.
    ///
    /// ```swift
    /// let url = try RequestURL(verbatim: "https://bucket.example.com/a/../b%2f?sig=%7e|x")
    /// url.target    // /a/../b%2f?sig=%7e|x
    /// ```
    ///
    /// Dot segments, percent triplets and unusual characters are not changed. Scheme, host and port are normalised as ever, because
    /// they decide where the bytes go, and an empty path becomes `/`. Spaces, control characters and characters that are not ASCII
    /// are refused: `.unescapedCharacter`, `.controlCharacter`.
    ///
    /// ``appendingQuery(_:)`` and ``replacingQuery(_:)``, and so parameters of a request, leave the other parts as they are. A
    /// reference that is resolved against the URL, such as a redirect's `Location`, gives a normalised URL.
    public init(verbatim text: String, idna: ((String) -> String?)? = nil) throws(RequestURLError) {
        var normaliser = try Normaliser(text, mode: .verbatim, idna: idna)
        self = try normaliser.url()
    }

    init(text: String, layout: Layout, userInfo: String?, secretItems: [String] = []) {
        self.text = text
        self.layout = layout
        self.userInfo = userInfo
        self.secretItems = secretItems
    }

    /// The one way in: `removesDots` asks for RFC 3986 section 5.2.4 on schemes we know nothing about as well.
    static func parse(
        _ text: String, removesDots: Bool, idna: ((String) -> String?)?
    ) throws(RequestURLError) -> RequestURL {
        var text = text
        let layout = text.withUTF8 { bytes -> Layout? in
            var scanner = Scanner(bytes, removesDots: removesDots)
            return scanner.scan()
        }
        if let layout { return RequestURL(text: text, layout: layout, userInfo: nil) }
        var normaliser = try Normaliser(text, mode: removesDots ? .removingDots : .normal, idna: idna)
        return try normaliser.url()
    }

    // MARK: Parts

    /// Scheme and authority, `https://example.com:8443`: a name for the origin that costs no parsing.
    package var originText: Substring { slice(0, Int(layout.pathStart)) }

    /// Whether `originText` is this text; comparing costs a fraction of making it.
    package func hasOrigin(_ name: String) -> Bool { has(name, 0, Int(layout.pathStart)) }

    package func hasTarget(_ name: String) -> Bool { has(name, Int(layout.pathStart), Int(layout.fragmentStart)) }

    /// In lower case, without the colon.
    public var scheme: Substring { slice(0, Int(layout.schemeEnd)) }

    /// Whether the scheme is http or https.
    public var isHTTP: Bool { layout.scheme == .http || layout.scheme == .https }

    package var isHTTPS: Bool { layout.scheme == .https }

    /// Whether there is a `host`, if only an empty one.
    package var hasAuthority: Bool { layout.hasAuthority }

    /// In lower case, an IPv6 address without its brackets; `nil` when there is no authority, empty for `file:///`.
    public var host: Substring? {
        guard layout.hasAuthority else { return nil }
        let (start, end) = (Int(layout.hostStart), Int(layout.hostEnd))
        let name = slice(start, end)
        return name.utf8.first == UInt8(ascii: "[") ? slice(start + 1, end - 1) : name
    }

    /// What goes into a `Host` field: the host, IPv6 in brackets, and the port unless it is the scheme's default.
    public var hostHeader: Substring? {
        layout.hasAuthority ? slice(Int(layout.hostStart), Int(layout.pathStart)) : nil
    }

    /// The port written in the URL; `nil` also when it was the scheme's default.
    public var port: Int? { layout.port.map(Int.init) }

    /// The port to connect to: the written one or the default of http, https, ws and wss.
    public var effectivePort: Int? { (layout.port ?? layout.scheme.defaultPort).map(Int.init) }

    /// Percent-encoded; never empty when an http(s) or ws(s) URL has a host.
    public var path: Substring { slice(Int(layout.pathStart), Int(layout.queryStart)) }

    /// Percent-encoded, without the question mark; empty for `http://h/?`, `nil` for `http://h/`.
    public var query: Substring? {
        layout.queryStart == layout.fragmentStart
            ? nil : slice(Int(layout.queryStart) + 1, Int(layout.fragmentStart))
    }

    /// Percent-encoded, without the number sign. It never goes to a server.
    public var fragment: Substring? {
        let count = text.utf8.count
        return Int(layout.fragmentStart) == count ? nil : slice(Int(layout.fragmentStart) + 1, count)
    }

    /// Path and query: what goes on the request line.
    public var target: Substring { slice(Int(layout.pathStart), Int(layout.fragmentStart)) }

    /// Percent-decoded; empty for `http://:secret@h/`.
    public var user: String? {
        userInfo.map { Percent.decoded($0.utf8.prefix { $0 != UInt8(ascii: ":") }) }
    }

    /// Percent-decoded; `nil` when the userinfo has no colon.
    public var password: String? {
        guard let userInfo, let colon = userInfo.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return Percent.decoded(userInfo.utf8[colon...].dropFirst())
    }

    /// The same URL without user and password: what may travel to another origin or into a report.
    public var withoutUserInfo: RequestURL {
        RequestURL(text: text, layout: layout, userInfo: nil, secretItems: secretItems)
    }

    /// The same URL; its descriptions, and those of URLs that it leads to, hide the values of these query items.
    package func hidingQueryItems(_ names: [String]) -> RequestURL {
        var url = self
        url.secretItems += names.filter { !secretItems.contains($0) }
        return url
    }

    /// Who answers for it.
    public var origin: Origin {
        Origin(scheme: String(scheme), host: host.map(String.init) ?? "", port: effectivePort)
    }

    /// The URL for people and logs: secrets in query and fragment are hidden by ``Redaction/standard``. Use ``text`` to send or
    /// store the URL.
    public var description: String { Redaction.standard.whole(self) }

    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    // The layout follows from the text; what descriptions hide makes no other URL.
    public static func == (left: RequestURL, right: RequestURL) -> Bool {
        left.text == right.text && left.userInfo == right.userInfo
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(userInfo)
    }

    private func has(_ part: String, _ start: Int, _ end: Int) -> Bool {
        guard part.utf8.count == end - start else { return false }
        let isSame = text.utf8.withContiguousStorageIfAvailable { text in
            part.utf8.withContiguousStorageIfAvailable { part in
                guard let mine = text.baseAddress, let other = part.baseAddress else { return part.isEmpty }
                return memcmp(mine + start, other, part.count) == 0
            }
        }
        return (isSame ?? nil) ?? (slice(start, end) == part)
    }

    func slice(_ start: Int, _ end: Int) -> Substring {
        let utf8 = text.utf8
        let lower = utf8.index(utf8.startIndex, offsetBy: start)
        return text[lower..<utf8.index(lower, offsetBy: end - start)]
    }
}

extension RequestURL.Origin: CustomStringConvertible {
    /// `https://example.com:8443`; a port that is the scheme's own is left out.
    public var description: String {
        let host = host.contains(":") ? "[\(host)]" : host
        switch (scheme, port) {
        case (_, nil), ("http", 80), ("ws", 80), ("https", 443), ("wss", 443): return "\(scheme)://\(host)"
        case (_, let port?): return "\(scheme)://\(host):\(port)"
        }
    }
}

extension RequestURL {
    /// Who answers for a URL: credentials and connections are shared within an origin and never across.
    ///
    /// The port is the effective one, so `HTTP://A:80` and `http://a` are one origin. URLs without a host have no
    /// identity to compare (their `host` is empty): refuse them before asking.
    public struct Origin: Hashable, Sendable {
        /// In lower case.
        public let scheme: String
        /// IPv6 without brackets.
        public let host: String
        /// Nil for a scheme without a port of its own, if none is named.
        public let port: Int?
    }

    enum Scheme: Sendable {
        case http, https, ws, wss, other

        /// Takes the lower-cased name as a big-endian number: one comparison instead of a string's.
        /// A name of more than eight bytes keeps its last eight, none of them zero, and equals no number here.
        init(key: UInt64) {
            self =
                switch key {
                case 0x6874_7470: .http
                case 0x68_7474_7073: .https
                case 0x7773: .ws
                case 0x77_7373: .wss
                default: .other
                }
        }

        var defaultPort: UInt16? {
            switch self {
            case .http, .ws: 80
            case .https, .wss: 443
            case .other: nil
            }
        }
    }

    /// Byte offsets into a normal text. An absent query or fragment starts where the next part does.
    struct Layout: Sendable {
        var scheme = Scheme.other
        var schemeEnd: UInt16 = 0
        var hostStart: UInt16 = 0
        var hostEnd: UInt16 = 0
        var port: UInt16?
        var pathStart: UInt16 = 0
        var queryStart: UInt16 = 0
        var fragmentStart: UInt16 = 0

        var hasAuthority: Bool { hostStart > schemeEnd &+ 1 }
        /// http(s) and ws(s) with an authority: the URLs whose paths are known to be hierarchical.
        var isHierarchical: Bool { scheme != .other && hasAuthority }
    }
}
