import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

/// A stream and its messages.
private struct Example: Sendable, CustomTestStringConvertible {
    let document: String
    let messages: [String]
    let failure: RequestError.Code?

    var testDescription: String { document.debugDescription }

    init(_ document: String, _ messages: [String], _ failure: RequestError.Code? = nil) {
        self.document = document
        self.messages = messages
        self.failure = failure
    }

    func isMet(by framing: some MessageFraming) -> Bool {
        let outcome = framing.outcome(document)
        return outcome.values.map { String(decoding: $0, as: UTF8.self) } == messages && outcome.failure == failure
            && framing.firstDifference(in: Array(document.utf8)) == nil
    }

    static let jsonLines = [
        Example("", []), Example("{}\n[1]\n", ["{}", "[1]"]), Example("{}\r\n\"é\"", ["{}", "\"é\""]),
        Example("\n\r\n \t\n1\n\n2\n  ", ["1", "2"]), Example("{\"a\":\n", ["{\"a\":"]),
        Example("12345678\n123456789\n", ["12345678"], .messageTooLarge),
    ]

    static let jsonSequences = [
        Example("", []), Example("\u{1E}1\n\u{1E}[2]\n", ["1\n", "[2]\n"]),
        Example("\u{1E}\u{1E}\n\u{1E} 1 \n", [" 1 \n"]),
        Example("\u{1E}{\n\"a\n\":1\n}\n", [], .messageTooLarge), Example("\u{1E}[\n{\n}]\n", ["[\n{\n}]\n"]),
        Example("\u{1E}\"a\"\u{1E}[]", ["\"a\"", "[]"]), Example("\u{1E}1\u{1E}2\n", [], .incompleteMessage),
        Example("\u{1E}1 \u{1E}2\n", ["1 ", "2\n"]), Example("\u{1E}1\n\u{1E}12", ["1\n"], .incompleteMessage),
        Example("\u{1E}1\n\u{1E}[1\n\u{1E}2\n", ["1\n"], .incompleteMessage),
        Example("\u{1E}\"a\n\u{1E}2\n", [], .incompleteMessage), Example("\u{1E}\"a\\\"\n", [], .incompleteMessage),
        Example("\u{1E}\"[\\\\\"\n\u{1E}1\n", ["\"[\\\\\"\n", "1\n"]), Example("\u{1E}[\"]\"]\n", ["[\"]\"]\n"]),
        Example("\u{1E}]\n\u{1E}1\n", ["]\n", "1\n"]), Example(" \r\n\t\u{1E}1\n", ["1\n"]),
        Example("{}\n", [], .malformedMessage), Example("\u{1E}1\n2\n", ["1\n"], .malformedMessage),
        Example("\u{1E}[1,2,3]\n\u{1E}[1,2,33]\n", ["[1,2,3]\n"], .messageTooLarge),
        Example("\u{1E}[1,2,333333", [], .messageTooLarge),
    ]

    static let prefixed = [
        Example("", []), Example("\0\u{1}a\0\0\0\u{2}bc", ["a", "", "bc"]), Example("\0\0", [""]),
        Example("\0\u{1}a\0", ["a"], .incompleteMessage), Example("\0\u{2}a", [], .incompleteMessage),
        Example("\0\u{8}01234567\0\u{9}012345678", ["01234567"], .messageTooLarge),
        Example("\0\u{1}a\u{7F}\u{7F}b", ["a"], .messageTooLarge),
    ]

    static let custom = [
        Example("", []), Example("<a><><bc>", ["a", "", "bc"]), Example("<a><b", ["a"], .incompleteMessage),
        Example("<a>b", ["a"], .malformedMessage), Example("<abcdef><abcdefg>", ["abcdef"], .messageTooLarge),
        Example("<abcdefgh", [], .messageTooLarge),
    ]

