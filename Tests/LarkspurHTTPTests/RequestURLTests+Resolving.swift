import LarkspurHTTP
import TestSupport
import Testing

@Suite("RequestURL: resolving references", .limited)
struct RequestURLResolvingTests {
    /// The normal examples of RFC 3986, section 5.4.1.
    static let normal: [(String, String)] = [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
    ]

    /// The abnormal examples of RFC 3986, section 5.4.2.
    static let abnormal: [(String, String)] = [
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"),
        ("http:g", "http:g"),
    ]

    @Test("the examples of RFC 3986 section 5.4 resolve as stated", arguments: normal + abnormal)
    func examplesHold(reference: String, expected: String) throws {
        let url = try RequestURL("http://a/b/c/d;p?q").resolving(reference)
        #expect(url.text == expected)
        #expect(try RequestURL(url.text) == url)
    }

    @Test("the examples resolve as stated for an unknown scheme", arguments: normal + abnormal)
    func examplesHoldForAnyScheme(reference: String, expected: String) throws {
        let url = try RequestURL("foo://a/b/c/d;p?q").resolving(reference)
        let empty = reference == "//g" ? "foo://g" : nil
        #expect(url.text == empty ?? (expected.hasPrefix("http://") ? "foo" + expected.dropFirst(4) : expected))
    }

    static let others: [(String, String, String)] = [
        // References that servers send in `Location`
        ("http://a/b", "a b/é?x=\"1\"#<>", "http://a/a%20b/%C3%A9?x=%221%22#%3C%3E"),
        ("http://a/b", "/x|y", "http://a/x%7Cy"),
        ("http://a/b", "HTTP://B:80/./c", "http://b/c"), ("https://a/b", "//c:443", "https://c/"),
        ("http://a/b", "x:80/y", "x:80/y"),
        ("http://a/b", "1x:80/y", "http://a/1x:80/y"), ("http://a/b", "a b:c", "http://a/a%20b:c"),
        ("http://a/b", "./x:y", "http://a/x:y"),
        ("http://a/b", "\u{301}x", "http://a/%CC%81x"), ("http://a/b", "/\u{301}/h", "http://a/%CC%81/h"),
        ("http://a/b", "/\\evil.example", "http://a/%5Cevil.example"),
        ("http://a/b", "\\\\evil.example", "http://a/%5C%5Cevil.example"),
        ("http://a/b", "%2e%2E/c", "http://a/c"), ("http://a/b", "/..//c", "http://a//c"),
        ("http://a/b/", "%", "http://a/b/%"), ("http://a/b", "/t%zz?u%", "http://a/t%zz?u%"),
        // Fragments and empty queries
        ("http://a/b?q#f", "", "http://a/b?q"), ("http://a/b?q#f", "#", "http://a/b?q#"),
        ("http://a/b?q#f", "?", "http://a/b?"),
        ("http://a/b?q#f", "c", "http://a/c"), ("http://a/b?/x/y", "c", "http://a/c"), ("http://a", "c", "http://a/c"),
        // Bases without a directory, an authority or a rooted path
        ("foo://h", "g", "foo://h/g"), ("foo://h?q", "../g", "foo://h/g"), ("foo://h/a/../b", "?q", "foo://h/a/../b?q"),
        ("foo://h/a/../b", "c", "foo://h/c"), ("g:h", "x", "g:x"), ("g:h/i", "x", "g:h/x"), ("g:h", "/x", "g:/x"),
        ("g:h", "//x", "g://x"),
        ("g:h", "../x", "g:x"), ("g:h", "?q", "g:h?q"), ("http:g", "h", "http:h"), ("file:///a/b", "../c", "file:///c"),
        ("g:", "a/../b", "g:/b"), ("http://a/b", "g:a/./b", "g:a/b"), ("http://[::1]:8/x", "y", "http://[::1]:8/y"),
        ("http://[::1]:8/x", "//[::0:2]", "http://[::2]/"),
    ]

    @Test("references resolve against any base", arguments: others)
    func referencesResolve(base: String, reference: String, expected: String) throws {
        let url = try RequestURL(base).resolving(reference)
        #expect(url.text == expected)
        #expect(try Parts(RequestURL(url.text)) == Parts(url))
    }

    static let refused: [(String, RequestURLError.Reason, Int)] = [
        (" g", .surroundingWhitespace, 0), ("g ", .surroundingWhitespace, 1),
        ("g\r\nSet-Cookie: x", .controlCharacter, 1),
        ("g\0", .controlCharacter, 1), ("//h:x/", .portInvalid, 3), ("//h\\x/", .backslashInAuthority, 3),
        ("//", .hostMissing, 2),
        ("///x", .hostMissing, 2), ("//1.2/", .ipv4Invalid, 2), ("http://h:x/", .portInvalid, 8),
        ("http:///", .hostMissing, 7),
        ("g:/.//h", .pathAmbiguous, 2), ("//u:%00@h/", .userInfoInvalid, 2), ("//é/", .hostNotASCII, 2),
    ]

