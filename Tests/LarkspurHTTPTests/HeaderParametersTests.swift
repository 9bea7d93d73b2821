import Foundation
import LarkspurHTTP
import TestSupport
import Testing

@Suite("Parameters of a field", .limited)
struct HeaderParametersTests {
    @Test("The value is trimmed of the same characters as Foundation trims")
    func spaces() {
        let scalars = (UInt32(1)..<0x3100).compactMap { Unicode.Scalar($0) }.filter { $0 != ";" && $0 != "," }
        let trimmed = scalars.filter { "\($0)a\($0); b=\"\($0)\"".essence == "a" }
        #expect(trimmed == scalars.filter { "\($0)a\($0)".trimmingCharacters(in: .whitespaces) == "a" })
        #expect(trimmed.count > 15)
    }

    @Test("The charset of a head is in lower case, and nil without a content type or a charset")
    func charset() {
        let fields = ["text/xml; Charset=\"ISO-8859-1\"", "text/xml;charset=UTF-8", "text/xml"]
        let heads = fields.map { ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Type", value: $0)]) }
        #expect(heads.map(\.charset) == ["iso-8859-1", "utf-8", nil])
        #expect(ResponseHead(status: 200).charset == nil)
    }
}
