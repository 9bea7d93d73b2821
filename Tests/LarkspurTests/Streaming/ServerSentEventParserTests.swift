import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

/// A `text/event-stream` and its events by the HTML standard.
private struct Example: Sendable, CustomTestStringConvertible {
    let name: String
    let document: [UInt8]
    let events: [ServerSentEvent]

    var testDescription: String { name }

    init(_ name: String, _ document: String, _ events: ServerSentEvent...) {
        self.init(name, Array(document.utf8), events)
    }

    init(_ name: String, _ document: [UInt8], _ events: [ServerSentEvent]) {
        self.name = name
        self.document = document
        self.events = events
    }

    static let all = fields + lines + ids + times + texts

    private static let fields = [
        Example("nothing", ""),
        Example("data", "data: a\n\n", .init(data: "a")),
        Example("no space behind the colon", "data:a\n\n", .init(data: "a")),
        Example("one space of several is taken away", "data:   a \n\n", .init(data: "  a ")),
        Example("a tab is no space", "data:\ta\n\n", .init(data: "\ta")),
        Example("lines of data are joined", "data: a\ndata\ndata: b\ndata:\n\n", .init(data: "a\n\nb\n")),
        Example(
            "empty data is an event", "data\n\ndata:\n\ndata: \n\n", .init(data: ""), .init(data: ""), .init(data: "")),
        Example("two lines of empty data", "data\ndata\n\n", .init(data: "\n")),
        Example("a colon in data", "data: a: b:c\n\n", .init(data: "a: b:c")),
        Example("comments", ": x\n:\ndata: a\n:data: b\n\n:\n\n", .init(data: "a")),
        Example("unknown fields", "date: x\ndatax: y\n data: z\nDATA: q\ndata : r\nx\ndata: a\n\n", .init(data: "a")),
        Example("a type", "event: add\ndata: 1\n\n", .init(event: "add", data: "1")),
        Example("the last type counts", "event: a\nevent: b\ndata: 1\n\n", .init(event: "b", data: "1")),
        Example("an empty type is the usual one", "event: a\nevent\ndata: 1\n\n", .init(data: "1")),
        Example(
            "a type holds for one event", "event: a\ndata: 1\n\ndata: 2\n\n", .init(event: "a", data: "1"),
            .init(data: "2")),
        Example("a type without data is forgotten", "event: a\n\ndata: 1\n\n", .init(data: "1")),
        Example("an event that is not ended", "data: a\n\ndata: b\n", .init(data: "a")),
        Example("a line that is not ended", "data: a\n\ndata: b", .init(data: "a")),
    ]

    private static let lines = [
        Example("ends of two bytes", "data: a\r\ndata: b\r\n\r\n", .init(data: "a\nb")),
        Example("ends of carriage returns", "data: a\rdata: b\r\rdata: c\r\r", .init(data: "a\nb"), .init(data: "c")),
        Example(
            "all ends mixed", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r", .init(data: "a\nb\nc"), .init(data: "d")),
        Example("a line feed, then both", "data: a\n\r\ndata: b\r\n\n", .init(data: "a"), .init(data: "b")),
        Example("empty lines", "\n\r\n\r\n\n\ndata: a\n\n\n\n", .init(data: "a")),
        Example("a byte order mark", "\u{FEFF}data: a\n\n", .init(data: "a")),
        Example("only the first mark", "\u{FEFF}\u{FEFF}data: a\ndata: b\n\n", .init(data: "b")),
        Example("a mark before an empty line", "\u{FEFF}\ndata: a\n\n", .init(data: "a")),
        Example("no mark in the second line", "\n\u{FEFF}data: a\n\n"),
        Example("a line longer than a word", "data: 0123456789abcdefghij\r\n\r\n", .init(data: "0123456789abcdefghij")),
        Example(
            "other line ends are none", "data: a\u{85}\u{2028}\u{0B}\u{0C}b\n\n",
            .init(data: "a\u{85}\u{2028}\u{0B}\u{0C}b")),
    ]

    private static let longID = String(repeating: "x", count: 4_096)
    private static let ids = [
        Example("an ID stays", "id: 1\ndata: a\n\ndata: b\n\n", .init(id: "1", data: "a"), .init(id: "1", data: "b")),
        Example("an ID without data stays too", "id: 1\n\ndata: a\n\n", .init(id: "1", data: "a")),
        Example("an empty ID is one", "id: 1\ndata: a\n\nid\ndata: b\n\n", .init(id: "1", data: "a"), .init(data: "b")),
        Example("an ID with a zero is none", "id: 1\nid: 2\0\ndata: a\n\n", .init(id: "1", data: "a")),
        Example(
            "an ID of 4096 bytes is the longest", "id: \(longID)\ndata: a\n\nid: \(longID)é\ndata: b\n\n",
            .init(id: longID, data: "a"), .init(id: longID, data: "b")),
        Example("an ID may stand anywhere", "data: a\nid: é 漢\n\n", .init(id: "é 漢", data: "a")),
    ]

    private static let times = [
        Example(
            "a time", "retry: 1500\ndata: a\n\ndata: b\n\n", .init(data: "a", retry: .milliseconds(1500)),
            .init(data: "b")),
        Example("leading zeros", "retry: 007\ndata: a\n\n", .init(data: "a", retry: .milliseconds(7))),
        Example(
            "no times",
            "retry: 1.5\nretry: -1\nretry: +1\nretry: 1 \nretry:  1\nretry: 1s\nretry\nretry:\nretry: ١\ndata: a\n\n",
            .init(data: "a")),
        Example(
            "more than fits", "retry: 99999999999999999999\ndata: a\n\n",
            .init(data: "a", retry: .milliseconds(Int64.max))),
    ]

    private static let texts = [
        Example("any text", "data: é漢😀e\u{301}\0\ndata: 👩‍👩‍👧\n\n", .init(data: "é漢😀e\u{301}\0\n👩‍👩‍👧")),
        Example(
            "what is not UTF-8",
            Array("data: ".utf8) + [0xFF, 0x61, 0xC3] + Array("\nevent: ".utf8) + [0xE6, 0xBC, 0x0A, 0x0A],
            [.init(event: "\u{FFFD}", data: "\u{FFFD}a\u{FFFD}")]),
        Example(
            "half a mark", [0xEF, 0xBB] + Array("data: a\n\ndata: b\n\n".utf8), [.init(data: "b")]),
    ]
}

@Suite("Server-sent events", .limited)
struct ServerSentEventParserTests {
    @Test("A stream has the events of the standard, for every split into chunks", arguments: Example.all)
    fileprivate func meaning(_ example: Example) {
        let parser = ServerSentEventParser()
        #expect(parser.outcome([example.document]) == ParsingOutcome(values: example.events))
        #expect(parser.firstDifference(in: example.document) == nil)
    }

