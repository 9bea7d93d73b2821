import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("The cookie jar", .limited)
struct CookieJarTests {
    private let clock = MovedClock()
    private let jar: CookieJar

    init() {
        jar = CookieJar(on: clock)
    }

    // MARK: Matching

    private static let places: [(field: String, from: String, to: String, isSent: Bool)] = [
        // Hosts
        ("a=1; Path=/", "https://h.com/", "https://h.com/", true),
        ("a=1; Path=/", "https://h.com/", "https://H.COM/", true),
        ("a=1; Path=/", "https://h.com/", "https://h.com:8443/", true),
        ("a=1; Path=/", "https://h.com/", "http://h.com/", true),
        ("a=1; Path=/", "https://h.com/", "wss://h.com/", true),
        ("a=1; Path=/", "https://h.com/", "https://w.h.com/", false),
        ("a=1; Path=/", "https://w.h.com/", "https://h.com/", false),
        ("a=1; Path=/", "https://h.com/", "https://h.com./", false),
        ("a=1; Path=/; Domain=h.com", "https://h.com/", "https://h.com/", true),
        ("a=1; Path=/; Domain=h.com", "https://h.com/", "https://w.h.com/", true),
        ("a=1; Path=/; Domain=h.com", "https://x.h.com/", "https://y.z.h.com/", true),
        ("a=1; Path=/; Domain=h.com", "https://h.com/", "https://xh.com/", false),
        ("a=1; Path=/; Domain=h.com", "https://h.com/", "https://com/", false),
        ("a=1; Path=/; Domain=h.com", "https://h.com/", "https://h.com.org/", false),
        ("a=1; Path=/", "http://127.0.0.1/", "http://127.0.0.1:81/", true),
        ("a=1; Path=/; Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", true),
        ("a=1; Path=/", "http://[::1]/", "http://[0::1]/", true),
        // Paths
        ("a=1", "https://h/", "https://h/x/y?z", true), ("a=1; Path=/d", "https://h/", "https://h/d", true),
        ("a=1; Path=/d", "https://h/", "https://h/d/e", true), ("a=1; Path=/d", "https://h/", "https://h/d?e", true),
        ("a=1; Path=/d", "https://h/", "https://h/d%2Fe", false), ("a=1; Path=/d", "https://h/", "https://h/de", false),
        ("a=1; Path=/d", "https://h/", "https://h/D", false), ("a=1; Path=/d", "https://h/", "https://h/", false),
        ("a=1; Path=/d/", "https://h/", "https://h/d/", true), ("a=1; Path=/d/", "https://h/", "https://h/d", false),
        ("a=1; Path=/d/", "https://h/", "https://h/d/e", true), ("a=1", "https://h/d/e", "https://h/d", true),
        ("a=1", "https://h/d/e", "https://h/d/f/g", true), ("a=1", "https://h/d/e", "https://h/e", false),
        ("a=1; Path=/d", "https://h/", "https://h/x/../d", true), ("a=1; Path=/d", "https://h/", "https://h//d", false),
        // Secure
        ("a=1; Secure", "https://h/", "https://h/", true), ("a=1; Secure", "https://h/", "wss://h/", true),
        ("a=1; Secure", "https://h/", "http://h/", false), ("a=1; Secure", "https://h/", "ws://h/", false),
        ("a=1; Secure", "https://localhost/", "http://localhost/", false),
        // Attributes that matter only to a browser
        ("a=1; SameSite=Strict; HttpOnly", "https://h/", "https://h/", true),
    ]

    @Test(
        "A cookie goes to its host, below its domain, below its path, and if it is secure over TLS", arguments: places)
    func destinations(field: String, from: String, to: String, isSent: Bool) throws {
        try jar.store(field, from: from)
        #expect(jar.all.count == 1)
        #expect(try jar.header(for: to) == (isSent ? "a=1" : nil))
    }

