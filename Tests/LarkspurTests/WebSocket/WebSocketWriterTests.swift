import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurWebSocket

@Suite("The writer of WebSocket frames (RFC 6455, sections 5 to 7)", .limited)
struct WebSocketWriterTests {
    private func written(
        _ role: WebSocketRole = .server, _ body: (inout WebSocketWriter, inout ByteQueue) throws -> Void
    ) throws -> [UInt8] {
        var writer = WebSocketWriter(role: role, deflate: nil)
        var queue = ByteQueue()
        try body(&writer, &queue)
        return [UInt8](queue.takeAll())
    }

    private static let sizes = [0, 1, 3, 4, 7, 31, 32, 33, 125, 126, 127, 65_535, 65_536, 100_000]

    @Test("A server's frame has the shortest length and no mask (RFC 6455, 5.2)", arguments: sizes)
    func serverFrames(_ size: Int) throws {
        let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let bytes = try written { try $0.write(.data(Data(payload)), into: &$1) }
        #expect(bytes == webSocketFrame(0x82, payload))
    }

    @Test("A client's frame is masked, and a server reads the same message (RFC 6455, 5.3)", arguments: sizes)
    func clientFrames(_ size: Int) throws {
        let text = String(repeating: "x", count: size)
        let bytes = try written(.client) { try $0.write(.text(text), into: &$1) }
        #expect(bytes[1] & 0x80 != 0)
        #expect(ReaderOutcome(.server(), bytes).messages == [.text(text)])
        #expect(ReaderOutcome(.server(), bytes, pieceSize: 5).messages == [.text(text)])
    }

    @Test("Each frame of a client has its own mask (RFC 6455, 5.3 and 10.3)")
    func freshMasks() throws {
        let count = 1_000
        let bytes = try written(.client) { writer, queue in
            for _ in 0..<count { try writer.write(.data(Data()), into: &queue) }
        }
        let masks = stride(from: 0, to: bytes.count, by: 6).map { Array(bytes[($0 + 2)..<($0 + 6)]) }
        #expect(masks.count == count)
        #expect(Set(masks).count > count - 3)
    }

    @Test("Bytes in memory are written like messages")
    func rawBytes() throws {
        let text = "a λ"
        let whole = try written { writer, queue in
            try writer.write(.text(text), into: &queue)
            try writer.write(.data(Data(text.utf8)), into: &queue)
        }
        let raw = try written { writer, queue in
            try Array(text.utf8).withUnsafeBytes { bytes in
                try writer.writeText(utf8: bytes, into: &queue)
                try writer.writeData(bytes, into: &queue)
            }
        }
        #expect(raw == whole)
    }

    @Test("Pings and pongs carry at most 125 bytes (RFC 6455, 5.5)")
    func controlFrames() throws {
        let bytes = try written { writer, queue in
            writer.writePing(Data("Hello".utf8), into: &queue)
            writer.writePong(Data(count: 126), into: &queue)
            writer.writePing(Data([1, 2, 3]).dropFirst(), into: &queue)
        }
        let expected = Array(hex: "89 05 48 65 6c 6c 6f") + webSocketFrame(0x8A, Array(repeating: 0, count: 125))
        #expect(bytes == expected + [0x89, 2, 2, 3])
    }

    @Test(
        "A close has its code and at most 123 bytes of the reason, up to the first character that does not fit",
        arguments: [
            ("bye", "bye"),
            (String(repeating: "x", count: 124), String(repeating: "x", count: 123)),
            (String(repeating: "x", count: 122) + "é.", String(repeating: "x", count: 122)),
            (String(repeating: "x", count: 120) + "e\u{301}y!!", String(repeating: "x", count: 120) + "e\u{301}"),
            (String(repeating: "x", count: 119) + "e\u{301}\u{301}y", String(repeating: "x", count: 119)),
            (String(repeating: "x", count: 115) + "👩‍🚀!", String(repeating: "x", count: 115)),
        ])
    func closes(_ reason: String, _ sent: String) throws {
        let bytes = try written { $0.writeClose(.goingAway, reason: reason, into: &$1) }
        #expect(bytes == webSocketClose(1001, Array(sent.utf8)))
    }

    @Test(
        "A code that must not be sent makes a close without a code (RFC 6455, 7.4.1)",
        arguments: [.noStatus, .abnormal, WebSocketCloseCode(rawValue: 1015), WebSocketCloseCode(rawValue: 0)])
    func closeWithoutCode(_ code: WebSocketCloseCode) throws {
        #expect(try written { $0.writeClose(code, reason: "why", into: &$1) } == [0x88, 0x00])
    }

    @Test("A code describes itself by its number and its meaning")
    func codeDescriptions() {
        #expect("\(WebSocketCloseCode.normal)" == "1000 normal")
        #expect("\(WebSocketCloseCode(rawValue: 4123))" == "4123")
    }

    @Test("The size of a message is the number of its bytes")
    func sizesOfMessages() {
        #expect(WebSocketMessage.text("aé😀").size == 7)
        #expect(WebSocketMessage.data(Data(count: 5)).size == 5)
    }
}

@Suite("A queue of bytes", .limited)
struct ByteQueueTests {
    private func append(_ bytes: [UInt8], to queue: inout ByteQueue) { bytes.withUnsafeBytes { queue.append($0) } }

    private func read(_ count: Int, from queue: inout ByteQueue) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let size = bytes.withUnsafeMutableBytes { queue.read(into: $0) }
        return Array(bytes.prefix(size))
    }

    @Test("Bytes leave the queue in the order in which they came", arguments: [1, 130, 900])
    func order(scale: Int) {
        var queue = ByteQueue()
        var (sent, received): ([UInt8], [UInt8]) = ([], [])
        for round in 0..<(scale == 1 ? 500 : 60) {
            let piece = (0..<(round * 37 % 900 * scale)).map { UInt8(truncatingIfNeeded: $0 + round) }
            append(piece, to: &queue)
            sent += piece
            received += read(round * 53 % 800 * scale, from: &queue)
            #expect(queue.count == sent.count - received.count)
        }
        received += read(queue.count, from: &queue)
        #expect(received == sent)
        #expect(queue.count == 0)
        #expect(read(10, from: &queue).isEmpty)
    }

    @Test("All remaining bytes are taken at once, from index zero on", arguments: [10, 10_000, 600_000])
    func takeAll(_ size: Int) {
        var queue = ByteQueue()
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        append(bytes, to: &queue)
        _ = read(3, from: &queue)
        let taken = queue.takeAll()
        #expect(taken.startIndex == 0)
        #expect(taken.elementsEqual(bytes.dropFirst(3)))
        #expect(queue.count == 0)
        append([1, 2], to: &queue)
        #expect(read(5, from: &queue) == [1, 2])
    }

    @Test("Removed bytes are gone")
    func removing() {
        var queue = ByteQueue()
        append([1, 2, 3, 4], to: &queue)
        queue.removeLast(2)
        #expect(queue.takeAll() == Data([1, 2]))
        let many = (0..<262_144).map { UInt8(truncatingIfNeeded: $0) }
        append(many, to: &queue)
        append([1, 2, 3], to: &queue)
        queue.removeLast(5)
        #expect(queue.count == 262_142)
        #expect(queue.takeAll() == Data(many.dropLast(2)))
        append([1], to: &queue)
        queue.removeAll()
        #expect(queue.takeAll().isEmpty)
    }
}
