/// Messages to send, and closes.
extension WebSocketCore {
    /// The size up to which a message is encoded under the lock. A larger one would hold up the transport's thread.
    private static let quickSize = 128 * 1_024

    private enum Step: Sendable {
        case accepted(wake: WebSocketLink.Wake?)
        /// Encode the message without the lock.
        case encode(attempt: UInt64)
        case wait
        case refused(any Error)
    }

    /// Accepts a message for sending. Waits while the buffer is full.
    ///
    /// - Parameter hook: The attempt whose hook for openings sends the message, which goes before all waiting messages;
    ///   nil for other senders.
    nonisolated(nonsending) func send(_ message: WebSocketMessage, hook: UInt64? = nil) async throws {
        var number: UInt64?
        while true {
            switch step(message, number, hook) {
            case .accepted(let wake):
                wake?()
                resumeSender()
                return tell(of: message, isSent: true)
            case .encode(let attempt):
                try encode(message, attempt, isOfHook: hook != nil)
                return tell(of: message, isSent: true)
            case .wait:
                try Task.checkCancellation()
                number = try await waitForRoom()
            case .refused(let error):
                resumeSender()
                throw error
            }
        }
    }

    private func step(_ message: WebSocketMessage, _ number: UInt64?, _ hook: UInt64?) -> Step {
        link.withLock { link in
            if let refusal = link.refusal(hook: hook) {
                link.giveUpTurn(number)
                return .refused(refusal)
            }
            let goesFirst = hook != nil && link.phase == .greeting && !link.connection.isEncoding && number == nil
            guard goesFirst || link.maySend(number) else { return .wait }
            guard link.phase == .open || goesFirst else {
                link.accept(message)
                return .accepted(wake: nil)
            }
            guard isQuick(message, link.connection.agreement) else {
                link.connection.isEncoding = true
                return .encode(attempt: link.attempt)
            }
            do { try link.encode(message, isOfHook: hook != nil) } catch { return .refused(error) }
            return .accepted(wake: link.takeWake())
        }
    }

    /// Returns whether the message is encoded under the lock.
    private func isQuick(_ message: WebSocketMessage, _ agreement: WebSocketAgreement?) -> Bool {
        agreement?.deflate == nil && message.size <= Self.quickSize
    }

    /// Encodes a message without the lock of `link`. Throws if the connection has ended meanwhile.
    private func encode(_ message: WebSocketMessage, _ attempt: UInt64, isOfHook: Bool = false) throws {
        let result = Result {
            try encoder.withLock { encoder in
                var frames = ByteQueue()
                try encoder.write(message, into: &frames)
                return frames.takeAll()
            }
        }
        let (isAdded, wake) = link.withLock { link -> (Bool, WebSocketLink.Wake?) in
            guard case .success(let frames) = result else {
                if link.attempt == attempt { link.connection.isEncoding = false }
                return (false, nil)
            }
            return (link.add(message, frames, of: attempt, isOfHook: isOfHook), link.takeWake())
        }
        wake?()
        resumeSender()
        _ = try result.get()
        guard isAdded else {
            throw RequestError(.messagesNotSent, "the connection was lost or closed before the message was sent")
        }
    }

    nonisolated(nonsending) private func waitForRoom() async throws -> UInt64 {
        let number = link.withLock { $0.nextNumber() }
        try await suspended { (continuation: Continuation<Result<Void, any Error>>) in
            link.withLock { $0.wait(WebSocketLink.Sender(number: number, continuation: continuation)) }
            resumeSender()  // there may be room by now
        } onCancel: {
            link.withLock { $0.remove(number) }?.continuation.resume(returning: .failure(CancellationError()))
        }.get()
        return number
    }

    /// Resumes the first waiting sender if there is room for its message, and all if no message is accepted any more.
    func resumeSender() {
        let senders = link.withLock { link -> [WebSocketLink.Sender] in
            switch link.phase {
            case .connecting, .greeting, .open: link.nextSender().map { [$0] } ?? []
            case .closing: link.takeSenders()
            }
        }
        for sender in senders { sender.continuation.resume(returning: .success(())) }
    }