    @Test("Longer paths come first, then older cookies; a new value keeps its position")
    func order() throws {
        try jar.store("a=1", "b=1; Path=/x", "c=1; Path=/x/y", "d=1; Path=/", from: "https://h/")
        clock.advance(by: 1)
        try jar.store("e=1; Path=/x", "a=2", from: "https://h/")
        #expect(try jar.header(for: "https://h/x/y") == "c=1; b=1; e=1; a=2; d=1")
        clock.advance(by: -100)  // the clock may be set back
        try jar.store("f=1", "b=2; Path=/x", from: "https://h/")
        #expect(try jar.names(for: "https://h/x/y") == ["c", "b", "e", "f", "a", "d"])
    }

    @Test("A cookie without a name is sent as its value")
    func nameless() throws {
        try jar.store("alone", "=", "a=", from: "https://h/")
        #expect(try jar.header(for: "https://h/") == "alone; a=")
    }

    @Test("Cookies of one name replace each other unless their host, reach or path differs")
    func identity() throws {
        try jar.store(
            "a=1", "a=2; Path=/x", "a=3; Domain=w.h.com", "a=4; Domain=h.com", "A=5", "a=6; Secure; HttpOnly",
            from: "https://w.h.com/")
        #expect(try jar.header(for: "https://w.h.com/x") == "a=2; a=6; a=3; a=4; A=5")
        try jar.store("a=7; Domain=h.com; Path=/", from: "https://h.com/y")
        #expect(try jar.header(for: "https://h.com/") == "a=7")
        // Swift compares these texts as equal, but their bytes differ.
        try jar.store("\u{E9}=1", "e\u{301}=2", from: "https://i/")
        #expect(jar.all.count == 7)
    }

    @Test("A response may remove one cookie and set another")
    func some() throws {
        try jar.store("a=1; Domain=other.com", "b=2", "\u{0}", "c=3; Secure", from: "http://h/")
        #expect(try jar.header(for: "http://h/") == "b=2")
        let head = ResponseHead(
            status: 200,
            fields: [("Set-Cookie", "d=4"), ("X", "e=5"), ("set-cookie", "f=6, g=7")].map(HTTPHeader.init))
        jar.store(head, from: try RequestURL("http://h/"))
        #expect(try jar.header(for: "http://h/") == "b=2; d=4; f=6, g=7")
    }

    // MARK: Time

    @Test("A cookie expires at its date, and a cookie without a date stays")
    func expiry() throws {
        try jar.store("a=1; Max-Age=10", "b=2", "c=3; Expires=Thu, 01 Jan 2026 00:00:20 GMT", from: "https://h/")
        #expect(try jar.header(for: "https://h/") == "a=1; b=2; c=3")
        clock.advance(by: 9.5)
        #expect(try jar.header(for: "https://h/") == "a=1; b=2; c=3")
        clock.advance(by: 0.5)
        #expect(try jar.header(for: "https://h/") == "b=2; c=3")
        clock.advance(by: 10)
        #expect(try jar.header(for: "https://h/") == "b=2")
        #expect(jar.all.map(\.name) == ["b"])
    }

    @Test(
        "A cookie whose date is in the past is removed",
        arguments: ["Max-Age=0", "Expires=Thu, 01-Jan-70 00:00:00 GMT"])
    func removal(attribute: String) throws {
        try jar.store("a=1; Max-Age=10", "b=2", "c=3", from: "https://h/")
        try jar.store("a=; \(attribute)", "b=; \(attribute); Path=/x", "c=; \(attribute); Domain=h", from: "https://h/")
        #expect(try jar.header(for: "https://h/") == "b=2")
    }

    @Test("A cookie that is set after it has expired is a new cookie")
    func again() throws {
        try jar.store("a=1; Max-Age=10", "b=1", from: "https://h/")
        clock.advance(by: 10)
        try jar.store("a=2", from: "https://h/")
        #expect(try jar.header(for: "https://h/") == "b=1; a=2")
        #expect(jar.all.map(\.creation) == [MovedClock.start, clock.now])
    }

