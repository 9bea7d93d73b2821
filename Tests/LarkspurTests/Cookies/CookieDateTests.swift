import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("Dates of cookies", .limited)
struct CookieDateTests {
    @Test(
        "A date is parsed from its parts, in any order and with any text between them",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("1994 november 6th 8:49:37", 784_111_777),
            ("08:49:37 06 Nov 1994", 784_111_777), ("Nov/06/1994/08:49:37", 784_111_777),
            ("6 NOVEMBER 94 08:49:37 UTC+0200", 784_111_777), ("08:49:37x 6x novx 94x", 784_111_777),
            ("06 Nov 1994 08:49:37.999", 784_111_777), ("06 Nov 1994 08:49:37 10:00:00 2001 Dec 7", 784_111_777),
            ("Thu, 01-Jan-70 00:00:00 GMT", 0), ("1 jan 1970 0:0:0", 0), ("01 Jan 69 00:00:00", 3_124_224_000),
            ("01 Jan 00 00:00:00", 946_684_800), ("01 Jan 099 00:00:00", 915_148_800),
            ("29 Feb 2000 12:00:00", 951_825_600), ("31 Dec 9999 23:59:59", 253_402_300_799),
            ("1 Jan 1601 00:00:00", -11_644_473_600),
        ])
    func read(text: String, seconds: Int) {
        #expect(Date(cookieDate: text)?.timeIntervalSince1970 == Double(seconds))
    }

    @Test(
        "A text that lacks a part, or names a day that does not exist, is not a date",
        arguments: [
            "", "x", "Sun, 06 Nov 1994", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37",
            "06 Nov 1994 08:49",
            "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:00:60", "00 Nov 1994 08:49:37",
            "32 Dec 1994 08:49:37", "31 Nov 1994 08:49:37", "29 Feb 1900 00:00:00", "29 Feb 2023 00:00:00",
            "06 Nov 1600 08:49:37", "06 Nov 199 08:49:37", "06 Nov 19945 08:49:37", "006 Nov 1994 08:49:37",
            "06 No 1994 08:49:37", "06 Nov 1994 008:49:37", "06 Nov 1994 08:49:371", "06 Nov 1994 08::37",
            "06 Nov 1994 08-49-37", "٠٦ Nov 1994 08:49:37", "06 Növ 1994 08:49:37",
            "25:00:00 06 Nov 1994 08:49:37",
        ])
    func refused(text: String) {
        #expect(Date(cookieDate: text) == nil)
    }
}
