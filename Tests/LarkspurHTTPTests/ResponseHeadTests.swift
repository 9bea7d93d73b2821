import LarkspurHTTP
import TestSupport
import Testing

@Suite("ResponseHead", .limited)
struct ResponseHeadTests {
    struct Reading: Sendable, CustomTestStringConvertible {
        let rule: String
        let raw: [UInt8]
        let fields: [HTTPHeader]

        init(_ rule: String, _ raw: String, _ fields: [(String, String)]) {
            self.init(rule, bytes: Array(raw.utf8), fields)
        }

        init(_ rule: String, bytes: [UInt8], _ fields: [(String, String)]) {
            self.rule = rule
            raw = bytes
            self.fields = fields.map { HTTPHeader(name: $0.0, value: $0.1) }
        }

        var testDescription: String { rule }
    }

    static let readings = [
        Reading("nothing", "", []),
        Reading(
            "order and repeats", "B: 2\r\na: 1\r\nB: 3\r\nB: 2\r\n", [("B", "2"), ("a", "1"), ("B", "3"), ("B", "2")]),
        Reading("the case of a name", "ConTent-TYPE: x\r\n", [("ConTent-TYPE", "x")]),
        Reading("no space after the colon", "A:1\r\nB:2\r\n", [("A", "1"), ("B", "2")]),
        Reading("white space around the value", "A: \t 1 2 \t \r\n", [("A", "1 2")]),
        Reading("white space around the name", "A : 1\r\nB\t: 2\r\n", [("A", "1"), ("B", "2")]),
        Reading("an empty value", "A:\r\nB: \r\nC:", [("A", ""), ("B", ""), ("C", "")]),
        Reading("further colons", "A: b:c: d\r\nT: 12:30\r\n", [("A", "b:c: d"), ("T", "12:30")]),
        Reading("bare LF", "A: 1\nB: 2\n\nC: 3\n", [("A", "1"), ("B", "2"), ("C", "3")]),
        Reading("mixed line ends", "A: 1\r\nB: 2\nC: 3\r\n", [("A", "1"), ("B", "2"), ("C", "3")]),
        Reading("no end of the last line", "A: 1\r\nB: 2", [("A", "1"), ("B", "2")]),
        Reading("a bare CR at the end", "A: 1\r", [("A", "1")]),
        Reading("a doubled CR", "A: 1\r\r\nB: 2\r\n", [("A", "1"), ("B", "2")]),
        Reading("lines without a colon", "junk\r\nA: 1\r\nmore junk\r\n\r\nB: 2\r\n", [("A", "1"), ("B", "2")]),
        Reading("lines without a name", ": 1\r\n : 1\r\nA: 2\r\n:\r\n \t:3", [("A", "2")]),
        Reading("a fold of a line without a colon", "junk\r\n A: 1\r\nB: 2\r\n", [("B", "2")]),
        Reading("a fold before the colon", "A\r\n : 1\r\nB: 2\r\n", [("B", "2")]),
        Reading("a fold of a blank line", "\r\n A: 1\r\nB: 2\r\n", [("B", "2")]),
        Reading("a CR in a name", "A\rB: 1\r\nC\r: 2\r\nD: 3\r\n", [("D", "3")]),
        Reading("a status line among them", "HTTP/1.1 200 OK\r\nA: 1\r\n", [("A", "1")]),
        Reading("a fold", "A: 1\r\n 2\r\nB: 3\r\n", [("A", "1 2"), ("B", "3")]),
        Reading("a fold with a tab", "A: 1\r\n\t2\r\n", [("A", "1 2")]),
        Reading("folds of much white space", "A: 1 \r\n  \t 2\n   3\r\n", [("A", "1 2 3")]),
        Reading("a fold with nothing on its first line", "A:\r\n 1\r\nB: 2\r\n", [("A", "1"), ("B", "2")]),
        Reading("a fold with a colon", "A: 1\r\n B: 2\r\n", [("A", "1 B: 2")]),
        Reading("a fold at the very end", "A: 1\r\n ", [("A", "1")]),
        Reading("a fold of the whole value but its end", "A: 1\r\n 2", [("A", "1 2")]),
        Reading("UTF-8", "A: grün 日本 🐦\r\n", [("A", "grün 日本 🐦")]),
        Reading("Latin-1", bytes: Array("A: gr".utf8) + [0xFC] + Array("n\r\n".utf8), [("A", "grün")]),
        Reading(
            "Latin-1 beside UTF-8", bytes: [0x41, 0x3A, 0xE9, 0x0A] + Array("B: é\n".utf8), [("A", "é"), ("B", "é")]),
        Reading("cut UTF-8, read as Latin-1", bytes: Array("A: ".utf8) + [0xE2, 0x82, 0x0A], [("A", "â\u{82}")]),
        Reading("overlong UTF-8, read as Latin-1", bytes: Array("A: ".utf8) + [0xC0, 0xAF], [("A", "À¯")]),
        Reading("a Latin-1 name", bytes: [0xFC, 0x3A, 0x31], [("ü", "1")]),
        Reading("NUL and control characters", "A: 1\u{0}2\u{1}\r\n", [("A", "1\u{0}2\u{1}")]),
    ]

