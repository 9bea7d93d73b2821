extension Date {
    /// Parses a date of HTTP strictly (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, or one of the
    /// obsolete forms `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameter now: The reference for a year of two digits, which is at most fifty years in the future.
    package init?(httpDate text: String, now: Date = Date()) {
        var scanner = HTTPDateScanner(text)
        guard let date = scanner.date(now: now) else { return nil }
        self = date
    }
}

/// A parser for dates. Each function consumes the text that it parses, or returns nil if the text is different.
private struct HTTPDateScanner {
    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func date(now: Date) -> Date? {
        if name(of: Self.longDays) != nil { return obsoleteDate(now: now) }
        guard name(of: Self.days) != nil else { return nil }
        return take(",") ? fixedDate() : asctimeDate()
    }

    /// Parses `, 06 Nov 1994 08:49:37 GMT` after its comma.
    private mutating func fixedDate() -> Date? {
        guard take(" "), let day = number(2), take(" "), let month = name(of: Self.months), take(" "),
            let year = number(4), take(" "), let time = time(), take(" GMT"), rest.isEmpty
        else { return nil }
        return Date(year, month + 1, day, secondOfDay: time)
    }

    /// Parses `, 06-Nov-94 08:49:37 GMT`.
    private mutating func obsoleteDate(now: Date) -> Date? {
        guard take(", "), let day = number(2), take("-"), let month = name(of: Self.months), take("-"),
            let digits = number(2), take(" "), let time = time(), take(" GMT"), rest.isEmpty
        else { return nil }
        // Choose the latest year with these digits whose date is at most fifty years in the future.
        let latest = now.addingTimeInterval(50 * 365.2425 * 86_400)
        let century = Int(1970 + (latest.timeIntervalSince1970 / (365.2425 * 86_400)).rounded(.down)) / 100 * 100
        for base in [century + 100, century, century - 100] {
            if let date = Date(base + digits, month + 1, day, secondOfDay: time), date <= latest { return date }
        }
        return nil
    }

    /// Parses ` Nov  6 08:49:37 1994`.
    private mutating func asctimeDate() -> Date? {
        guard take(" "), let month = name(of: Self.months), take(" "), let day = take(" ") ? number(1) : number(2),
            take(" "), let time = time(), take(" "), let year = number(4), rest.isEmpty
        else { return nil }
        return Date(year, month + 1, day, secondOfDay: time)
    }

    /// Parses `08:49:37` and returns the seconds since midnight. The second 60 is a leap second.
    private mutating func time() -> Int? {
        guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
            let second = number(2), second <= 60
        else { return nil }
        return (hour * 60 + minute) * 60 + second
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    private mutating func name(of names: [String]) -> Int? { names.firstIndex { take($0) } }

    private mutating func number(_ digits: Int) -> Int? {
        let text = rest.prefix(digits)
        guard text.count == digits, let number = Int(digits: text) else { return nil }
        rest = rest.dropFirst(digits)
        return number
    }
}

extension Date {
    /// Creates a date of the Gregorian calendar from the year 1 on; nil if the month does not have this day.
    package init?(_ year: Int, _ month: Int, _ day: Int, secondOfDay: Int) {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard year > 0, (1...12).contains(month), (1...lengths[month - 1]).contains(day) else { return nil }
        // Count the days since the start of the year 1, including the leap days of all previous years. The start of the
        // year 1970 is 719,162 days after the start of the year 1.
        let past = year - 1
        let days = past * 365 + past / 4 - past / 100 + past / 400 + lengths[..<(month - 1)].reduce(0, +) + day - 1
        self.init(timeIntervalSince1970: Double((days - 719_162) * 86_400 + secondOfDay))
    }
}
