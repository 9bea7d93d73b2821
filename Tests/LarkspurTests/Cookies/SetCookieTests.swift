import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("Set-Cookie fields", .limited)
struct SetCookieTests {
    typealias Example = SetCookieExample

    private static let long = String(repeating: "x", count: 4_095)
    private static let longAttribute = "/" + String(repeating: "x", count: 1_024)

    private static let pairs: [Example] = [
        .init("a=1", "a=1 | www.example.com | /docs | host"),
        .init("  a \t=\t 1  ", "a=1 | www.example.com | /docs | host"),
        .init("a=", "a= | www.example.com | /docs | host"),
        .init("a", "=a | www.example.com | /docs | host"),
        .init("=a", "=a | www.example.com | /docs | host"),
        .init("= a=b", "=a=b | www.example.com | /docs | host"),
        .init("a=b=c==", "a=b=c== | www.example.com | /docs | host"),
        .init("a=\"1; 2\"", "a=\"1 | www.example.com | /docs | host"),
        .init("a=\"1, 2\"", "a=\"1, 2\" | www.example.com | /docs | host"),
        .init("a b=c d", "a b=c d | www.example.com | /docs | host"),
        .init("ä=ö", "ä=ö | www.example.com | /docs | host"),
        .init("a=1\t2", "a=1\t2 | www.example.com | /docs | host"),
        .init("a=1;;;", "a=1 | www.example.com | /docs | host"),
        .init("a=1\u{301};x", "a=1\u{301} | www.example.com | /docs | host"),
        .init("", nil), .init("=", nil), .init(" ", nil), .init(";", nil), .init("; a=1", nil), .init("=; Path=/", nil),
        .init("a=1\u{0}", nil), .init("a=1\r\nb=2", nil), .init("a=\u{7F}", nil), .init("a=1; Path=/\u{1F}", nil),
        .init("a=1; X=\u{8}", nil),
        .init("a=" + long, "a=\(long) | www.example.com | /docs | host"), .init("ab=" + long, nil),
        .init("a=" + String(repeating: "ä", count: 2_048), nil),
    ]