    // MARK: Protection of secure cookies

    private static let intruders: [(field: String, from: String, isKept: Bool)] = [
        ("s=2; Path=/x", "http://w.h.com/", false), ("s=2; Path=/x/y", "http://w.h.com/", false),
        ("s=2; Path=/x; Domain=h.com", "http://w.h.com/", false), ("s=2; Path=/x", "http://a.w.h.com/", false),
        ("s=2; Path=/x; Domain=h.com", "http://other.h.com/", false),
        ("s=; Path=/x; Max-Age=0", "http://w.h.com/", false),
        ("s=2; Path=/", "http://w.h.com/", true), ("s=2; Path=/xy", "http://w.h.com/", true),
        ("t=2; Path=/x", "http://w.h.com/", true), ("s=2; Path=/x", "http://v.h.com/", true),
        ("s=2; Path=/x", "https://w.h.com/", true), ("S=2; Path=/x", "http://w.h.com/", true),
    ]

    @Test("A cookie received without TLS neither replaces nor shadows a secure cookie", arguments: intruders)
    func leftAlone(field: String, from: String, isKept: Bool) throws {
        try jar.store("s=1; Path=/x; Domain=w.h.com; Secure; Max-Age=10", from: "https://w.h.com/")
        try jar.store(field, from: from)
        #expect(jar.all.contains { $0.value == "2" } == isKept)
        #expect(jar.all.contains { $0.value == "1" })
        clock.advance(by: 10)
        jar.removeAll()
        try jar.store("s=2; Path=/x", from: "http://w.h.com/")
        #expect(try jar.header(for: "http://w.h.com/x") == "s=2")
    }

    @Test("A cookie without a name whose value looks like a secure cookie does not shadow it either")
    func namelessIntruder() throws {
        try jar.store("s=1; Secure", from: "https://h.com/")
        try jar.store("=t=3", "=s=2", "s", from: "http://h.com/")
        #expect(try jar.header(for: "https://h.com/") == "s=1; t=3")
        try jar.store("=s=4", from: "https://h.com/")
        #expect(try jar.header(for: "https://h.com/") == "s=1; s=4")
    }

    // MARK: Limits

    @Test(
        "A domain keeps 180 cookies: expired ones are removed first, then insecure ones, then the least recently used")
    func limitOfDomain() throws {
        let fields = (0..<180).map { "c\($0)=1" + ($0 < 2 ? "; Secure" : "") + ($0 == 100 ? "; Max-Age=10" : "") }
        jar.store(fields, from: try RequestURL("https://h/"))
        #expect(jar.all.count == 180)
        clock.advance(by: 10)
        try jar.store("d1=1", from: "https://h/")
        #expect(Set(try jar.names(for: "https://h/")) == Set((0..<180).map { "c\($0)" } + ["d1"]).subtracting(["c100"]))

        try jar.store("p=1; Path=/p", from: "https://h/")  // c2 is removed, because the older ones are secure
        #expect(!jar.all.contains { $0.name == "c2" } && jar.all.count == 180)
        _ = try jar.header(for: "https://h/")  // only p is not sent
        try jar.store("d2=1", from: "https://h/")
        #expect(!jar.all.contains { $0.name == "p" } && jar.all.count == 180)

        jar.store((0..<180).map { "s\($0)=1; Secure" }, from: try RequestURL("https://h/"))
        #expect(try !jar.names(for: "https://h/").contains("c0"))
        #expect(jar.all.count == 180 && jar.all.allSatisfy { $0.isSecure })
        try jar.store("x=1", from: "https://other/")
        #expect(jar.all.count == 181)
    }

