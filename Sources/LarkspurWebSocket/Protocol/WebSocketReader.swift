/// A parser of the frames that a peer sends (RFC 6455, section 5).
///
/// It keeps at most one message, and never allocates more memory than bytes have arrived.
package struct WebSocketReader {
    package enum Event: Equatable {
        /// A complete message, and the number of its bytes on the wire without the heads of frames.
        case message(WebSocketMessage, wireSize: Int)
        case ping(Data)
        case pong(Data)
        /// The peer's close. The code is ``WebSocketCloseCode/noStatus`` if the close has none.
        case close(code: WebSocketCloseCode, reason: String)
    }

    private struct Frame {
        var opcode = WebSocketOpcode.continuation
        var isFinal = false
        var mask: UInt32 = 0
        var length = 0
        /// The number of payload bytes that have arrived.
        var received = 0
    }

    /// The size up to which a masked message is unmasked in memory of the stack.
    private static let longestUnmaskedOnStack = 1_024

    /// The maximum number of frames without content in a message. The size of a message does not limit them.
    private static let maximumEmptyFragments = 1_000

    private enum Stage { case head, payload, closed }

    private let role: WebSocketRole
    private let maximumMessageSize: Int
    private let inflater: WebSocketInflater?
    private var stage = Stage.head
    /// The bytes of a head that has arrived in part.
    private var head: [UInt8] = []
    private var frame = Frame()
    private var control: [UInt8] = []

    // The current message, from its first frame on
    private var opcode: WebSocketOpcode?
    private var isCompressed = false
    private var content = Data()
    private var wireSize = 0
    private var emptyFragments = 0
    private var checker = UTF8Checker()

    package init(role: WebSocketRole, maximumMessageSize: Int, deflate: WebSocketDeflateParameters?) {
        self.role = role
        self.maximumMessageSize = maximumMessageSize
        inflater = deflate.map { WebSocketInflater($0, role) }
    }

    /// Whether a part of a message has arrived.
    package var isInMessage: Bool { opcode != nil || !head.isEmpty || stage == .payload }

    /// Parses bytes, and calls the closure with each event in order. After the peer's close or a violation, all bytes
    /// are ignored.
    ///
    /// - Parameter handle: Returns whether to go on. If it returns false, the rest of the bytes is not parsed.
    /// - Returns: The number of parsed bytes.
    package mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ handle: (Event) -> Bool
    ) throws(WebSocketViolation) -> Int {
        var rest = bytes
        do throws(WebSocketViolation) {
            while !rest.isEmpty {
                switch stage {
                case .closed: return bytes.count
                case .head: guard try readHead(&rest) else { return bytes.count }
                case .payload: break
                }
                guard let event = try readPayload(&rest) else { continue }
                if case .close = event { stage = .closed }
                guard handle(event) else { break }
            }
        } catch {
            stage = .closed
            throw error
        }
        return bytes.count - rest.count
    }

    // MARK: Heads

    /// Reads the head of a frame. Returns false if it has not arrived completely.
    private mutating func readHead(_ rest: inout UnsafeRawBufferPointer) throws(WebSocketViolation) -> Bool {
        guard head.isEmpty else { return try completeHead(&rest) }
        guard let size = try begin(rest) else {
            head = Array(rest)
            rest = UnsafeRawBufferPointer(rebasing: rest[rest.count...])
            return false
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[size...])
        return true
    }

    /// Continues a head that has arrived in part, byte by byte.
    private mutating func completeHead(_ rest: inout UnsafeRawBufferPointer) throws(WebSocketViolation) -> Bool {
        while let byte = rest.first {
            head.append(byte)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
            var violation: WebSocketViolation?
            let size = head.withUnsafeBytes { bytes -> Int? in
                do throws(WebSocketViolation) { return try begin(bytes) } catch { violation = error }
                return nil
            }
            if let violation { throw violation }
            guard size == nil else {
                head = []
                return true
            }
        }
        return false
    }

    /// Reads a head at the start of the bytes, and begins its frame. Returns the size of the head, or nil if it is not
    /// complete. The first two bytes are checked as soon as they have arrived.
    private mutating func begin(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> Int? {
        let first = bytes[0]
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else {
            throw WebSocketViolation(.protocolError, "a frame has the reserved opcode \(first & 0x0F)")
        }
        let isFinal = first & 0x80 != 0
        try check(opcode, isFinal: isFinal, reserved: first & 0x70)
        guard bytes.count >= 2 else { return nil }
        let isMasked = bytes[1] & 0x80 != 0
        guard isMasked == (role == .server) else {
            throw WebSocketViolation(
                .protocolError, isMasked ? "the server has masked a frame" : "the client has not masked a frame")
        }
        let short = Int(bytes[1] & 0x7F)
        guard !opcode.isControl || short <= 125 else {
            throw WebSocketViolation(.protocolError, "a control frame is longer than 125 bytes")
        }
        let lengthSize = short < 126 ? 0 : short == 126 ? 2 : 8
        let size = 2 + lengthSize + (isMasked ? 4 : 0)
        guard bytes.count >= 2 + lengthSize else { return nil }
        let length = try length(short, bytes)
        try checkSize(length, opcode, isCompressed: opcode == .continuation ? isCompressed : first & 0x40 != 0)
        guard bytes.count >= size else { return nil }
        let mask = isMasked ? UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: size - 4, as: UInt32.self)) : 0
        frame = Frame(opcode: opcode, isFinal: isFinal, mask: mask, length: length)
        if !opcode.isControl, opcode != .continuation {
            self.opcode = opcode
            isCompressed = first & 0x40 != 0
        }
        stage = .payload
        return size
    }

    private func check(_ opcode: WebSocketOpcode, isFinal: Bool, reserved: UInt8) throws(WebSocketViolation) {
        let mayBeCompressed = inflater != nil && (opcode == .text || opcode == .data)
        guard reserved == 0 || reserved == 0x40 && mayBeCompressed else {
            throw WebSocketViolation(.protocolError, "a frame has reserved bits that no extension has defined")
        }
        guard isFinal || !opcode.isControl else {
            throw WebSocketViolation(.protocolError, "a control frame is fragmented")
        }
        guard opcode.isControl || (opcode == .continuation) == (self.opcode != nil) else {
            throw WebSocketViolation(
                .protocolError,
                opcode == .continuation
                    ? "a continuation has no message to continue" : "a message begins inside another message")
        }
    }

    private func length(_ short: Int, _ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> Int {
        switch short {
        case 126:
            let length = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard length > 125 else { throw Self.notShortest }
            return length
        case 127:
            let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard length > 65_535 else { throw Self.notShortest }
            guard length <= UInt64(Int.max) else {
                throw WebSocketViolation(.protocolError, "a frame declares a length of 2^63 or more")
            }
            return Int(length)
        default: return short
        }
    }

    private static var notShortest: WebSocketViolation {
        WebSocketViolation(.protocolError, "a length is not in its shortest form")
    }

    /// Refuses a frame that makes its message too large, before any of its bytes is kept. The limit of a compressed
    /// message counts the decompressed bytes, which may be fewer.
    private func checkSize(
        _ length: Int, _ opcode: WebSocketOpcode, isCompressed: Bool
    ) throws(WebSocketViolation) {
        guard !opcode.isControl, !isCompressed, length > maximumMessageSize - min(maximumMessageSize, wireSize) else {
            return
        }
        throw tooBig
    }

    private var tooBig: WebSocketViolation {
        WebSocketViolation(.messageTooBig, "a message is larger than the limit of \(maximumMessageSize) bytes")
    }

    // MARK: Payloads

    /// Reads the available bytes of the frame's payload. Returns the event if the frame completes one.
    private mutating func readPayload(_ rest: inout UnsafeRawBufferPointer) throws(WebSocketViolation) -> Event? {
        let count = min(rest.count, frame.length - frame.received)
        let piece = UnsafeRawBufferPointer(rebasing: rest[..<count])
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        if frame.opcode.isControl {
            control.append(contentsOf: piece)
            frame.received += count
            guard frame.received == frame.length else { return nil }
            stage = .head
            return try endControl()
        }
        if let event = try wholeMessage(piece) { return event }
        try add(piece)
        frame.received += count
        guard frame.received == frame.length else { return nil }
        stage = .head
        if frame.isFinal { return try endMessage() }
        if frame.length == 0 { emptyFragments += 1 }
        guard emptyFragments <= Self.maximumEmptyFragments else {
            throw WebSocketViolation(
                .policyViolation, "a message has more than \(Self.maximumEmptyFragments) empty fragments")
        }
        return nil
    }

    /// Returns the message if this piece is all of it, without keeping the bytes in between.
    private mutating func wholeMessage(_ piece: UnsafeRawBufferPointer) throws(WebSocketViolation) -> Event? {
        guard piece.count == frame.length, frame.isFinal, !isCompressed, frame.opcode != .continuation,
            frame.mask == 0 || piece.count <= Self.longestUnmaskedOnStack
        else { return nil }
        let message: WebSocketMessage
        if frame.mask == 0 {
            message = try self.message(of: piece)
        } else {
            let result = withUnsafeTemporaryAllocation(byteCount: piece.count, alignment: 16) {
                bytes -> Result<WebSocketMessage, WebSocketViolation> in
                bytes.baseAddress?.copyMasked(piece, mask: frame.mask)
                do throws(WebSocketViolation) {
                    return .success(try self.message(of: UnsafeRawBufferPointer(bytes)))
                } catch {
                    return .failure(error)
                }
            }
            message = try result.get()
        }
        opcode = nil
        stage = .head
        return .message(message, wireSize: piece.count)
    }

    private func message(of bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketMessage {
        frame.opcode == .text ? .text(try Self.text(bytes)) : .data(Data(bytes))
    }

    /// Returns the bytes as text. Decoding replaces invalid bytes, so that the text differs from them.
    private static func text(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> String {
        var text = String(decoding: bytes, as: UTF8.self)
        let isValid = text.withUTF8 { utf8 in
            guard utf8.count == bytes.count else { return false }
            guard let text = utf8.baseAddress, let source = bytes.baseAddress else { return true }
            return memcmp(text, source, bytes.count) == 0
        }
        guard isValid else { throw notUTF8 }
        return text
    }

    private mutating func add(_ piece: UnsafeRawBufferPointer) throws(WebSocketViolation) {
        wireSize += piece.count
        if isCompressed {
            guard frame.mask != 0 else { return try inflate(piece) }
            var plain = Data(count: piece.count)
            let (mask, offset) = (frame.mask, frame.received)
            plain.withUnsafeMutableBytes { $0.baseAddress?.copyMasked(piece, mask: mask, offset: offset) }
            return try inflate(plain)
        }
        let before = content.count
        content.append(contentsOf: piece)
        if frame.mask != 0 {
            let (mask, offset) = (frame.mask, frame.received)
            content.withUnsafeMutableBytes { bytes in
                let added = UnsafeMutableRawBufferPointer(rebasing: bytes[before...])
                added.baseAddress?.copyMasked(UnsafeRawBufferPointer(added), mask: mask, offset: offset)
            }
        }
        try check(from: before)
    }

    /// Checks the text from a position on.
    private mutating func check(from start: Int) throws(WebSocketViolation) {
        guard opcode == .text else { return }
        let isValid = content.withUnsafeBytes { checker.check(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard isValid else { throw Self.notUTF8 }
    }

    private mutating func inflate(_ piece: Data, isLast: Bool = false) throws(WebSocketViolation) {
        var violation: WebSocketViolation?
        piece.withUnsafeBytes { bytes in
            do throws(WebSocketViolation) { try inflate(bytes, isLast: isLast) } catch { violation = error }
        }
        if let violation { throw violation }
    }

    private mutating func inflate(
        _ piece: UnsafeRawBufferPointer, isLast: Bool = false
    ) throws(WebSocketViolation) {
        let before = content.count
        let result = inflater?.inflate(piece, into: &content, upTo: maximumMessageSize, isLast: isLast)
        // The text before a problem is checked first, as it would be if the bytes came one by one.
        try check(from: before)
        switch result {
        case .done: break
        case .tooBig: throw tooBig
        case .failed(let problem)?:
            throw WebSocketViolation(.invalidPayload, "a compressed message cannot be decompressed: \(problem)")
        case nil: throw WebSocketViolation(.protocolError, "a message is compressed without agreement")
        }
    }

    private mutating func endMessage() throws(WebSocketViolation) -> Event {
        if isCompressed {
            try inflate(WebSocketInflater.tail, isLast: true)
            inflater?.endMessage()
        }
        guard opcode != .text || checker.isComplete else { throw Self.notUTF8 }
        let message =
            opcode == .text ? .text(String(decoding: content, as: UTF8.self)) : WebSocketMessage.data(content)
        let size = wireSize
        (opcode, isCompressed, content, wireSize, checker) = (nil, false, Data(), 0, UTF8Checker())
        emptyFragments = 0
        return .message(message, wireSize: size)
    }

    private static var notUTF8: WebSocketViolation {
        WebSocketViolation(.invalidPayload, "a text is not valid UTF-8")
    }

    private mutating func endControl() throws(WebSocketViolation) -> Event {
        var payload = control
        control = []
        if frame.mask != 0 {
            let mask = frame.mask
            payload.withUnsafeMutableBytes {
                $0.baseAddress?.copyMasked(UnsafeRawBufferPointer($0), mask: mask)
            }
        }
        switch frame.opcode {
        case .ping: return .ping(Data(payload))
        case .pong: return .pong(Data(payload))
        default: return try close(payload)
        }
    }

    private func close(_ payload: [UInt8]) throws(WebSocketViolation) -> Event {
        guard !payload.isEmpty else { return .close(code: .noStatus, reason: "") }
        guard payload.count >= 2 else { throw WebSocketViolation(.protocolError, "a close has half of a code") }
        let code = WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.mayBeSent else {
            throw WebSocketViolation(.protocolError, "a close has the code \(code.rawValue), which must not be sent")
        }
        var checker = UTF8Checker()
        let isText = payload.withUnsafeBytes { checker.check(UnsafeRawBufferPointer(rebasing: $0[2...])) }
        guard isText, checker.isComplete else {
            throw WebSocketViolation(.invalidPayload, "the reason of a close is not valid UTF-8")
        }
        return .close(code: code, reason: String(decoding: payload[2...], as: UTF8.self))
    }
}
