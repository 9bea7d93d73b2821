import LarkspurHTTP
import TestSupport
import Testing

@Suite("RequestURL: normal form", .limited)
struct RequestURLNormalFormTests {
    static let kept = [
        "http://127.0.0.1:8080/some/path?x=1", "https://example.com/", "http://a/b/c/d;p?q", "http://h/?", "http://h/#",
        "http://h/?#", "http://h/?a[]=1&b='2'", "http://h/a%20b?c=%2F%3F#%25", "http://h//a//b/",
        "http://h/.a/..b/.../c.",
        "http://h/~u/!$&'()*+,;=:@", "wss://h:8443/chat", "http://h:0/", "http://h:65535/", "http://my_host.-a.b-/",
        "http://h./", "http://[2001:db8::1]:8080/x", "file:///etc/passwd", "file://server/share",
        "mailto:ada@example.com",
        "urn:isbn:0451450523", "g+h-i.1:x", "foo://h", "foo://h?q", "foo://h:80", "foo://h/a/../b", "data:,a%20b", "x:",
        "http:g", "http:", "http:/only/a/path", "tel:+1-816-555-1212", "foo:/a/./b", "http://h/a:b@c",
        "http://h/100%", "http://h/%4", "http://h/%zz?%g1#%1g",
    ]

    @Test("a normal text stays unchanged, byte for byte", arguments: kept)
    func normalTextIsKept(text: String) throws {
        #expect(try RequestURL(text).text == text)
    }

    static let rewritten: [(String, String)] = [
        // Scheme, host and port, RFC 3986 sections 6.2.2.1 and 6.2.3
        ("HTTP://EXAMPLE.Com/Path", "http://example.com/Path"),
        ("hTTps://h:443/", "https://h/"),
        ("http://h:80", "http://h/"),
        ("http://h:443/", "http://h:443/"),
        ("https://h:80/", "https://h:80/"),
        ("ws://h:80/", "ws://h/"),
        ("WSS://h:443/a", "wss://h/a"),
        ("http://h:/", "http://h/"),
        ("http://h:", "http://h/"),
        ("foo://h:/", "foo://h/"),
        ("http://h:0080/", "http://h/"),
        ("http://h:08080/", "http://h:8080/"),
        ("http://h:00000000000000000000000081/", "http://h:81/"),
        ("http://h:00/", "http://h:0/"),
        ("FOO://Host/A", "foo://host/A"),
        // The empty path
        ("http://h", "http://h/"),
        ("http://h?q", "http://h/?q"),
        ("http://h#f", "http://h/#f"),
        ("wss://h", "wss://h/"),
        // Dot segments, section 5.2.4
        ("http://h/a/./b", "http://h/a/b"),
        ("http://h/a/../b", "http://h/b"),
        ("http://h/a/b/..", "http://h/a/"),
        ("http://h/a/b/.", "http://h/a/b/"),
        ("http://h/..", "http://h/"),
        ("http://h/../../x", "http://h/x"),
        ("http://h/a//../b", "http://h/a/b"),
        ("http://h/mid/content=5/../6", "http://h/mid/6"),
        ("http://h/a/b/c/./../../g", "http://h/a/g"),
        ("http://h/a/%2e/b", "http://h/a/b"),
        ("http://h/a/%2E%2e/b", "http://h/b"),
        ("http://h/a/.%2e?q=../x", "http://h/?q=../x"),
        ("http://h/.?#..", "http://h/?#.."),
        ("http://h/..//evil/", "http://h//evil/"),
    ]

    @Test("scheme, host, port and path are normalised", arguments: rewritten)
    func partsAreNormalised(text: String, expected: String) throws {
        #expect(try RequestURL(text).text == expected)
    }

