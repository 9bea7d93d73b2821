/// The readers of a WebSocket's messages and their buffers, guarded by a lock of ``WebSocketCore``.
struct WebSocketReaders {
    typealias Continuation = LarkspurCore.Continuation<Result<[WebSocketMessage], any Error>>

    /// The messages of one reader that it has not taken yet.
    struct Buffer {
        /// The reader; nil for the messages that wait for the next reader.
        let reader: UInt64?
        var messages: [WebSocketMessage] = []
        var size = 0
        var waiter: Continuation?
        var hasBegun = false
    }

    private enum End { case open, ended(RequestError?) }

    private var buffers = [Buffer(reader: nil)]
    private var numbers: UInt64 = 0
    private var end = End.open
    /// Whether messages are discarded, because a close was sent or no reader needs them.
    private var isDiscarding = false
    /// Whether a caller waits for the end of the request, so that messages without a reader must not hold it up.
    private var isEndAwaited = false
    /// Whether ``areWaiting(orLater:)`` no longer waits for readers.
    private var isImpatient = false
    /// Continues the reading when the readers allow it; nil unless the reading is paused.
    private var resume: (@Sendable () -> Void)?
    let limit: Int

    init(limit: Int) { self.limit = max(1, limit) }

    /// Whether the reading waits for room.
    var isPaused: Bool { resume != nil }

    /// Adds a reader, and returns its number. The first reader gets the messages that wait.
    mutating func add() -> UInt64 {
        numbers += 1
        if let index = buffers.firstIndex(where: { $0.reader == nil }) {
            let earlier = buffers.remove(at: index)
            buffers.append(Buffer(reader: numbers, messages: earlier.messages, size: earlier.size))
        } else {
            buffers.append(Buffer(reader: numbers))
        }
        return numbers
    }

    /// Removes a reader.
    ///
    /// - Parameters:
    ///   - rest: The messages that the reader has taken from its buffer, but not delivered.
    ///   - leavesMessages: Whether the next reader continues where the last one has ended.
    /// - Returns: Whether the connection has lost its last reader, and the closure that continues the reading.
    mutating func remove(
        _ reader: UInt64, rest: ArraySlice<WebSocketMessage>, leavesMessages: Bool
    ) -> (isLast: Bool, resume: (@Sendable () -> Void)?) {
        guard let index = index(of: reader) else { return (false, nil) }
        let buffer = buffers.remove(at: index)
        guard buffers.isEmpty else { return (false, takeResume()) }
        // A reader that was never iterated leaves its messages, too.
        guard leavesMessages || !buffer.hasBegun else { return (true, takeResume()) }
        let size = rest.reduce(buffer.size) { $0 + $1.bufferedSize }
        buffers.append(Buffer(reader: nil, messages: rest + buffer.messages, size: size))
        return (false, takeResume())
    }

    private func index(of reader: UInt64) -> Int? { buffers.firstIndex { $0.reader == reader } }

    // MARK: The side of the connection

    /// Returns the number of bytes of messages for which there is room; 0 if the reading has to pause. In this case,
    /// keeps the closure that continues the reading.
    mutating func room(orLater later: @escaping @Sendable () -> Void) -> Int {
        if isDiscarding || buffers.isEmpty { return .max }
        if case .ended = end { return .max }
        var room = limit - (buffers.map(\.size).max() ?? 0)
        if room <= 0, isEndAwaited, let only = buffers.first, only.reader == nil {
            buffers[0] = Buffer(reader: nil)
            isDiscarding = true
            room = .max
        }
        if room <= 0 { resume = later }
        return max(0, room)
    }

    /// Returns whether all readers have received their messages and wait for more. Otherwise, keeps the closure that
    /// continues the reading.
    mutating func areWaiting(orLater later: @escaping @Sendable () -> Void) -> Bool {
        if isDiscarding || isImpatient { return true }
        if case .ended = end { return true }
        let areWaiting = buffers.allSatisfy { !$0.hasBegun || $0.waiter != nil }
        if !areWaiting { resume = later }
        return areWaiting
    }

    /// Makes ``areWaiting(orLater:)`` return true.
    mutating func stopWaiting() -> (@Sendable () -> Void)? {
        isImpatient = true
        return resume.take()
    }

    /// Adds messages to all buffers. Returns the waiting readers with their messages, to resume after unlocking.
    mutating func receive(_ messages: [WebSocketMessage], size: Int) -> [(Continuation, [WebSocketMessage])] {
        guard !isDiscarding, case .open = end else { return [] }
        var resumed: [(Continuation, [WebSocketMessage])] = []
        for index in buffers.indices {
            if let waiter = buffers[index].waiter.take() {
                resumed.append((waiter, messages))
            } else if buffers[index].messages.isEmpty {
                buffers[index].messages = messages
                buffers[index].size = size
            } else {
                buffers[index].messages += messages
                buffers[index].size += size
            }
        }
        return resumed
    }

