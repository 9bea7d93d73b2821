/// The state of a WebSocket's connection and of its messages to send, guarded by the lock of ``WebSocketCore``.
///
/// Functions change the state and return what the caller has to do after unlocking.
struct WebSocketLink: ~Copyable {
    enum Phase {
        /// There is no open connection. Accepted messages wait.
        case connecting
        /// The handshake has succeeded. The hook for openings runs, and then accepted messages are encoded.
        case greeting
        case open
        /// A close was sent or received, the connection failed, or the request has finished. No further message is
        /// accepted.
        case closing
    }

    /// The state of one attempt to connect.
    struct Connection {
        var key = ""
        /// The server's response, and the function that returns the time since then; nil before.
        var opening: (head: ResponseHead, age: @Sendable () -> Duration)?
        var agreement: WebSocketAgreement?
        /// Whether a message, a ping or a pong was received.
        var hasReceived = false
        /// Whether a thread encodes a message without the lock. Other messages wait, to keep the order.
        var isEncoding = false

        // The transport's stream
        var wake: Wake?
        fileprivate var isAwaited = false
        /// The payloads of the pongs that wait for a place in `bytes`.
        fileprivate var pongs: [Data] = []
        fileprivate(set) var hasSentClose = false
        /// Whether the stream ends after the last byte, and with it the connection.
        var endsStream = false
        /// Whether the transport has ended the stream.
        var hasStreamEnded = false

        /// The peer's close. It is the first one if this side had sent none before.
        var peerClose: (code: WebSocketCloseCode, reason: String, isFirst: Bool)?
        /// The reason why the connection must end, if it is not a close.
        var failure: RequestError?
    }

    /// A message that waits for the opening or is in the buffer of the connection.
    struct Entry {
        let message: WebSocketMessage
        /// Whether the hook for openings has sent the message. The hook of the next connection sends its own.
        var isOfHook = false
        /// The position in the connection's bytes where the message ends; 0 while it is not encoded.
        var end: UInt64 = 0
    }

    /// A caller of `send` that waits for room.
    struct Sender {
        let number: UInt64
        let continuation: Continuation<Result<Void, any Error>>
    }

    /// A ping without a pong.
    struct Ping {
        let payload: Data
        let elapsed: @Sendable () -> Duration
        /// The caller that waits for the pong; nil if the session has sent the ping.
        let waiter: Continuation<Result<Duration, any Error>>?
        var timer: DeadlineTimer?
    }

    /// The hook for openings, while it runs.
    struct Hook {
        let attempt: UInt64
        /// Continues the opening: true if the hook has returned, false if the connection has ended before.
        let continuation: Continuation<Result<Bool, any Error>>
        var task: Task<Void, Never>?
    }

    typealias Opened = Continuation<Result<ResponseHead, any Error>>
    typealias Wake = @Sendable () -> Void

    var phase = Phase.connecting
    /// The number of the current attempt to connect. Streams and timers of an earlier attempt have no effect.
    var attempt: UInt64 = 0
    /// The number of connections that were opened.
    var openings = 0
    /// The number of attempts to connect since the last connection that has proved useful.
    var failures = 0
    var connection = Connection()

    // Messages to send
    /// The encoder of all frames that are not compressed.
    private var writer = WebSocketWriter(role: .client, deflate: nil)
    var bytes = ByteQueue()
    /// The number of bytes that were added to `bytes`, and the number that the transport has taken, since the opening.
    private(set) var written: UInt64 = 0
    private(set) var taken: UInt64 = 0
    /// The messages in `bytes`, in order.
    private var encoded = FIFO<Entry>()
    /// The accepted messages that wait for the opening, in order.
    var waiting = FIFO<WebSocketMessage>()
    private(set) var waitingSize = 0
    private(set) var senders = FIFO<Sender>()
    private var numbers: UInt64 = 0
    /// The sender that was resumed to send next.
    private var turn: UInt64?
    /// The error of messages that were dropped, for the next call of `send`.
    var loss: RequestError?

    static let pongLimit = 32
    private(set) var hook: Hook?

    // The end
    /// The caller's close.
    var ownClose: (code: WebSocketCloseCode, reason: String)?
    /// The end of the request; nil before.
    private(set) var ending: (close: WebSocketClose, error: RequestError?)?
    var closeTimer: DeadlineTimer?
    /// Limits the time that readers may take before a violation ends the connection.
    var readersTimer: DeadlineTimer?

    // Waiters
    var pings: [Ping] = []
    var pingTimer: DeadlineTimer?
    var opened: [(number: UInt64, continuation: Opened)] = []
    var closed: [(number: UInt64, continuation: Continuation<WebSocketClose>)] = []

    let sendLimit: Int