    static let events = [
        Example("", []), Example("data: a\ndata: b\n\n: x\n\ndata\n\ndata: c", ["a\nb", ""]),
        Example("data:123\n\ndata:1234\n\n", ["123"], .messageTooLarge),
    ]
}

@Suite("Messages of streams", .limited)
struct MessageFramingTests {
    @Test("JSON lines are read without blank ones", arguments: Example.jsonLines)
    fileprivate func jsonLines(_ example: Example) {
        #expect(example.isMet(by: .jsonLines(maximumSize: 8)))
    }

    @Test("Texts of a JSON sequence are separated, and a truncated text is an error", arguments: Example.jsonSequences)
    fileprivate func jsonSequence(_ example: Example) {
        #expect(example.isMet(by: .jsonSequence(maximumSize: 8)))
    }

    @Test("Length-prefixed messages have that length", arguments: Example.prefixed)
    fileprivate func lengthPrefixed(_ example: Example) {
        #expect(example.isMet(by: .lengthPrefixed(bytes: 2, maximumSize: 8)))
    }

    @Test("Messages of events are their data", arguments: Example.events)
    fileprivate func serverSentEvents(_ example: Example) {
        #expect(example.isMet(by: .serverSentEvents(maximumSize: 8)))
    }

    @Test("A closure finds messages, and an invalid range is an error", arguments: Example.custom)
    fileprivate func custom(_ example: Example) {
        let framing = StandardFraming.custom(maximumSize: 8) { bytes in
            guard bytes.first == UInt8(ascii: "<") else { return (0..<0, 0) }
            return bytes.firstIndex(of: UInt8(ascii: ">")).map { (1..<$0, $0 + 1) }
        }
        #expect(example.isMet(by: framing))
    }

    @Test("A framing with a closure keeps no bytes of the messages that it has found")
    func keepsNothing() throws {
        var framing = StandardFraming.custom { bytes in bytes.firstIndex(of: 0).map { (0..<$0, $0 + 1) } }
        for _ in 0..<1_000 {
            try [UInt8]([1, 2, 0]).withUnsafeBytes { all in
                var more = UnsafeRawBufferPointer(rebasing: all.prefix(all.count))
                while try framing.next(in: &more) != nil {}
            }
        }
        let kept = Mirror(reflecting: framing).descendant("base", "bytes") as? [UInt8]
        #expect(try #require(kept).isEmpty)
    }

    @Test(
        "A frame outside the bytes is an error",
        arguments: [(0..<1, 4), (0..<3, 2), (-1..<1, 2), (0..<0, 0), (0..<0, -1)])
    func foreignFrame(message: Range<Int>, end: Int) {
        #expect(StandardFraming.custom { _ in (message, end) }.outcome("abc").failure == .malformedMessage)
    }

    @Test("A length is read in its byte order, with one to eight bytes", arguments: 1...8)
    func widths(bytes: Int) {
        let zeros = [UInt8](repeating: 0, count: bytes - 1)
        let expected = ParsingOutcome(values: [Data("ab".utf8)])
        let big = StandardFraming.lengthPrefixed(bytes: bytes)
        let little = StandardFraming.lengthPrefixed(bytes: bytes, endianness: .little)
        #expect(big.outcome([zeros + [2] + Array("ab".utf8)]) == expected)
        #expect(little.outcome([[2] + zeros + Array("ab".utf8)]) == expected)
        // The largest length allocates no memory.
        let largest = [UInt8](repeating: 0xFF, count: bytes)
        #expect(
            StandardFraming.lengthPrefixed(bytes: bytes, maximumSize: 254).outcome([largest]).failure
                == .messageTooLarge)
    }

    @Test("A text of a JSON sequence is delivered at its line feed, before the next one begins")
    func promptness() throws {
        var framing = StandardFraming.jsonSequence
        #expect(try framing.parse(Data("\u{1E}{\"a\":\n1}".utf8)).isEmpty)
        #expect(try framing.parse(Data("\n".utf8)) == [Data("{\"a\":\n1}\n".utf8)])
    }
}
