import Larkspur

/// The dates of archives, in the form of ISO 8601. Foundation's formatter takes as long as the rest of an entry.
enum HARDate {
    /// Returns the date in milliseconds since 1970. A date that ISO 8601 does not have is moved to 1970 or 9999.
    static func milliseconds(of date: Date) -> Int64 {
        let limit = 253_402_300_799.999  // the end of the year 9999
        let time = date.timeIntervalSince1970
        return time > 0 ? Int64((min(time, limit) * 1_000).rounded()) : 0
    }

    /// Returns the date in UTC, with milliseconds: `2026-11-26T10:02:08.250Z`.
    static func text(of date: Date) -> String {
        let total = milliseconds(of: date)
        let (days, rest) = (total / 86_400_000, total % 86_400_000)
        let (year, month, day) = civil(fromDays: days)
        return String(unsafeUninitializedCapacity: 24) { text in
            var end = 0
            func append(_ number: Int64, digits: Int, _ separator: Unicode.Scalar) {
                var rest = UInt32(truncatingIfNeeded: number)
                var index = end + digits
                text.initializeElement(at: index, to: UInt8(ascii: separator))
                while index > end {
                    index -= 1
                    text.initializeElement(at: index, to: 0x30 + UInt8(truncatingIfNeeded: rest % 10))
                    rest /= 10
                }
                end += digits + 1
            }
            append(year, digits: 4, "-")
            append(month, digits: 2, "-")
            append(day, digits: 2, "T")
            append(rest / 3_600_000, digits: 2, ":")
            append(rest / 60_000 % 60, digits: 2, ":")
            append(rest / 1_000 % 60, digits: 2, ".")
            append(rest % 1_000, digits: 3, "Z")
            return end
        }
    }

    /// Returns the date that a text names: with any number of digits of a second, and any offset from UTC. A text
    /// without an offset is read as UTC.
    static func date(from text: String) -> Date? {
        var reader = Reader(rest: Array(text.utf8)[...])
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
            let day = reader.number(2), (1...12).contains(month), (1...31).contains(day),
            reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2), hour < 25, minute < 60
        else { return nil }
        var seconds = 0.0
        if reader.skip(":") {
            guard let second = reader.number(2), second < 61 else { return nil }
            seconds = Double(second)
            if reader.skip(".") || reader.skip(",") { seconds += reader.fraction() }
        }
        guard let offset = reader.offset(), reader.rest.isEmpty else { return nil }
        let days = days(fromCivil: Int64(year), Int64(month), Int64(day))
        let minutes = Int64(hour) * 60 + Int64(minute) - Int64(offset)
        return Date(timeIntervalSince1970: Double(days * 86_400 + minutes * 60) + seconds)
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func digit() -> Int? {
            guard let byte = rest.first, (0x30...0x39).contains(byte) else { return nil }
            rest.removeFirst()
            return Int(byte - 0x30)
        }

        mutating func number(_ count: Int) -> Int? {
            var number = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        mutating func fraction() -> Double {
            var (value, unit) = (0.0, 0.1)
            while let digit = digit() {
                value += Double(digit) * unit
                unit /= 10
            }
            return value
        }

        /// Returns the offset from UTC in minutes; nil if the text is not an offset.
        mutating func offset() -> Int? {
            if rest.isEmpty || skip("Z") || skip("z") { return 0 }
            let isNegative = skip("-")
            guard isNegative || skip("+"), let hours = number(2) else { return nil }
            _ = skip(":")
            let minutes = rest.isEmpty ? 0 : number(2)
            return minutes.map { (hours * 60 + $0) * (isNegative ? -1 : 1) }
        }
    }

    // MARK: Days

    // The calendar of 400 years (146,097 days) that begin in March: the leap day is then the last day of its year.

    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468  // days since the first of March of the year 0
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isAfterDecember = month >= 10
        return (
            yearOfEra + era * 400 + (isAfterDecember ? 1 : 0), month + (isAfterDecember ? -9 : 3),
            dayOfYear - (153 * month + 2) / 5 + 1
        )
    }

    private static func days(fromCivil year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
