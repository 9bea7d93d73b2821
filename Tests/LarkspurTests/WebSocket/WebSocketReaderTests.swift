import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow
@testable import LarkspurWebSocket

@Suite("The reader of WebSocket frames (RFC 6455, sections 5 to 7)", .limited)
struct WebSocketReaderTests {
    /// Bytes from a server, with their events or the code of the violation.
    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        let bytes: [UInt8]
        var events: [WebSocketReader.Event] = []
        var code: WebSocketCloseCode?

        var testDescription: String { rule }

        init(_ rule: String, _ bytes: [UInt8], _ events: WebSocketReader.Event...) {
            (self.rule, self.bytes, self.events) = (rule, bytes, events)
        }

        init(_ rule: String, _ bytes: [UInt8], _ code: WebSocketCloseCode, after events: WebSocketReader.Event...) {
            (self.rule, self.bytes, self.events, self.code) = (rule, bytes, events, code)
        }
    }

    static func text(_ text: String) -> WebSocketReader.Event { .message(.text(text), wireSize: text.utf8.count) }
    static func data(_ bytes: [UInt8]) -> WebSocketReader.Event { .message(.data(Data(bytes)), wireSize: bytes.count) }

    static let long = [UInt8](repeating: 7, count: 65_536)

    /// Returns the beginning of a text in so many empty frames.
    static func emptyFragments(_ count: Int) -> [UInt8] {
        [1, 0] + [[UInt8]](repeating: [0, 0], count: count - 1).joined()
    }

    static let accepted: [Row] = [
        Row("5.7 an unmasked text", Array(hex: "81 05 48 65 6c 6c 6f"), text("Hello")),
        Row("5.7 a fragmented text", Array(hex: "01 03 48 65 6c 80 02 6c 6f"), text("Hello")),
        Row("5.7 a ping and a pong", Array(hex: "89 01 48 8a 01 49"), .ping(Data("H".utf8)), .pong(Data("I".utf8))),
        Row(
            "5.7 256 bytes have a length of 16 bits", webSocketFrame(0x82, Array(long.prefix(256))),
            data(Array(long.prefix(256)))),
        Row("5.7 65536 bytes have a length of 64 bits", webSocketFrame(0x82, long), data(long)),
        Row(
            "5.2 the longest length in the first byte", webSocketFrame(0x82, Array(long.prefix(125))),
            data(Array(long.prefix(125)))),
        Row(
            "5.2 the shortest length of 16 bits", webSocketFrame(0x82, Array(long.prefix(126))),
            data(Array(long.prefix(126)))),
        Row(
            "5.2 the longest length of 16 bits", webSocketFrame(0x82, Array(long.prefix(65_535))),
            data(Array(long.prefix(65_535)))),
        Row("5.2 empty messages", Array(hex: "81 00 82 00"), text(""), data([])),
        Row("5.4 empty fragments", Array(hex: "01 00 00 00 80 00"), text("")),
        Row(
            "5.4 a thousand empty fragments in each message",
            (emptyFragments(1_000) + Array(hex: "80 01 61")) + emptyFragments(1_000) + Array(hex: "80 00"),
            text("a"), text("")),
        Row("5.4 a control frame between fragments", Array(hex: "01 01 61 89 00 80 01 62"), .ping(Data()), text("ab")),
        Row("5.5 a ping of 125 bytes", webSocketFrame(0x89, Array(long.prefix(125))), .ping(Data(long.prefix(125)))),
        Row("5.5.1 a close without a code", Array(hex: "88 00"), .close(code: .noStatus, reason: "")),
        Row(
            "5.5.1 a close with a reason", webSocketClose(1001, Array("bye".utf8)),
            .close(code: .goingAway, reason: "bye")),
        Row(
            "5.5.1 a close inside a message", Array(hex: "01 01 61") + webSocketClose(1000),
            .close(code: .normal, reason: "")),
        Row(
            "5.5.1 nothing counts after a close", webSocketClose(1000) + Array(hex: "ff ff 81 00"),
            .close(code: .normal, reason: "")),
        Row(
            "5.6 a character of four bytes in four fragments", Array(hex: "01 01 f0 00 01 9f 00 01 98 80 01 80"),
            text("😀")),
        Row("5.6 data need not be UTF-8", Array(hex: "82 02 ff fe"), data([0xFF, 0xFE])),
    ]

    static let violations: [Row] = [
        Row("5.4 more than a thousand empty fragments", emptyFragments(1_001), .policyViolation),
        Row("5.1 a server must not mask", Array(hex: "81 81 00 00 00 00 61"), .protocolError),
        Row("5.2 RSV1 without an extension", Array(hex: "c1 00"), .protocolError),
        Row("5.2 RSV2", Array(hex: "a1 00"), .protocolError),
        Row("5.2 RSV3", Array(hex: "91 00"), .protocolError),
        Row("5.2 RSV1 in a control frame", Array(hex: "c9 00"), .protocolError),
        Row("5.2 the reserved opcode 3", Array(hex: "83 00"), .protocolError),
        Row("5.2 the reserved opcode 7", Array(hex: "87 00"), .protocolError),
        Row("5.2 the reserved opcode 11", Array(hex: "8b 00"), .protocolError),
        Row("5.2 the reserved opcode 15", Array(hex: "8f 00"), .protocolError),
        Row("5.2 125 as a length of 16 bits", Array(hex: "82 7e 00 7d"), .protocolError),
        Row("5.2 0 as a length of 16 bits", Array(hex: "82 7e 00 00"), .protocolError),
        Row("5.2 65535 as a length of 64 bits", Array(hex: "82 7f 00 00 00 00 00 00 ff ff"), .protocolError),
        Row("5.2 a length of 64 bits with the top bit", Array(hex: "82 7f 80 00 00 00 00 01 00 00"), .protocolError),
        Row("5.4 a continuation without a start", Array(hex: "80 00"), .protocolError),
        Row("5.4 a continuation after the end", Array(hex: "81 01 61 80 00"), .protocolError, after: text("a")),
        Row("5.4 a text inside a message", Array(hex: "01 01 61 81 00"), .protocolError),
        Row("5.4 data inside a message", Array(hex: "02 01 61 02 00"), .protocolError),
        Row("5.5 a ping of 126 bytes", Array(hex: "89 7e 00 7e"), .protocolError),
        Row("5.5 a ping with a length of 64 bits", Array(hex: "89 7f"), .protocolError),
        Row("5.5 a fragmented ping", Array(hex: "09 00"), .protocolError),
        Row("5.5 a fragmented close", Array(hex: "08 00"), .protocolError),
        Row("5.5.1 a close with half of a code", Array(hex: "88 01 03"), .protocolError),
        Row("5.5.1 a reason that is not UTF-8", webSocketClose(1000, [0xC3, 0x28]), .invalidPayload),
        Row("5.5.1 a reason that ends inside a character", webSocketClose(1000, [0xC3]), .invalidPayload),
        Row("8.1 a text that ends inside a character", Array(hex: "81 01 c3"), .invalidPayload),
        Row("8.1 fragments that end inside a character", Array(hex: "01 01 c3 80 00"), .invalidPayload),
        Row("10.4 a declared length over the limit", Array(hex: "82 7f 00 00 00 00 00 10 00 01"), .messageTooBig),
        Row("10.4 a declared length of 2^62", Array(hex: "82 7f 40 00 00 00 00 00 00 00"), .messageTooBig),
        Row("10.4 2^62 bytes of a continuation", Array(hex: "02 01 61 80 7f 40 00 00 00 00 00 00 00"), .messageTooBig),
    ]

    @Test("A valid frame gives its event, in any pieces", arguments: accepted)
    func accepts(_ row: Row) {
        for pieceSize in [Int.max, 1, 3] {
            let outcome = ReaderOutcome(.client(), row.bytes, pieceSize: pieceSize)
            #expect(outcome.events == row.events)
            #expect(outcome.violation == nil)
        }
    }

    @Test("A violation is found with its code, in any pieces, and ends the reading", arguments: violations)
    func refuses(_ row: Row) {
        for pieceSize in [Int.max, 1, 3] {
            var reader = WebSocketReader.client()
            let outcome = ReaderOutcome(&reader, row.bytes, pieceSize: pieceSize)
            #expect(outcome.events == row.events)
            #expect(outcome.violation?.code == row.code)
            #expect(ReaderOutcome(&reader, Array(hex: "81 01 61")) == ReaderOutcome(.client(), []))
        }
    }

    @Test("A server reads masked frames, and refuses others (RFC 6455, 5.1 and 5.3)")
    func masks() {
        let masked = Array(hex: "81 85 37 fa 21 3d 7f 9f 4d 51 58")
        for pieceSize in [Int.max, 1, 2, 7] {
            #expect(ReaderOutcome(.server(), masked, pieceSize: pieceSize).messages == [.text("Hello")])
            for count in [0, 1, 31, 32, 33, 1_000] {
                let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                let frame = webSocketFrame(0x82, payload, mask: [1, 2, 3, 250])
                #expect(ReaderOutcome(.server(), frame, pieceSize: pieceSize).messages == [.data(Data(payload))])
            }
            let ping = webSocketFrame(0x89, [1, 2, 3, 4, 5], mask: [9, 8, 7, 6])
            #expect(ReaderOutcome(.server(), ping, pieceSize: pieceSize).events == [.ping(Data([1, 2, 3, 4, 5]))])
        }
        #expect(ReaderOutcome(.server(), Array(hex: "81 00")).violation?.code == .protocolError)
        let zero = webSocketFrame(0x81, Array("zero".utf8), mask: [0, 0, 0, 0])
        #expect(ReaderOutcome(.server(), zero).messages == [.text("zero")])
    }

    @Test(
        "A close may have these codes only (RFC 6455, 7.4; 1012 to 1014 are registered)",
        arguments: [
            (0, false), (999, false), (1000, true), (1001, true), (1002, true), (1003, true), (1004, false),
            (1005, false), (1006, false), (1007, true), (1008, true), (1009, true), (1010, true), (1011, true),
            (1012, true), (1013, true), (1014, true), (1015, false), (1016, false), (1100, false), (2000, false),
            (2999, false), (3000, true), (3999, true), (4000, true), (4999, true), (5000, false), (65535, false),
        ] as [(UInt16, Bool)])
    func closeCodes(_ code: UInt16, _ isValid: Bool) {
        let outcome = ReaderOutcome(.client(), webSocketClose(code))
        #expect(outcome.events == (isValid ? [.close(code: WebSocketCloseCode(rawValue: code), reason: "")] : []))
        #expect(outcome.violation?.code == (isValid ? nil : .protocolError))
        #expect(WebSocketCloseCode(rawValue: code).mayBeSent == isValid)
    }

    /// Byte sequences, with the number of bytes after which they cannot be UTF-8.
    @Test(
        "Text fails at the first byte that cannot be right (RFC 6455, 8.1)",
        arguments: [
            ("80", 1), ("bf", 1), ("c0", 1), ("c1", 1), ("c2 20", 2), ("e0 80", 2), ("e0 9f", 2), ("e1 80 20", 3),
            ("ed a0", 2), ("ed bf", 2), ("f0 8f", 2), ("f4 90", 2), ("f5", 1), ("ff", 1), ("f0 9f 98 c0", 4),
            ("61 62 63 64 65 66 67 68 69 ff", 10), ("ce ba e1 bd b9 cf 83 ce bc ce b5 f4 90", 13),
        ])
    func failsFast(_ hex: String, _ position: Int) {
        let bad = Array(hex: hex)
        // The frame has more bytes, and the message more frames.
        for first: UInt8 in [0x81, 0x01] {
            let frame = webSocketFrame(first, bad + [UInt8](repeating: 0x20, count: 50))
            let outcome = ReaderOutcome(.client(), frame, pieceSize: 1)
            #expect(outcome.violation?.code == .invalidPayload)
            #expect(outcome.bytesBeforeViolation == 2 + position)
        }
        let fragments = bad.flatMap { byte -> [UInt8] in [0x00, 0x01, byte] }
        let outcome = ReaderOutcome(.client(), [0x01, 0x00] + fragments, pieceSize: 1)
        #expect(outcome.violation?.code == .invalidPayload)
        #expect(outcome.bytesBeforeViolation == 2 + 3 * position)
    }

    @Test("All characters of Unicode are valid text, whole and in pieces")
    func allCharacters() {
        var text = String.UnicodeScalarView()
        for value in stride(from: 0 as UInt32, through: 0x10FFFF, by: 37) {
            Unicode.Scalar(value).map { text.append($0) }
        }
        let message = WebSocketMessage.text(String(text))
        let frame = webSocketFrame(0x81, Array(String(text).utf8))
        for pieceSize in [Int.max, 1, 1_000] {
            #expect(ReaderOutcome(.client(), frame, pieceSize: pieceSize).messages == [message])
        }
    }

    @Test("The limit counts all fragments of a message, and starts again with each message (RFC 6455, 10.4)")
    func limits() {
        let (first, last) = (webSocketFrame(0x02, [1, 2, 3]), webSocketFrame(0x80, [4, 5]))
        let message = first + last
        #expect(ReaderOutcome(.client(limit: 5), message + message).messages.count == 2)
        let outcome = ReaderOutcome(.client(limit: 4), message, pieceSize: 1)
        #expect(outcome.violation?.code == .messageTooBig)
        #expect(outcome.bytesBeforeViolation == first.count + 2, "the head of the last fragment decides")
        #expect(ReaderOutcome(.client(limit: 0), Array(hex: "81 00 89 01 61")).events.count == 2)
    }

    @Test("A message of a million empty fragments is refused")
    func millionFragments() {
        let bytes = Self.emptyFragments(1_000_000) + Array(hex: "80 01 61")
        let outcome = ReaderOutcome(.client(limit: 1), bytes, pieceSize: 4_096)
        #expect(outcome.violation?.code == .policyViolation && outcome.messages.isEmpty)
    }

    @Test("A reader stops after an event when it is told to, and goes on at the next byte")
    func stops() throws {
        var reader = WebSocketReader.client()
        let bytes = Array(hex: "81 01 61 89 00 81 01 62")
        var events: [WebSocketReader.Event] = []
        var start = 0
        while start < bytes.count {
            start += try bytes[start...].withUnsafeBytes { bytes in
                try reader.read(bytes) { event in
                    events.append(event)
                    return false
                }
            }
            #expect(start == [3, 5, 8][events.count - 1])
        }
        #expect(events == [Self.text("a"), .ping(Data()), Self.text("b")])
    }
}
