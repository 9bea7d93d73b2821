import Foundation
import Larkspur

@testable import LarkspurCore
@testable import LarkspurWebSocket

/// Builds a frame with the given first byte. The length has its shortest form.
func webSocketFrame(_ first: UInt8, _ payload: [UInt8] = [], mask: [UInt8]? = nil) -> [UInt8] {
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    var bytes = [first]
    switch payload.count {
    case ..<126: bytes.append(maskBit | UInt8(payload.count))
    case ..<65_536: bytes += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
        bytes.append(maskBit | 127)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    guard let mask else { return bytes + payload }
    return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}

func webSocketClose(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
    webSocketFrame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
}

/// The events of a reader up to a violation.
struct ReaderOutcome: Equatable {
    private(set) var events: [WebSocketReader.Event] = []
    private(set) var violation: WebSocketViolation?
    /// The number of bytes that had been read when the violation was found, in the pieces in which they came.
    private(set) var bytesBeforeViolation = 0

    var messages: [WebSocketMessage] {
        events.compactMap { if case .message(let message, _) = $0 { message } else { nil } }
    }

    init(_ reader: WebSocketReader, _ bytes: [UInt8], pieceSize: Int = .max) {
        var reader = reader
        self.init(&reader, bytes, pieceSize: pieceSize)
    }

    init(_ reader: inout WebSocketReader, _ bytes: [UInt8], pieceSize: Int = .max) {
        var start = 0
        while start < bytes.count {
            let end = pieceSize < bytes.count - start ? start + pieceSize : bytes.count
            do throws(WebSocketViolation) {
                try read(&reader, bytes[start..<end])
            } catch {
                violation = error
                bytesBeforeViolation = end
                return
            }
            start = end
        }
    }

    private mutating func read(
        _ reader: inout WebSocketReader, _ bytes: ArraySlice<UInt8>
    ) throws(WebSocketViolation) {
        var events = events
        defer { self.events = events }
        var problem: WebSocketViolation?
        bytes.withUnsafeBytes { bytes in
            do throws(WebSocketViolation) {
                _ = try reader.read(bytes) { event in
                    events.append(event)
                    return true
                }
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.events == right.events && left.violation == right.violation
    }
}

extension WebSocketReader {
    static func client(limit: Int = 1 << 20, deflate: WebSocketDeflateParameters? = nil) -> WebSocketReader {
        WebSocketReader(role: .client, maximumMessageSize: limit, deflate: deflate)
    }

    static func server(limit: Int = 1 << 20, deflate: WebSocketDeflateParameters? = nil) -> WebSocketReader {
        WebSocketReader(role: .server, maximumMessageSize: limit, deflate: deflate)
    }
}

extension [UInt8] {
    /// The bytes of hexadecimal digits, which may have blanks between them.
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
