import Foundation
import Larkspur
import TestSupport
import Testing

/// Values that `JSON.Encoder` and `JSONEncoder` encode for comparison.
private enum EncodedValues {
    struct Scalars: Encodable {
        var b = 1.0
        var a = "x/\u{7F}\u{1}\u{8}\u{c}\n\r\t\"\\é\u{2028}😀"
        var none: Int?
        var f: Float = 0.1
        var numbers = [1e20, 1e-7, 123_456_789_012_345_680, -0.0, 1e16, 1e15, 1.7976931348623157e308, 100]
        var url = URL(string: "http://a/b")
        var decimals = [Decimal(string: "1.10"), Decimal(string: "123456789012345678901234567890"), Decimal(5)]
        var date = Date(timeIntervalSinceReferenceDate: 1.5)
        var data = Data([1, 2, 255])
        var nested = [[1], [2, 3], []]
        var keys = ["b": 1, "a": 2, "B": 3, "a10": 4, "a9": 5, "é": 6, "e": 7]
        var smallest: UInt8 = 255
        var least = Int64.min
        var most = UInt64.max
        var isTrue = true
        var optional: [Int?] = [1, nil]
        var uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    }

    struct Cased: Encodable {
        struct Inner: Encodable { var jK = 1 }
        var aB = 1
        var aBCDef = 2
        var ABC = 3
        var myURL = 4
        var x1Y = 5
        var _aB = 6
        var myURLProperty = 7
        var d = ["kK": 1]
        var inner = Inner()
        var date = Date(timeIntervalSince1970: -1e12)
    }

    struct Nothing: Encodable { func encode(to encoder: any Encoder) throws {} }

    /// A value that fills several containers in turn.
    struct Interleaved: Encodable {
        enum Key: String, CodingKey { case a, b, c, d }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            var base = container.superEncoder().container(keyedBy: Key.self)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .b)
            var list = container.nestedUnkeyedContainer(forKey: .c)
            try list.encode(1)
            var last = list.nestedContainer(keyedBy: Key.self)
            var words = list.nestedUnkeyedContainer()
            try words.encode("x")
            try last.encode(list.count, forKey: .a)
            _ = list.superEncoder()
            _ = container.superEncoder(forKey: .d)
            try base.encode(2, forKey: .a)
            try nested.encode(4, forKey: .a)
            try container.encodeNil(forKey: .a)
            var again = encoder.container(keyedBy: Key.self)
            try again.encode(5, forKey: .a)
        }
    }

    static var all: [any Encodable] {
        [
            Scalars(), Cased(), Nothing(), [Nothing()], ["a": Nothing()], Int?.none, [Int?.none], Interleaved(),
            [Double.nan], ["a": [1, -Double.infinity]], Float.infinity, "x", true, 1, 1.5, Data([9]), Decimal(-5),
            Date(timeIntervalSince1970: 5), [1: "a"], DecodedTypes.Payload.two(a: 1, b: nil), DecodedTypes.Payload.none,
            DecodedTypes.Name.a, DecodedTypes.Level.two, Set([1]), ["a": ["b": ["c": 1]]], [[String]](),
            ["e\u{301}": 1, "f": 2, "z": 3, "\u{FF21}": 4, "😀": 5], Int64(5), UInt8(34), [UInt8(10)], Int8(-1),
            Float(16_777_216), "\u{0}\u{1f}", DecodedTypes.Plain(a: 3), [String: Int](), JSON.null, UInt64.max,
        ]
    }
}

@Suite("JSON.Encoder beside JSONEncoder", .limited)
struct JSONEncoderTests {
    private static let options: [@Sendable (JSONEncoder) -> Void] = [
        { _ in },
        {
            $0.keyEncodingStrategy = .convertToSnakeCase
            $0.dateEncodingStrategy = .iso8601
            $0.dataEncodingStrategy = .deferredToData
            $0.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        },
        {
            $0.keyEncodingStrategy = .custom { DecodedTypes.FreeKey($0.map(\.stringValue).joined(separator: "_")) }
            $0.dateEncodingStrategy = .secondsSince1970
        },
        {
            $0.dateEncodingStrategy = .millisecondsSince1970
            $0.dataEncodingStrategy = .custom { data, encoder in
                var container = encoder.singleValueContainer()
                try container.encode(data.count)
            }
        },
        {
            $0.dateEncodingStrategy = .custom { _, encoder in
                var container = encoder.unkeyedContainer()
                try container.encode("date")
            }
        },
    ]

    @Test("Bytes and errors equal Foundation's for all values and options", arguments: options.indices)
    func sameBytes(index: Int) {
        let formats: [JSONEncoder.OutputFormatting] = [
            .sortedKeys, [.sortedKeys, .prettyPrinted], [.sortedKeys, .withoutEscapingSlashes],
        ]
        for format in formats {
            let encoder = JSONEncoder()
            encoder.outputFormatting = format
            Self.options[index](encoder)
            let larkspur = JSON.Encoder(encoder)
            for value in EncodedValues.all {
                #expect(encodingOutcome { try larkspur.encode(value) } == encodingOutcome { try encoder.encode(value) })
            }
        }
    }

    @Test(
        "Dates that are not finite have Foundation's errors and bytes", arguments: [Double.infinity, -.infinity, .nan])
    func dates(seconds: Double) {
        let dates = [Date(timeIntervalSinceReferenceDate: seconds)]
        for strategy in [.deferredToDate, .secondsSince1970, .millisecondsSince1970]
            as [JSONEncoder.DateEncodingStrategy]
        {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = strategy
            #expect(
                encodingOutcome { try JSON.Encoder(encoder).encode(dates) }
                    == encodingOutcome { try encoder.encode(dates) })
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "+", negativeInfinity: "-", nan: "?")
            #expect(
                encodingOutcome { try JSON.Encoder(encoder).encode(dates) }
                    == encodingOutcome { try encoder.encode(dates) })
        }
    }

    @Test("Members keep the order in which they are encoded, and JSON values keep their digits")
    func order() throws {
        let text = try JSON.Encoder().encode(EncodedValues.Cased.Inner())
        #expect(String(decoding: text, as: UTF8.self) == #"{"jK":1}"#)
        let value: JSON = ["z": 1, "a": [true, nil]]
        #expect(try JSON.Encoder().encode(["v": value]) == Data(#"{"v":{"z":1,"a":[true,null]}}"#.utf8))
        let digits = try JSON(text: "12345678901234567890.10")
        #expect(try JSON.Encoder().encode([digits]) == Data("[12345678901234567890.10]".utf8))
    }

    @Test("Encoded values can be decoded again")
    func roundTrip() throws {
        let user = JSONDocumentTests.User(name: "Ada \"é\" \u{1}", tags: ["/", "\\"])
        #expect(try JSON.Decoder().decode(JSONDocumentTests.User.self, from: JSON.Encoder().encode(user)) == user)
    }
}
