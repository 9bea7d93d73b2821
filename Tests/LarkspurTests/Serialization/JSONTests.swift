import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("The JSON value", .limited)
struct JSONTests {
    @Test("Literals of all types have their JSON value")
    func literals() {
        let name = "Ada"
        let value: JSON = ["name": "\(name)!", "age": 36, "size": 1.5, "member": true, "boss": nil, "tags": ["a", 1]]
        #expect(value["name"] == .string("Ada!"))
        #expect(value["age"] == JSON(36))
        #expect(value["size"] == JSON(1.5))
        #expect(value["member"] == .bool(true))
        #expect(value["boss"].isNull)
        #expect(value["tags"] == .array([.string("a"), JSON(1)]))
        #expect(([:] as JSON).object?.isEmpty == true)
        #expect((["a": 1, "a": 2] as JSON) == ["a": 2])
    }

    @Test("Each property returns only values of its own type")
    func kinds() {
        let values: [JSON] = [nil, true, 1, "1", [1], ["1": 1]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.int) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.number?.description) == [nil, nil, "1", nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, "1", nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, [1], nil])
        #expect(values.map(\.object) == [nil, nil, nil, nil, nil, ["1": 1]])
    }

    @Test("A missing path is null")
    func readingNowhere() {
        let value: JSON = ["user": ["tags": ["x"]], "n": 1]
        #expect(value["user"]["tags"][0].string == "x")
        for missing in [
            value["nobody"], value["user"]["tags"][1], value["user"]["tags"][-1], value["user"]["tags"][Int.max],
            value["user"][0], value["n"]["x"], value["n"][0], value["a"]["b"][7]["c"],
        ] {
            #expect(missing == .null)
        }
    }

    @Test("Assigning to a path changes that member, and creates missing objects")
    func settingKeys() {
        var value: JSON = ["user": ["name": "Ada", "tags": ["x"]]]
        value["user"]["name"] = "Grace"
        value["user"]["tags"][0] = "y"
        value["user"]["tags"][1] = "z"
        value["new"]["deep"][0]["x"] = 1
        value["gone"] = nil
        #expect(value.text() == #"{"user":{"name":"Grace","tags":["y","z"]},"new":{"deep":[{"x":1}]},"gone":null}"#)
        #expect(value.removeValue(forKey: "gone") == JSON.null)
        #expect(value.removeValue(forKey: "gone") == nil)
        #expect(value.object?.count == 2)
    }

    @Test("Assigning to a value of another type, or past the end, does not change it")
    func settingNowhere() {
        let original: JSON = ["text": "x", "list": [1]]
        var value = original
        value["text"]["a"] = 1
        value["text"][0] = 1
        value["list"]["a"] = 1
        value["list"][2] = 1
        value["list"][-1] = 1
        value["list"][.max] = 1
        value[0] = 1
        #expect(value == original)
        var null = JSON.null
        null[1] = 1
        #expect(null.isNull)
        #expect(value.removeValue(forKey: "none") == nil)
        #expect(null.removeValue(forKey: "none") == nil)
    }

    @Test("Building a large value member by member copies only the members")
    func buildingInPlace() {
        var value = JSON.null
        for number in 0..<20_000 {
            value["list"][number] = JSON(number)
            value["map"]["key\(number)"] = JSON(number)
        }
        #expect(value["list"].array?.count == 20_000)
        #expect(value["map"]["key19999"].int == 19_999)
    }

    @Test("Assigning to a copy does not change the original")
    func copies() {
        let original: JSON = ["a": [1, 2]]
        var copy = original
        copy["a"][0] = 9
        #expect(original == ["a": [1, 2]])
        #expect(copy == ["a": [9, 2]])
    }

    @Test("Null members can be removed at all levels, and null elements of arrays stay")
    func removingNulls() throws {
        let value = try JSON(
            text: #"{"z":null,"b":{"y":null,"x":[null,{"w":null,"v":[[{"u":null}]]},1]},"a":"null","c":{"d":null}}"#)
        #expect(value.removingNulls().text() == #"{"b":{"x":[null,{"v":[[{}]]},1]},"a":"null","c":{}}"#)
        let members = try JSON(
            text: "{" + (0..<40).map { "\"k\($0)\":\($0 % 2 == 0 ? "null" : "1")" }.joined(separator: ",") + "}")
        let kept = members.removingNulls()
        #expect(kept.object?.count == 20 && kept["k39"] == 1 && kept.object?["k38"] == nil)
        for other: JSON in [nil, 1, "x", [nil], [:]] { #expect(other.removingNulls() == other) }
    }

    @Test("Members keep their order, which equality and hash ignore", arguments: [2, 16, 17, 300])
    func objectOrder(count: Int) {
        let pairs = (0..<count).map { ("key\($0)", JSON($0)) }
        let forwards = JSON.Object(pairs)
        let backwards = JSON.Object(pairs.reversed())
        #expect(forwards.map(\.key) == pairs.map(\.0))
        #expect(forwards == backwards)
        #expect(forwards.hashValue == backwards.hashValue)
        #expect(pairs.allSatisfy { forwards[$0.0] == $0.1 && backwards[$0.0] == $0.1 })
        #expect(forwards["key"] == nil)
        var other = JSON.object(backwards)
        other["key1"] = "changed"
        #expect(other != .object(forwards) && other.object?.count == count)
    }

    @Test("Members can be added and removed below and above the threshold of the index")
    func objectChanges() {
        var value = JSON.null
        for number in 0..<40 { value["k\(number)"] = JSON(number) }
        for number in stride(from: 0, to: 40, by: 3) { value.removeValue(forKey: "k\(number)") }
        #expect(value.object?.map(\.value.int) == (0..<40).filter { $0 % 3 != 0 })
        for number in 0..<40 {
            #expect(value["k\(number)"].int == (number % 3 == 0 ? nil : number))
        }
        for number in 10..<40 { value.removeValue(forKey: "k\(number)") }
        #expect(value == ["k1": 1, "k2": 2, "k4": 4, "k5": 5, "k7": 7, "k8": 8])
    }

    @Test("Canonically equivalent keys are one key")
    func equivalentKeys() throws {
        let value = try JSON(text: "{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(value == ["\u{E9}": 2])
        #expect(try JSON(text: #"{"a":1,"\u0061":2}"#) == ["a": 2])
    }

    @Test("Values are written compact, indented or sorted, with only the necessary escapes")
    func writing() {
        let value: JSON = [
            "b": [1, [], [:]], "a": ["x": nil, "é/\u{2028}": "\"\\\u{8}\u{9}\n\u{C}\r\u{0}\u{1F}\u{7F}"],
        ]
        let string = #""\"\\\b\t\n\f\r\u0000\u001f"# + "\u{7F}\""
        #expect(value.text() == "{\"b\":[1,[],{}],\"a\":{\"x\":null,\"é/\u{2028}\":\(string)}}")
        #expect(value.description == "{\"a\":{\"x\":null,\"é/\u{2028}\":\(string)},\"b\":[1,[],{}]}")
        let pretty = """
            {
              "a": {
                "x": null,
                "é/\u{2028}": \(string)
              },
              "b": [
                1,
                [],
                {}
              ]
            }
            """
        #expect(value.text([.prettyPrinted, .sortedKeys]) == pretty)
        #expect(value.data() == Data(value.text().utf8))
    }
}

@Suite("JSON numbers", .limited)
struct JSONNumberTests {
    @Test(
        "A number that is parsed and written keeps its decimal value",
        arguments: [
            ("0", "0"), ("-0", "-0.0"), ("7", "7"), ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"), ("9223372036854775808", "9223372036854775808"),
            ("18446744073709551615", "18446744073709551615"), ("18446744073709551616", "18446744073709551616"),
            ("-9223372036854775809", "-9223372036854775809"), ("123456789012345678", "123456789012345678"),
            ("1234567890123456789", "1234567890123456789"), ("100000000000000000000", "100000000000000000000"),
            ("1.0", "1.0"), ("1.50", "1.5"), ("0.1", "0.1"), ("-2.5e3", "-2500.0"), ("1E2", "100.0"), ("1e+2", "100.0"),
            ("0.30000000000000004", "0.30000000000000004"), ("47.376887", "47.376887"), ("1e-7", "1e-07"),
            ("9007199254740993.0", "9007199254740993.0"), ("0.1000000000000000055", "0.1000000000000000055"),
            ("3.14159265358979323846", "3.14159265358979323846"), ("1e999", "1e999"), ("-1e-999", "-1e-999"),
            ("5e-324", "5e-324"), ("4e-324", "4e-324"), ("1.7976931348623157e308", "1.7976931348623157e308"),
            ("0e999999999999999999999", "0e999999999999999999999"),
            ("1e99999999999999999999", "1e99999999999999999999"),
        ])
    func roundTrip(text: String, written: String) throws {
        let value = try JSON(text: text)
        #expect(value.text() == written)
        #expect(try JSON(text: value.text()) == value)
    }

    @Test(
        "Spellings of one decimal are equal and have equal hashes",
        arguments: [
            ["1", "1.0", "10e-1", "0.1e1", "1E0", "1.000000000000000000000000", "100000000000000000000000e-23"],
            ["0", "-0", "0.0", "-0.0", "0e5", "0e-99999999999999999999"],
            ["1000000000000000000", "1e18", "1000000000000000000.0"],
            ["-0.5", "-5e-1"], ["0.1", "0.1000000000000000055", "1.0000000000000000000001e-1"], ["1e30", "10e29"],
        ])
    func equalNumbers(spellings: [String]) throws {
        let values = try spellings.map { try JSON(text: $0) }
        #expect(Set(values).count == 1)
        #expect(Set(values.map(\.hashValue)).count == 1)
    }

    @Test("Numbers that differ in any digit are not equal")
    func unequalNumbers() throws {
        let spellings = [
            "1", "-1", "10", "0.1", "9007199254740993", "9007199254740992", "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808", "1.0000001", "1e999", "1e998", "-1e999", "1e99999999999999999999",
            "1e999999999999999999999", "12345678901234567890123", "12345678901234567890124",
        ]
        let values = try spellings.map { try JSON(text: $0) }
        #expect(Set(values).count == spellings.count)
    }

    @Test("A whole number that fits is an int; with a fraction or exponent, up to 2^53")
    func integers() throws {
        let cases: [(String, Int?)] = [
            ("3", 3), ("3.0", 3), ("3e0", 3), ("30e-1", 3), ("3.5", nil), ("-0.0", 0),
            ("1e15", 1_000_000_000_000_000), ("1e18", nil),
            ("1e19", nil), ("1152921504606846976.0", nil), ("9223372036854775807", .max),
            ("9223372036854775808", nil), ("-9223372036854775808", .min), ("-9223372036854775809", nil),
            ("1e999", nil), ("1e-999", nil), ("1e99999999999999999999", nil), ("18446744073709551616", nil),
        ]
        for (text, expected) in cases {
            #expect(try JSON(text: text).int == expected, "\(text)")
        }
        #expect(try JSON(text: "18446744073709551615").number?.integer(as: UInt64.self) == .max)
        #expect(try JSON(text: "300").number?.integer(as: UInt8.self) == nil)
        #expect(try JSON(text: "-1").number?.integer(as: UInt.self) == nil)
    }

    @Test("A double is the nearest one, and always finite")
    func doubles() throws {
        let cases: [(String, Double?)] = [
            ("1", 1), ("18446744073709551615", 0x1p64), ("0.1", 0.1), ("3.14159265358979323846", .pi), ("1e999", nil),
            ("-1e999", nil), ("1e-999", 0), ("4e-324", .leastNonzeroMagnitude), ("1e22", 1e22), ("1e23", 1e23),
            ("1e-22", 1e-22),
            ("123456789012345e22", 123456789012345e22), ("1e99999999999999999999", nil),
            ("2.2250738585072011e-308", Double.leastNormalMagnitude.nextDown),
        ]
        for (text, expected) in cases {
            #expect(try JSON(text: text).double == expected, "\(text)")
        }
        #expect(JSON(Double.nan).isNull && JSON(-Double.infinity).isNull)
        #expect(JSON(UInt64.max).text() == "18446744073709551615")
    }
}
