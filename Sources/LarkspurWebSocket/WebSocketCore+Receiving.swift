/// Received frames.
extension WebSocketCore {
    /// Parses bytes of the connection and delivers their messages. Returns false if the readers are not ready for more.
    /// In this case, `later` is called when they are, and the caller passes the same bytes again.
    func consume(_ bytes: Data, orLater later: @escaping @Sendable () -> Void) -> Bool {
        while true {
            if let violation = parser.withLock({ $0.violation }) { return fail(violation, orLater: later) }
            let room = readers.withLock { $0.room(orLater: later) }
            guard room > 0 else { return false }
            var batch = Batch(room: room)
            let isParsed = parser.withLock { $0.parse(bytes, into: &batch) }
            handle(batch)
            if isParsed { return true }
        }
    }

    /// Ends the connection because of a violation, after the readers have handled the messages before it, so that they
    /// can answer them. Returns false if readers are busy, which is allowed for the time of a close.
    private func fail(_ violation: WebSocketViolation, orLater later: @escaping @Sendable () -> Void) -> Bool {
        guard readers.withLock({ $0.areWaiting(orLater: later) }) else {
            limitReaders()
            return false
        }
        parser.withLock { $0.violation = nil }  // the parser ignores further bytes
        fail(violation)
        return true
    }

    private func limitReaders() {
        guard link.withLock({ $0.readersTimer == nil }) else { return }
        let limit = options.closeTimeout
        let timer = DeadlineTimer(on: clock, after: { limit }) { [weak self] in
            self?.readers.withLock { $0.stopWaiting() }?()
        }
        link.withLock { $0.readersTimer = timer }
    }

    /// The events of some bytes of the connection.
    struct Batch {
        /// The number of bytes of messages after which the parser stops.
        let room: Int
        var messages: [WebSocketMessage] = []
        var size = 0
        /// The latest pings.
        var pings: [Data] = []
        var pingCount = 0
        var pongs: [Data] = []
        var close: (code: WebSocketCloseCode, reason: String)?
        /// Whether the batch has the first message, ping or pong of the connection.
        var isFirst = false

        init(room: Int) { self.room = room }

        /// Adds an event. Returns whether the parser goes on.
        mutating func add(_ event: WebSocketReader.Event) -> Bool {
            switch event {
            case .message(let message, _):
                messages.append(message)
                size += message.bufferedSize
            case .ping(let payload):
                if pings.count == WebSocketLink.pongLimit { pings.removeFirst() }
                pings.append(payload)
                pingCount += 1
            case .pong(let payload): pongs.append(payload)
            case .close(let code, let reason): close = (code, reason)
            }
            return size < room
        }
    }

    private func handle(_ batch: Batch) {
        if batch.isFirst { link.withLock { $0.connection.hasReceived = true } }
        if !batch.pings.isEmpty { answer(batch.pings, batch.pingCount) }
        if !batch.messages.isEmpty {
            tell(of: batch)
            let resumed = readers.withLock { $0.receive(batch.messages, size: batch.size) }
            for (waiter, messages) in resumed { waiter.resume(returning: .success(messages)) }
        }
        for pong in batch.pongs { receivePong(pong) }
        if let close = batch.close { receiveClose(close.code, close.reason) }
    }

    private func tell(of batch: Batch) {
        guard core?.isObserved == true else { return }
        for message in batch.messages { tell(of: message, isSent: false) }
    }

    private func answer(_ pings: [Data], _ count: Int) {
        let wake = link.withLock { link -> WebSocketLink.Wake? in
            guard !link.connection.hasSentClose else { return nil }
            link.answer(pings)
            return link.takeWake()
        }
        for _ in 0..<count { emit(.receivePing) }
        wake?()
    }

    /// Handles the server's close: answers it, unless it is the answer to a close of this side.
    private func receiveClose(_ code: WebSocketCloseCode, _ reason: String) {
        let (isFirst, wake) = link.withLock { link -> (Bool, WebSocketLink.Wake?) in
            guard link.connection.peerClose == nil, link.connection.failure == nil, link.ending == nil else {
                return (false, nil)
            }
            let isFirst = !link.connection.hasSentClose
            link.connection.peerClose = (code, reason, isFirst)
            link.sendClose(code, "")
            link.phase = .closing
            link.connection.endsStream = true
            return (isFirst, link.takeWake())
        }
        if isFirst { tell(.closing) }
        limitClose()
        resumeSender()
        wake?()
    }

    /// Ends the connection because the peer has violated the protocol. The close tells the peer why.
    private func fail(_ violation: WebSocketViolation) {
        let isTooLarge = violation.code == .messageTooBig
        let error = RequestError(
            isTooLarge ? .messageTooLarge : .webSocketViolation,
            isTooLarge
                ? "\(violation.message); raise options.maximumMessageSize to allow it"
                : "the server violated the WebSocket protocol: \(violation.message)",
            underlying: violation)
        let wake = link.withLock { link -> WebSocketLink.Wake? in
            guard link.connection.failure == nil, link.ending == nil else { return nil }
            link.connection.failure = error
            link.sendClose(violation.code, violation.message)
            link.phase = .closing
            link.connection.endsStream = true
            return link.takeWake()
        }
        tell(.closing)
        limitClose()
        resumeSender()
        wake?()
    }
}

extension WebSocketCore.Parser {
    /// Parses the rest of a chunk, until the batch is full. Returns whether the whole chunk is parsed. A violation ends
    /// the parsing, and is kept.
    mutating func parse(_ bytes: Data, into batch: inout WebSocketCore.Batch) -> Bool {
        let count = bytes.withUnsafeBytes { bytes -> Int in
            let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(offset))
            do throws(WebSocketViolation) {
                return try reader?.read(rest) { batch.add($0) } ?? rest.count
            } catch {
                violation = error
                return rest.count
            }
        }
        offset += count
        received += UInt64(count)
        batch.isFirst = !hasReceived && (!batch.messages.isEmpty || batch.pingCount > 0 || !batch.pongs.isEmpty)
        if batch.isFirst { hasReceived = true }
        guard offset >= bytes.count || batch.close != nil else { return false }
        offset = 0
        return violation == nil
    }
}
