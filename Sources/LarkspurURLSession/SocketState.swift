/// The state of a hop over a WebSocket of the platform. It decides which function of the platform is called next.
///
/// One `send` and one `receive` are outstanding at most. The body is read only when all its messages were sent, and a
/// message is received only when all bytes before it were delivered. So both sides hold back the other (T16).
struct SocketState {
    enum Command {
        case receive
        case read
        case send(SocketMessage)
        case ping(Data)
        case close(UInt16, String)
        case end
    }

    private(set) var platform: (any PlatformSocket)?
    /// Whether the handshake has succeeded.
    private(set) var isOpen = false
    /// Whether a thread carries out commands.
    var isWorking = false

    private var isReceiving = false
    /// Whether no further message can be received.
    private(set) var hasReceivedAll = false
    /// The frame of the server's close, which follows the last message.
    private var close: Data?

    private var isSending = false
    /// The messages that were read from the body and not sent.
    private var outgoing: ArraySlice<SocketMessage> = []
    /// Whether the body may have bytes that were not read.
    private var mayHaveBytes = false
    private var bodyHasEnded = false
    /// Whether a close was sent or received. The system completes the closing handshake.
    private(set) var isClosing = false

    mutating func didCreate(_ platform: any PlatformSocket) { self.platform = platform }

    mutating func take() -> (any PlatformSocket)? { platform.take() }

    /// Returns false if the socket was open before.
    mutating func didOpen() -> Bool { isOpen.setOnce() }

    /// Returns the next command; nil if the next fact has to come first.
    ///
    /// - Parameter mayReceive: Whether all received bytes were delivered, and more may be.
    mutating func next(mayReceive: Bool) -> Command? {
        guard isOpen else { return nil }
        if mayReceive, !isReceiving, !hasReceivedAll {
            isReceiving = true
            return .receive
        }
        while !isSending {
            switch outgoing.popFirst() {
            case .text(let text)?: if !isClosing { return send(.text(text)) }
            case .data(let data)?: if !isClosing { return send(.data(data)) }
            case .ping(let payload)?: if !isClosing { return .ping(payload) }
            case .pong?: break  // the platform answers pings itself
            case .close(let code, let reason)?: if isClosing.setOnce() { return .close(code, reason) }
            case nil:
                if bodyHasEnded { return .end }
                guard mayHaveBytes else { return nil }
                mayHaveBytes = false
                return .read
            }
        }
        return nil
    }

    private mutating func send(_ message: SocketMessage) -> Command {
        isSending = true
        return .send(message)
    }

    // MARK: Facts

    mutating func bodyMayHaveBytes() { mayHaveBytes = true }

    mutating func didRead(_ messages: [SocketMessage]) {
        outgoing += messages
        mayHaveBytes = true
    }

    mutating func bodyDidEnd() { bodyHasEnded = true }

    /// Notes the end of a `send`. After a failure nothing more is sent, because the platform ends the task.
    mutating func didSend(_ error: (any Error)?) { if error == nil { isSending = false } }

    mutating func didReceive() { isReceiving = false }

    mutating func didReceiveAll() { hasReceivedAll = true }

    /// Notes the server's close. Messages that were not sent are dropped, but the end of the body still counts.
    mutating func didClose(_ frame: Data) {
        if !hasClosed { close = frame }
        hasClosed = true
        isClosing = true
        isSending = false
    }

    /// Whether the server has sent a close.
    private(set) var hasClosed = false

    /// Returns the frame of the server's close, once, when all messages before it were received.
    mutating func takeClose() -> Data? { hasReceivedAll ? close.take() : nil }
}
