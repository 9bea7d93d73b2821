import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow
@testable import LarkspurWebSocket

@Suite("Compression of WebSocket messages (RFC 7692)", .limited)
struct WebSocketDeflateTests {
    private static let second = "c1 05 f2 00 11 00 00"

    private static func parameters(
        _ change: (inout WebSocketDeflateParameters) -> Void = { _ in }
    ) -> WebSocketDeflateParameters {
        var parameters = WebSocketDeflateParameters()
        change(&parameters)
        return parameters
    }

    private func outcome(
        _ bytes: [UInt8], limit: Int = 1 << 20, pieceSize: Int = .max, takesOver: Bool = true
    ) -> ReaderOutcome {
        let parameters = Self.parameters { $0.serverTakesOver = takesOver }
        return ReaderOutcome(.client(limit: limit, deflate: parameters), bytes, pieceSize: pieceSize)
    }

    private func written(
        _ messages: [WebSocketMessage], _ role: WebSocketRole = .server,
        _ parameters: WebSocketDeflateParameters = parameters()
    ) throws -> [UInt8] {
        var writer = WebSocketWriter(role: role, deflate: parameters)
        var queue = ByteQueue()
        for message in messages { try writer.write(message, into: &queue) }
        return [UInt8](queue.takeAll())
    }

    @Test("A message may have any number of last blocks, and each can refer to the bytes before it, in any pieces")
    func lastBlocks() {
        let empty: [UInt8] = [3, 0]
        // "Hello" of literals, and "Hello" as a reference to it
        let (first, again): ([UInt8], [UInt8]) = ([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0], [0xF3, 0, 0x11, 0])
        let blocks = first + Array(repeating: empty, count: 1_000).joined() + again + [0]
        let length = [UInt8(blocks.count >> 8), UInt8(blocks.count & 0xFF)]
        for pieceSize in [Int.max, 1, 40] {
            let outcome = outcome([0xC1, 126] + length + blocks, pieceSize: pieceSize)
            #expect(outcome.violation == nil && outcome.messages == [.text("HelloHello")], "\(outcome)")
        }
    }

    @Test(
        "The examples of RFC 7692 are read, in any pieces",
        arguments: [
            ("7.2.3.1 one frame", "c1 07 f2 48 cd c9 c9 07 00", ["Hello"]),
            ("7.2.3.1 two fragments", "41 03 f2 48 cd 80 04 c9 c9 07 00", ["Hello"]),
            ("7.2.3.2 the window of the first message", "c1 07 f2 48 cd c9 c9 07 00" + second, ["Hello", "Hello"]),
            ("7.2.3.3 a block without compression", "c1 0b 00 05 00 fa ff 48 65 6c 6c 6f 00", ["Hello"]),
            ("7.2.3.4 a block with BFINAL", "c1 08 f3 48 cd c9 c9 07 00 00", ["Hello"]),
            ("7.2.3.4 BFINAL keeps the window", "c1 08 f3 48 cd c9 c9 07 00 00" + second, ["Hello", "Hello"]),
            ("7.2.3.5 two blocks", "c1 0d f2 48 05 00 00 00 ff ff ca c9 c9 07 00", ["Hello"]),
            ("7.2.3.6 an empty message", "c1 01 00", [""]),
            (
                "6.2 an uncompressed message between", "c1 07 f2 48 cd c9 c9 07 00 81 01 61" + second,
                ["Hello", "a", "Hello"]
            ),
            ("6.1 a ping between fragments", "41 03 f2 48 cd 89 00 80 04 c9 c9 07 00", ["Hello"]),
        ])
    func reads(_ rule: String, _ hex: String, _ texts: [String]) {
        for pieceSize in [Int.max, 1, 4] {
            let outcome = outcome(Array(hex: hex), pieceSize: pieceSize)
            #expect(outcome.messages == texts.map { .text($0) })
            #expect(outcome.violation == nil)
        }
    }

    @Test(
        "Violations of compression are found, in any pieces",
        arguments: [
            ("6.1 RSV1 in a continuation", "41 03 f2 48 cd c0 04 c9 c9 07 00", WebSocketCloseCode.protocolError),
            ("6.1 RSV1 in a continuation of an uncompressed message", "01 00 c0 00", .protocolError),
            ("6.1 RSV1 in a ping", "c9 00", .protocolError),
            ("5.2 RSV2", "a1 00", .protocolError),
            ("7.2.2 not a compressed block", "c1 02 ff ff", .invalidPayload),
            ("7.2.2 a reference before the first byte", second, .invalidPayload),
            ("7.2.2 a message that ends inside a block", "c1 03 f2 48 cd", .invalidPayload),
            ("8.1 a text that is not UTF-8", "c1 07 00 01 00 fe ff ff 00", .invalidPayload),
            ("8.1 a text that ends inside a character", "c1 07 00 01 00 fe ff c3 00", .invalidPayload),
            (
                "8.1 a text that is not UTF-8, before data that is not compressed", "c1 07 00 01 00 fe ff ff 07",
                .invalidPayload
            ),
        ])
    func refuses(_ rule: String, _ hex: String, _ code: WebSocketCloseCode) {
        for pieceSize in [Int.max, 1, 4] {
            let outcome = outcome(Array(hex: hex), pieceSize: pieceSize)
            #expect(outcome.violation?.code == code)
            #expect(outcome.events.isEmpty)
            #expect(outcome == self.outcome(Array(hex: hex)), "the same problem is found, however the bytes come")
        }
    }

