import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Text in legacy encodings", .limited)
struct TextEncodingTests {
    private func response(_ bytes: [UInt8], charset: String, encoding: String.Encoding? = nil) async -> DataResponse<
        String
    > {
        let transport = StubTransport { _ in
            .response(
                headers: ["Content-Type": "text/plain; charset=\(charset)"], chunks: bytes.isEmpty ? [] : [Data(bytes)])
        }
        return await Session(transport: transport).request("http://h/").serializingString(encoding: encoding).response
    }

    @Test(
        "A body is decoded by its charset, according to the WHATWG Encoding Standard",
        arguments: [
            ("windows-1250", [0x8E, 0x6C, 0x75, 0x9D, 0x6F, 0x75, 0xE8, 0x6B, 0xFD], "Žluťoučký"),
            ("windows-1251", [0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], "Привет"), ("cp1251", [0xCF, 0x98], "П\u{98}"),
            ("windows-1252", [0x80, 0x93, 0xE9, 0x81], "€“é\u{81}"), ("ISO-8859-1", [0x80, 0xFF, 0x41], "€ÿA"),
            ("latin1", [0x99], "™"), ("windows-1253", [0xC1, 0xE8, 0xDE, 0xED, 0xE1], "Αθήνα"),
            ("windows-1254", [0xFD, 0xF0, 0x64, 0xFD, 0x72], "ığdır"), ("iso-8859-9", [0xFD, 0x80], "ı€"),
            (
                "windows-1255", [0xF9, 0xC8, 0xD1, 0xEC, 0xE5, 0xC9, 0xED],
                "\u{5E9}\u{5B8}\u{5C1}\u{5DC}\u{5D5}\u{5B9}\u{5DD}"
            ),
            ("windows-1256", [0xE3, 0xD1, 0xCD, 0xC8, 0xC7], "مرحبا"),
            ("windows-1257", [0x41, 0xE8, 0x69, 0xFB], "Ačiū"),
            ("windows-1258", [0xCA, 0xEC], "\u{CA}\u{301}"),
            ("tis-620", [0xCA, 0xC7, 0xD1, 0xCA, 0xB4, 0xD5, 0x80], "สวัสดี€"),
            ("iso-8859-2", [0xA3, 0xF3, 0x64, 0xBC], "Łódź"), ("latin2", [0xA3], "Ł"),
            ("iso-8859-5", [0xBF, 0xE0, 0xD8, 0xD2, 0xD5, 0xE2], "Привет"),
            ("iso-8859-7", [0xC1, 0xE8, 0xDE, 0xED, 0xE1], "Αθήνα"), ("greek", [0xC1], "Α"),
            ("iso-8859-8-i", [0xF9], "ש"), ("iso-8859-15", [0x35, 0x20, 0xA4], "5 €"), ("iso-8859-16", [0xBA], "ș"),
            ("koi8-r", [0xF0, 0xD2, 0xC9, 0xD7, 0xC5, 0xD4], "Привет"), ("koi8-u", [0xA7, 0xD6, 0xAE], "їжў"),
            ("ibm866", [0x8F, 0xE0, 0xA8], "При"), ("macintosh", [0x8E, 0xC6], "é\u{2206}"),
            ("x-mac-cyrillic", [0x80, 0xFF], "А€"),
            ("shift_jis", [0x93, 0xFA, 0x96, 0x7B, 0x81, 0x60, 0x87, 0x40, 0x5C], "日本～①\\"),
            ("Windows-31J", [0xB1], "ｱ"),
            ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC, 0xB8, 0xEC, 0xAD, 0xA1], "日本語①"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42, 0x21], "日本!"),
            ("euc-kr", [0xC7, 0xD1, 0xB1, 0xDB, 0x8C, 0x63], "한글똠"), ("ks_c_5601-1987", [0xC7, 0xD1], "한"),
            ("gb2312", [0xD6, 0xD0, 0xCE, 0xC4, 0x81, 0x40], "中文丂"), ("gbk", [0xD6, 0xD0, 0xCE, 0xC4], "中文"),
            ("gb18030", [0xD6, 0xD0, 0x94, 0x39, 0xFC, 0x36], "中😀"),
            ("big5", [0xA4, 0xA4, 0xA4, 0xE5, 0xA1, 0xC3], "中文￣"),
            ("big5-hkscs", [0x9D, 0xEF], "嘅"), ("\"windows-1251\"", [0xCF], "П"), ("utf8", [0xC3, 0xA9], "é"),
            ("utf-16be", [0x04, 0x1F], "П"), ("utf-16le", [0x1F, 0x04], "П"),
            ("windows-1251", [0xEF, 0xBB, 0xBF, 0xD0, 0x9F], "П"), ("windows-1251", [], ""), ("unheard-of", [], ""),
            ("", [0xE9], "é"),
        ] as [(String, [UInt8], String)])
    func reading(charset: String, bytes: [UInt8], text: String) async throws {
        let value = try await response(bytes, charset: charset).result.get()
        #expect(value.unicodeScalars.elementsEqual(text.unicodeScalars), "\(value.debugDescription)")
    }

    @Test(
        "Invalid text and an unknown encoding are errors with the name of the encoding",
        arguments: [
            ("utf-8", [0xFF], "UTF-8"), ("us-ascii", [0xC3, 0xA9], "US-ASCII"),
            ("windows-1253", [0x41, 0xAA], "windows-1253"),
            ("windows-1255", [0xD9], "windows-1255"), ("shift_jis", [0x93], "Shift_JIS"),
            ("shift_jis", [0x81, 0x20], "Shift_JIS"),
            ("euc-kr", [0xFF, 0xFF], "EUC-KR"), ("gb18030", [0x81, 0x30, 0x81], "gb18030"), ("big5", [0xA4], "Big5"),
            ("euc-jp", [0xC6, 0x20], "EUC-JP"), ("x-unheard-of", [0x41], "\"x-unheard-of\""),
            ("iso-2022-kr", [0x41], "iso-2022-kr"),
            ("hz-gb-2312", [0x41], "hz-gb-2312"),
        ] as [(String, [UInt8], String)])
    func failing(charset: String, bytes: [UInt8], name: String) async throws {
        let error = try #require(await response(bytes, charset: charset).error)
        #expect(error.code == .invalidText)
        #expect(error.message.contains(name) && error.message.contains("encoding:"), "\(error)")
    }

    @Test("The caller's encoding overrides the charset")
    func named() async throws {
        #expect(try await response([0xC3, 0xA9], charset: "koi8-r", encoding: .utf8).result.get() == "é")
    }

    @Test("An encoding that the system's iconv does not support is a separate error")
    func missing() {
        let encoding = TextEncoding(name: "none", decoder: .multiByte(iconv: ["larkspur-has-none"]))
        #expect(throws: TextEncoding.Failure.unavailable) { try encoding.text(of: Data([0x41])) }
        let single = TextEncoding(name: "none", decoder: .singleByte(iconv: "larkspur-has-none"))
        #expect(throws: TextEncoding.Failure.unavailable) { try single.text(of: Data([0x41])) }
    }

    @Test("A text of any length is decoded completely", arguments: ["euc-jp", "iso-2022-jp", "windows-1251"])
    func long(charset: String) async throws {
        let (character, bytes): (Character, [UInt8]) =
            switch charset {
            case "euc-jp": ("日", [0xC6, 0xFC])
            case "iso-2022-jp": ("日", [0x46, 0x7C])
            default: ("П", [0xCF])
            }
        for count in [5_460, 5_461, 5_462, 70_000] {
            var body = Array(repeatElement(bytes, count: count).joined())
            if charset == "iso-2022-jp" { body = [0x1B, 0x24, 0x42] + body + [0x1B, 0x28, 0x42] }
            #expect(
                try await response(body, charset: charset).result.get() == String(repeating: character, count: count))
        }
    }
}
