/// Bytes of a request's or a response's body, for monitors with an ``EventMonitor/bodyLimit``.
///
/// The parts of a body arrive in order, each before the event that ends its hop. A body that is sent again within its
/// hop begins again at the offset 0. If an offset is larger than the number of bytes before it, parts were dropped,
/// because the monitor was too slow.
///
/// The bytes are those that were on the wire, without the chunks of HTTP/1 or the frames of HTTP/2: a response with a
/// content coding is still encoded, unless its head has ``ResponseHead/bodyIsDecoded``. Of a WebSocket, the
/// messages are copied and not the frames, each in one part.
public struct BodyPart: Sendable, Hashable {
    /// The message that has the body.
    public enum Message: Sendable, Hashable {
        /// The request.
        case request
        /// The response.
        case response
        /// A message of a WebSocket that was accepted for sending. Its event ``WebSocketEvent/sendMessage(_:)`` comes
        /// directly before.
        case sentMessage(isText: Bool)
        /// A message of a WebSocket that was received, directly after ``WebSocketEvent/receiveMessage(_:)``.
        case receivedMessage(isText: Bool)
    }

    /// The message that has the body.
    public let message: Message
    /// The position of the first byte in the body.
    public let offset: UInt64
    /// The bytes. They share their memory with the body, except the last part up to the limit, which is a copy.
    public let bytes: Data

    /// Creates a part, for tests of monitors.
    public init(of message: Message, offset: UInt64, bytes: Data) {
        (self.message, self.offset, self.bytes) = (message, offset, bytes)
    }

    /// Returns the bytes that are below the limit; nil if there are none. The bytes of a cut part are copied, because
    /// otherwise they would keep the whole buffer alive.
    func cut(to limit: Int) -> BodyPart? {
        guard !bytes.isEmpty, offset < UInt64(clamping: limit) else { return nil }
        let count = limit - Int(offset)
        if bytes.count <= count { return self }
        return BodyPart(of: message, offset: offset, bytes: Data([UInt8](bytes.prefix(count))))
    }
}

extension BodyPart: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The position and the size, without the bytes, which may be secret.
    public var description: String { "\(bytes.count) bytes of the \(message) from \(offset)" }
    public var debugDescription: String { description }
    /// Keeps `dump` from showing the bytes.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
