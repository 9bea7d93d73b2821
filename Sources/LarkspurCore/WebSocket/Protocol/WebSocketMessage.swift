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

/// A code that says why a WebSocket was closed (RFC 6455, section 7.4).
///
/// The codes from 4000 to 4999 are free for applications.
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    /// Creates a code with this number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection is fulfilled.
    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// 1001: a server stops, or a client goes elsewhere.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// 1002: the peer violated the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// 1003: the peer sent a type of message that the other side does not support.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// 1005: the close had no code. This code is never sent.
    public static let noStatus = WebSocketCloseCode(rawValue: 1005)
    /// 1006: the connection ended without a close. This code is never sent.
    public static let abnormal = WebSocketCloseCode(rawValue: 1006)
    /// 1007: a message does not fit its type, for example a text that is not UTF-8.
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    /// 1008: a message violates a rule of the application.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// 1009: a message is too large.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// 1010: the server lacks an extension that the client needs.
    public static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
    /// 1011: the server has an unexpected problem.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)
    /// 1012: the server restarts.
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// 1013: the server is overloaded.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// 1014: a gateway got an invalid response from its server.
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// Whether the code may be sent: 1000 to 1003, 1007 to 1014, and 3000 to 4999.
    public var mayBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

extension WebSocketCloseCode: CustomStringConvertible {
    /// The number, with its meaning if it is registered: `1001 going away`.
    public var description: String { Self.names[rawValue].map { "\(rawValue) \($0)" } ?? "\(rawValue)" }

    private static let names: [UInt16: String] = [
        1000: "normal", 1001: "going away", 1002: "protocol error", 1003: "unsupported data", 1005: "no status",
        1006: "abnormal", 1007: "invalid payload", 1008: "policy violation", 1009: "message too big",
        1010: "mandatory extension", 1011: "internal error", 1012: "service restart", 1013: "try again later",
        1014: "bad gateway",
    ]
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