    @Test("A line's end is found at every position, in lines of any length", arguments: ["\n", "\r", "\r\n"])
    func longLines(end: String) throws {
        for count in 240...530 {
            let text = String(repeating: "x", count: count)
            var parser = ServerSentEventParser()
            let events = try parser.parse(Data("data:\(text)\(end)data:b\(end)\(end)data:c\n\n".utf8))
            #expect(events == [.init(data: text + "\nb"), .init(data: "c")])
        }
    }

    @Test("The last event ID is that of the last complete block", arguments: ["\n", "\r", "\r\n"])
    func lastEventID(end: String) throws {
        var parser = ServerSentEventParser(lastEventID: "0")
        #expect(parser.lastEventID == "0")
        let events = try parser.parse(Data("data: a\(end)\(end)id: 1\(end)data: b".utf8))
        #expect(events == [.init(id: "0", data: "a")])
        #expect(parser.lastEventID == "0")
        #expect(try parser.parse(Data("\(end)\(end)".utf8)) == [.init(id: "1", data: "b")])
        #expect(parser.lastEventID == "1")
    }

    @Test("An event is returned at the line end that completes it")
    func promptness() throws {
        for end in ["\n", "\r", "\r\n"] {
            var parser = ServerSentEventParser()
            #expect(try parser.parse(Data("data: a\(end)".utf8)).isEmpty)
            #expect(try parser.parse(Data(end.utf8.prefix(1))).count == 1)
            #expect(try parser.parse(Data(end.utf8.dropFirst())).isEmpty)
        }
    }

    @Test("The reconnection time applies from its line on, with or without an event")
    func reconnectionTime() throws {
        var parser = ServerSentEventParser()
        #expect(parser.reconnectionTime == nil)
        _ = try parser.parse(Data("retry: 10\n".utf8))
        #expect(parser.reconnectionTime == .milliseconds(10))
        _ = try parser.parse(Data("\nretry: x\n\ndata: a\n\n".utf8))
        #expect(parser.reconnectionTime == .milliseconds(10))
    }

    @Test(
        "An event larger than the limit is an error, for every split into chunks; one as large is not",
        arguments: [
            ("data: 4567\n\n", 1, nil), ("data: 45678\n\n", 0, .messageTooLarge), (": 23456789", 0, nil),
            (": 234567890", 0, .messageTooLarge), ("data:a\n\n: 234567890\n\n", 1, .messageTooLarge),
            ("data:a\ndata:b\ndata:c\ndata:d\ndata:e\n\n", 1, nil),
            ("data:a\ndata:b\ndata:c\ndata:d\ndata:e\ndata:f\n\n", 0, .messageTooLarge),
        ] as [(String, Int, RequestError.Code?)])
    func limit(document: String, count: Int, failure: RequestError.Code?) {
        let parser = ServerSentEventParser(maximumEventSize: 10)
        let outcome = parser.outcome(document)
        #expect(outcome.values.count == count)
        #expect(outcome.failure == failure)
        #expect(parser.firstDifference(in: Array(document.utf8)) == nil)
    }

    @Test("An event's data can be decoded, and a failure has a reason")
    func decoding() throws {
        #expect(try ServerSentEvent(data: "[1, 2]").decode([Int].self) == [1, 2])
        let error = #expect(throws: RequestError.self) { try ServerSentEvent(data: "[DONE]").decode([Int].self) }
        #expect(error?.code == .decodingFailed)
        #expect(error?.underlying is DecodingError)
    }
}
