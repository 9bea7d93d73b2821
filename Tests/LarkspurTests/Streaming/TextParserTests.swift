import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Lines and text of streams", .limited)
struct TextParserTests {
    @Test(
        "Lines end with a line feed, alone or behind a carriage return; empty ones count",
        arguments: [
            ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("\n", [""]),
            ("\n\na\n\n", ["", "", "a", ""]), ("a\rb\r\r\nc\r", ["a\rb\r", "c\r"]), ("\r\n\r", ["", "\r"]),
            ("é漢\n😀\u{85}\u{2028}x", ["é漢", "😀\u{85}\u{2028}x"]), ("\u{FEFF}a", ["\u{FEFF}a"]),
        ])
    func lines(document: String, lines: [String]) {
        #expect(LineParser().outcome(document) == ParsingOutcome(values: lines))
        #expect(LineParser().firstDifference(in: Array(document.utf8)) == nil)
    }

    @Test(
        "A line longer than the limit is an error, for every split into chunks; one as long is not",
        arguments: [
            ("abcd\nefgh", ["abcd", "efgh"], nil), ("abcd\nefghi\n", ["abcd"], .messageTooLarge),
            ("abcd\nefghi", ["abcd"], .messageTooLarge), ("abcde", [], .messageTooLarge),
        ] as [(String, [String], RequestError.Code?)])
    func limit(document: String, lines: [String], failure: RequestError.Code?) {
        let parser = LineParser(maximumLength: 4)
        #expect(parser.outcome(document) == ParsingOutcome(values: lines, failure: failure))
        #expect(parser.firstDifference(in: Array(document.utf8)) == nil)
    }

    private static let damaged: [[UInt8]] = [
        [0x80], [0xC3], [0xE6, 0xBC], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x61], [0xE0, 0x80, 0x80],
        [0xED, 0xA0, 0x80],
        [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xC0, 0xAF], [0xFF, 0xFE, 0x61], [0xC3, 0xC3, 0xA9],
        [0x61, 0x80, 0x80, 0x80, 0x80, 0x62], [0xF0, 0xF0, 0x9F, 0x98, 0x80],
    ]

    @Test(
        "The joined texts of chunks are the text of the whole, and no character is split",
        arguments: ["", "plain", "é漢😀e\u{301}\u{0}x", "👩‍👩‍👧\r\n\u{FEFF}"].map { Array($0.utf8) } + damaged)
    func strings(document: [UInt8]) {
        let whole = String(decoding: document, as: UTF8.self)
        let cuts = (0...document.count).map { [Array(document[..<$0]), Array(document[$0...])] }
        for chunks in cuts + [document.map { [$0] }] {
            let texts = TextParser().outcome(chunks).values
            #expect(texts.joined().unicodeScalars.elementsEqual(whole.unicodeScalars), "\(chunks)")
            #expect(texts.allSatisfy { !$0.isEmpty })
        }
    }

    @Test("Text is returned with its chunk, except the beginning of a character")
    func promptness() {
        var parser = TextParser()
        #expect(parser.parse([0x61, 0xC3]) == ["a"])
        #expect(parser.parse([0xA9, 0x62]) == ["éb"])
        #expect(parser.parse([0xF0, 0x9F, 0x98]).isEmpty)
        #expect(parser.end() == "\u{FFFD}")
        #expect(parser.end() == nil)
    }
}

extension TextParser {
    fileprivate mutating func parse(_ bytes: [UInt8]) -> [String] {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes
            return next(in: &rest).map { [$0] } ?? []
        }
    }
}
