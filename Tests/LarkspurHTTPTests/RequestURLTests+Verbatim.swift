import LarkspurHTTP
import TestSupport
import Testing

@Suite("RequestURL: verbatim", .limited)
struct RequestURLVerbatimTests {
    @Test(
        "Path, query and fragment stay byte for byte",
        arguments: [
            "/a/../b/./c", "/a%2fb%7e%zz%", "/?sig=a%2Bb%2fc==&x=%7e", "/p?q=a|b^c{d}`e\"f<g>\\", "//a//b",
            "/a;b=c?d[]=1", "/?", "/?#",
            "/a?b#c%7e|", "/%E4%b8%ad", "/%00",
        ])
    func kept(rest: String) throws {
        let url = try RequestURL(verbatim: "https://h" + rest)
        #expect(url.text == "https://h" + rest)
        #expect(url.target == rest.prefix { $0 != "#" })
        #expect(url.host == "h" && url.isHTTP)
    }

    @Test(
        "Scheme, host and port are normalised, and user and password are not part of the text",
        arguments: [
            ("HTTPS://User:Pass@H.Example:443/%7e", "https://h.example/%7e"), ("http://h", "http://h/"),
            ("http://h?a=%7e", "http://h/?a=%7e"),
            ("http://[2001:DB8:0::1]:8080/../x", "http://[2001:db8::1]:8080/../x"),
        ])
    func authority(text: String, expected: String) throws {
        let url = try RequestURL(verbatim: text)
        #expect(url.text == expected)
        #expect(url.user == (text.contains("@") ? "User" : nil))
    }

    @Test(
        "Characters that need escapes, and characters that no URL may have, are refused",
        arguments: [
            ("http://h/a b", .unescapedCharacter, 10), ("http://h/?a b", .unescapedCharacter, 11),
            ("http://h/é", .unescapedCharacter, 9), ("http://h/#é", .unescapedCharacter, 10),
            ("http://h/\0", .controlCharacter, 9),
            ("http://h/?a\r\nHost: b", .controlCharacter, 11), ("http://h/\u{7F}", .controlCharacter, 9),
            ("http://h/ ", .surroundingWhitespace, 9), ("h/a", .schemeMissing, 0), ("http:///a", .hostMissing, 7),
            ("http://a b/", .hostInvalid, 8), ("http://h:x/", .portInvalid, 8),
        ] as [(String, RequestURLError.Reason, Int)])
    func refused(text: String, reason: RequestURLError.Reason, offset: Int) {
        let error = #expect(throws: RequestURLError.self) { try RequestURL(verbatim: text) }
        #expect(error?.reason == reason && error?.offset == offset)
    }

    @Test("Adding a query leaves the other parts unchanged; resolving a reference normalises the URL")
    func composed() throws {
        let url = try RequestURL(verbatim: "https://u@h/a/../b%2f?sig=%7e|#f|")
        #expect(try url.appendingQuery("x=1 2").text == "https://h/a/../b%2f?sig=%7e|&x=1%202#f|")
        #expect(try url.replacingQuery(nil).text == "https://h/a/../b%2f#f|")
        #expect(try url.appendingQuery("x").user == "u")
        #expect(url.withoutUserInfo.text == url.text)
        #expect(try url.resolving("?n=%7e").text == "https://h/b%2F?n=~")
        #expect(try url.resolving("/c/../d").text == "https://h/d")
        #expect(try url.resolving("https://other/%7e").text == "https://other/~")
    }

    @Test("A normal text gives the same URL with both initialisers", arguments: RequestURLNormalFormTests.kept)
    func normal(text: String) throws { #expect(try RequestURL(verbatim: text) == RequestURL(text)) }
}
