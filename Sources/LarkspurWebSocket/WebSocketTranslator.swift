/// The server's end of a WebSocket's frames, for transports that send and receive whole messages.
final class WebSocketTranslator: SocketTranslator {
    /// The fields that belong to the handshake between the framework and this object, and those about a body.
    private static let ownFields: Set<String> = [
        "upgrade", "connection", "sec-websocket-accept", "sec-websocket-protocol", "sec-websocket-extensions",
        "content-length", "content-encoding", "transfer-encoding",
    ]

    let maximumMessageSize: Int
    private let key: String
    private let reader = Protected(WebSocketReader(role: .server, maximumMessageSize: .max, deflate: nil))

    init(key: String, maximumMessageSize: Int) {
        self.key = key
        self.maximumMessageSize = maximumMessageSize
    }

    func head(choosing name: String?, _ fields: [HTTPHeader]) -> ResponseHead {
        var fields = fields.filter { !Self.ownFields.contains($0.name.lowercased()) }
        fields += [
            HTTPHeader(name: "Upgrade", value: "websocket"), HTTPHeader(name: "Connection", value: "Upgrade"),
            HTTPHeader(name: "Sec-WebSocket-Accept", value: WebSocketHandshake.accept(for: key)),
        ]
        if let name { fields.append(HTTPHeader(name: "Sec-WebSocket-Protocol", value: name)) }
        return ResponseHead(status: 101, fields: fields)
    }

    func messages(in bytes: UnsafeRawBufferPointer) throws -> [SocketMessage] {
        // The bytes are captured as an address, because the compiler would take a captured pointer for a part of the
        // state.
        let (address, count) = (UInt(bitPattern: bytes.baseAddress), bytes.count)
        return try reader.withLock { reader in
            var messages: [SocketMessage] = []
            let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)
            _ = try reader.read(bytes) { event in
                messages.append(SocketMessage(event))
                return true
            }
            return messages
        }
    }

    func frame(of message: SocketMessage) -> Data {
        var writer = WebSocketWriter(role: .server, deflate: nil)
        var queue = ByteQueue()
        switch message {
        case .text(let text): try? writer.write(.text(text), into: &queue)  // only compression can fail
        case .data(let data): try? writer.write(.data(data), into: &queue)
        case .ping(let payload): writer.writePing(payload, into: &queue)
        case .pong(let payload): writer.writePong(payload, into: &queue)
        case .close(let code, let reason):
            writer.writeClose(WebSocketCloseCode(rawValue: code), reason: reason, into: &queue)
        }
        return queue.takeAll()
    }

    var headOfTooLargeFrame: Data { Data([0x82, 127]) + withUnsafeBytes(of: Int.max.bigEndian) { Data($0) } }
}

extension SocketMessage {
    fileprivate init(_ event: WebSocketReader.Event) {
        switch event {
        case .message(.text(let text), _): self = .text(text)
        case .message(.data(let data), _): self = .data(data)
        case .ping(let payload): self = .ping(payload)
        case .pong(let payload): self = .pong(payload)
        case .close(let code, let reason): self = .close(code: code.rawValue, reason: reason)
        }
    }
}
