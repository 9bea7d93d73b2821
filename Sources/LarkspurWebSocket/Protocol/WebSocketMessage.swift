/// A message of a WebSocket.
public enum WebSocketMessage: Sendable, Hashable {
    /// A text.
    case text(String)
    /// Binary data.
    case data(Data)

    /// The number of bytes: of the text in UTF-8, or of the data.
    public var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .data(let data): data.count
        }
    }
}

package enum WebSocketRole: Sendable { case client, server }

/// A violation of the protocol by the peer, and the code with which the connection is closed.
package struct WebSocketViolation: Error, Sendable, Equatable {
    package let code: WebSocketCloseCode
    package let message: String

    package init(_ code: WebSocketCloseCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The first four bits of a frame that say what it is (RFC 6455, section 5.2).
enum WebSocketOpcode: UInt8 {
    case continuation = 0
    case text = 1
    case data = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

extension UnsafeMutableRawPointer {
    /// Copies bytes, each combined with its byte of the mask (RFC 6455, section 5.3).
    ///
    /// - Parameters:
    ///   - mask: The four bytes of the mask, the first in the lowest bits.
    ///   - offset: The position of the first byte in its frame.
    func copyMasked(_ source: UnsafeRawBufferPointer, mask: UInt32, offset: Int = 0) {
        guard let start = source.baseAddress else { return }
        let turn = UInt32(offset & 3) * 8
        let word = turn == 0 ? mask : mask >> turn | mask << (32 - turn)
        let wide = SIMD4<UInt64>(repeating: UInt64(word) << 32 | UInt64(word))
        var index = 0
        while index + 32 <= source.count {
            let piece = start.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self)
            storeBytes(of: piece ^ wide, toByteOffset: index, as: SIMD4<UInt64>.self)
            index += 32
        }
        while index + 4 <= source.count {
            let piece = start.loadUnaligned(fromByteOffset: index, as: UInt32.self)
            storeBytes(of: piece ^ UInt32(littleEndian: word), toByteOffset: index, as: UInt32.self)
            index += 4
        }
        while index < source.count {
            let byte = start.load(fromByteOffset: index, as: UInt8.self)
            let part = UInt8(truncatingIfNeeded: word >> UInt32((index & 3) * 8))
            storeBytes(of: byte ^ part, toByteOffset: index, as: UInt8.self)
            index += 1
        }
    }
}

/// A check of UTF-8 that arrives in pieces. It fails at the first byte that cannot be right.
struct UTF8Checker {
    /// The number of continuation bytes that are still to come, and the range of the next one.
    private var left = 0
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    /// Whether the bytes so far end at the end of a character.
    var isComplete: Bool { left == 0 }

    /// Checks further bytes. Returns false if they are not valid.
    mutating func check(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            guard left == 0 else {
                guard (low...high).contains(bytes[index]) else { return false }
                (low, high) = (0x80, 0xBF)
                left -= 1
                index += 1
                continue
            }
            while index + 8 <= bytes.count,
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
            }
            // Complete characters of two and three bytes, without those that need a closer look.
            while index + 3 <= bytes.count {
                let first = bytes[index]
                if (0xC2...0xDF).contains(first) {
                    guard bytes[index + 1] & 0xC0 == 0x80 else { return false }
                    index += 2
                } else if (0xE1...0xEF).contains(first), first != 0xED {
                    guard bytes[index + 1] & 0xC0 == 0x80, bytes[index + 2] & 0xC0 == 0x80 else { return false }
                    index += 3
                } else {
                    break
                }
            }
            guard index < bytes.count else { return true }
            guard begin(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    /// Checks the first byte of a character (Unicode 16, table 3-7).
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x80: return true
        case 0xC2...0xDF: left = 1
        case 0xE0: (left, low) = (2, 0xA0)
        case 0xED: (left, high) = (2, 0x9F)
        case 0xE1...0xEF: left = 2
        case 0xF0: (left, low) = (3, 0x90)
        case 0xF4: (left, high) = (3, 0x8F)
        case 0xF1...0xF3: left = 3
        default: return false
        }
        return true
    }
}

extension RequestError {
    /// The code with which the connection was closed because the server violated the WebSocket protocol; nil for other
    /// errors.
    public var webSocketCloseCode: WebSocketCloseCode? { (underlying as? WebSocketViolation)?.code }
}