    /// Discards all messages from now on. Waiting readers continue to wait for the end.
    mutating func discard() -> (@Sendable () -> Void)? {
        isDiscarding = true
        for index in buffers.indices { (buffers[index].messages, buffers[index].size) = ([], 0) }
        return takeResume()
    }

    mutating func awaitEnd() -> (@Sendable () -> Void)? {
        isEndAwaited = true
        return resume.take()  // the reading looks for room again
    }

    /// Prepares for another connection of the same request.
    mutating func beginAgain() { (resume, isImpatient) = (nil, false) }

    /// Ends the sequences of all readers after the messages that they have.
    mutating func end(_ error: RequestError?) -> [Continuation] {
        guard case .open = end else { return [] }
        end = .ended(error)
        resume = nil
        return buffers.indices.compactMap { buffers[$0].waiter.take() }
    }

    // MARK: The side of a reader

    enum Answer {
        case messages([WebSocketMessage], resume: (@Sendable () -> Void)?)
        case end(RequestError?)
        case wait(resume: (@Sendable () -> Void)?)
    }

    /// Returns the messages of the reader or the end. Otherwise keeps the continuation.
    mutating func next(_ reader: UInt64, _ waiter: Continuation) -> Answer {
        guard let index = index(of: reader) else { return .end(nil) }
        buffers[index].hasBegun = true
        if !buffers[index].messages.isEmpty {
            let messages = buffers[index].messages
            (buffers[index].messages, buffers[index].size) = ([], 0)
            return .messages(messages, resume: takeResume())
        }
        if case .ended(let error) = end { return .end(error) }
        precondition(buffers[index].waiter == nil, "an iterator of messages is used by one task at a time")
        buffers[index].waiter = waiter
        return .wait(resume: takeResume())
    }

    mutating func takeWaiter(_ reader: UInt64) -> Continuation? {
        index(of: reader).flatMap { buffers[$0].waiter.take() }
    }

    private mutating func takeResume() -> (@Sendable () -> Void)? {
        let isFull = !isDiscarding && buffers.contains { $0.size >= limit }
        return isFull ? nil : resume.take()
    }
}

/// One reader of a WebSocket's messages, registered from its creation until its release.
final class WebSocketMessageReader: Sendable {
    let request: WebSocketRequest
    let automaticallyClosing: Bool
    private let number: UInt64
    /// The messages that the reader has taken from its buffer, and the index of the next one.
    private let taken = Protected<(messages: [WebSocketMessage], next: Int)>(([], 0))

    init(_ request: WebSocketRequest, automaticallyClosing: Bool) {
        self.request = request
        self.automaticallyClosing = automaticallyClosing
        number = request.socket.readers.withLock { $0.add() }
    }

    deinit { leave() }

    func next(isolation: isolated (any Actor)?) async throws -> WebSocketMessage? {
        guard !Task.isCancelled else {
            leave()
            throw CancellationError()
        }
        if let message = takeNext() { return message }
        let socket = request.socket
        request.handle.core.demand()
        let result = await suspended(isolation: isolation) { (waiter: WebSocketReaders.Continuation) in
            switch socket.readers.withLock({ $0.next(number, waiter) }) {
            case .messages(let messages, let resume):
                waiter.resume(returning: .success(messages))
                resume?()
            case .end(let error): waiter.resume(returning: error.map { .failure($0) } ?? .success([]))
            case .wait(let resume): resume?()
            }
        } onCancel: {
            socket.readers.withLock { $0.takeWaiter(number) }?.resume(returning: .failure(CancellationError()))
        }
        do {
            let messages = try result.get()
            guard !messages.isEmpty else { return nil }
            taken.withLock { $0 = (messages, 1) }
            return messages[0]
        } catch let error as RequestError where !error.isCancelled {
            throw error
        } catch {
            leave()
            throw CancellationError()
        }
    }

    private func takeNext() -> WebSocketMessage? {
        // After a cancel of the request, the next access to the buffer tells the reader.
        if request.socket.isCut.isRaised { return nil }
        return taken.withLock { taken in
            guard taken.next < taken.messages.count else { return nil }
            defer {
                taken.next += 1
                if taken.next == taken.messages.count { taken = ([], 0) }
            }
            return taken.messages[taken.next]
        }
    }

    private func leave() {
        let rest = taken.withLock { taken in
            defer { taken = ([], 0) }
            return taken.messages[taken.next...]
        }
        let (isLast, resume) = request.socket.readers.withLock {
            $0.remove(number, rest: rest, leavesMessages: !automaticallyClosing)
        }
        // After a cancel of the request, there is no connection to close.
        if isLast, !request.socket.isCut.isRaised { request.socket.beginClose(.goingAway, "") }
        resume?()
    }
}
