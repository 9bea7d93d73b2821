import Larkspur

@testable import LarkspurCore
@testable import LarkspurHTTP
@testable import LarkspurMessages

/// Checks each line as a date and as a `Set-Cookie` field of one response.
func checkCookies(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: 0x0A).prefix(12).map { String(decoding: $0, as: UTF8.self) }
    for line in lines { try checkDates(line) }
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    let jar = CookieJar(clock: WallClock { now })
    for text in ["https://a.b.example.com/docs/page", "http://example.com/", "wss://[::1]/docs/"] {
        jar.store(lines, from: try RequestURL(text))
    }
    for text in ["https://a.b.example.com/docs/x", "http://b.example.com/", "https://other.com/", "wss://[::1]/docs/"] {
        let url = try RequestURL(text)
        for cookie in jar.cookies(for: url) { try checkCookie(cookie, for: url, at: now) }
        try checkHeader(jar.header(for: url), of: jar.cookies(for: url))
    }
    let file = try JSONEncoder().encode(jar.all)
    try require(JSONDecoder().decode([Cookie].self, from: file) == jar.all, "a jar can be stored in a file")
}

private func checkCookie(_ cookie: Cookie, for url: RequestURL, at now: Date) throws {
    let host = String(url.host ?? "")
    try require(cookie.fault == nil && !cookie.isExpired(at: now), "a sent cookie is valid and has not expired")
    try require(Cookie.domain(cookie.domain, contains: host), "a cookie goes to its domain")
    try require(!cookie.isHostOnly || cookie.domain == host, "a host's own cookie goes to that host")
    try require(!cookie.isSecure || url.isSecure, "a secure cookie is sent only over TLS")
    try require(!PublicSuffix.contains(cookie.domain) || cookie.isHostOnly, "no cookie is for a public suffix")
    try require(url.path.hasPrefix(cookie.path), "a cookie goes to its paths")
    try require(
        cookie.expires.map { $0 <= now.addingTimeInterval(SetCookie.maximumLifetime) } ?? true,
        "no cookie lasts forever")
}

/// Checks that a server that splits the field finds each cookie as it was set.
private func checkHeader(_ field: String?, of cookies: [Cookie]) throws {
    guard let field else { return try require(cookies.isEmpty, "cookies are sent") }
    try require(!field.utf8.breaksLines, "cookies are a field")
    let pairs = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    try require(pairs.count == cookies.count, "no cookie has a semicolon")
    for (pair, cookie) in zip(pairs, cookies) {
        guard let read = SetCookie(String(Substring(pair))) else { throw Violation(rule: "a cookie has no controls") }
        let text = cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)"
        try require(pair.drop { $0 == 0x20 }.elementsEqual(text.utf8), "a cookie is sent as it is")
        try require(
            cookie.name.isEmpty
                || read.name.utf8.elementsEqual(cookie.name.utf8)
                    && read.value.utf8.elementsEqual(cookie.value.utf8),
            "a cookie is read as it was set")
    }
}

/// Checks that a parsed date can be written as a date and parsed again.
private func checkDates(_ text: String) throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    // A leap second can lead into the year 10,000, which has no HTTP date.
    if let date = Date(httpDate: text, now: now), date.timeIntervalSince1970 < 253_402_300_800 {
        try require(Date(httpDate: written(date), now: now) == date, "a date of HTTP reads the same again")
    }
    if let date = Date(cookieDate: text) {
        try require(Date(httpDate: written(date), now: now) == date, "a cookie's date is one of HTTP")
        try require(Date(cookieDate: written(date)) == date, "a cookie's date reads the same again")
    }
}

/// Returns an HTTP date, computed in another way than the library parses it.
private func written(_ date: Date) -> String {
    let seconds = Int(date.timeIntervalSince1970)
    let day = Int((date.timeIntervalSince1970 / 86_400).rounded(.down))
    let second = seconds - day * 86_400
    // The years start in March, in eras of 400 years, so that leap days are at the end of a year.
    let days = day + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month < 10 ? 0 : 1)
    let names = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
    let parts = [dayOfYear - (153 * month + 2) / 5 + 1, second / 3_600, second / 60 % 60, second % 60].map {
        $0 < 10 ? "0\($0)" : "\($0)"
    }
    let digits = String("000\(year)".suffix(4))
    return "Sun, \(parts[0]) \(names[month]) \(digits) \(parts[1]):\(parts[2]):\(parts[3]) GMT"
}
