import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Cookies created by the program", .limited)
struct CookieTests {
    @Test(
        "A cookie that cannot or must not be sent is refused",
        arguments: [
            ("", ""), ("a", "1;2"), ("a;b", "1"), ("a=b", "1"), ("a", " 1"), ("a ", "1"), ("a", "1\n"),
            ("a\r\nX: ", "1"),
            ("a", "\u{0}"), ("a", String(repeating: "x", count: 4_096)), ("__Secure-a", "1"), ("__host-a", "1"),
            ("", "__Host-a"),
        ])
    func refused(name: String, value: String) throws {
        let error = #expect(throws: RequestError.self) { try Cookie(name: name, value: value, domain: "h.com") }
        #expect(error?.code == .invalidCookie)
    }

    @Test(
        "A domain is a host name or an address",
        arguments: [
            ("h.com", "h.com"), ("H.Com", "h.com"), (".h.com", "h.com"), ("bücher.example", "xn--bcher-kva.example"),
            ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("0:0::1", "::1"), ("localhost", "localhost"), ("", nil),
            (".", nil), ("..h.com", nil), ("h.com/x", nil), ("h.com:80", nil), ("u@h.com", nil), ("h.com?x", nil),
            ("h.com#x", nil), ("h com", nil), ("h.com\\x", nil), ("h.com;x", nil), ("1.2.3", nil), ("[::1]", nil),
            ("a..b", nil),
        ] as [(String, String?)])
    func domains(domain: String, host: String?) {
        #expect((try? Cookie(name: "a", value: "1", domain: domain))?.domain == host)
    }

    @Test("Path, reach and SameSite are checked")
    func others() {
        func code(_ make: () throws -> Cookie) -> RequestError.Code? {
            do {
                _ = try make()
                return nil
            } catch {
                return (error as? RequestError)?.code
            }
        }
        #expect(code { try Cookie(name: "a", value: "1", domain: "h", path: "x") } == .invalidCookie)
        #expect(code { try Cookie(name: "a", value: "1", domain: "h", path: "") } == .invalidCookie)
        #expect(code { try Cookie(name: "a", value: "1", domain: "h", path: "/\n") } == .invalidCookie)
        #expect(code { try Cookie(name: "a", value: "1", domain: "com", isHostOnly: false) } == .invalidCookie)
        #expect(code { try Cookie(name: "a", value: "1", domain: "com") } == nil)
        #expect(code { try Cookie(name: "a", value: "1", domain: "h", sameSite: .none) } == .invalidCookie)
        #expect(code { try Cookie(name: "__Host-a", value: "1", domain: "h", isSecure: true) } == nil)
        #expect(code { try Cookie(name: "__Host-a", value: "1", domain: "h", path: "/x", isSecure: true) } != nil)
        #expect(code { try Cookie(name: "a", value: "", domain: "h") } == nil)
        #expect(code { try Cookie(name: "", value: "a=b", domain: "h") } == nil)
    }

    @Test("A decoded cookie is checked too", arguments: ["1\\r\\nX: y", "1;2", " "])
    func decoded(value: String) throws {
        let text = try String(decoding: JSONEncoder().encode(Cookie(name: "a", value: "V", domain: "h")), as: UTF8.self)
        #expect(throws: Never.self) { try JSONDecoder().decode(Cookie.self, from: Data(text.utf8)) }
        let changed = Data(text.replacing("\"V\"", with: "\"\(value)\"").utf8)
        #expect(throws: RequestError.self) { try JSONDecoder().decode(Cookie.self, from: changed) }
    }

    @Test("No description of a cookie or a jar shows a value")
    func descriptions() throws {
        let cookie = try Cookie(name: "sid", value: "hunter2", domain: "h.com")
        let jar = CookieJar([cookie])
        let session = Session(configuration: SessionConfiguration { $0.cookieJar = jar })
        var text = String(reflecting: [cookie]) + "\(cookie) \(jar)" + String(reflecting: jar)
        dump(cookie, to: &text)
        dump([jar], to: &text)
        dump(session.configuration, to: &text)
        #expect(!text.contains("hunter2"))
        #expect("\(cookie) \(jar)" == "Cookie(sid, h.com/) CookieJar(1 cookies)")
    }

    @Test("Cookies are converted to Foundation's and back")
    func foundation() throws {
        let cookies = [
            try Cookie(name: "a", value: "1", domain: "h.com"),
            try Cookie(
                name: "b", value: "2", domain: "h.com", isHostOnly: false, path: "/x",
                expires: Date(timeIntervalSince1970: 4_000_000_000), isSecure: true),
        ]
        for cookie in cookies {
            let theirs = try #require(HTTPCookie(cookie))
            #expect(theirs.domain == (cookie.isHostOnly ? "" : ".") + cookie.domain)
            let back = try Cookie(theirs)
            #expect(back.line == cookie.line)
        }
        let parsed = HTTPCookie.cookies(
            withResponseHeaderFields: ["Set-Cookie": "a=1; Path=/y; Secure; HttpOnly; Domain=h.com"],
            for: try #require(URL(string: "https://w.h.com/")))
        #expect(try parsed.map { try Cookie($0).line } == ["a=1 | h.com | /y | secure httponly"])
    }

    @Test("A jar imports Foundation's storage, and exports to it")
    func storage() throws {
        let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
        let jar = CookieJar([try Cookie(name: "a", value: "1", domain: "h.com")])
        jar.copyCookies(to: storage)
        #expect(storage.cookies?.map(\.name) == ["a"])
        let other = CookieJar()
        other.setCookies(of: storage)
        #expect(other.header(for: try RequestURL("http://h.com/")) == "a=1")
    }
}