    static let escaped: [(String, String)] = [
        ("http://h/a b", "http://h/a%20b"),
        ("http://h/a b?c d#e f", "http://h/a%20b?c%20d#e%20f"),
        ("http://h/\"<>\\^`{|}", "http://h/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("http://h/?\"<>\\^`{|}", "http://h/?%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("http://h/#\"<>\\^`{|}", "http://h/#%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("http://h/é", "http://h/%C3%A9"),
        ("http://h/?q=日本", "http://h/?q=%E6%97%A5%E6%9C%AC"),
        ("http://h/#😀", "http://h/#%F0%9F%98%80"),
        ("http://h/e\u{301}", "http://h/e%CC%81"),
        ("http://h/\u{301}x", "http://h/%CC%81x"),
        ("http://h/[a]?[b]#[c]", "http://h/%5Ba%5D?[b]#%5Bc%5D"),
        ("http://h/#a#b", "http://h/#a%23b"),
        ("http://h/%7euser%2D%5f%41", "http://h/~user-_A"),
        ("http://h/%c3%a9%2f?%3d#%3f", "http://h/%C3%A9%2F?%3D#%3F"),
        ("http://h/%00%0d%0a", "http://h/%00%0D%0A"),
        ("http://h/%zz%c3%a9%41 ?%", "http://h/%zz%C3%A9A%20?%"),
        ("http://h/%%41", "http://h/%%41"),
        ("http://h/%%34%31", "http://h/%%341"),
        ("http://h/%%3%34%31", "http://h/%%3%341"),
        ("http://h/%4%31", "http://h/%4%31"),
        ("http://h/%a%2e%2e/%2e%2e/%c3%", "http://h/%C3%"),
        ("http://h/%2541", "http://h/%2541"),
        ("http://h/a\\..\\b", "http://h/a%5C..%5Cb"),
        ("mailto:a b", "mailto:a%20b"),
        ("http:\\\\evil", "http:%5C%5Cevil"),
    ]

    @Test("illegal characters are escaped, triplets are upper case, unreserved ones decoded", arguments: escaped)
    func percentEncodingIsNormalised(text: String, expected: String) throws {
        #expect(try RequestURL(text).text == expected)
    }

    @Test("normalising twice changes nothing", arguments: kept + (rewritten + escaped).map(\.0))
    func normalisingIsIdempotent(text: String) throws {
        let once = try RequestURL(text)
        let twice = try RequestURL(once.text)
        #expect(once == twice)
        #expect(Parts(once) == Parts(twice))
    }
}

@Suite("RequestURL: parts", .limited)
struct RequestURLPartsTests {
    static let table: [(String, Parts)] = [
        (
            "HTTPS://Example.com:8443/a/b?x=1&y#top",
            Parts(
                scheme: "https", host: "example.com", hostHeader: "example.com:8443", port: 8443, effectivePort: 8443,
                path: "/a/b", query: "x=1&y", fragment: "top", target: "/a/b?x=1&y")
        ),
        (
            "http://h",
            Parts(scheme: "http", host: "h", hostHeader: "h", effectivePort: 80, path: "/", target: "/")
        ),
        (
            "https://h:443/?#",
            Parts(
                scheme: "https", host: "h", hostHeader: "h", effectivePort: 443, path: "/", query: "", fragment: "",
                target: "/?")
        ),
        (
            "wss://[::1]:9/x",
            Parts(
                scheme: "wss", host: "::1", hostHeader: "[::1]:9", port: 9, effectivePort: 9, path: "/x", target: "/x")
        ),
        (
            "ws://[2001:DB8::1]",
            Parts(
                scheme: "ws", host: "2001:db8::1", hostHeader: "[2001:db8::1]", effectivePort: 80, path: "/",
                target: "/")
        ),
        (
            "file:///etc/hosts",
            Parts(scheme: "file", host: "", hostHeader: "", path: "/etc/hosts", target: "/etc/hosts")
        ),
        ("foo://h?q", Parts(scheme: "foo", host: "h", hostHeader: "h", path: "", query: "q", target: "?q")),
        ("mailto:a@b?s=1", Parts(scheme: "mailto", path: "a@b", query: "s=1", target: "a@b?s=1")),
        ("http:g", Parts(scheme: "http", effectivePort: 80, path: "g", target: "g")),
        ("x:", Parts(scheme: "x", path: "", target: "")),
        (
            "http://h/?a?b#c?d/e",
            Parts(
                scheme: "http", host: "h", hostHeader: "h", effectivePort: 80, path: "/", query: "a?b",
                fragment: "c?d/e",
                target: "/?a?b")
        ),
    ]

