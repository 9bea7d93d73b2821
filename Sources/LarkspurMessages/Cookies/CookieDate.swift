extension Date {
    /// Parses the date of a cookie by RFC 6265bis, section 5.1.1. The parser takes the first time, day, month and year
    /// in the text, in any order, and ignores other words.
    ///
    /// Only the dates of cookies are parsed this leniently. The dates of other header fields have one of three fixed
    /// forms.
    init?(cookieDate text: String) {
        var time: [Int]?
        var (day, month, year): (Int?, Int?, Int?)
        for word in text.utf8.split(whereSeparator: Self.separatesCookieDates) {
            if time == nil, let found = Self.time(word) {
                time = found
            } else if day == nil, let found = Self.number(word, ofDigits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(word) {
                month = found
            } else if year == nil, let found = Self.number(word, ofDigits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        guard year >= 1601, time[0] < 24, time[1] < 60, time[2] < 60 else { return nil }
        // The sum is a separate constant. As an argument of the initializer, it would take the compiler seconds to
        // type-check.
        let second: Int = (time[0] * 60 + time[1]) * 60 + time[2]
        self.init(year, month, day, secondOfDay: second)
    }

    private typealias Word = Substring.UTF8View

    private static func separatesCookieDates(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Returns the number at the start of the word; nil if its number of digits is not in the range.
    private static func number(_ word: Word, ofDigits count: ClosedRange<Int>) -> Int? {
        let digits = word.prefix { (0x30...0x39).contains($0) }
        return count.contains(digits.count) ? Int(digits: digits) : nil
    }

    /// Parses a time such as `8:49:37`. Text after the time is ignored, but a further digit makes the time invalid.
    private static func time(_ word: Word) -> [Int]? {
        let parts = word.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= 2, parts[1].count <= 2, let hour = Int(digits: parts[0]),
            let minute = Int(digits: parts[1]), let second = number(parts[2], ofDigits: 1...2)
        else { return nil }
        return [hour, minute, second]
    }

    private static func month(_ word: Word) -> Int? {
        let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        let start = word.prefix(3).map { $0 | 0x20 }
        return names.firstIndex { $0.utf8.elementsEqual(start) }.map { $0 + 1 }
    }
}