    @Test("the field lines are parsed in order, with all deviations that servers produce", arguments: readings)
    func reading(reading: Reading) {
        let head = ResponseHead(status: 200, rawFields: reading.raw)
        #expect(head.fields == reading.fields)
        #expect(head.rawFields == reading.raw)
    }

    @Test("lookup, values and fields agree, whatever the case of the name", arguments: readings)
    func lookup(reading: Reading) {
        let head = ResponseHead(status: 200, rawFields: reading.raw)
        for field in reading.fields where field.name.utf8.allSatisfy({ $0 < 128 }) {
            for name in [field.name, field.name.uppercased(), field.name.lowercased()] {
                let expected = reading.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
                #expect(head.values(for: name) == expected)
                #expect(head[name] == expected.first)
                #expect(head.bytes(for: name) != nil)
            }
        }
        #expect(head["X-Absent"] == nil)
        #expect(head.values(for: "X-Absent") == [])
        #expect(head.bytes(for: "X-Absent") == nil)
        #expect(head[""] == nil)
    }

    @Test(
        "only the case of ASCII letters is ignored",
        arguments: [("A@", "A`"), ("A[", "A{"), ("A_", "A\u{7F}"), ("Ä", "ä"), ("K", "\u{212A}"), ("AB", "A")])
    func otherNames(name: String, other: String) {
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: name, value: "1")])
        #expect(head[name] == "1")
        #expect(head[other] == nil)
    }

    @Test("a name that is not UTF-8 is compared byte by byte in every lookup")
    func strangeName() {
        let head = ResponseHead(status: 200, rawFields: [0xFF] + Array(": 1\r\n".utf8))
        for name in ["\u{FF}", "\u{FFFD}", "x"] {
            #expect(head[name] == head.values(for: name).first)
            #expect(head[name] == nil)
        }
    }

    @Test("the raw bytes of a value exclude the white space around it")
    func ownBytes() {
        let head = ResponseHead(status: 200, rawFields: Array("A: ".utf8) + [0xFC, 0x00, 0xFF] + Array(" \r\n".utf8))
        #expect(head.bytes(for: "a") == [0xFC, 0x00, 0xFF])
    }

    @Test("given fields are returned in order, repeats included")
    func givenFields() {
        let fields = [("X-B", "2"), ("a", ""), ("X-B", "ü: x"), ("X-B", "2")].map {
            HTTPHeader(name: $0.0, value: $0.1)
        }
        let head = ResponseHead(status: 404, version: "HTTP/2", fields: fields, bodyIsDecoded: true)
        #expect(head.fields == fields)
        #expect(head.status == 404)
        #expect(head.version == "HTTP/2")
        #expect(head.bodyIsDecoded)
        #expect(head == ResponseHead(status: 404, version: "HTTP/2", rawFields: head.rawFields, bodyIsDecoded: true))
        #expect(head != ResponseHead(status: 404, version: "HTTP/2", rawFields: head.rawFields))
        #expect(HTTPHeader(name: "A", value: "b").description == "A: b")
    }

    static let lengths: [(line: String, length: UInt64?)] = [
        ("Content-Length: 0", 0), ("content-length:12", 12), ("CONTENT-LENGTH:  12\t", 12), ("Content-Length: 007", 7),
        ("Content-Length: 18446744073709551615", .max), ("Content-Length: 18446744073709551616", nil),
        ("Content-Length: 99999999999999999999999999", nil), ("Content-Length: -1", nil), ("Content-Length: -0", nil),
        ("Content-Length: +5", nil), ("Content-Length: 1 2", nil), ("Content-Length: 1,2", nil),
        ("Content-Length: 0x10", nil), ("Content-Length: 1.0", nil), ("Content-Length: 1e3", nil),
        ("Content-Length: 5;", nil), ("Content-Length: ", nil), ("Content-Length: ten", nil),
        ("Content-Length: ٣", nil), ("Content-Length: １", nil), ("X-Content-Length: 5", nil), ("A: 1", nil), ("", nil),
        ("Content-Length: 5\r\nContent-Length: 5", 5), ("Content-Length: 5\r\nA: 1\r\ncontent-length: 5", 5),
        ("Content-Length: 5, 5", 5), ("Content-Length: 5\r\nContent-Length: 6", nil), ("Content-Length: 5, 6", nil),
        ("Content-Length: 5\r\nContent-Length: x", nil), ("Content-Length: 5\r\nContent-Length:", nil),
    ]

    @Test("the declared length is a plain number, repeated at most with the same value", arguments: lengths)
    func contentLength(line: String, length: UInt64?) {
        #expect(ResponseHead(status: 200, rawFields: Array("\(line)\r\n".utf8)).contentLength == length)
    }
}
