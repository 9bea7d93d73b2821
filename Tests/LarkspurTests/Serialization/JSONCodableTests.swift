import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("JSON and Codable", .limited)
struct JSONCodableTests {
    struct User: Codable, Equatable {
        var name: String
        var extra: JSON
    }

    private let sample: JSON = [
        "name": "Ada",
        "extra": ["snake_key": [1, -2.5, true, false, nil, "x", [], [:]], "big": 18_446_744_073_709_551_615.0],
    ]

    @Test("Foundation's JSON coders keep a value unchanged")
    func foundationJSON() throws {
        var value = sample
        value["extra"]["unsigned"] = JSON(UInt64.max)
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        #expect(try JSON(data: encoder.encode(value)) == value)
        #expect(try JSONDecoder().decode(JSON.self, from: value.data()) == value)
        for text in ["null", "true", "1", "\"x\"", "[]", "{}"] {
            #expect(try JSONDecoder().decode(JSON.self, from: Data(text.utf8)).text() == text)
        }
    }

    @Test("A value can be a property of another type, and be decoded to one")
    func parts() throws {
        let user = try sample.decode(User.self)
        #expect(user == User(name: "Ada", extra: sample["extra"]))
        #expect(try JSON(data: JSONEncoder().encode(user)) == sample)
        #expect(try sample["extra"]["snake_key"][0].decode(Int.self) == 1)
        #expect(throws: DecodingError.self) { try sample["name"].decode(User.self) }
    }

    @Test("Property list coders keep a value unchanged")
    func propertyLists() throws {
        for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let data = try encoder.encode(sample)
            #expect(try PropertyListDecoder().decode(JSON.self, from: data) == sample)
        }
    }

    @Test("A number beyond 64 bits is encoded as the nearest double, and one beyond doubles is an error")
    func largeNumbers() throws {
        let pi = try JSON(text: "[3.14159265358979323846]")
        #expect(try JSON(data: JSONEncoder().encode(pi)) == [3.141592653589793])
        let huge = try JSON(text: "[1e999]")
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(huge) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSON.self, from: huge.data()) }
    }

    @Test("Coding fails for a nesting that would exhaust a small stack")
    func tooDeepForCoders() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let deepest = try JSON(text: nested(65))
        #expect(try JSON(data: JSONEncoder().encode(deepest)) == deepest)
        #expect(try JSONDecoder().decode(JSON.self, from: deepest.data()) == deepest)
        let tooDeep = try JSON(text: nested(66))
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(tooDeep) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSON.self, from: tooDeep.data()) }
    }
}