    init(sendLimit: Int) { self.sendLimit = max(1, sendLimit) }

    mutating func nextNumber() -> UInt64 {
        numbers += 1
        return numbers
    }

    // MARK: Order of senders

    private var hasRoom: Bool { bytes.count + waitingSize < sendLimit }

    /// The error for a message that cannot be accepted; nil if it can.
    ///
    /// - Parameter hook: The attempt whose hook for openings sends the message; nil for other senders.
    mutating func refusal(hook: UInt64?) -> RequestError? {
        if let hook, hook != attempt || phase == .connecting {
            return RequestError(.messagesNotSent, "the connection was lost before the message was sent")
        }
        switch phase {
        // A message of the hook would be the wrong one to fail because of lost messages.
        case .connecting, .greeting, .open: return hook == nil ? loss.take() : nil
        case .closing:
            return ending?.error
                ?? RequestError(
                    .webSocketClosed, "the message was not sent, because the WebSocket is closing or closed")
        }
    }

    /// Returns whether the caller may send now. Otherwise it has to wait by ``wait(_:)``.
    ///
    /// - Parameter number: The number of a sender that was resumed; nil for a new one.
    mutating func maySend(_ number: UInt64?) -> Bool {
        if let number {
            // No other sender was accepted since this one was resumed, so there is still room.
            guard turn == number else { return false }
            turn = nil
            return true
        }
        return turn == nil && senders.isEmpty && hasRoom && !isBusy
    }

    /// Gives the turn of a sender that was resumed, and does not send, to the next one.
    mutating func giveUpTurn(_ number: UInt64?) {
        if number != nil, turn == number { turn = nil }
    }

    /// Whether a message has to wait until another one is encoded. Before the opening, messages only join a queue.
    private var isBusy: Bool { connection.isEncoding && phase == .open }

    mutating func wait(_ sender: Sender) { senders.append(sender) }

    /// Removes a sender that no longer waits. Returns nil if it was resumed before.
    mutating func remove(_ number: UInt64) -> Sender? { senders.remove { $0.number == number } }

    /// Returns the next sender if there is room for its message. The caller resumes it after unlocking.
    mutating func nextSender() -> Sender? {
        guard turn == nil, !isBusy, hasRoom, let next = senders.popFirst() else { return nil }
        turn = next.number
        return next
    }

    mutating func takeSenders() -> [Sender] {
        turn = nil
        return senders.takeAll()
    }

    // MARK: Messages

    mutating func accept(_ message: WebSocketMessage) {
        waiting.append(message)
        waitingSize += message.bufferedSize
    }

    mutating func takeWaiting() -> WebSocketMessage? {
        let message = waiting.popFirst()
        waitingSize -= message?.bufferedSize ?? 0
        return message
    }

    /// Adds frames to the connection's bytes, without compression.
    mutating func write<E: Error>(_ body: (inout WebSocketWriter, inout ByteQueue) throws(E) -> Void) throws(E) {
        let before = bytes.count
        try body(&writer, &bytes)
        written += UInt64(bytes.count - before)
    }

    /// Adds a message after the pongs that wait, because a message may answer what followed their pings.
    mutating func encode(_ message: WebSocketMessage, isOfHook: Bool = false) throws {
        writePongs()
        try write { try $0.write(message, into: &$1) }
        encoded.append(Entry(message: message, isOfHook: isOfHook, end: written))
    }

    /// Adds a message that was encoded without the lock. Returns false if the connection no longer takes messages.
    mutating func add(_ message: WebSocketMessage, _ frames: Data, of attempt: UInt64, isOfHook: Bool) -> Bool {
        guard self.attempt == attempt else { return false }
        connection.isEncoding = false
        guard !connection.hasSentClose, phase != .connecting, ending == nil else { return false }
        writePongs()
        written += UInt64(frames.count)
        frames.withUnsafeBytes { bytes.append($0) }
        encoded.append(Entry(message: message, isOfHook: isOfHook, end: written))
        if phase == .closing, let ownClose { sendClose(ownClose.code, ownClose.reason) }
        return true
    }

    /// Returns the wake callback if the transport waits for bytes.
    mutating func takeWake() -> Wake? { connection.isAwaited.take() ? connection.wake : nil }

    /// Answers pings. If the peer does not read the answers, only the latest pings are answered (RFC 6455, section
    /// 5.5.3).
    mutating func answer(_ pings: [Data]) {
        connection.pongs = (connection.pongs + pings).suffix(Self.pongLimit)
        if bytes.count == 0 { writePongs() }
    }

    private mutating func writePongs() {
        for pong in connection.pongs { write { $0.writePong(pong, into: &$1) } }
        connection.pongs = []
    }