    @Test("A jar holds 3,000 cookies: expired ones are removed first, then the least recently used, secure or not")
    func limit() throws {
        for host in 0..<30 {
            let fields = (0..<100).map { "c\($0)=1" + (host == 1 ? "; Max-Age=10" : "; Max-Age=100; Secure") }
            jar.store(fields, from: try RequestURL("https://h\(host)/"))
        }
        #expect(jar.all.count == 3_000)
        clock.advance(by: 10)
        _ = try jar.header(for: "https://h0/")
        jar.store((0..<102).map { "d\($0)=1" }, from: try RequestURL("https://x/"))
        #expect(jar.all.count == 3_000)
        #expect(try jar.names(for: "https://h1/").isEmpty && jar.names(for: "https://h0/").count == 100)
        #expect(try jar.names(for: "https://h2/").count == 98 && jar.names(for: "https://x/").count == 102)
    }

    @Test("Only the first 180 fields of a response count")
    func limitOfResponse() throws {
        let url = try RequestURL("https://h/")
        jar.store((0..<181).map { "c\($0)=1; Path=/\($0)" }, from: url)
        #expect(jar.all.count == 180 && !jar.all.contains { $0.name == "c180" })
    }

    // MARK: Access by the program

    @Test("A program can set, find and remove cookies")
    func byHand() throws {
        let cookie = try Cookie(name: "a", value: "1", domain: "H.com", isHostOnly: false)
        jar.set(cookie)
        jar.set(try Cookie(name: "b", value: "2", domain: "h.com", isSecure: true))
        #expect(jar.cookies(for: try RequestURL("https://w.h.com/")) == [cookie])
        #expect(try jar.header(for: "https://h.com/") == "a=1; b=2")
        jar.set(try Cookie(name: "b", value: "", domain: "h.com", expires: .distantPast))
        #expect(jar.all == [cookie])
        jar.remove(try Cookie(name: "a", value: "", domain: "h.com"))  // a host-only cookie is another cookie
        #expect(jar.all == [cookie])
        jar.remove(try Cookie(name: "a", value: "", domain: "h.com", isHostOnly: false))
        #expect(jar.all.isEmpty)
        try jar.store("a=1", "b=2", "c=3", from: "https://h/")
        jar.removeAll { $0.name > "a" && ThreadMarks.lockDepth == 0 }
        #expect(try jar.header(for: "https://h/") == "a=1")
        jar.removeAll()
        #expect(try jar.header(for: "https://h/") == nil)
    }

    @Test("A jar starts with the given cookies, and its cookies create an equal jar")
    func snapshot() throws {
        try jar.store("a=1; Max-Age=10", "b=2; Secure; HttpOnly; SameSite=Lax", from: "https://h/")
        let data = try JSONEncoder().encode(jar.all)
        let again = CookieJar(try JSONDecoder().decode([Cookie].self, from: data), clock: clock.wall)
        #expect(again.all == jar.all && again.all.count == 2)
        clock.advance(by: 10)
        #expect(CookieJar(again.all + [try Cookie(name: "b", value: "3", domain: "h")]).all.map(\.value) == ["3"])
    }

    @Test("Without a list a single label is a public suffix")
    func suffixes() {
        #expect(PublicSuffix.isSingleLabel("com") && !PublicSuffix.isSingleLabel("co.uk"))
        #expect(PublicSuffix.contains("com") && PublicSuffix.contains("com.") && !PublicSuffix.contains("example.com"))
    }

    @Test("With libpsl, public suffixes may have several labels", .enabled(if: PublicSuffix.contains("co.uk")))
    func listed() throws {
        try jar.store("a=1; Domain=co.uk", "b=2; Domain=example.co.uk", from: "https://example.co.uk/")
        try jar.store("c=3; Domain=github.io", from: "https://github.io/")
        try jar.store("d=4; Domain=github.io", from: "https://me.github.io/")
        #expect(jar.all.map(\.line) == ["b=2 | example.co.uk | / | ", "c=3 | github.io | / | host"])
    }
}
