/// An absolute URL: one normalised text and the offsets of the URL's parts.
///
/// The library parses URLs only here. If two parsers disagreed about the end of a host, a request could be checked for
/// one host and sent to another. Parsing follows RFC 3986. The parser is strict about the authority, because the
/// authority decides where bytes are sent. It is lenient about path, query and fragment, because servers use unescaped
/// characters in them.
///
/// A text that is already in normal form stays unchanged, and parsing it copies nothing. Otherwise the parser
/// lower-cases scheme and host, removes default ports and dot segments, makes percent triplets canonical and escapes
/// illegal characters. A percent sign that starts no triplet (`/50%`) stays unchanged. Parsing ``text`` again gives the
/// same URL, without user and password. ``init(verbatim:idna:)`` keeps path, query and fragment unchanged.
///
/// The parser accepts every scheme, so the caller must refuse schemes that it does not support, such as `file:`. A URL
/// without an authority, such as `http:g`, has no host: check ``host`` before connecting.
///
/// ```swift
/// let url = try RequestURL("HTTP://Example.com:80/a/../b?q=x y")
/// url.text      // http://example.com/b?q=x%20y
/// url.target    // /b?q=x%20y
/// ```
public struct RequestURL: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The normalised URL with its fragment. The text is always ASCII, and never contains user and password. It can
    /// contain secrets in the query, which ``description`` hides.
    public let text: String
    let layout: Layout
    /// The text `user` or `user:password`, percent-encoded. It is not part of `text`, so that no printed URL shows a
    /// password.
    let userInfo: String?
    /// Names of query items whose values descriptions hide, in addition to the names that `Redaction.standard` hides.
    package private(set) var secretItems: [String] = []

    /// The maximum length in bytes of a text and of its normal form. Longer texts are refused, because offsets have 16
    /// bits.
    static let limit = Int(UInt16.max)

    /// Parses an absolute URL.
    ///
    /// `idna` converts a non-ASCII host to its ASCII form (`bücher.example` → `xn--bcher-kva.example`). The ASCII form
    /// is validated like any host. Without `idna`, a non-ASCII host is refused.
    public init(_ text: String, idna: ((String) -> String?)? = nil) throws(RequestURLError) {
        self = try Self.parse(text, removesDots: false, idna: idna)
    }

    /// Parses an absolute URL and keeps its path, query and fragment unchanged, byte for byte.
    ///
    /// Use this initialiser for a signed URL, such as a pre-signed URL of a storage service, or if the server compares
    /// URLs as text.
    ///
    /// ```swift
    /// let url = try RequestURL(verbatim: "https://bucket.example.com/a/../b%2f?sig=%7e|x")
    /// url.target    // /a/../b%2f?sig=%7e|x
    /// ```
    ///
    /// Dot segments, percent triplets and unusual characters do not change. Scheme, host and port are normalised,
    /// because they decide where the bytes go, and an empty path becomes `/`. Control characters are refused with
    /// `.controlCharacter`. Spaces and characters that are not ASCII are refused with `.unescapedCharacter`.
    ///
    /// ``appendingQuery(_:)`` and ``replacingQuery(_:)``, and therefore a request's parameters, change only the query.
    /// Resolving a reference against the URL, such as a redirect's `Location`, gives a normalised URL.
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

    /// Parses and normalises a text. If `removesDots` is true, dot segments (RFC 3986 section 5.2.4) are removed from
    /// the paths of unknown schemes too.
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

    /// Scheme and authority, such as `https://example.com:8443`. This text identifies the origin and needs no parsing.
    package var originText: Substring { slice(0, Int(layout.pathStart)) }

    /// Returns whether `originText` equals this text, without creating a substring.
    package func hasOrigin(_ name: String) -> Bool { has(name, 0, Int(layout.pathStart)) }

    package func hasTarget(_ name: String) -> Bool { has(name, Int(layout.pathStart), Int(layout.fragmentStart)) }

    /// The scheme in lower case, without the colon.
    public var scheme: Substring { slice(0, Int(layout.schemeEnd)) }

    /// Whether the scheme is http or https.
    public var isHTTP: Bool { layout.scheme == .http || layout.scheme == .https }

    package var isHTTPS: Bool { layout.scheme == .https }

    /// Whether the URL has a `host`, which may be empty.
    package var hasAuthority: Bool { layout.hasAuthority }

    /// The host in lower case; an IPv6 address has no brackets. The host is `nil` if the URL has no authority, and
    /// empty for `file:///`.
    public var host: Substring? {
        guard layout.hasAuthority else { return nil }
        let (start, end) = (Int(layout.hostStart), Int(layout.hostEnd))
        let name = slice(start, end)
        return name.utf8.first == UInt8(ascii: "[") ? slice(start + 1, end - 1) : name
    }

    /// The value of a `Host` field: the host, and the port unless it is the scheme's default. An IPv6 address has
    /// brackets.
    public var hostHeader: Substring? {
        layout.hasAuthority ? slice(Int(layout.hostStart), Int(layout.pathStart)) : nil
    }

    /// The port in the URL; `nil` if the URL has none or has the scheme's default.
    public var port: Int? { layout.port.map(Int.init) }

    /// The port to connect to: the port in the URL, or the default of http, https, ws and wss.
    public var effectivePort: Int? { (layout.port ?? layout.scheme.defaultPort).map(Int.init) }

    /// The path, percent-encoded. The path of an http(s) or ws(s) URL with a host is never empty.
    public var path: Substring { slice(Int(layout.pathStart), Int(layout.queryStart)) }

    /// The query, percent-encoded and without the question mark; empty for `http://h/?`, `nil` for `http://h/`.
    public var query: Substring? {
        layout.queryStart == layout.fragmentStart
            ? nil : slice(Int(layout.queryStart) + 1, Int(layout.fragmentStart))
    }

    /// The fragment, percent-encoded and without the number sign. The fragment is never sent to a server.
    public var fragment: Substring? {
        let count = text.utf8.count
        return Int(layout.fragmentStart) == count ? nil : slice(Int(layout.fragmentStart) + 1, count)
    }

    /// Path and query: the target in the request line.
    public var target: Substring { slice(Int(layout.pathStart), Int(layout.fragmentStart)) }

    /// The user, percent-decoded; empty for `http://:secret@h/`.
    public var user: String? {
        userInfo.map { Percent.decoded($0.utf8.prefix { $0 != UInt8(ascii: ":") }) }
    }

    /// The password, percent-decoded; `nil` if the URL has no password.
    public var password: String? {
        guard let userInfo, let colon = userInfo.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return Percent.decoded(userInfo.utf8[colon...].dropFirst())
    }

    /// The URL without user and password, for example to send it to another origin.
    public var withoutUserInfo: RequestURL {
        RequestURL(text: text, layout: layout, userInfo: nil, secretItems: secretItems)
    }

    /// Returns the URL with further secret query items. The descriptions of the result hide the values of these items.
    /// The descriptions of URLs that are resolved against the result hide them too.
    package func hidingQueryItems(_ names: [String]) -> RequestURL {
        var url = self
        url.secretItems += names.filter { !secretItems.contains($0) }
        return url
    }

    /// The scheme, host and port.
    public var origin: Origin {
        Origin(scheme: String(scheme), host: host.map(String.init) ?? "", port: effectivePort)
    }

    /// The URL for display and logs: ``Redaction/standard`` hides secrets in query and fragment. Use ``text`` to send
    /// or store the URL.
    public var description: String { Redaction.standard.whole(self) }

    /// Keeps `dump` from showing the password and the secrets that the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    // The layout is not compared, because it results from the text. The names of secret items are not compared, because
    // they do not change what the URL points to.
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
    /// The origin as text: `https://example.com:8443`. The scheme's default port is left out.
    public var description: String {
        let host = host.contains(":") ? "[\(host)]" : host
        switch (scheme, port) {
        case (_, nil), ("http", 80), ("ws", 80), ("https", 443), ("wss", 443): return "\(scheme)://\(host)"
        case (_, let port?): return "\(scheme)://\(host):\(port)"
        }
    }
}

extension RequestURL {
    /// The scheme, host and port of a URL. Credentials and connections are shared only within an origin.
    ///
    /// The port is the effective port, so `HTTP://A:80` and `http://a` have the same origin. The origins of URLs
    /// without a host have an empty `host` and must not be compared: refuse such URLs first.
    public struct Origin: Hashable, Sendable {
        /// The scheme in lower case.
        public let scheme: String
        /// The host; an IPv6 address has no brackets.
        public let host: String
        /// The effective port; nil if the scheme has no default and the URL names no port.
        public let port: Int?
    }

    enum Scheme: Sendable {
        case http, https, ws, wss, other

        /// Creates a scheme from the bytes of its lower-case name, read as a big-endian number. To compare numbers is
        /// faster than to compare strings.
        ///
        /// If a name has more than eight bytes, the number contains only the last eight bytes. None of these bytes is
        /// zero, so the number is greater than all numbers below.
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

    /// The byte offsets of the parts in a text in normal form. An absent query or fragment starts where the next part
    /// starts, or at the end of the text.
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
        /// Whether the path is known to be hierarchical. This is the case for http(s) and ws(s) URLs with an authority.
        var isHierarchical: Bool { scheme != .other && hasAuthority }
    }
}
