import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("JSON from Foundation's untyped values", .limited)
struct JSONFoundationTests {
    private static func values() -> [(Any, String)] {
        [
            (
                ["name": "Ada", "age": 36, "tags": ["a", 1, true, NSNull()] as [Any]] as [String: Any],
                #"{"age":36,"name":"Ada","tags":["a",1,true,null]}"#
            ),
            (["a", 1.5, ["b": false]] as [Any], #"["a",1.5,{"b":false}]"#), ("text", #""text""#), (7, "7"),
            (NSNull(), "null"), (NSNumber(value: true), "true"), (JSON.null, "null"), (Int?.none as Any, "null"),
            (NSString(string: "text"), #""text""#),
            (NSArray(array: [NSNumber(value: 1), NSString(string: "a")]), #"[1,"a"]"#),
            (
                NSDictionary(dictionary: ["n": NSNumber(value: 2), "list": NSArray(array: [NSNumber(value: false)])]),
                #"{"list":[false],"n":2}"#
            ),
        ]
    }

    @Test("Every type that JSONSerialization knows becomes JSON", arguments: values().indices)
    func value(index: Int) throws {
        let (value, text) = Self.values()[index]
        #expect(try JSON(foundation: value).text() == text)
    }

    @Test("What JSONSerialization reads is read back")
    func roundTrip() throws {
        let text = #"{"a":[1,2.5,true,null,"x",{"b":{}}],"c":""}"#
        #expect(try JSON(foundation: JSONSerialization.jsonObject(with: Data(text.utf8))).text() == text)
    }

    private static func refused() -> [(Any, String)] {
        [
            (Date(), "the value is a Date"),
            (["a": ["b": [1, Date()] as [Any]]] as [String: Any], "at a.b.1 is a Date"),
            ([1: "x"] as [Int: Any], "the value is a dictionary with keys that are not strings"),
            (["m": [1: "x"] as [Int: Any]] as [String: Any], "at m is a dictionary with keys that are not strings"),
            (NSDictionary(dictionary: [NSNumber(value: 1): NSNumber(value: 2)]), "keys that are not strings"),
            (["n": Double.nan] as [String: Any], "at n is a number that JSON cannot represent"),
        ]
    }

    @Test("What does not fit is an error with its path", arguments: refused().indices)
    func noJSON(index: Int) {
        let (value, words) = Self.refused()[index]
        let error = #expect(throws: RequestError.self) { try JSON(foundation: value) }
        #expect(error?.code == .encodingFailed && error?.message.contains(words) == true, "\(error as Any)")
    }

    @Test("A dictionary of Any is sent as JSON and as a form")
    func parameters() async throws {
        let log = TransportLog()
        let session = log.session()
        let fields: [String: Any] = ["name": "Ada", "age": 36]
        _ = try await session.request(
            "http://h/", method: .post, parameters: JSON(foundation: fields), encoder: .json
        ).serializingData().value
        _ = try await session.request("http://h/", parameters: JSON(foundation: fields)).serializingData().value
        #expect(log.requests.first?.text == #"{"age":36,"name":"Ada"}"#)
        #expect(log.requests.last?.url.query == "age=36&name=Ada")
    }
}
