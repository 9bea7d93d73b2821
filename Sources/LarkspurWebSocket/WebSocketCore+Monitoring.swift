extension WebSocketCore {
    /// Emits the events of a message that was accepted for sending, or was received.
    func tell(of message: WebSocketMessage, isSent: Bool) {
        guard let core, core.isObserved else { return }
        core.emit(.webSocket(isSent ? .sendMessage(message.size) : .receiveMessage(message.size))) { limit in
            guard message.size > 0 else { return nil }
            let (isText, bytes) = message.copied(upTo: limit)
            let kind: BodyPart.Message = isSent ? .sentMessage(isText: isText) : .receivedMessage(isText: isText)
            return BodyPart(of: kind, offset: 0, bytes: bytes)
        }
    }
}

extension WebSocketMessage {
    /// Returns the first bytes of the message, and whether they are a text.
    fileprivate func copied(upTo limit: Int) -> (isText: Bool, bytes: Data) {
        switch self {
        case .text(let text): (true, Data(text.utf8.prefix(limit)))
        case .data(let data): (false, data.prefix(limit))
        }
    }
}
