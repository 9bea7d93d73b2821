/// A bounded channel of body bytes from the transport to one reader.
///
/// The transport never waits. The channel accepts all bytes, and tells the transport the absolute position up to which
/// bytes may be delivered: `capacity` bytes beyond the reader's position. The channel holds at most one chunk more than
/// `capacity`. A channel with a share of a ``BufferBudget`` may hold less.
package final class ByteChannel: Sendable {
    private typealias Reader = Continuation<Result<Data?, any Error>>
    /// Tells the transport the position up to which bytes may be delivered.
    package typealias Allow = @Sendable (UInt64) -> Void
    /// Consumes the bytes and returns true, or returns false if the consumer has no room. The owner of the consumer
    /// calls `deliver()` when the consumer has room again.
    package typealias Consumer = @Sendable (Data) -> Bool
    /// Called with the error of the body; nil if the body is complete.
    package typealias Ending = @Sendable (RequestError?) -> Void

    private enum End {
        case open
        case ended(RequestError?)
        /// The reader has left, and the channel discards all bytes.
        case abandoned
    }

    private struct State {
        /// The waiting bytes, from the index `first` on.
        var chunks: [Data] = []
        var first = 0
        var received: UInt64 = 0
        var read: UInt64 = 0
        var reader: (number: UInt64, continuation: Reader)?
        var lastReader: UInt64 = 0
        var end = End.open
        /// Whether bytes are discarded because the request was cancelled.
        var isDiscarding = false
        /// Whether the reader has received the end of the body.
        var isOver = false
        var allow: Allow?
        /// The closures that get the bytes as they arrive, and the end, in place of a reader. One thread at a time
        /// calls them.
        var consumer: (consume: Consumer, end: Ending)?
        var isDelivering = false
        var deliversAgain = false

        var next: Data? { first < chunks.count ? chunks[first] : nil }

        mutating func takeFirst() -> Data {
            let bytes = chunks[first]
            chunks[first] = Data()
            first += 1
            if first > 32, first > chunks.count / 2 {
                chunks.removeFirst(first)
                first = 0
            }
            return bytes
        }

        mutating func drop() {
            chunks = []
            first = 0
        }
    }

    // Immutable
    package let capacity: UInt64
    private let share: BufferShare?

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    package init(capacity: UInt64 = 1 << 20, budget: BufferBudget? = nil) {
        self.capacity = capacity
        share = budget.map { BufferShare(of: $0, capacity: capacity) }
    }

    /// The position that the transport may deliver up to before the channel has received any bytes.
    package var initialAllowance: UInt64 { share?.initialAllowance ?? capacity }

    package var buffered: UInt64 { box.withLock { $0.received - $0.read } }

    /// Connects the channel to the hop that fills it.
    ///
    /// Positions are counted within a hop, so they start at zero again. Unread bytes of an earlier hop are discarded.
    ///
    /// - Parameter allow: Called with the position that the transport may deliver up to.
    package func connect(allow: @escaping Allow) {
        let released = box.withLock { state in
            defer { state.allow = allow }
            state.drop()
            state.received = 0
            state.read = 0
            return state.allow
        }
        withExtendedLifetime(released) { allow(initialAllowance) }
    }

    /// Receives the next bytes from the transport.
    package func receive(_ bytes: Data) {
        guard !bytes.isEmpty else { return }
        let action: (reader: Reader?, allow: Allow?, consumed: UInt64) = box.withLock { state in
            let isFirst = state.received == 0
            state.received += UInt64(bytes.count)
            switch state.end {
            case .ended: return (nil, nil, 0)
            case .open where !state.isDiscarding:
                // With a budget, bytes count as held until the reader asks for more bytes, because the reader still has
                // them in memory. Only then does the channel report these bytes as consumed. At the first chunk, the
                // channel reports position 0, to get more room than the initial minimum.
                let shared = share != nil && isFirst ? state.allow : nil
                guard let reader = state.reader else {
                    state.chunks.append(bytes)
                    return (nil, shared, 0)
                }
                state.reader = nil
                state.read += UInt64(bytes.count)
                return share == nil ? (reader.continuation, state.allow, state.read) : (reader.continuation, shared, 0)
            case .open, .abandoned:
                state.read = state.received
                return (nil, state.allow, state.read)
            }
        }
        if let allow = action.allow { advance(allow, behind: action.consumed) }
        guard let reader = action.reader else { return deliver() }
        reader.resume(returning: .success(bytes))
    }

    /// Reports the reader's position to the budget and the transport. After the hop's end, `allow` is nil, and only the
    /// budget gets the position.
    private func advance(_ allow: Allow?, behind consumed: UInt64) {
        guard let allow else { share?.consume(upTo: consumed); return }
        allow(share?.advance(behind: consumed) ?? consumed + capacity)
    }

    /// Ends the body. The reader first gets the waiting bytes, and then the end or the error.
    package func end(_ error: RequestError?) {
        let (reader, received, released) = box.withLock { state -> (Reader?, UInt64, Allow?) in
            guard case .open = state.end else { return (nil, state.received, nil) }
            state.end = .ended(error)
            // The consumer gets the remaining bytes before the end.
            if state.consumer != nil { return (nil, state.received, nil) }
            defer {
                state.allow = nil
                state.reader = nil
            }
            state.isOver = state.reader != nil && error == nil
            return (state.reader?.continuation, state.received, state.allow)
        }
        withExtendedLifetime(released) {}
        share?.end(at: received)
        guard let reader else { return deliver() }
        reader.resume(returning: error.map { .failure($0) } ?? .success(nil))
    }

    /// Delivers the waiting bytes to the consumer, unless another thread is doing so.
    package func deliver() {
        let isMine = box.withLock { state in
            guard state.consumer != nil else { return false }
            if state.isDelivering { state.deliversAgain = true }
            return state.isDelivering.setOnce()
        }
        guard isMine else { return }
        while let (consumer, bytes) = nextDelivery() {
            let isConsumed = consumer(bytes)
            let (goesOn, allow, consumed) = box.withLock { state in
                if isConsumed, state.next != nil {  // `connect` and `abandon` discard waiting bytes
                    _ = state.takeFirst()
                    state.read += UInt64(bytes.count)
                }
                if !isConsumed { state.isDelivering = state.deliversAgain }
                defer { state.deliversAgain = false }
                return (isConsumed || state.deliversAgain, isConsumed ? state.allow : nil, state.read)
            }
            if let allow { advance(allow, behind: consumed) }
            guard goesOn else { return }
        }
    }

    /// Returns the consumer and the next bytes for it, or nil if no bytes wait. Tells the consumer the end of the body.
    private func nextDelivery() -> (Consumer, Data)? {
        let (next, ended, released, _) = box.withLock {
            state -> ((Consumer, Data)?, RequestError?, released: (consume: Consumer, end: Ending)?, Allow?) in
            if let consumer = state.consumer, let bytes = state.next {
                return ((consumer.consume, bytes), nil, nil, nil)
            }
            state.isDelivering = false
            guard case .ended(let error) = state.end else { return (nil, nil, nil, nil) }
            defer { (state.consumer, state.allow) = (nil, nil) }
            return (nil, error, state.consumer, state.allow)
        }
        released?.end(ended)
        return next
    }

    /// Passes the bytes to the consumer, and then the end of the body. The threads that deliver bytes or make room call
    /// both closures, so no task has to wait. If the channel is released before its end, `end` is not called.
    package func deliver(to consumer: @escaping Consumer, end: @escaping Ending) {
        box.withLock { $0.consumer = (consumer, end) }
        deliver()
    }

    /// Returns the next bytes; nil at the end. Only one reader may wait at a time. The reader resumes on the actor
    /// `isolation`.
    package func next(isolation: isolated (any Actor)? = #isolation) async throws -> Data? {
        let number = box.withLock { state in
            state.lastReader += 1
            return state.lastReader
        }
        return try await suspended(isolation: isolation) { (continuation: Reader) in
            read(number, continuation)
        } onCancel: {
            cancelReader(number)
        }.get()
    }

    /// Discards all bytes from now on, because the reader has left. The transport can then deliver the rest, so that
    /// the hop ends.
    package func abandon() {
        let action = box.withLock { state -> (allow: Allow?, consumed: UInt64) in
            guard case .open = state.end else { return (nil, 0) }
            state.end = .abandoned
            state.drop()
            state.read = state.received
            return (state.allow, state.read)
        }
        advance(action.allow, behind: action.consumed)
    }

    /// Discards waiting and further bytes after the request was cancelled. The reader next gets the end of the body or
    /// an error.
    ///
    /// - Parameter error: The reader's error if the body has ended successfully but the reader has not received the end
    ///   yet.
    package func discardRest(_ error: RequestError) {
        let action = box.withLock { state -> (allow: Allow?, consumed: UInt64) in
            switch state.end {
            case .open: state.isDiscarding = true
            case .ended(let earlier): if !state.isOver { state.end = .ended(earlier ?? error) }
            case .abandoned: break
            }
            state.drop()
            state.read = state.received
            return (state.allow, state.read)
        }
        advance(action.allow, behind: action.consumed)
    }

    private enum Answer: Sendable {
        case wait(allow: Allow?, consumed: UInt64)
        case bytes(Data, allow: Allow?, consumed: UInt64)
        case end(RequestError?, consumed: UInt64)
    }

    private func read(_ number: UInt64, _ continuation: Reader) {
        let answer = box.withLock { state -> Answer in
            precondition(state.reader == nil, "a byte channel has one reader at a time")
            if state.first < state.chunks.count {
                let bytes = state.takeFirst()
                let before = state.read
                state.read += UInt64(bytes.count)
                return .bytes(bytes, allow: state.allow, consumed: share == nil ? state.read : before)
            }
            switch state.end {
            case .ended(let error):
                state.isOver = error == nil
                return .end(error, consumed: state.read)
            case .abandoned: return .end(nil, consumed: state.read)
            case .open:
                state.reader = (number, continuation)
                return .wait(allow: share == nil ? nil : state.allow, consumed: state.read)
            }
        }
        switch answer {
        case .wait(let allow, let consumed):
            advance(allow, behind: consumed)
        case .bytes(let bytes, let allow, let consumed):
            advance(allow, behind: consumed)
            continuation.resume(returning: .success(bytes))
        case .end(let error, let consumed):
            advance(nil, behind: consumed)
            continuation.resume(returning: error.map { .failure($0) } ?? .success(nil))
        }
    }

    private func cancelReader(_ number: UInt64) {
        let reader = box.withLock { state -> Reader? in
            guard let reader = state.reader, reader.number == number else { return nil }
            state.reader = nil
            return reader.continuation
        }
        reader?.resume(returning: .failure(CancellationError()))
    }
}
