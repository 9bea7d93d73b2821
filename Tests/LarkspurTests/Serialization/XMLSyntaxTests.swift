import Foundation
import LarkspurXML
import TestSupport
import Testing

/// A text and its expected outcome: `y_` is a document, `n_` is not, and the standard leaves `i_` open.
struct XMLSyntaxCase: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    init(_ name: String, _ text: String) {
        self.init(name, bytes: Array(text.utf8))
    }

    init(_ name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    var testDescription: String { name }
}

@Suite("XML syntax", .limited)
struct XMLSyntaxTests {
    @Test("A document is accepted, and its written form is equal", arguments: accepted)
    func accepts(example: XMLSyntaxCase, written: String) throws {
        let root = try XML(data: Data(example.bytes))
        #expect(root.description == written)
        #expect(try XML(data: Data([0] + example.bytes).dropFirst()) == root)
        #expect(try XML(text: written) == root)
    }

    @Test("Invalid documents are rejected for their reason, at their position", arguments: refused)
    func refuses(example: XMLSyntaxCase, reason: XMLError.Reason, place: String) {
        #expect { try XML(data: Data(example.bytes)) } throws: {
            guard let error = $0 as? XMLError else { return false }
            return error.reason == reason && "\(error.line):\(error.column)" == place
        }
    }

    @Test("An error has its position and the expected token", arguments: messages)
    func errorMessages(text: String, message: String) {
        #expect { try XML(text: text) } throws: { "\($0)" == message }
    }

    static let messages = [
        ("", "unexpected end at line 1, column 1: expected the outermost element"),
        ("text", "unexpected \"t\" at line 1, column 1: expected the outermost element"),
        (
            "<a>\r\n  <b>é</a>",
            "unexpected \"a\" at line 2, column 9: expected the end tag of the innermost open element"
        ),
        ("<a b=c/>", "unexpected \"c\" at line 1, column 6: expected a value in quotation marks"),
        (
            "<a>&nbsp;</a>",
            "unexpected \"&\" at line 1, column 4: expected one of the entities lt, gt, amp, quot and apos, or a number"
        ),
        (
            "<a>x & y</a>",
            "unexpected \" \" at line 1, column 7: expected \"&amp;\", or the name of an entity and \";\""
        ),
        ("<a>\u{1}</a>", "unexpected character U+1 at line 1, column 4: expected a character that XML allows"),
        ("<p:a/>", "unexpected \"p\" at line 1, column 2: expected a prefix whose namespace is declared"),
        ("<a x='1' x='2'/>", "unexpected \"x\" at line 1, column 10: expected each attribute once"),
    ]

    private static let document = "<é>漢😀 &#xE9;</é>"

    @Test(
        "A document is decoded in each encoding, by its mark, its first bytes, its declaration or the charset",
        arguments: [
            ("UTF-8", Data(document.utf8), nil), ("UTF-8 with mark", Data("\u{FEFF}\(document)".utf8), "ISO-8859-1"),
            ("UTF-16BE", utf16("\u{FEFF}\(document)", isBigEndian: true), nil),
            ("UTF-16LE", utf16("\u{FEFF}\(document)", isBigEndian: false), "UTF-8"),
            ("UTF-16BE without mark", utf16(document, isBigEndian: true), nil),
            ("UTF-16LE without mark", utf16(document, isBigEndian: false), "utf-16le"),
            ("UTF-16LE declared", utf16("<?xml version='1.0' encoding='UTF-16'?>\(document)", isBigEndian: false), nil),
            ("UTF-16 declared, UTF-8 sent", Data("<?xml version='1.0' encoding='utf-16'?>\(document)".utf8), nil),
            ("charset before declaration", Data("<?xml version='1.0' encoding='latin1'?>\(document)".utf8), "utf-8"),
        ] as [(String, Data, String?)])
    func encodings(name: String, data: Data, charset: String?) throws {
        let root = try XML(data: data, charset: charset)
        #expect(root.name.local == "é" && root.text == "漢😀 é")
    }

    @Test("Latin-1 is decoded if the declaration or the charset names it")
    func latin1() throws {
        let declared =
            Data("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>".utf8) + [0xE9, 0x80, 0xFF] + Data("</a>".utf8)
        #expect(try XML(data: declared).text == "é\u{80}ÿ")
        let undeclared = Data("<a>".utf8) + [0xE9] + Data("</a>".utf8)
        #expect(try XML(data: undeclared, charset: "iso-8859-1").text == "é")
        #expect { try XML(data: undeclared) } throws: { ($0 as? XMLError)?.reason == .malformedEncoding }
    }

    @Test("An unknown encoding is rejected, in the declaration and in the charset")
    func unknownEncoding() {
        let declared = Data("<?xml version='1.0' encoding='EBCDIC-CP-US'?><a/>".utf8)
        #expect { try XML(data: declared) } throws: { ($0 as? XMLError)?.reason == .unsupportedEncoding }
        #expect { try XML(data: Data("<a/>".utf8), charset: "koi8-r") } throws: {
            ($0 as? XMLError)?.reason == .unsupportedEncoding
        }
    }

    @Test(
        "Text that is invalid in its encoding is rejected at its first invalid byte",
        arguments: [
            (Array("<a>é".utf8) + [0xC3, 0x28], 5), (Array("<a>\u{FFFD}".utf8) + [0xEF, 0xBF, 0x3C], 5),
            (Array("<a>".utf8) + [0xED, 0xA0, 0x80], 4), (Array("<a>".utf8) + [0xC0, 0xAF], 4),
            (Array(utf16("<a>é", isBigEndian: true)) + [0xDC, 0x00, 0x00, 0x41], 5),
            (Array(utf16("<a>é", isBigEndian: false)) + [0x00, 0xD8], 5),
            (Array(utf16("<a/>", isBigEndian: true)) + [0x00], 5),
        ] as [([UInt8], Int)])
    func malformedEncoding(bytes: [UInt8], column: Int) {
        #expect { try XML(data: Data(bytes)) } throws: {
            ($0 as? XMLError)?.reason == .malformedEncoding && ($0 as? XMLError)?.column == column
        }
    }

    private static func utf16(_ text: String, isBigEndian: Bool) -> Data {
        Data(
            text.utf16.flatMap {
                isBigEndian ? [UInt8($0 >> 8), UInt8($0 & 0xFF)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)]
            })
    }
}
