/// A writer of WebSocket frames.
package struct WebSocketWriter {
    /// The number of bytes of a frame's head: two, up to eight for the length, and four for the mask.
    private static let longestHead = 14

    private let role: WebSocketRole
    private var masks = MaskSource()
    private var deflater: WebSocketDeflater?

    package init(role: WebSocketRole, deflate: WebSocketDeflateParameters?) {
        self.role = role
        deflater = deflate.flatMap { WebSocketDeflater($0, role) }
    }

    /// Adds a message in one frame.
    package mutating func write(_ message: WebSocketMessage, into queue: inout ByteQueue) throws(RequestError) {
        var problem: RequestError?
        func add(_ opcode: WebSocketOpcode, _ bytes: UnsafeRawBufferPointer) {
            do throws(RequestError) { try write(opcode, bytes, &queue) } catch { problem = error }
        }
        switch message {
        case .text(var text): text.withUTF8 { add(.text, UnsafeRawBufferPointer($0)) }
        case .data(let data): data.withUnsafeBytes { add(.data, $0) }
        }
        if let problem { throw problem }
    }

    /// Adds a text in one frame. The bytes must be valid UTF-8.
    package mutating func writeText(
        utf8 bytes: UnsafeRawBufferPointer, into queue: inout ByteQueue
    ) throws(RequestError) {
        try write(.text, bytes, &queue)
    }

    /// Adds binary data in one frame.
    package mutating func writeData(
        _ bytes: UnsafeRawBufferPointer, into queue: inout ByteQueue
    ) throws(RequestError) {
        try write(.data, bytes, &queue)
    }

    package mutating func writePing(_ payload: Data, into queue: inout ByteQueue) {
        payload.prefix(125).withUnsafeBytes { frame(.ping, $0, isCompressed: false, &queue) }
    }

    package mutating func writePong(_ payload: Data, into queue: inout ByteQueue) {
        payload.prefix(125).withUnsafeBytes { frame(.pong, $0, isCompressed: false, &queue) }
    }

    /// Adds a close. The reason is cut to what a close can carry, at the end of a character. A code that must not be
    /// sent is left out, together with the reason.
    package mutating func writeClose(_ code: WebSocketCloseCode, reason: String, into queue: inout ByteQueue) {
        var payload: [UInt8] = []
        if code.mayBeSent {
            payload = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
            for character in reason {
                guard payload.count + character.utf8.count <= 125 else { break }
                payload += character.utf8
            }
        }
        payload.withUnsafeBytes { frame(.close, $0, isCompressed: false, &queue) }
    }

    private mutating func write(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, _ queue: inout ByteQueue
    ) throws(RequestError) {
        guard let deflater, deflater.compresses(payload.count) else {
            return frame(opcode, payload, isCompressed: false, &queue)
        }
        var compressed = ByteQueue()
        try deflater.compress(payload, into: &compressed)
        compressed.withBytes { frame(opcode, $0, isCompressed: true, &queue) }
    }

    private mutating func frame(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, isCompressed: Bool, _ queue: inout ByteQueue
    ) {
        let start = queue.reserve(Self.longestHead + payload.count)
        let maskBit: UInt8 = role == .client ? 0x80 : 0
        start.storeBytes(of: 0x80 | (isCompressed ? 0x40 : 0) | opcode.rawValue, as: UInt8.self)
        var count = 2
        switch payload.count {
        case ..<126:
            start.storeBytes(of: maskBit | UInt8(payload.count), toByteOffset: 1, as: UInt8.self)
        case ..<65_536:
            start.storeBytes(of: maskBit | 126, toByteOffset: 1, as: UInt8.self)
            start.storeBytes(of: UInt16(payload.count).bigEndian, toByteOffset: 2, as: UInt16.self)
            count = 4
        default:
            start.storeBytes(of: maskBit | 127, toByteOffset: 1, as: UInt8.self)
            start.storeBytes(of: UInt64(payload.count).bigEndian, toByteOffset: 2, as: UInt64.self)
            count = 10
        }
        if role == .client {
            let mask = masks.next()
            start.storeBytes(of: mask.littleEndian, toByteOffset: count, as: UInt32.self)
            count += 4
            (start + count).copyMasked(payload, mask: mask)
        } else if let source = payload.baseAddress {
            (start + count).copyMemory(from: source, byteCount: payload.count)
        }
        queue.commit(count + payload.count)
    }
}

/// A source of unpredictable masks (RFC 6455, section 10.3). It asks the system for many at once, because each request
/// is a system call.
private struct MaskSource {
    private var masks: [UInt32] = []

    mutating func next() -> UInt32 {
        if masks.isEmpty { fill() }
        return masks.removeLast()
    }

    private mutating func fill() {
        masks = [UInt32](repeating: 0, count: 64)
        #if canImport(Darwin)
            masks.withUnsafeMutableBytes { arc4random_buf($0.baseAddress, $0.count) }
        #else
            let isFilled = masks.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) == 0 }
            guard !isFilled else { return }
            var generator = SystemRandomNumberGenerator()
            for index in masks.indices { masks[index] = generator.next() }
        #endif
    }
}