    /// Encodes the messages that have waited for the opening, and then opens the connection for further ones.
    func sendWaiting() throws {
        while true {
            let (next, wake) = link.withLock { link -> ((WebSocketMessage, attempt: UInt64)?, WebSocketLink.Wake?) in
                guard link.phase == .greeting else { return (nil, nil) }
                if let message = link.takeWaiting() {
                    link.connection.isEncoding = true
                    return ((message, link.attempt), nil)
                }
                link.phase = link.ownClose == nil ? .open : .closing
                if let close = link.ownClose { link.sendClose(close.code, close.reason) }
                return (nil, link.takeWake())
            }
            wake?()
            guard let next else { return resumeSender() }
            try encode(next.0, next.attempt)
        }
    }

    // MARK: Closing

    /// Closes the connection for the caller: sends the accepted messages, and then the close. A request without an open
    /// connection is cancelled.
    func beginClose(_ code: WebSocketCloseCode, _ reason: String) {
        let (isOpen, isFirst, wake) = link.withLock { link -> (Bool, Bool, WebSocketLink.Wake?) in
            guard link.ending == nil, link.ownClose == nil else { return (true, false, nil) }
            // From now on, the request does not connect again, even if the connection is just ending.
            link.ownClose = (code, reason)
            switch link.phase {
            case .connecting: return (false, true, nil)
            case .greeting: return (true, true, nil)  // the close is sent after the messages that wait
            case .closing: return (true, true, nil)
            case .open:
                link.phase = .closing
                if !link.connection.isEncoding { link.sendClose(code, reason) }
                return (true, true, link.takeWake())
            }
        }
        guard isFirst else { return }
        guard isOpen else {
            core?.cancel(RequestError(.webSocketClosed, "the WebSocket was closed before it was open"))
            return
        }
        didBeginClose(wake)
    }

    /// Discards received messages, tells waiting senders, and limits the time until the end.
    private func didBeginClose(_ wake: WebSocketLink.Wake?) {
        tell(.closing)
        limitClose()
        let resume = readers.withLock { $0.discard() }
        wake?()
        resumeSender()
        resume?()
    }

    /// Ends the connection if it has not ended within the limit for closes.
    func limitClose() {
        let attempt = link.withLock { $0.attempt }
        let limit = options.closeTimeout
        let timer = DeadlineTimer(on: clock, after: { limit }) { [weak self] in
            guard let self, link.withLock({ $0.attempt == attempt && $0.phase != .connecting }) else { return }
            leaveHook()
            core?.endHop()
        }
        let useless = link.withLock { link -> DeadlineTimer? in
            guard link.phase == .closing || link.phase == .greeting, link.attempt == attempt, link.ending == nil,
                link.closeTimer == nil
            else { return timer }
            link.closeTimer = timer
            return nil
        }
        useless?.cancel()
    }
}

extension WebSocketReconnection {
    /// The number of bytes of unsent messages that are kept.
    var keptBytes: Int {
        switch unsentMessages {
        case .fail: 0
        case .keep(let limit): max(0, limit)
        }
    }
}

/// The frames for the server, as the body of the request.
final class WebSocketStream: TransportBodyStream {
    private let socket: WebSocketCore
    private let attempt: UInt64

    init(_ socket: WebSocketCore, attempt: UInt64) {
        self.socket = socket
        self.attempt = attempt
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        socket.link.withLock { link in
            if link.attempt == attempt { link.connection.wake = wake }
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        // The buffer is captured as an address, because the compiler would take a captured pointer for a part of the
        // state.
        let (address, count) = (UInt(bitPattern: buffer.baseAddress), buffer.count)
        let (read, sender) = socket.link.withLock { link -> (TransportBodyRead, WebSocketLink.Sender?) in
            guard link.attempt == attempt else { return (.end, nil) }
            let start = UnsafeMutableRawPointer(bitPattern: address)
            return link.read(into: UnsafeMutableRawBufferPointer(start: start, count: count))
        }
        sender?.continuation.resume(returning: .success(()))
        return read
    }

    func end() {
        let wake = socket.link.withLock { link -> WebSocketLink.Wake? in
            guard link.attempt == attempt else { return nil }
            link.connection.hasStreamEnded = true
            return link.connection.wake.take()
        }
        withExtendedLifetime(wake) {}  // released after unlocking
        socket.leaveHook(of: attempt)
    }
}