    @Test("the error of a refused reference has its offset in the reference", arguments: refused)
    func referencesAreRefused(reference: String, reason: RequestURLError.Reason, offset: Int) throws {
        let base = try RequestURL("http://a/b/c/d;p?q")
        let error = try #require(throws: RequestURLError.self) { try base.resolving(reference) }
        #expect(error.reason == reason)
        #expect(error.offset == offset)
    }

    @Test(
        "no path becomes a host",
        arguments: [("g:/a", "..//h"), ("g:/a/b", "/.//h"), ("g:a/b", "..//h"), ("g:/", ".//h")])
    func pathsStayPaths(base: String, reference: String) throws {
        let base = try RequestURL(base)
        let error = try #require(throws: RequestURLError.self) { try base.resolving(reference) }
        #expect(error.reason == .pathAmbiguous)
    }

    static let inherited: [(String, String?, String?)] = [
        ("", "u", "p"), ("#f", "u", "p"), ("?q", "u", "p"), ("x", "u", "p"), ("/x", "u", "p"), ("../x@y", "u", "p"),
        ("//b", nil, nil),
        ("//a/", nil, nil), ("http://a/", nil, nil), ("http://b/", nil, nil), ("//v@a/", "v", nil),
        ("http://v:q@b/", "v", "q"), ("g:h", nil, nil),
    ]

    @Test("a reference keeps the userinfo only if it has no scheme and no authority", arguments: inherited)
    func userInfoIsInherited(reference: String, user: String?, password: String?) throws {
        let url = try RequestURL("http://u:p@a/b/c").resolving(reference)
        #expect(url.user == user)
        #expect(url.password == password)
    }
}

@Suite("RequestURL: changing the query", .limited)
struct RequestURLQueryTests {
    static let appended: [(String, String, String)] = [
        ("http://h/", "a=1", "http://h/?a=1"), ("http://h/?", "a=1", "http://h/?a=1"),
        ("http://h/?x", "a=1&b", "http://h/?x&a=1&b"),
        ("http://h/?x#f", "a", "http://h/?x&a#f"), ("http://h/#f", "a", "http://h/?a#f"),
        ("http://h/?x", "", "http://h/?x"),
        ("http://h/", "", "http://h/"), ("foo://h", "a", "foo://h?a"), ("http://h/?#f", "a", "http://h/?a#f"),
        ("http://h/", "q=a b#c\"d é%zz%7e%2f[]?/", "http://h/?q=a%20b%23c%22d%20%C3%A9%zz~%2F[]?/"),
        ("http://h/", " a ", "http://h/?%20a%20"),
        ("mailto:x", "a", "mailto:x?a"),
    ]

    @Test("an appended query is joined with an ampersand and escaped", arguments: appended)
    func queriesAreAppended(text: String, query: String, expected: String) throws {
        let url = try RequestURL(text).appendingQuery(query)
        #expect(url.text == expected)
        #expect(try Parts(RequestURL(expected)) == Parts(url))
    }

    static let replaced: [(String, String?, String)] = [
        ("http://h/?x#f", "a=1", "http://h/?a=1#f"), ("http://h/", "a", "http://h/?a"),
        ("http://h/?x", nil, "http://h/"),
        ("http://h/?x#f", nil, "http://h/#f"), ("http://h/?x", "", "http://h/?"),
        ("http://h/#f", "#", "http://h/?%23#f"),
        ("foo:x?y", "?", "foo:x??"), ("http://h/", nil, "http://h/"),
    ]

    @Test("replacing the query leaves the other parts unchanged", arguments: replaced)
    func queriesAreReplaced(text: String, query: String?, expected: String) throws {
        let url = try RequestURL(text).replacingQuery(query)
        #expect(url.text == expected)
        #expect(try Parts(RequestURL(expected)) == Parts(url))
    }

    @Test("a control character in a query is an error", arguments: ["a\n", "\r", "a=\0", "\u{7F}", "x\u{9F}"])
    func controlsAreRefused(query: String) throws {
        let url = try RequestURL("http://h/?x")
        let error = try #require(throws: RequestURLError.self) { try url.appendingQuery(query) }
        #expect(error.reason == .controlCharacter)
        #expect(error.offset == query.utf8.count - (query.hasSuffix("\u{9F}") ? 2 : 1))
        #expect(throws: RequestURLError.self) { try url.replacingQuery(query) }
    }

    @Test("a URL with a changed query keeps user and password")
    func userInfoStays() throws {
        let url = try RequestURL("http://u:p@h/?x")
        #expect(try url.appendingQuery("y").password == "p")
        #expect(try url.replacingQuery(nil).user == "u")
    }
}