    /// Moves bytes to the transport's buffer. Returns the result, and the sender to resume after unlocking.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> (TransportBodyRead, Sender?) {
        writePongs()
        let count = bytes.read(into: buffer)
        taken += UInt64(count)
        while let first = encoded.first, first.end <= taken { _ = encoded.popFirst() }
        if count > 0 { return (.bytes(count), nextSender()) }
        if connection.endsStream { return (.end, nil) }
        connection.isAwaited = true
        return (.pending, nextSender())
    }

    /// Handles the messages that the lost connection has not sent: puts up to `limit` bytes of them before the messages
    /// that wait, and drops the others. Returns the number of dropped messages. Messages of the hook for openings
    /// belong to their connection alone, and do not count.
    mutating func settleUnsent(keeping limit: Int) -> Int {
        var unsent = encoded.takeAll().filter { !$0.isOfHook }.map(\.message) + waiting.takeAll()
        bytes.removeAll()
        (written, taken, waitingSize) = (0, 0, 0)
        var size = unsent.reduce(0) { $0 + $1.size }
        var dropped = 0
        while size > limit, dropped < unsent.count {
            size -= unsent[dropped].size
            dropped += 1
        }
        unsent.removeFirst(dropped)
        for message in unsent { accept(message) }
        return dropped
    }

    // MARK: Closing

    /// Adds a close after the bytes that are already there, and after the pongs that wait: the peer ignores what
    /// follows a close.
    mutating func sendClose(_ code: WebSocketCloseCode, _ reason: String) {
        guard !connection.hasSentClose else { return }
        writePongs()
        connection.hasSentClose = true
        write { $0.writeClose(code, reason: reason, into: &$1) }
    }

    /// Prepares for another attempt to connect.
    mutating func beginAttempt(key: String) {
        attempt += 1
        phase = .connecting
        connection = Connection(key: key)
    }

    mutating func open(_ head: ResponseHead, age: @escaping @Sendable () -> Duration) {
        phase = .greeting
        openings += 1
        connection.opening = (head, age)
    }

    /// Notes the end of the request. Returns its description.
    mutating func end(_ error: RequestError?) -> WebSocketClose {
        let close = self.close
        phase = .closing
        ending = (close, error)
        connection.endsStream = true
        return close
    }

    /// Notes that the hook begins. Returns false if the connection has ended already.
    mutating func begin(_ hook: Hook) -> Bool {
        guard attempt == hook.attempt, phase == .greeting, !connection.hasStreamEnded else { return false }
        self.hook = hook
        return true
    }

    /// Keeps the task of the hook. Returns false if the hook is no longer awaited.
    mutating func keep(_ task: Task<Void, Never>) -> Bool {
        hook?.task = task
        return hook != nil
    }

    /// Returns the hook of an attempt, which the caller resumes after unlocking, or the hook that runs.
    mutating func takeHook(of attempt: UInt64? = nil) -> Hook? {
        attempt == nil || hook?.attempt == attempt ? hook.take() : nil
    }

    /// Returns the outcome of a connection whose bytes have ended: success after a close, otherwise the error.
    ///
    /// - Parameter codes: The codes of the peer's close that count as a lost connection.
    func outcome(
        _ error: (any Error)?, reconnectingAfter codes: Set<WebSocketCloseCode>
    ) -> Result<Void, any Error> {
        if let failure = connection.failure { return .failure(failure) }
        if ownClose != nil { return .success(()) }
        guard let peerClose = connection.peerClose else {
            let lost = RequestError(.connectionLost, "the server closed the connection without a WebSocket close")
            return .failure(error ?? lost)
        }
        guard codes.contains(peerClose.code) else { return .success(()) }
        return .failure(
            RequestError(.connectionLost, "the server closed the WebSocket with the code \(peerClose.code)"))
    }

    mutating func takeTimers() -> [DeadlineTimer?] {
        defer { (closeTimer, pingTimer, readersTimer) = (nil, nil, nil) }
        return [closeTimer, pingTimer, readersTimer]
    }

    /// The description of the end.
    var close: WebSocketClose {
        if let violation = connection.failure?.underlying as? WebSocketViolation {
            return WebSocketClose(code: violation.code, reason: violation.message, isClean: false, byPeer: false)
        }
        if let peerClose = connection.peerClose, peerClose.isFirst {
            return WebSocketClose(code: peerClose.code, reason: peerClose.reason, isClean: true, byPeer: true)
        }
        guard let ownClose else { return .lost }
        return WebSocketClose(
            code: ownClose.code, reason: ownClose.reason, isClean: connection.peerClose != nil, byPeer: false)
    }
}

extension Bool {
    /// Sets the value to false, and returns the value before.
    fileprivate mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
