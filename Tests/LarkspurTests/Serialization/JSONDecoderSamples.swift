import Foundation
import Larkspur

/// The types that `JSON.Decoder` and `JSONDecoder` decode for comparison.
enum DecodedTypes {
    struct Plain: Codable { var a: Int }
    struct Options: Codable {
        var a: Int?
        var b: String?
    }
    struct Cased: Codable {
        var aB: Int?
        var cDE: String?
        var url: URL?
    }
    struct Known: Codable {
        var date: Date?
        var decimal: Decimal?
        var data: Data?
        var url: URL?
        var uuid: UUID?
        var float: Float?
    }
    struct Required: Codable {
        var b: Bool
        var s: String
        var i: Int
        var d: Double
        var e: [Bool]
    }
    enum Name: String, Codable { case a, b }
    enum Level: Int, Codable { case one = 1, two }
    enum Payload: Codable {
        case none
        case one(Int)
        case two(a: Int, b: String?)
    }
    final class Link: Codable {
        var value = 0
        var next: Link?
    }
    class Base: Codable { var x = 0 }

    final class Derived: Base {
        enum Key: String, CodingKey { case y }
        var y = 0
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            y = try container.decode(Int.self, forKey: .y)
            try super.init(from: container.superDecoder())
        }
    }

    final class NamedBase: Base {
        enum Key: String, CodingKey { case y, base }
        var y = 0
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            y = try container.decode(Int.self, forKey: .y)
            try super.init(from: container.superDecoder(forKey: .base))
        }
    }

    final class ListedBase: Base {
        var y = 0
        required init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            y = try container.decode(Int.self)
            try super.init(from: container.superDecoder())
        }
    }

    struct Nested: Decodable {
        enum Outer: String, CodingKey { case outer, list }
        enum Inner: String, CodingKey { case inner }
        var deep: Int
        var list: [Int] = []

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Outer.self)
            deep = try container.nestedContainer(keyedBy: Inner.self, forKey: .outer).decode(Int.self, forKey: .inner)
            var elements = try container.nestedUnkeyedContainer(forKey: .list)
            while !elements.isAtEnd { list.append(try elements.decodeNil() ? -1 : elements.decode(Int.self)) }
        }
    }

    /// An array read step by step, with the state after each step.
    struct Steps: Decodable {
        var steps: [String] = []

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            steps.append("\(container.count ?? -1) \(try container.decode(Int.self))")
            var inner = try container.nestedUnkeyedContainer()
            steps.append("\(try inner.decode(String.self)) \(container.currentIndex)")
            steps.append("\(inner.codingPath.map(\.stringValue)) \(inner.isAtEnd)")
            let members = try container.nestedContainer(keyedBy: FreeKey.self)
            steps.append("\(members.allKeys.map(\.stringValue).sorted()) \(members.codingPath.map(\.stringValue))")
            steps.append("\(try container.decode(Int.self)) \(container.isAtEnd)")
        }
    }

    struct FreeKey: CodingKey {
        var stringValue: String
        var intValue: Int? { Int(stringValue) }
        init(_ text: String) { stringValue = text }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Any object, with what each question about its members answers.
    struct Members: Decodable {
        var answers: [String] = []

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: FreeKey.self)
            for key in container.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
                let isNull = try container.decodeNil(forKey: key)
                answers.append("\(key.stringValue) \(isNull) \(container.contains(key))")
                if let value = try? container.decode(Int.self, forKey: key) { answers.append("\(value)") }
                if let value = try? container.decodeIfPresent(String.self, forKey: key) { answers.append(value) }
            }
            do {
                _ = try container.decodeNil(forKey: FreeKey("missing"))
            } catch {
                answers.append(JSONComparison.summary(of: error))
            }
        }
    }

    struct TextKey: Codable, Hashable, CodingKeyRepresentable {
        var text: String
        var codingKey: any CodingKey { FreeKey(text) }
        init?<Key: CodingKey>(codingKey: Key) { text = codingKey.stringValue }
    }
    enum NameKey: String, Codable, CodingKeyRepresentable { case a, b }

    @propertyWrapper
    struct Lenient: Decodable {
        var wrappedValue: Int
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Int.self) {
                wrappedValue = value
            } else {
                wrappedValue = Int(try container.decode(String.self)) ?? -1
            }
        }
    }
    struct Wrapper: Decodable { @Lenient var a: Int }

    /// An array whose unsuitable elements are skipped.
    struct Lossy: Decodable {
        struct Skipped: Decodable {}
        var values: [Int] = []
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            while !container.isAtEnd {
                if let value = try? container.decode(Int.self) {
                    values.append(value)
                } else {
                    _ = try container.decode(Skipped.self)
                }
            }
        }
    }

    struct Single<Value: Decodable>: Decodable {
        var value: Value
        var path: [String]
        init(from decoder: any Decoder) throws {
            path = decoder.codingPath.map(\.stringValue)
            value = try decoder.singleValueContainer().decode(Value.self)
        }
    }
}

/// Documents for each of the compared types.
enum DecodedTexts {
    static let all = scalars + arrays + objects + types

