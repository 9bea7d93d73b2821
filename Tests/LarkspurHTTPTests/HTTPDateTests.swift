import Foundation
import LarkspurHTTP
import TestSupport
import Testing

@Suite("Dates of HTTP", .limited)
struct HTTPDateTests {
    /// 2026-01-01T00:00:00Z.
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(
        "All three forms are parsed",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
        ])
    func forms(text: String, seconds: Int) {
        #expect(Date(httpDate: text, now: Self.now)?.timeIntervalSince1970 == Double(seconds))
    }

    @Test(
        "A year of two digits is the latest year that is at most fifty years in the future",
        arguments: [("75", 2075), ("76", 1976), ("26", 2026), ("00", 2000), ("99", 1999)])
    func years(digits: String, year: Int) throws {
        let date = try #require(Date(httpDate: "Friday, 01-Jul-\(digits) 00:00:00 GMT", now: Self.now))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        #expect([parts.year, parts.month, parts.day] == [year, 7, 1])
    }

    @Test("Dates equal Foundation's, over a thousand years")
    func calendar() throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for step in 0..<300 {
            let date = Date(timeIntervalSince1970: -12_000_000_000 + Double(step) * 105_186_007)
            let text = format.string(from: date)
            try #require(Date(httpDate: text) == date, "\(text)")
        }
    }

    @Test(
        "An invalid date is rejected",
        arguments: [
            "", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Sat, 01 Jan 0000 00:00:00 GMT", "Tue, 29 Feb 1900 00:00:00 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sun Nov 6 08:49:37 1994",
            "Sun Nov  06 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "1994-11-06T08:49:37Z", "784111777",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sün, 06 Nov 1994 08:49:37 GMT",
        ])
    func refused(text: String) {
        #expect(Date(httpDate: text, now: Self.now) == nil)
    }
}