    @Test("every part is found", arguments: table)
    func partsAreFound(text: String, parts: Parts) throws {
        #expect(try Parts(RequestURL(text)) == parts)
    }

    @Test("hasOrigin and hasTarget agree with comparing the texts", arguments: table.map(\.0))
    func comparedParts(text: String) throws {
        let url = try RequestURL(text)
        for (part, isSame) in [(url.originText, url.hasOrigin), (url.target, url.hasTarget)] {
            let part = String(part)
            #expect(isSame(part))
            for other in [part + "x", "x" + part, String(part.dropFirst()), String(part.dropLast())] where other != part
            {
                #expect(!isSame(other))
            }
            for index in part.utf8.indices {
                var bytes = Array(part.utf8)
                bytes[part.utf8.distance(from: part.startIndex, to: index)] ^= 1
                #expect(!isSame(String(decoding: bytes, as: UTF8.self)))
            }
        }
    }

    @Test(
        "only http and https are HTTP",
        arguments: [
            ("http://h/", true), ("HTTPS://h/", true), ("ws://h/", false), ("wss://h/", false), ("file:///x", false),
            ("httpx://h/", false), ("xhttp://h/", false), ("aaaaaaaahttp://h/", false), ("ftp://h/", false),
        ])
    func onlyHTTPIsHTTP(text: String, expected: Bool) throws {
        #expect(try RequestURL(text).isHTTP == expected)
    }

    @Test(
        "one origin: scheme, host and effective port agree",
        arguments: [
            ("HTTP://A:80", "http://a"), ("https://a/x?y", "https://u:p@A:443/#z"), ("wss://a", "wss://a:443/"),
            ("http://[0:0::1]/", "http://[::1]:80/"), ("http://a:8080/", "http://a:08080/b"),
        ])
    func originsAgree(left: String, right: String) throws {
        #expect(try RequestURL(left).origin == RequestURL(right).origin)
        #expect(try Set([RequestURL(left).origin, RequestURL(right).origin]).count == 1)
    }

    @Test(
        "another origin: scheme, host or port differs",
        arguments: [
            ("http://a/", "https://a/"), ("http://a/", "http://a:8080/"), ("http://a/", "http://b/"),
            ("http://a/", "http://a./"), ("http://a:443/", "https://a/"), ("http://a/", "ws://a/"),
        ])
    func originsDiffer(left: String, right: String) throws {
        #expect(try RequestURL(left).origin != RequestURL(right).origin)
    }

    @Test("URLs with equal normal forms are equal")
    func equality() throws {
        let urls = try ["http://a", "HTTP://A:80/", "http://a/./", "http://a:/%2e"].map { try RequestURL($0) }
        #expect(Set(urls).count == 1)
        #expect(try RequestURL("http://a/") != RequestURL("http://a/?"))
        #expect(try RequestURL("http://a/%2F") != RequestURL("http://a//"))
    }
}

/// The parts of a URL, for comparison.
struct Parts: Equatable, Sendable {
    var scheme: String
    var host: String?
    var hostHeader: String?
    var port: Int?
    var effectivePort: Int?
    var path: String
    var query: String?
    var fragment: String?
    var target: String
}

extension Parts {
    init(_ url: RequestURL) {
        self.init(
            scheme: String(url.scheme), host: url.host.map(String.init), hostHeader: url.hostHeader.map(String.init),
            port: url.port, effectivePort: url.effectivePort, path: String(url.path), query: url.query.map(String.init),
            fragment: url.fragment.map(String.init), target: String(url.target))
    }

    /// The text that the parts make up. Parsing must not lose or move a byte.
    var text: String {
        scheme + ":" + (hostHeader.map { "//" + $0 } ?? "") + target + (fragment.map { "#" + $0 } ?? "")
    }
}
