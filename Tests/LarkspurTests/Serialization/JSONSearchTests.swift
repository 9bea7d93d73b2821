import CLarkspur
import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Searches in JSON text", .limited)
struct JSONSearchTests {
    private typealias Search = @Sendable (UnsafePointer<UInt8>, Int) -> Int

    /// Calls the closure with the bytes in memory of exactly their size, so that a sanitizer sees a read beyond them.
    private func withExactCopy(_ bytes: [UInt8], _ body: (UnsafePointer<UInt8>) -> Void) {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        defer { memory.deallocate() }
        memory.initialize(from: bytes, count: bytes.count)
        body(memory)
    }

    /// Checks two searches for the first byte of `stops`, at each place in texts of 0 to 40 other bytes, and with a second
    /// such byte behind it.
    private func check(_ searches: [Search], stops: [UInt8], others: [UInt8]) {
        for count in 0...40 {
            var bytes = (0..<count).map { others[$0 % others.count] }
            withExactCopy(bytes) { copy in #expect(searches.map { $0(copy, count) } == [count, count]) }
            for (place, stop) in (0..<count).flatMap({ place in stops.map { (place, $0) } }) {
                let (first, last) = (bytes[place], bytes[count - 1])
                bytes[count - 1] = stops[0]
                bytes[place] = stop
                withExactCopy(bytes) { copy in
                    let found = searches.map { $0(copy, count) }
                    #expect(found == [place, place], "byte \(stop) at \(place) of \(count)")
                }
                bytes[count - 1] = last
                bytes[place] = first
            }
        }
    }

    @Test("The search for the end of plain text and its portable twin stop at the same bytes")
    func plainText() {
        let stops: [UInt8] = [0x22, 0x5C, 0x00, 0x0A, 0x1F, 0x80, 0xC3, 0xFF]
        let others: [UInt8] = [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7E, 0x7F, 0x61]
        check([clarkspur_json_plain_count, clarkspur_json_plain_count_portable], stops: stops, others: others)
    }

    @Test("The search for the end of white space and its portable twin stop at the same bytes")
    func whiteSpace() {
        let stops: [UInt8] = [0x7B, 0x00, 0x08, 0x0B, 0x0C, 0x1F, 0x21, 0x80, 0xA0, 0xFF]
        check(
            [clarkspur_json_space_count, clarkspur_json_space_count_portable], stops: stops, others: [32, 10, 13, 9])
    }

    @Test("Objects share keys only if all their keys have the same bytes", arguments: 0...34)
    func similarKeys(length: Int) throws {
        let key = String(repeating: "k", count: length)
        var names = [key, key + "x", String(key.dropLast()), key + key]
        for place in 0..<length {
            var other = Array(key.utf8)
            other[place] = 0x7A
            names.append(String(decoding: other, as: UTF8.self))
        }
        // Each object has two keys, so that its second key is compared with that of the object before it.
        let objects = names.map { "{\"first\":[0],\"\($0)\":1}" }
        let values = try JSON(text: "[\(objects.joined(separator: ","))]", duplicateKeys: .refuse)
        for (name, value) in zip(names, values.array ?? []) {
            #expect(value.object?.map(\.key) == ["first", name] && value[name] == 1)
        }
        let decoded = try JSON.Decoder().decode([[String: JSON]].self, from: values.data())
        #expect(decoded.map { Set($0.keys) } == names.map { ["first", $0] })
    }

    @Test("An object with fewer, more, other or repeated keys than the one before it has its own keys")
    func changedKeys() throws {
        let texts = [
            #"{"a":1,"b":{"a":1,"b":2},"c":3}"#, #"{"a":1,"b":2}"#, #"{"a":1,"b":2,"c":3,"d":4}"#,
            #"{"a":1,"c":2,"b":3}"#,
            #"{"a":1,"b":2,"c":3}"#, #"{"a":1}"#, #"{"a":1,"\u0062":2,"c":3}"#, #"{"a":1,"b":[{"a":1,"b":2}],"c":3}"#,
        ]
        let array = try JSON(text: "[\(texts.joined(separator: ","))]")
        for (text, value) in zip(texts, array.array ?? []) { #expect(try value == JSON(text: text)) }
        let text = #"[{"a":1,"b":2},{"a":1,"a":2},{"a":1,"b":2,"a":3},{"a":3,"b":4}]"#
        let expected: JSON = [["a": 1, "b": 2], ["a": 2], ["a": 3, "b": 2], ["a": 3, "b": 4]]
        #expect(try JSON(text: text) == expected)
        #expect(try JSON.Decoder().decode([[String: Int]].self, from: Data(text.utf8)).map(\.count) == [2, 1, 2, 2])
        #expect { try JSON(text: text, duplicateKeys: .refuse) } throws: {
            ($0 as? JSONError)?.reason == .duplicateKey && ($0 as? JSONError)?.offset == 22
        }
    }

    @Test("Numbers of each length at the end of the text have their value", arguments: 1...18)
    func digits(count: Int) throws {
        let text = String("123456789012345678".prefix(count))
        #expect(try JSON(text: text).int == Int(text))
        #expect(try JSON(text: "-\(text)").int == Int("-\(text)"))
        for places in 1...18 {
            let fraction = "\(text).\("987654321098765432".prefix(places))"
            #expect(try JSON(text: fraction).double == Double(fraction))
            #expect(try JSON.Decoder().decode([Double].self, from: Data("[\(fraction)]".utf8)) == [Double(fraction)])
        }
    }

    @Test("Escapes at each place of a text are decoded, and the portable twin writes the same bytes")
    func escapes() {
        let escapes: [(String, String)] = [
            ("\\n", "\n"), ("\\\\", "\\"), ("\\\"", "\""), ("\\/", "/"), ("\\b\\f\\r\\t", "\u{8}\u{C}\r\t"),
            ("\\u0041", "A"), ("\\u0000", "\0"), ("\\u00E9", "\u{E9}"), ("\\u6f22", "漢"), ("\\uD83D\\uDE00", "😀"),
            ("\\uFFFF\\udbff\\udfff", "\u{FFFF}\u{10FFFF}"),
        ]
        for (escaped, expected) in escapes {
            for count in 0...40 {
                let (before, behind) = (String(repeating: "k", count: count), String(repeating: "é", count: 40 - count))
                let text = Array((before + escaped + behind + escaped).utf8)
                for unescape in [clarkspur_json_unescape, clarkspur_json_unescape_portable] {
                    withExactCopy(text) { copy in
                        let output = UnsafeMutablePointer<UInt8>.allocate(capacity: text.count)
                        defer { output.deallocate() }
                        let written = UnsafeBufferPointer(start: output, count: unescape(copy, text.count, output))
                        #expect(written.elementsEqual((before + expected + behind + expected).utf8))
                    }
                }
            }
        }
    }
}
