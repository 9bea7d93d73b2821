import Larkspur

@testable import LarkspurCore
@testable import LarkspurMessages

/// A clock that only the test advances.
final class MovedClock: Sendable {
    /// 2026-01-01T00:00:00Z.
    static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private let box = Protected(MovedClock.start)

    var now: Date { box.withLock { $0 } }
    var wall: WallClock { WallClock { self.now } }

    func advance(by seconds: TimeInterval) { box.withLock { $0 += seconds } }
}

extension CookieJar {
    /// A jar with this clock.
    convenience init(on clock: MovedClock) { self.init(clock: clock.wall) }

    func store(_ fields: String..., from url: String) throws { store(fields, from: try RequestURL(url)) }

    func header(for url: String) throws -> String? { header(for: try RequestURL(url)) }

    /// Names in the order in which they are sent.
    func names(for url: String) throws -> [String] { cookies(for: try RequestURL(url)).map(\.name) }
}

extension Cookie {
    /// The whole cookie in one line: `a=1 | h | /p | host secure httponly lax +60`.
    var line: String {
        var words: [String] = []
        if isHostOnly { words.append("host") }
        if isSecure { words.append("secure") }
        if isHTTPOnly { words.append("httponly") }
        if sameSite != .unspecified { words.append(sameSite.rawValue) }
        if let expires { words.append("+\(Int(expires.timeIntervalSince(MovedClock.start)))") }
        return "\(name)=\(value) | \(domain) | \(path) | \(words.joined(separator: " "))"
    }
}

/// A `Set-Cookie` field and the expected cookie.
struct SetCookieExample: Sendable, CustomStringConvertible {
    let field: String
    let url: String
    /// The cookie's line; nil if it is refused.
    let line: String?

    init(_ field: String, from url: String = "https://www.example.com/docs/page", _ line: String?) {
        self.field = field
        self.url = url
        self.line = line
    }

    var description: String { "\(field.prefix(80)) from \(url.prefix(80))" }

    /// The actual cookie's line.
    func result() throws -> String? {
        SetCookie(field)?.cookie(from: try RequestURL(url), at: MovedClock.start)?.line
    }
}
