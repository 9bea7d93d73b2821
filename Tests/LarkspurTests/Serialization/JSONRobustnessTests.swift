import Foundation
import Larkspur
import TestSupport
import Testing

extension SeededRandom {
    fileprivate mutating func text() -> String {
        let scalars: [Unicode.Scalar] = ["a", "Z", "0", " ", "\"", "\\", "/", "\n", "\u{0}", "é", "\u{301}", "漢", "😀"]
        return String(
            String.UnicodeScalarView(
                (0..<Int.random(in: 0...20, using: &self)).map { _ in
                    scalars.randomElement(using: &self) ?? "x"
                }))
    }

    fileprivate mutating func value(depth: Int) -> JSON {
        switch Int.random(in: 0...(depth > 0 ? 8 : 6), using: &self) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &self))
        case 2: return JSON(Int64(bitPattern: next()))
        case 3: return JSON(next())
        case 4: return JSON(Double(bitPattern: next()))
        case 5: return JSON(Double(Int.random(in: -99999...99999, using: &self)) / 100)
        case 6: return .string(text())
        case 7: return .array((0..<Int.random(in: 0...6, using: &self)).map { _ in value(depth: depth - 1) })
        default:
            let count = Int.random(in: 0...24, using: &self)
            return .object(JSON.Object((0..<count).map { _ in (text(), value(depth: depth - 1)) }))
        }
    }
}

@Suite("JSON under stress", .limited)
struct JSONRobustnessTests {
    @Test("A written value is equal when parsed again", arguments: 0..<8)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        for _ in 0..<rounds(10, nightly: 100) {
            let value = generator.value(depth: 4)
            for options in [[], .sortedKeys, .prettyPrinted, [.sortedKeys, .prettyPrinted]] as [JSON.WritingOptions] {
                let data = value.data(options)
                let read = try JSON(data: data)
                #expect(read == value)
                #expect(read.hashValue == value.hashValue)
                #expect(read.data(options) == data)
            }
        }
    }

    @Test(
        "The parser does not trap on any damaged text, and every accepted text can be written and parsed",
        arguments: 0..<4)
    func mutations(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed &+ 1000)
        let fragments = [
            "[", "]", "{", "}", "\"", ":", ",", "\\", "\\u", "\\ud83d", "1e", "-", ".", "0", "tru", "null",
        ]
        let sample =
            #" {"id":12345678901,"name":"J\u00f6rg \ud83d\ude00 \"x\"","é":[1.5e-3,-0,true,null,{"k":[]}],"z":"漢字"} "#
        var accepted = 0
        let count = rounds(400, nightly: 6_000)
        for _ in 0..<count {
            var bytes = Array(sample.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<max(bytes.count, 1), using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1 where place < bytes.count: bytes.remove(at: place)
                case 2: bytes.removeLast(bytes.count - place)
                case 3: bytes.insert(contentsOf: (fragments.randomElement(using: &generator) ?? "").utf8, at: place)
                default: bytes.insert(contentsOf: bytes.prefix(place), at: place)
                }
            }
            switch Result(catching: { () throws(JSONError) in try JSON(data: Data(bytes), duplicateKeys: .refuse) }) {
            case .success(let value):
                #expect(try JSON(data: value.data()) == value)
                accepted += 1
            case .failure(let error):
                #expect((0...bytes.count).contains(error.offset) && error.line >= 1 && error.column >= 1)
                #expect(error.description.utf8.count < 200)
            }
        }
        #expect(accepted > count / 60)
    }

    @Test("Every truncated text fails with an error at its end")
    func truncations() throws {
        let sample = Array(#"{"a":[1,-2.5e10,"x\n\u00e9\ud83d\ude00é漢😀",true,false,null,{}],"b":{"c":[]}}"#.utf8)
        _ = try JSON(data: Data(sample))
        for count in 0..<sample.count {
            #expect { try JSON(data: Data(sample.prefix(count))) } throws: {
                ($0 as? JSONError)?.reason == .unexpectedEnd && ($0 as? JSONError)?.offset == count
            }
        }
    }

    @Test("Random bytes never make the parser trap")
    func noise() {
        var generator = SeededRandom(seed: 7)
        let alphabet =
            Array("[]{}:,\"\\u0123-+.eEtrfalsn \n\t".utf8) + [0x00, 0x7F, 0x80, 0xC3, 0xA9, 0xED, 0xF0, 0xFF]
        for _ in 0..<rounds(2_000, nightly: 20_000) {
            let count = Int.random(in: 0...24, using: &generator)
            _ = try? JSON(data: Data((0..<count).map { _ in alphabet.randomElement(using: &generator) ?? 0 }))
        }
    }

    @Test("A nesting beyond the limit fails at the first bracket beyond it, at any depth")
    func tooDeep() throws {
        for opening in ["[", "{\"a\":", "[{\"a\":"] {
            let text = String(repeating: opening, count: 100_000)
            #expect { try JSON(text: text) } throws: { ($0 as? JSONError)?.reason == .tooDeep }
        }
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSON(text: nested(JSON.maximumDepth))
        #expect { try JSON(text: nested(JSON.maximumDepth + 1)) } throws: {
            ($0 as? JSONError)?.offset == JSON.maximumDepth
        }
        // Only open brackets count, not closed ones.
        _ = try JSON(text: "[" + String(repeating: "[],{},[{}],", count: 1000) + "0]")
    }

    @Test("Long strings, numbers and lists are parsed like short ones")
    func longInput() throws {
        let text = String(repeating: "é\\n", count: 100_000)
        #expect(try JSON(text: "\"\(text)\"").string?.utf8.count == 300_000)
        let digits = String(repeating: "9", count: 100_000)
        let number = try JSON(text: digits)
        #expect(number.text() == digits && number.int == nil && number.double == nil)
        #expect(try JSON(text: digits + "." + digits + "e-" + digits).int == nil)
        let list = "[" + String(repeating: "[],", count: 100_000) + "1]"
        #expect(try JSON(text: list).array?.count == 100_001)
        let members = (0..<10_000).map { "\"key\($0)\":\($0)" }.joined(separator: ",")
        let object = try JSON(text: "{\(members)}", duplicateKeys: .refuse)
        #expect(object["key9999"].int == 9999 && object.object?.count == 10_000)
        let repeated = "{\(members),\"key7\":\"again\"}"
        #expect(try JSON(text: repeated).object?.count == 10_000)
        #expect(try JSON(text: repeated)["key7"] == "again")
        #expect { try JSON(text: repeated, duplicateKeys: .refuse) } throws: {
            ($0 as? JSONError)?.reason == .duplicateKey && ($0 as? JSONError)?.offset == members.utf8.count + 2
        }
    }

    @Test("A value of the maximum depth can be used on the stack of a small thread")
    func smallStack() async throws {
        let depth = JSON.maximumDepth
        let text = String(repeating: "[{\"a\":", count: depth / 2) + "1" + String(repeating: "}]", count: depth / 2)
        let isFine = await withCheckedContinuation { continuation in
            let thread = Thread {
                guard let value = try? JSON(text: text), let twin = try? JSON(text: text) else {
                    return continuation.resume(returning: false)
                }
                let isSame = value == twin && value.hashValue == twin.hashValue
                let isWritten = value.text() == text && value.text([.prettyPrinted, .sortedKeys]).count > text.count
                continuation.resume(returning: isSame && isWritten && value.removingNulls() == twin)
            }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        #expect(isFine)
    }
}