    private static let scalars = [
        "null", "true", "false", "0", "-0", "1", "-1", "1.0", "1.5", "1e2", "1E+2", "1.5e1", "1e-2", "100e-2", "127",
        "128", "-128", "-129", "255", "256", "65536", "2147483648", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
        "9007199254740993", "9007199254740993.0", "1e18", "1e19", "1e20", "1e400", "-1e400", "1e999999999999", "0.1",
        "123456789.123456789", "1.7976931348623157e308", "0.30000000000000004", "3.4e38", "3.5e38", "16777217",
        "1.00000017881393432617187499", "1.0000000000000000001", "12345678901234567890123456789012345678901234567890",
        "0.1234567890123456789012345678901234567890", #""""#, #""a""#, #""1""#, #""Infinity""#, #""NaN""#, #""é""#,
        #""\u00e9\n\"\\\/""#, #""\ud83d\ude00""#, #""2001-12-31T23:59:59Z""#, #""2001-12-31T23:59:59.5Z""#,
        #""1969-12-31T23:59:59Z""#, #""2024-02-29T00:00:00Z""#, #""2023-02-29T00:00:00Z""#,
        #""2024-02-29T00:00:00+01:00""#, #""20240229T000000Z""#, #""2024-13-01T00:00:00Z""#, #""aGVsbG8=""#,
        #""aGVsbG8""#, #""http://a/b""#, #""/x y""#, #""http://[""#, #""E621E1F8-C36C-495A-93FC-0C247A3E6E5F""#, " 1 ",
        "\"\u{7F}\"", #""2020-01-02""#,
    ]

    private static let arrays = [
        "[]", "[1]", "[1,2,3]", "[null]", #"["a","b"]"#, "[true]", "[1.5]", "[[1],[2]]", "[{}]", #"[1,"a"]"#,
        #"[{"a":1},{"a":"x"}]"#, #"[1,["a"],{"a":1,"c":2},4]"#, #"[1,["a"],{"a":1}]"#, #"[1,["a"]]"#, "[1,null]",
        "[1,[]]", "[1,[1]]", #"[1,["a"],null]"#, #"[1,["a"],[]]"#, #"[1,{"x":2}]"#, #"[1,{"x":null}]"#, "[[[[]]]]",
        #"[{"a_b":1},{"a_b":"x"}]"#, #"["2020-01-02","2020-01-03"]"#, "[1,null,3]",
    ]

    private static let objects = [
        "{}", #"{"a":1}"#, #"{"a":null}"#, #"{"a":"x"}"#, #"{"a":{"a":1}}"#, #"{"1":2}"#, #"{"a_b":1}"#, #"{"":1}"#,
        #"{"a":[1,2]}"#, #"{"b":2,"a":1}"#, #"{"x":0,"b":"q","y":[{}],"a":1}"#, #"{"\u0061":1}"#, #"{"a":true}"#,
        #"{"aB":1}"#, #"{"a_b":"x"}"#, #"{"c_d_e":"x","cDE":"y"}"#, #"{"_a_b_":1}"#, #"{"a__b":1}"#, #"{"A_B":1}"#,
        #"{"a_B":1}"#, #"{"a_b":1,"aB":2}"#, #"{"aB":1,"a_b":2}"#, #"{"url":""}"#, #"{"url":1}"#,
        #"{"url":"http://["}"#,
        #"{"k_k":{"a_b":"x"}}"#, #"{"k_k":{"a_b":1}}"#, #"{"k_k":1}"#, #"{"é":1}"#,
        #"{"a_b":1,"_x":"s","y_":null,"__":2,"_":3,"a_b_c":4,"ABC_DEF":5,"_two_three_":7,"é_a":8,"a_éb":9,"x_1y":10}"#,
    ]

    private static let types = [
        #"{"none":{}}"#, #"{"one":{"_0":1}}"#, #"{"one":{}}"#, #"{"two":{"a":1}}"#, #"{"two":{"a":1,"b":null}}"#,
        #"{"two":{"a":"x"}}"#, #"{"none":{},"one":{"_0":1}}"#, #"{"x":{}}"#, #"{"none":null}"#,
        #"{"value":1,"next":{"value":2,"next":null}}"#, #"{"value":1,"next":{"value":"x"}}"#,
        #"{"value":1,"next":{}}"#, #"{"value":1,"next":[]}"#, #"{"y":1,"super":{"x":2},"base":{"x":3}}"#, #"{"y":1}"#,
        #"{"y":1,"super":null,"base":null}"#, #"{"y":1,"super":{"x":"a"},"base":{"x":"a"}}"#, #"{"y":1,"super":3}"#,
        #"{"outer":{"inner":1},"list":[1,null,3]}"#, #"{"outer":{},"list":[]}"#, #"{"outer":null,"list":[]}"#,
        #"{"list":[]}"#, #"{"outer":{"inner":1}}"#, #"{"outer":{"inner":1},"list":null}"#,
        #"{"outer":{"inner":1},"list":{}}"#, #"{"outer":{"inner":1},"list":["x"]}"#, #"{"outer":[],"list":[]}"#,
        #"{"b":null}"#, #"{"b":1}"#, #"{"b":true}"#, #"{"b":true,"s":null}"#, #"{"b":true,"s":1}"#,
        #"{"b":true,"s":"x","i":null}"#, #"{"b":true,"s":"x","i":1,"d":null}"#,
        #"{"b":true,"s":"x","i":1,"d":1,"e":null}"#,
        #"{"b":true,"s":"x","i":1,"d":1,"e":{"b":1}}"#, #"{"b":true,"s":"x","i":1,"d":1,"e":[true,null]}"#,
        #"{"date":1,"decimal":1.10,"data":"aGk=","url":"http://x","uuid":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","float":1.5}"#,
        #"{"date":"x"}"#, #"{"decimal":"1"}"#, #"{"data":"%"}"#, #"{"data":1}"#, #"{"uuid":"x"}"#, #"{"float":1e39}"#,
        #"{"date":"2020-01-01T00:00:00Z"}"#, #"{"data":[1,2]}"#, #"{"data":[1,256]}"#,
    ]
}
