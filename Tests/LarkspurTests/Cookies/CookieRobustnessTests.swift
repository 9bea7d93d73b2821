import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("Cookies of every kind", .limited)
struct CookieRobustnessTests {
    private static let words = [
        "a", "=", ";", " ", "\t", "1", "Path", "/", "Domain", "h.com", ".", "com", "Max-Age", "-", "999999999999999999",
        "Expires", "Thu, 01 Jan 2026 00:00:20 GMT", "08:49:37", "Nov", "06", "1994", "Secure", "HttpOnly", "SameSite",
        "None", "__Host-", "__Secure-", "\u{0}", "\r\n", "\u{7F}", "é", "e\u{301}", "\u{FFFD}", "\"", ",", "::1",
    ]

    private static let urls = [
        "https://h.com/", "http://h.com/a/b", "https://w.h.com/a", "http://127.0.0.1/", "http://[::1]/", "https://com/",
        "https://h.com./x", "wss://h.com/",
    ]

    /// A random mixture of words of cookies and arbitrary bytes.
    private static func field(_ random: inout SeededRandom) -> String {
        (0..<Int.random(in: 0...12, using: &random)).reduce(into: "") { text, _ in
            if random.once(in: 6) {
                let bytes = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
                text += String(decoding: bytes, as: UTF8.self)
            } else {
                text += words.randomElement(using: &random) ?? ""
            }
        }
    }

    @Test(
        "For any cookies that servers set, the sent field is valid, in order, and for the right URLs", arguments: 0..<20
    )
    func anything(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let clock = MovedClock()
        let jar = CookieJar(on: clock)
        let urls = try Self.urls.map { try RequestURL($0) }
        for _ in 0..<rounds(50, nightly: 500) {
            let from = urls[Int.random(in: 0..<urls.count, using: &random)]
            jar.store((0..<3).map { _ in Self.field(&random) }, from: from)
            clock.advance(by: Double.random(in: -5...10, using: &random))
            let to = urls[Int.random(in: 0..<urls.count, using: &random)]
            let cookies = jar.cookies(for: to)
            for cookie in cookies {
                try #require(cookie.fault == nil && !cookie.isExpired(at: clock.now))
                try #require(!cookie.isSecure || to.scheme.hasSuffix("s"))
                try #require(Cookie.domain(cookie.domain, contains: String(to.host ?? "")))
                try #require(!cookie.isHostOnly || to.host == cookie.domain[...])
                try #require(to.path.hasPrefix(cookie.path))
                try #require(!PublicSuffix.contains(cookie.domain) || cookie.isHostOnly)
            }
            try #require(zip(cookies, cookies.dropFirst()).allSatisfy { $0.path.utf8.count >= $1.path.utf8.count })
            let field = jar.header(for: to) ?? ""
            try #require(!field.utf8.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F })
            try #require(jar.all.count <= CookieStore.limitForDomain * 7)
        }
        #expect(!jar.all.isEmpty)
        // Every stored cookie can be written to a file.
        let again = try JSONDecoder().decode([Cookie].self, from: JSONEncoder().encode(jar.all))
        #expect(again == jar.all)
    }

    @Test("Any text is parsed as a date or rejected, without a crash")
    func dates() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<rounds(2_000, nightly: 20_000) {
            guard let date = Date(cookieDate: Self.field(&random)) else { continue }
            #expect(date.timeIntervalSince1970 >= -11_644_473_600 && date.timeIntervalSince1970 < 253_402_300_800)
        }
    }

    @Test("Eight tasks write and read a jar at once")
    func concurrent() async throws {
        let jar = CookieJar()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        guard let url = try? RequestURL("https://h\(round % 4)/") else { return }
                        jar.store(["c\(task)=\(round)", "shared=\(task)"], from: url)
                        let cookies = jar.cookies(for: url)
                        #expect(cookies.contains { $0.name == "c\(task)" && $0.value == "\(round)" })
                        if round % 50 == 49 { jar.removeAll { $0.name == "shared" } }
                    }
                }
            }
        }
        let own = jar.all.filter { $0.name != "shared" }
        #expect(Set(own.map { "\($0.domain) \($0.name)=\($0.value)" }).count == 32)
        #expect(own.allSatisfy { (196..<200).contains(Int($0.value) ?? 0) })
    }
}