    @Test("The name and the value end at the first semicolon", arguments: pairs)
    func readPairs(example: Example) throws { #expect(try example.result() == example.line) }

    private static let attributes: [Example] = [
        .init("a=1; Secure; HttpOnly", "a=1 | www.example.com | /docs | host secure httponly"),
        .init("a=1;sEcUrE=no;HTTPONLY=0", "a=1 | www.example.com | /docs | host secure httponly"),
        .init("a=1; Partitioned; Priority=High; x; =y", "a=1 | www.example.com | /docs | host"),
        .init("a=1; SameSite=Lax", "a=1 | www.example.com | /docs | host lax"),
        .init("a=1; samesite = STRICT ", "a=1 | www.example.com | /docs | host strict"),
        .init("a=1; SameSite=Lax; SameSite=Strict", "a=1 | www.example.com | /docs | host strict"),
        .init("a=1; SameSite=Lax; SameSite=else", "a=1 | www.example.com | /docs | host"),
        .init("a=1; SameSite=None; Secure", "a=1 | www.example.com | /docs | host secure none"),
        .init("a=1; SameSite=None", nil),
        .init("a=1; Path=/", "a=1 | www.example.com | / | host"),
        .init("a=1; PATH = /x y ", "a=1 | www.example.com | /x y | host"),
        .init("a=1; Path=x", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Path=", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Path", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Path=/a; Path=/b", "a=1 | www.example.com | /b | host"),
        .init("a=1; Path=/a; Path=", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Path=\"/\"", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Path=" + longAttribute, "a=1 | www.example.com | /docs | host"),
        .init("a=1; Path=/a; Path=" + longAttribute, "a=1 | www.example.com | /a | host"),
        .init("a=1; Max-Age=60", "a=1 | www.example.com | /docs | host +60"),
        .init("a=1; max-age = 60 ", "a=1 | www.example.com | /docs | host +60"),
        .init("a=1; Max-Age=60; Max-Age=90", "a=1 | www.example.com | /docs | host +90"),
        .init("a=1; Max-Age=60; Max-Age=x", "a=1 | www.example.com | /docs | host +60"),
        .init("a=1; Max-Age=+60", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Max-Age=6 0", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Max-Age=6.5", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Max-Age=", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Max-Age=-", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Max-Age=٦", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Max-Age=34560001", "a=1 | www.example.com | /docs | host +34560000"),
        .init("a=1; Max-Age=99999999999999999999999999", "a=1 | www.example.com | /docs | host +34560000"),
        .init("a=1; Expires=Thu, 01 Jan 2026 00:01:00 GMT", "a=1 | www.example.com | /docs | host +60"),
        .init("a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT", "a=1 | www.example.com | /docs | host +34560000"),
        .init("a=1; Expires=Wed, 31 Dec 2025 23:59:00 GMT", "a=1 | www.example.com | /docs | host +-60"),
        .init("a=1; Expires=tomorrow", "a=1 | www.example.com | /docs | host"),
        .init(
            "a=1; Max-Age=60; Expires=Thu, 01 Jan 2026 00:02:00 GMT", "a=1 | www.example.com | /docs | host +60"),
        .init(
            "a=1; Max-Age=x; Expires=Thu, 01 Jan 2026 00:02:00 GMT", "a=1 | www.example.com | /docs | host +120"),
        .init(
            "a=1; Expires=Thu, 01 Jan 2026 00:02:00 GMT; Expires=soon", "a=1 | www.example.com | /docs | host +120"),
    ]

    @Test(
        "Attribute names ignore case, unknown attributes are ignored, and the last of duplicates counts",
        arguments: attributes)
    func readAttributes(example: Example) throws { #expect(try example.result() == example.line) }

    @Test("A Max-Age of zero or less is in the past", arguments: ["0", "-1", "-99999999999999999999999", "00"])
    func past(age: String) throws {
        let cookie = SetCookie("a=1; Max-Age=\(age); Expires=Thu, 01 Jan 2099 00:00:00 GMT")?
            .cookie(from: try RequestURL("https://h/"), at: MovedClock.start)
        #expect(cookie?.expires == .distantPast)
    }

    private static let domains: [Example] = [
        .init("a=1; Domain=example.com", "a=1 | example.com | /docs | "),
        .init("a=1; Domain=.example.com", "a=1 | example.com | /docs | "),
        .init("a=1; Domain=EXAMPLE.Com", "a=1 | example.com | /docs | "),
        .init("a=1; Domain=www.example.com", "a=1 | www.example.com | /docs | "),
        .init("a=1; Domain=", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Domain=.", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Domain", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Domain=example.com; Domain=", "a=1 | www.example.com | /docs | host"),
        .init("a=1; Domain=other.com; Domain=example.com", "a=1 | example.com | /docs | "),
        .init("a=1; Domain=..example.com", nil), .init("a=1; Domain=example.com.", nil),
        .init("a=1; Domain=other.com", nil), .init("a=1; Domain=ww.example.com", nil),
        .init("a=1; Domain=a.www.example.com", nil), .init("a=1; Domain=ample.com", nil),
        .init("a=1; Domain=example.com; Domain=other.com", nil), .init("a=1; Domain=example.com:443", nil),
        .init("a=1; Domain=éxample.com", nil), .init("a=1; Domain=www.example.\u{212A}om", nil),
        .init("a=1; Domain=*.example.com", nil), .init("a=1; Domain=\"example.com\"", nil),
        .init("a=1; Domain=com", nil), .init("a=1; Domain=.COM", nil),
        .init("a=1; Domain=com", from: "https://com/", "a=1 | com | / | host"),
        .init("a=1; Domain=com.", from: "https://example.com./", nil),
        .init("a=1; Domain=example.com.", from: "https://www.example.com./", "a=1 | example.com. | / | "),
        .init("a=1; Domain=localhost", from: "http://localhost:8080/", "a=1 | localhost | / | host"),
        .init("a=1; Domain=localhost", from: "http://a.localhost/", nil),
        .init("a=1", from: "http://127.0.0.1/", "a=1 | 127.0.0.1 | / | host"),
        .init("a=1; Domain=0.0.1", from: "http://127.0.0.1/", nil),
        .init("a=1; Domain=1", from: "http://127.0.0.1/", nil),
        .init("a=1", from: "http://[::1]:80/", "a=1 | ::1 | / | host"),
        .init("a=1; Domain=:1", from: "http://[::1]/", nil),
        .init(
            "a=1; Domain=xn--bcher-kva.example", from: "http://a.xn--bcher-kva.example/",
            "a=1 | xn--bcher-kva.example | / | "),
    ]

    @Test(
        "A domain is the host or a parent of it, and not a public suffix unless it is the host itself",
        arguments: domains)
    func readDomains(example: Example) throws { #expect(try example.result() == example.line) }

    private static let paths: [Example] = [
        .init("a=1", from: "https://h", "a=1 | h | / | host"), .init("a=1", from: "https://h/", "a=1 | h | / | host"),
        .init("a=1", from: "https://h/a", "a=1 | h | / | host"),
        .init("a=1", from: "https://h/a/", "a=1 | h | /a | host"),
        .init("a=1", from: "https://h/a/b/c?d=/e/f#/g/h", "a=1 | h | /a/b | host"),
        .init("a=1", from: "https://h//", "a=1 | h | / | host"),
        .init("a=1", from: "https://h/?a/b", "a=1 | h | / | host"),
        .init("a=1", from: "https://h/a/../b/c", "a=1 | h | /b | host"),
        .init("a=1", from: "https://h" + longAttribute + "/b", nil),
        .init("a=1; Path=/elsewhere", from: "https://h/a/b", "a=1 | h | /elsewhere | host"),
    ]

    @Test("The default path of a cookie is the folder of its URL", arguments: paths)
    func readPaths(example: Example) throws { #expect(try example.result() == example.line) }

    private static let secrets: [Example] = [
        .init("a=1; Secure", from: "https://h/", "a=1 | h | / | host secure"),
        .init("a=1; Secure", from: "wss://h/", "a=1 | h | / | host secure"),
        .init("a=1; Secure", from: "http://h/", nil), .init("a=1; Secure", from: "ws://h/", nil),
        .init("a=1; Secure", from: "http://localhost/", nil), .init("a=1; Secure", from: "http://127.0.0.1/", nil),
        .init("__Secure-a=1; Secure", from: "https://h/", "__Secure-a=1 | h | / | host secure"),
        .init("__Secure-a=1", from: "https://h/", nil), .init("__sEcUrE-a=1", from: "https://h/", nil),
        .init("__Secure-a=1; Secure", from: "http://h/", nil),
        .init("__Host-a=1; Secure; Path=/", from: "https://h/b/c", "__Host-a=1 | h | / | host secure"),
        .init("__HOST-a=1; Secure; Path=/", from: "https://h/b/c", "__HOST-a=1 | h | / | host secure"),
        .init("__Host-a=1; Secure", from: "https://h/", nil), .init("__Host-a=1; Path=/", from: "https://h/", nil),
        .init("__host-a=1; Secure; Path=/b", from: "https://h/b", nil),
        .init("__Host-a=1; Secure; Path=/; Domain=a.b", from: "https://a.b/", nil),
        .init("__Host-a=1; Secure; Path=/", from: "http://h/", nil),
        .init("__Host=1", from: "https://h/", "__Host=1 | h | / | host"),
        .init("=__Host-a=1; Secure; Path=/", from: "https://h/", nil),
        .init("__host-a; Secure; Path=/", from: "https://h/", nil),
        .init("=__secure-a=1; Secure", from: "https://h/", nil), .init("__Secure-a; Secure", from: "https://h/", nil),
    ]

    @Test("Secure cookies need TLS, and the rules of name prefixes apply", arguments: secrets)
    func secure(example: Example) throws { #expect(try example.result() == example.line) }
}