    @Test("Without context takeover, each message has a window of its own (RFC 7692, 7.1.1)")
    func noTakeover() {
        let first = Array(hex: "c1 07 f2 48 cd c9 c9 07 00")
        #expect(outcome(first + first, takesOver: false).messages == [.text("Hello"), .text("Hello")])
        #expect(outcome(first + Array(hex: Self.second), takesOver: false).violation?.code == .invalidPayload)
    }

    @Test("The wire size of a message is its compressed size")
    func wireSize() {
        let outcome = outcome(Array(hex: "41 03 f2 48 cd 80 04 c9 c9 07 00"))
        #expect(outcome.events == [.message(.text("Hello"), wireSize: 7)])
    }

    @Test("A message over the limit is refused while it is decompressed, one of the limit is read")
    func limit() throws {
        let bytes = try written([.data(Data(count: 10_000_000))])
        #expect(bytes.count < 20_000)
        #expect(outcome(bytes, limit: 10_000_000).messages == [.data(Data(count: 10_000_000))])
        let tooLarge = outcome(bytes, limit: 9_999_999, pieceSize: 1)
        #expect(tooLarge.violation?.code == .messageTooBig)
        let early = outcome(bytes, limit: 1_000, pieceSize: 1)
        #expect(early.violation?.code == .messageTooBig)
        #expect(early.bytesBeforeViolation < 100)
    }

    @Test("A limit counts the decompressed bytes, not the bytes on the wire")
    func limitOfIncompressibleMessages() {
        var generator = SystemRandomNumberGenerator()
        let plain = (0..<100).map { _ in UInt8.random(in: 0...255, using: &generator) }
        // One block for each byte, without compression.
        let compressed = plain.flatMap { byte -> [UInt8] in [0, 1, 0, 0xFE, 0xFF, byte] } + [0]
        for pieceSize in [Int.max, 1] {
            let bytes =
                webSocketFrame(0x42, Array(compressed.prefix(300)))
                + webSocketFrame(0x80, Array(compressed.dropFirst(300)))
            #expect(outcome(bytes, limit: 100, pieceSize: pieceSize).messages == [.data(Data(plain))])
            #expect(outcome(bytes, limit: 99, pieceSize: pieceSize).violation?.code == .messageTooBig)
        }
    }

    @Test("A compressed text fails at the first byte that cannot be right")
    func failsFast() {
        let start: [UInt8] = [0x00, 0x02, 0x00, 0xFD, 0xFF, 0x61, 0xFF]
        let outcome = outcome(webSocketFrame(0xC1, start + [UInt8](repeating: 0, count: 100)), pieceSize: 1)
        #expect(outcome.violation?.code == .invalidPayload)
        #expect(outcome.bytesBeforeViolation < 15)
    }

    @Test("A declared length of 2^62 is read until the message is too large")
    func hugeLength() {
        let bytes = Array(hex: "c2 7f 40 00 00 00 00 00 00 00 f2 48 cd c9 c9 07 00")
        #expect(outcome(bytes).violation == nil)
        #expect(outcome(bytes, limit: 4).violation?.code == .messageTooBig)
    }

    @Test("A writer compresses as in the example, and leaves out the tail (RFC 7692, 7.2.1)")
    func writes() throws {
        let bytes = try written([.text("Hello"), .text("Hello")])
        #expect(bytes == Array(hex: "c1 07 f2 48 cd c9 c9 07 00" + Self.second))
    }

    @Test("Messages below the minimum size, and empty ones, are not compressed")
    func minimumSize() throws {
        let limited = Self.parameters { $0.minimumSize = 6 }
        #expect(try written([.text("Hello")], .server, limited) == Array(hex: "81 05 48 65 6c 6c 6f"))
        #expect(try written([.text("Hello!")], .server, limited)[0] == 0xC1)
        #expect(try written([.text("")]) == [0x81, 0])
    }

    @Test(
        "What one side compresses the other reads", arguments: [8, 9, 12, 15], [WebSocketRole.client, .server])
    func roundTrips(_ bits: Int, _ role: WebSocketRole) throws {
        let words = (0..<20_000).map { "\($0 % 977) larks " }.joined()
        let messages: [WebSocketMessage] = [
            .text(words), .text("short"), .data(Data(count: 300_000)), .text(""), .text(words),
            .data(Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 >> 3) })), .text("é😀"),
        ]
        for takesOver in [true, false] {
            let parameters = Self.parameters {
                ($0.clientWindowBits, $0.serverWindowBits) = (bits, bits)
                ($0.clientTakesOver, $0.serverTakesOver) = (takesOver, takesOver)
            }
            let bytes = try written(messages, role, parameters)
            for pieceSize in [Int.max, 7, 4_096] {
                let reader: WebSocketReader =
                    role == .client ? .server(deflate: parameters) : .client(deflate: parameters)
                #expect(ReaderOutcome(reader, bytes, pieceSize: pieceSize).messages == messages)
            }
        }
    }
}
