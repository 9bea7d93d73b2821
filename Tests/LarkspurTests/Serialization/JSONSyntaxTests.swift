import Foundation
import Larkspur
import TestSupport
import Testing

/// A text and its expected outcome: `y_` is JSON, `n_` is not, and RFC 8259 leaves `i_` open.
struct JSONSyntaxCase: Sendable, CustomTestStringConvertible {
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

@Suite("JSON syntax", .limited)
struct JSONSyntaxTests {
    @Test("JSON is accepted, equals Foundation's value, and can be written again", arguments: accepted)
    func accepts(example: JSONSyntaxCase) throws {
        let value = try JSON(data: Data(example.bytes), duplicateKeys: .refuse)
        #expect(try JSON(data: Data([0] + example.bytes).dropFirst()) == value)
        #expect(try JSON(text: value.text()) == value)
        #expect(try JSONDecoder().decode(JSON.self, from: Data(example.bytes)) == value)
    }

    @Test("Texts that are not JSON are rejected", arguments: refused)
    func refuses(example: JSONSyntaxCase) {
        #expect(throws: JSONError.self) { try JSON(data: Data(example.bytes)) }
    }

    @Test("Texts that the standard leaves open have the chosen value", arguments: decidedValues)
    func decides(example: JSONSyntaxCase, value: JSON) throws {
        #expect(try JSON(data: Data(example.bytes)) == value)
    }

    @Test("Texts that the standard leaves open are rejected for the chosen reason", arguments: decidedErrors)
    func decides(example: JSONSyntaxCase, reason: JSONError.Reason) {
        #expect { try JSON(data: Data(example.bytes), duplicateKeys: .refuse) } throws: {
            ($0 as? JSONError)?.reason == reason
        }
    }

    @Test("An error has its position and the expected token", arguments: messages)
    func errorMessages(text: String, message: String) {
        #expect { try JSON(text: text, duplicateKeys: .refuse) } throws: { "\($0)" == message }
    }

