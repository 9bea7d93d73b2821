/// A hub that delivers a body to any number of readers, at the speed of the slowest reader.
///
/// A reader gets the bytes that arrive after its registration. The body waits for the first reader. When all readers
/// have left, the rest of the body is discarded. After the first byte was delivered, or a task has got the head, the
/// request is not retried: its readers would get the start of the body twice, or a body that is not of this head.
final class StreamHub: BodyReceiver {
    /// A reader's channel, and the position in the body up to which it has room.
    private struct Reader {
        let channel: ByteChannel
        /// The position in the body where the channel's bytes start.
        let base: UInt64
        var room: UInt64
        var hasBegun = false
        /// The hub's expectation before this reader was registered. The hub restores this expectation if the reader
        /// leaves an unstarted request without reading.
        let before: ReaderExpectation
    }

    /// The treatment of the body while there are no readers. With `expected`, the body waits for a reader. With `gone`,
    /// all readers have left, and with `unneeded`, a caller awaits only the end of the request; then the body is
    /// discarded.
    private enum ReaderExpectation { case expected, gone, unneeded }

    private enum Stage {
        case open
        case ended(RequestError?)
    }

    private struct State {
        var stage = Stage.open
        var readers: [ObjectIdentifier: Reader] = [:]
        var expectation = ReaderExpectation.expected
        var sent: UInt64 = 0
        /// Continues the delivery when the readers have room; nil unless the delivery waits for room.
        var continuation: (@Sendable () -> Void)?
        /// Whether the request was cancelled, so that no more bytes are delivered.
        var isCancelled = false

        var hasRoom: Bool {
            if case .ended = stage { return true }
            if isCancelled { return true }
            return readers.isEmpty ? expectation != .expected : readers.values.allSatisfy { $0.room > sent }
        }

        mutating func takeContinuation() -> (@Sendable () -> Void)? { hasRoom ? continuation.take() : nil }
    }

    /// The maximum number of body bytes to hold. Up to three quarters wait in the hop's channel, which all readers
    /// share. Up to a quarter waits in each reader's own channel.
    let limit: UInt64
    /// A flag that is raised when the request is cancelled. Readers check the flag before each element.
    let isCut = AtomicFlag()
    /// The head of the response, for tasks that wait for it.
    let opening = StreamOpening()
    private let box = Protected(State())

    init(limit: Int) { self.limit = UInt64(max(4, limit)) }

    // MARK: The readers' side

    func register() -> ByteChannel {
        let channel = ByteChannel(capacity: limit / 4)
        let id = ObjectIdentifier(channel)
        channel.connect { [weak self] position in self?.allow(id, upTo: position) }
        let (stage, continuation) = box.withLock { state in
            state.readers[id] = Reader(
                channel: channel, base: state.sent, room: state.sent + channel.capacity, before: state.expectation)
            if state.expectation == .gone { state.expectation = .expected }
            return (state.stage, state.takeContinuation())
        }
        continuation?()
        if case .ended(let error) = stage { channel.end(error) }
        return channel
    }

    func begin(_ channel: ByteChannel) {
        box.withLock { $0.readers[ObjectIdentifier(channel)]?.hasBegun = true }
    }

