import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

extension SeededRandom {
    /// A random document of tokens of the syntax and other bytes.
    fileprivate mutating func document(of pieces: [String]) -> [UInt8] {
        var document: [UInt8] = []
        for _ in 0..<Int.random(in: 0...40, using: &self) {
            switch Int.random(in: 0..<12, using: &self) {
            case 0: document.append(UInt8.random(in: 0...255, using: &self))
            case 1: document += Array(repeating: UInt8(ascii: "x"), count: Int.random(in: 0...70, using: &self))
            default: document += Array((pieces.randomElement(using: &self) ?? "").utf8)
            }
        }
        return document
    }
}

@Suite("Parsers of streams under stress", .limited)
struct StreamRobustnessTests {
    /// Counts the documents whose outcome in one chunk differs from that in many.
    private func differences<Parser: StreamParser>(_ parser: Parser, _ pieces: [String], seed: UInt64) -> Int
    where Parser.Output: Equatable {
        var random = SeededRandom(seed: seed)
        var differences = 0
        var values = 0
        let count = rounds(150, nightly: 120)
        for _ in 0..<count {
            let document = random.document(of: pieces)
            let whole = parser.outcome([document])
            values += whole.values.count
            for size in [1, 3, 20, 200] where parser.outcome(random.chunks(of: document, upTo: size)) != whole {
                differences += 1
            }
        }
        #expect(values > count / 12, "too few documents have a value for a meaningful test")
        return differences
    }

    @Test("Random chunks of random events have the same outcome as the whole", arguments: 0..<4)
    func events(seed: UInt64) {
        let pieces = [
            "data: ", "data:", "event: a", "id: 1", "id: \0", "retry: 12", ":", "\n", "\n\n", "\r\n", "\r", "\r\n\r\n",
            "é漢😀",
            "\u{FEFF}",
        ]
        #expect(differences(ServerSentEventParser(), pieces, seed: seed) == 0)
        #expect(differences(ServerSentEventParser(maximumEventSize: 60), pieces, seed: seed) == 0)
    }

    @Test("Random chunks of random messages have the same outcome as the whole", arguments: 0..<4)
    func messages(seed: UInt64) {
        let lines = ["{", "}", "1", "\n", "\r\n", "\n\n", " ", "\r", "é漢😀"]
        #expect(differences(LineParser(), lines, seed: seed) == 0)
        #expect(differences(LineParser(maximumLength: 50), lines, seed: seed) == 0)
        #expect(differences(StandardFraming.jsonLines(maximumSize: 60), lines, seed: seed) == 0)
        let texts = ["\u{1E}", "\u{1E}[1]\n", "[", "]\n", "\"", "\\", "1", "\n", "\n\u{1E}", " ", "{}\n\u{1E}"]
        #expect(differences(StandardFraming.jsonSequence(maximumSize: 60), texts, seed: seed) == 0)
        let lengths = ["\0", "\u{1}", "\u{2}", "\u{7}", "\0\0", "abc"]
        #expect(
            differences(StandardFraming.lengthPrefixed(bytes: 1, maximumSize: 255), lengths, seed: seed)
                == 0)
        #expect(differences(StandardFraming.lengthPrefixed(bytes: 2), lengths, seed: seed) == 0)
    }

    @Test("Each byte of a long line is searched once, for any number of chunks")
    func longLines() throws {
        // A repeated search would read billions of bytes.
        var parser = ServerSentEventParser()
        let chunk = Data(repeating: UInt8(ascii: "x"), count: 1_024)
        for _ in 0..<4 << 10 { #expect(try parser.parse(chunk).isEmpty) }
        let returns = Data(String(repeating: "data: a\r\r", count: 100_000).utf8)
        #expect(ServerSentEventParser().outcome([[UInt8](returns)]).values.count == 100_000)
        var framing = StandardFraming.jsonSequence
        #expect(try framing.parse(Data("\u{1E}\"".utf8)).isEmpty)
        for _ in 0..<1 << 10 { #expect(try framing.parse(chunk).isEmpty) }
    }
}
