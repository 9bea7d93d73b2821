import LarkspurBase
import TestSupport
import Testing

@Suite("Digits", .limited)
struct DigitsTests {
    @Test(
        "Only digits are a number, and a number that does not fit gives the maximum",
        arguments: [
            ("0", 0), ("007", 7), ("65535", 65_535), ("65536", 65_535), ("655350", 65_535), ("99999999", 65_535),
            ("", nil), ("+1", nil), ("-1", nil), (" 1", nil), ("1 ", nil), ("1.0", nil), ("0x1", nil), ("\u{661}", nil),
        ] as [(String, UInt16?)])
    func numbers(text: String, expected: UInt16?) {
        #expect(UInt16(digits: text.utf8) == expected)
    }
}
