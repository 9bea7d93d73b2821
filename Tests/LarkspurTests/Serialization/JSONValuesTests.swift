import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("JSON from values whose types are known at run time", .limited)
struct JSONValuesTests {
    private enum Color: String { case red }

    static let values: [(any Sendable, String)] = [
        (true, "true"), (false, "false"), (0, "0"), (1, "1"), (-1, "-1"), (Int8(1), "1"), (UInt8(0), "0"),
        (UInt64.max, "18446744073709551615"), (Int64.min, "-9223372036854775808"), (1.0, "1.0"), (0.0, "0.0"),
        (2.5, "2.5"), (Float(0.1), "0.1"), (CGFloat(1.5), "1.5"),
        (Decimal(string: "12345678901234567890.123456789") ?? 0, "12345678901234567890.123456789"), (Decimal(7), "7"),
        ("text", #""text""#), ("1", #""1""#), ("text".dropFirst(), #""ext""#), (NSNull(), "null"),
        (NSNumber(value: true), "true"), (NSNumber(value: false), "false"), (NSNumber(value: 1), "1"),
        (NSNumber(value: 0), "0"), (NSNumber(value: Int8(1)), "1"), (NSNumber(value: 1.5), "1.5"),
        (NSNumber(value: UInt64.max), "18446744073709551615"), (Int?.none, "null"), (Int?.some(5), "5"),
        (Bool?.some(true), "true"), (Int??.some(nil), "null"), (Int??.some(.some(6)), "6"), ([Int]?.some([1]), "[1]"),
        ([1, nil] as [Int?], "[1,null]"),
        ([1, true, "x", [2.5], nil as Int?] as [any Sendable], #"[1,true,"x",[2.5],null]"#),
        ([Int](), "[]"), ([String: Int](), "{}"),
        (
            ["b": true, "a": 1, "c": [:] as [String: Int]] as [String: any Sendable],
            #"{"a":1,"b":true,"c":{}}"#
        ),
        (JSON.object(["z": 1, "a": 2]), #"{"z":1,"a":2}"#), ([JSON.null, true], "[null,true]"),
    ]

    @Test(
        "A value becomes JSON of its type, and Booleans and numbers stay distinct",
        arguments: values.indices)
    func value(index: Int) throws {
        let (value, expected) = Self.values[index]
        #expect(try JSON(["v": value]).text() == #"{"v":\#(expected)}"#)
        #expect(try JSON([value]).text() == "[\(expected)]")
    }

    @Test("Members are sorted by key, at every level")
    func sorted() throws {
        let inner = Dictionary(uniqueKeysWithValues: (10..<40).map { ("\($0)", $0) })
        let members: [String: any Sendable] = ["b": inner, "a": [inner]]
        let json = try JSON(members)
        #expect(json.object?.map(\.key) == ["a", "b"])
        #expect(json["b"].object?.map(\.key) == (10..<40).map { "\($0)" })
        #expect(json["a"][0] == json["b"])
    }

    static let refused: [any Sendable] = [
        Date(), Data([1]), UUID(), Color.red, [1: "x"], Set([1]), Double.nan, -Double.infinity, Float.infinity,
        Decimal.nan, NSNumber(value: Double.nan), URL(fileURLWithPath: "/x"), (1, 2),
    ]

    @Test("Unsupported values fail, with their path and without their value", arguments: refused.indices)
    func noJSON(index: Int) {
        #expect {
            try JSON(["list": [1, ["key": Self.refused[index]] as [String: any Sendable]] as [any Sendable]])
        } throws: { error in
            (error as? RequestError)?.code == .encodingFailed && "\(error)".contains("the value at list.1.key is ")
        }
    }

    @Test("Values too deep for JSON fail on the stack of a small thread")
    func depth() async throws {
        @Sendable func nested(_ depth: Int) -> [any Sendable] {
            (1..<depth).reduce([] as [any Sendable]) { inner, _ in [inner] }
        }
        let codes = await withCheckedContinuation { continuation in
            let thread = Thread {
                let depths = [JSON.maximumDepth, JSON.maximumDepth + 1]
                continuation.resume(
                    returning: depths.map { depth in
                        do throws(RequestError) {
                            return try JSON(nested(depth)).text().utf8.count == 2 * depth ? "fine" : "wrong"
                        } catch {
                            return error.code.rawValue
                        }
                    })
            }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        #expect(codes == ["fine", "encodingFailed"])
    }

    @Test("A literal produces the same form, JSON and property list as a type")
    func literal() throws {
        let literal: JSON = ["b": 1, "a": [true, nil, "x y"], "d": ["z": 2.5, "y": []]]
        let encoder = URLEncodedFormEncoder(nilEncoding: .null, allowedCharacters: .unreserved.adding("[]"))
        #expect(try encoder.encode(literal) == "b=1&a[]=1&a[]=null&a[]=x%20y&d[z]=2.5")
        var request = OutgoingRequest(url: try RequestURL("http://h/"))
        try JSONParameterEncoder.json.encode(literal, into: &request)
        #expect(request.body.bytes == Data(#"{"b":1,"a":[true,null,"x y"],"d":{"z":2.5,"y":[]}}"#.utf8))
        try PropertyListParameterEncoder.propertyList.encode(["b": 1, "a": [true, "x"]] as JSON, into: &request)
        let list = try PropertyListSerialization.propertyList(from: try #require(request.body.bytes), format: nil)
        #expect(try JSON(["v": list as? [String: any Sendable]]) == ["v": ["a": [true, "x"], "b": 1]])
    }

    @Test("JSON in a form keeps all digits and the order of its members")
    func formDigits() throws {
        struct Holder: Encodable {
            let json: JSON
            let list: [JSON]
        }
        struct Handing: Encodable {
            let json: JSON
            func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
        }
        let digits = "12345678901234567890123.4567890"
        let json = try JSON(text: #"{"z":\#(digits),"a":1e999,"b":{"y":false,"x":-0.0}}"#)
        let encoder = URLEncodedFormEncoder(boolEncoding: .literal, allowedCharacters: .unreserved.adding("[]"))
        let members = ["[z]=\(digits)", "[a]=1e999", "[b][y]=false", "[b][x]=-0.0"]
        let inMember = members.map { "json\($0)" }.joined(separator: "&")
        let inList = members.map { "list[]\($0)" }.joined(separator: "&")
        #expect(try encoder.encode(json) == "z=\(digits)&a=1e999&b[y]=false&b[x]=-0.0")
        #expect(try encoder.encode(Holder(json: json, list: [json])) == "\(inMember)&\(inList)")
        #expect(try encoder.encode(["json": Handing(json: json)]) == inMember)
        #expect(try encoder.encode(["v": Handing(json: json["z"])]) == "v=\(digits)")
    }
}

extension TransportBody {
    fileprivate var bytes: Data? { if case .data(let data) = self { data } else { nil } }
}
