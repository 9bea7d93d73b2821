/// A bounded pipe of body bytes from the transport to one reader.
///
/// The transport's side never waits: bytes are always accepted, and the bound is kept by telling the transport how far
/// it may go, as an absolute position (`capacity` beyond what was read). At most one buffer more than that is held. A channel
/// with a share of a budget may hold less (`BufferBudget`).
package final class ByteChannel: Sendable {
    private typealias Reader = Suspension<Result<Data?, any Error>>
    /// Tells the transport how far it may go.
    package typealias Allow = @Sendable (UInt64) -> Void
    /// Takes bytes; or refuses, and has `give()` called when there is room for them.
    package typealias Taker = @Sendable (Data) -> Bool

    private enum End {
        case open
        case ended(RequestError?)
        /// The reader went away; bytes are dropped.
        case abandoned
    }

    private struct State {
        /// What waits, from `first` on.
        var chunks: [Data] = []
        var first = 0
        var received: UInt64 = 0
        var read: UInt64 = 0
        var reader: (number: UInt64, continuation: Reader)?
        var readers: UInt64 = 0
        var end = End.open
        /// Whether bytes are dropped because the request was cancelled.
        var isCut = false
        /// Whether the reader has got the end of the body.
        var isOver = false
        var allow: Allow?
        /// Who takes the bytes as they come, in place of a reader; one thread at a time gives them.
        var taker: Taker?
        var isGiving = false
        var givesAgain = false

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

    // Guarded by the box
    private let box = Protected(State())

    package init(capacity: UInt64 = 1 << 20, budget: BufferBudget? = nil) {
        self.capacity = capacity
        share = budget.map { BufferShare(of: $0, capacity: capacity) }
    }

    /// How far the transport may go before the channel has any bytes.
    package var initialAllowance: UInt64 { share?.initialAllowance ?? capacity }

    package var buffered: UInt64 { box.withLock { $0.received - $0.read } }

    /// Connects the channel to the hop that fills it: `allow` is called with the position it may go to.
    ///
    /// Positions count within a hop, so they begin again; what an earlier hop left unread is dropped.
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

    /// The transport's side: the next bytes.
    package func receive(_ bytes: Data) {
        guard !bytes.isEmpty else { return }
        let action: (reader: Reader?, allow: Allow?, consumed: UInt64) = box.withLock { state in
            let isFirst = state.received == 0
            state.received += UInt64(bytes.count)
            switch state.end {
            case .ended: return (nil, nil, 0)
            case .open where !state.isCut:
                // The budget counts what the reader works on, so there is more room when the reader comes back.
                let shared = share != nil && isFirst ? state.allow : nil
                guard state.taker == nil, let reader = state.reader else {
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
        guard let reader = action.reader else { return give() }
        reader.resume(returning: .success(bytes))
    }

    /// Tells the budget and the transport how much the reader has consumed; after the end of the hop the budget alone.
    private func advance(_ allow: Allow?, behind consumed: UInt64) {
        guard let allow else { share?.consume(upTo: consumed); return }
        allow(share?.advance(behind: consumed) ?? consumed + capacity)
    }

    /// The end of the body: what waits can still be read, then the end or the error follows.
    package func end(_ error: RequestError?) {
        let (reader, received, released) = box.withLock { state -> (Reader?, UInt64, Allow?) in
            guard case .open = state.end else { return (nil, state.received, nil) }
            state.end = .ended(error)
            // Who takes has the rest first.
            if state.taker != nil { return (nil, state.received, nil) }
            defer {
                state.allow = nil
                state.reader = nil
            }
            state.isOver = state.reader != nil && error == nil
            return (state.reader?.continuation, state.received, state.allow)
        }
        withExtendedLifetime(released) {}
        share?.end(at: received)
        guard let reader else { return give() }
        reader.resume(returning: error.map { .failure($0) } ?? .success(nil))
    }

    /// Gives the taker what waits, unless another thread is about it.
    package func give() {
        let isMine = box.withLock { state in
            guard state.taker != nil else { return false }
            if state.isGiving { state.givesAgain = true }
            return state.isGiving.raise()
        }
        guard isMine else { return }
        while let (taker, bytes) = nextToGive() {
            let isTaken = taker(bytes)
            let (goesOn, allow, consumed) = box.withLock { state in
                if isTaken, state.next != nil {  // which another hop, or a reader's leaving, may have dropped
                    _ = state.takeFirst()
                    state.read += UInt64(bytes.count)
                }
                if !isTaken { state.isGiving = state.givesAgain }
                defer { state.givesAgain = false }
                return (isTaken || state.givesAgain, isTaken ? state.allow : nil, state.read)
            }
            if let allow { advance(allow, behind: consumed) }
            guard goesOn else { return }
        }
    }

    /// Nil when nothing waits; at the end whoever waits for it is told.
    private func nextToGive() -> (Taker, Data)? {
        let (next, ended, reader, _) = box.withLock {
            state -> ((Taker, Data)?, RequestError??, Reader?, released: (Taker?, Allow?)) in
            if let taker = state.taker, let bytes = state.next { return ((taker, bytes), nil, nil, (nil, nil)) }
            state.isGiving = false
            guard case .ended(let error) = state.end else { return (nil, nil, nil, (nil, nil)) }
            defer { (state.taker, state.reader, state.allow) = (nil, nil, nil) }
            return (nil, .some(error), state.reader?.continuation, (state.taker, state.allow))
        }
        if let ended { reader?.resume(returning: ended.map { .failure($0) } ?? .success(nil)) }
        return next
    }

    /// Has the bytes taken on the threads that they come from, or that make room for them, without one of the reader's own.
    /// Returns at the end.
    package func read(by taker: @escaping Taker) async throws {
        box.withLock { $0.taker = taker }
        defer { _ = box.withLock { $0.taker.take() } }
        _ = try await next()
    }

    /// The reader's side: the next bytes, nil at the end. One reader at a time, which is woken on its own actor.
    package func next(isolation: isolated (any Actor)? = #isolation) async throws -> Data? {
        let number = box.withLock { state in
            state.readers += 1
            return state.readers
        }
        return try await suspended(isolation: isolation) { (continuation: Reader) in
            read(number, continuation)
        } onCancel: {
            cancelReader(number)
        }.get()
    }

    /// The reader will not come again: bytes are thrown away from now on, so that the hop can end.
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

    /// The request was cancelled: drops what waits and what is still to come. The reader gets the end next.
    ///
    /// - Parameter error: What the reader gets if the body has ended well, and the reader does not know that yet.
    package func cut(_ error: RequestError) {
        let action = box.withLock { state -> (allow: Allow?, consumed: UInt64) in
            switch state.end {
            case .open: state.isCut = true
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
            if state.taker == nil, state.first < state.chunks.count {
                let bytes = state.takeFirst()
                let before = state.read
                state.read += UInt64(bytes.count)
                return .bytes(bytes, allow: state.allow, consumed: share == nil ? state.read : before)
            }
            switch state.end {
            case .ended(let error) where state.taker == nil:
                state.isOver = error == nil
                return .end(error, consumed: state.read)
            case .abandoned: return .end(nil, consumed: state.read)
            case .open, .ended:
                state.reader = (number, continuation)
                return .wait(allow: share == nil ? nil : state.allow, consumed: state.read)
            }
        }
        switch answer {
        case .wait(let allow, let consumed):
            advance(allow, behind: consumed)
            give()
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