    /// Removes a reader, and returns whether no reader needs the body any more. This is the case for the last reader,
    /// if that reader had begun to read, or if the started request was waiting for it.
    ///
    /// The caller calls the returned closure after it has cancelled a request without readers. The closure delivers
    /// the rest of the body, and may thereby finish the request.
    ///
    /// - Parameter isStarted: Whether the request has started. A request that has not started may still get other
    ///   readers.
    func leave(_ channel: ByteChannel, isStarted: Bool) -> (isLast: Bool, proceed: (@Sendable () -> Void)?) {
        let (isLast, continuation) = box.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard let reader = state.readers.removeValue(forKey: ObjectIdentifier(channel)), state.readers.isEmpty
            else { return (false, state.takeContinuation()) }
            let wasExpected = isStarted && state.expectation == .expected && reader.before == .expected
            if state.expectation == .expected {
                state.expectation = reader.hasBegun || isStarted ? .gone : reader.before
            }
            return (reader.hasBegun || wasExpected, state.takeContinuation())
        }
        channel.abandon()
        return (isLast, continuation)
    }

    /// The number of delivered bytes.
    var sent: UInt64 { box.withLock { $0.sent } }

    var isUnread: Bool { box.withLock { $0.readers.isEmpty } }

    /// Stops waiting for readers, because a caller awaits the end of the request. Without readers, the body is
    /// discarded.
    func stopExpectingReaders() {
        let continuation = box.withLock { state in
            state.expectation = .unneeded
            return state.takeContinuation()
        }
        continuation?()
    }

    private func allow(_ id: ObjectIdentifier, upTo position: UInt64) {
        let continuation = box.withLock { state -> (@Sendable () -> Void)? in
            guard let reader = state.readers[id], reader.room < reader.base + position else { return nil }
            state.readers[id]?.room = reader.base + position
            return state.takeContinuation()
        }
        continuation?()
    }

    // MARK: The pipeline's side

    var capacity: UInt64 { limit - limit / 4 }

    var preparesRequests: Bool { false }
    var canBeginAgain: Bool { sent == 0 }

    func retriers(among interceptors: [any RequestInterceptor]) -> [any RequestInterceptor] {
        canBeginAgain && opening.reopen() ? interceptors : []
    }

    var isPrompt: Bool { true }

    func begin(_ exchange: CompletedExchange) { beginAtOnce(exchange) }

    func beginAtOnce(_ exchange: CompletedExchange) {
        if let head = exchange.head { opening.settle(head) }
    }

    func receive(_ bytes: Data) async {
        await suspended { (continuation: Continuation<Void>) in
            if hasRoom(or: { continuation.resume() }) { continuation.resume() }
        }
        deliver(bytes)
    }

    func consumer(of body: ByteChannel) -> ByteChannel.Consumer? {
        { [self] bytes in
            guard hasRoom(or: { body.deliver() }) else { return false }
            deliver(bytes)
            return true
        }
    }

    /// Returns whether the next bytes can be delivered. If not, stores the closure, which is called once all readers
    /// have room.
    private func hasRoom(or later: @escaping @Sendable () -> Void) -> Bool {
        box.withLock { state in
            if !state.hasRoom { state.continuation = later }
            return state.hasRoom
        }
    }

    private func deliver(_ bytes: Data) {
        let channels = box.withLock { state -> [ByteChannel] in
            if state.isCancelled { return [] }
            state.sent += UInt64(bytes.count)
            return state.readers.values.map(\.channel)
        }
        for channel in channels { channel.receive(bytes) }
    }

    func finish(
        _ exchange: CompletedExchange, _ error: (any Error)?, telling tell: @Sendable (RequestEvent) -> Void
    ) throws {
        if let error { throw error }
    }

    func stopDelivering() {
        let (channels, continuation) = box.withLock { state in
            state.isCancelled = true
            return (state.readers.values.map(\.channel), state.takeContinuation())
        }
        for channel in channels { channel.discardRest(.requestCancelled) }
        // Raise the flag last. A reader that sees the flag drops its bytes and reads from its channel. The reader must
        // then find the error of the cancel there, and not the end of the body.
        isCut.raise()
        continuation?()
    }

    func end(_ error: RequestError?) {
        let (channels, error, continuation) = box.withLock { state in
            // A request can succeed although it is being cancelled. Its readers have still missed bytes, so each reader
            // gets an error.
            let error = error ?? (state.isCancelled ? .requestCancelled : nil)
            state.stage = .ended(error)
            return (state.readers.values.map(\.channel), error, state.takeContinuation())
        }
        for channel in channels { channel.end(error) }
        opening.end(error)
        continuation?()
    }
}