    @Test("A byte order mark counts in the offset, not in the column")
    func byteOrderMark() {
        #expect { try JSON(text: "\u{FEFF}x") } throws: {
            let error = $0 as? JSONError
            return error?.offset == 3 && error?.line == 1 && error?.column == 1
        }
    }

    static let messages = [
        ("", "unexpected end at line 1, column 1: expected a value"),
        ("{\n  \"a\": 1,\n  \"beta\": }", "unexpected \"}\" at line 3, column 11: expected a value"),
        ("[1,\r\n2,\r3\n4]", "unexpected \"4\" at line 4, column 1: expected \",\" or \"]\" after the element"),
        ("[1,]", "unexpected \"]\" at line 1, column 4: expected a value"),
        ("{\"a\" 1}", "unexpected \"1\" at line 1, column 6: expected \":\" after the key"),
        ("{\"a\":1,}", "unexpected \"}\" at line 1, column 8: expected a key in quotation marks"),
        ("{a:1}", "unexpected \"a\" at line 1, column 2: expected a key in quotation marks"),
        (
            "{\"a\":1 \"b\":2}",
            "unexpected \"\"\" at line 1, column 8: expected \",\" or \"}\" after the member"
        ),
        ("[\"é\", tru ]", "unexpected \" \" at line 1, column 11: expected the value true"),
        ("[0012]", "unexpected \"0\" at line 1, column 2: expected a number without leading zeros"),
        ("1.e5", "unexpected \"e\" at line 1, column 3: expected a digit after the decimal point"),
        ("\n\n1 2", "unexpected \"2\" at line 3, column 3: expected the end of the text after the value"),
        ("\"a\nb\"", "unexpected byte 10 at line 1, column 3: expected control characters in strings to be escaped"),
        ("\"\\x\"", "unexpected \"x\" at line 1, column 3: expected one of \"\\/bfnrtu after the backslash"),
        ("\"\\u12G4\"", "unexpected \"G\" at line 1, column 6: expected four hexadecimal digits after \\u"),
        ("\"ab", "unexpected end at line 1, column 4: expected the string's closing quotation mark"),
        (
            "{\"a\":1,\"b\":2,\"a\":3}",
            "unexpected \"\"\" at line 1, column 14: expected each key of an object once"
        ),
        (
            String(repeating: "[", count: 129),
            "unexpected \"[\" at line 1, column 129: "
                + "expected a lower nesting of arrays and objects; see JSON.maximumDepth"
        ),
    ]

    static let decidedValues: [(JSONSyntaxCase, JSON)] = [
        (JSONSyntaxCase("i_byte order mark is skipped", "\u{FEFF}[1]"), [1]),
        (JSONSyntaxCase("i_duplicate key, last wins", #"{"a":1,"b":2,"a":3}"#), ["a": 3, "b": 2]),
        (JSONSyntaxCase("i_duplicate key with equal value", #"{"a":1,"a":1}"#), ["a": 1]),
        (JSONSyntaxCase("i_duplicate key spelled with an escape", #"{"a":1,"\u0061":2}"#), ["a": 2]),
        (JSONSyntaxCase("i_duplicate empty key", #"{"":1,"":2}"#), ["": 2]),
        (JSONSyntaxCase("i_minus zero equals zero", "-0"), 0),
        (JSONSyntaxCase("i_integer equals the same with fraction", "[1.0,100e-2]"), [1, 1]),
        (JSONSyntaxCase("i_escaped NUL is kept", #""a\u0000b""#), "a\u{0}b"),
        (JSONSyntaxCase("i_escaped noncharacter is kept", #""\uFFFF""#), "\u{FFFF}"),
        (JSONSyntaxCase("i_raw noncharacter is kept", "\"\u{FFFE}\""), "\u{FFFE}"),
        (JSONSyntaxCase("i_raw DEL is kept", "\"\u{7F}\""), "\u{7F}"),
        (JSONSyntaxCase("i_byte order mark inside a string is kept", "\"\u{FEFF}\""), "\u{FEFF}"),
    ]

    static let decidedErrors: [(JSONSyntaxCase, JSONError.Reason)] = [
        (JSONSyntaxCase("i_duplicate key refused on demand", #"{"a":1,"a":3}"#), .duplicateKey),
        (JSONSyntaxCase("i_duplicate key spelled with an escape", #"{"a":1,"\u0061":3}"#), .duplicateKey),
        (JSONSyntaxCase("i_duplicate key in another normal form", "{\"\u{E9}\":1,\"e\u{301}\":3}"), .duplicateKey),
        (JSONSyntaxCase("i_duplicate key in an inner object", #"[{"b":{"a":1,"a":3}}]"#), .duplicateKey),
        (JSONSyntaxCase("i_escaped lone high surrogate", #""\ud800""#), .loneSurrogate),
        (JSONSyntaxCase("i_escaped lone low surrogate", #""\udc00""#), .loneSurrogate),
        (JSONSyntaxCase("i_escaped surrogates the wrong way round", #""\udc00\ud800""#), .loneSurrogate),
        (JSONSyntaxCase("i_escaped high surrogate before text", #""\ud800abc""#), .loneSurrogate),
        (JSONSyntaxCase("i_escaped high surrogate before an escape", #""\ud800\n""#), .loneSurrogate),
        (JSONSyntaxCase("i_escaped high surrogate before a character", #""\ud800\u0041""#), .loneSurrogate),
        (JSONSyntaxCase("i_escaped high surrogate twice", #""\ud83d\ud83d\ude00""#), .loneSurrogate),
        (JSONSyntaxCase("i_nesting past the limit", String(repeating: "[", count: 129)), .tooDeep),
        (JSONSyntaxCase("i_two byte order marks", "\u{FEFF}\u{FEFF}1"), .unexpectedCharacter),
        (JSONSyntaxCase("i_UTF-16 with mark", bytes: [0xFF, 0xFE, 0x31, 0x00]), .unexpectedCharacter),
        (JSONSyntaxCase("i_UTF-16 without mark", bytes: [0x5B, 0x00, 0x5D, 0x00]), .unexpectedCharacter),
    ]
}
