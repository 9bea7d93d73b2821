/// Hands a body on to any number of readers, as fast as the slowest of them.
///
/// A reader takes part from its registration on. Until there is one the body waits; when all have gone it is thrown away.
/// No byte is kept beyond what the readers' channels hold, so there is no second attempt once one was sent.
final class StreamHub: BodyReceiver {
    /// Where a reader takes its bytes, and up to which of the hub's bytes it has room.
    private struct Reader {
        let channel: ByteChannel
        /// The hub's position where the channel's begin.
        let base: UInt64
        var room: UInt64
        var hasBegun = false
        /// Whom the body was for when it came.
        let before: Audience
    }

    /// Whom the body is for while nobody reads.
    private enum Audience { case expected, gone, unneeded }

    private enum Stage {
        case open
        case ended(RequestError?)
    }

    private struct State {
        var stage = Stage.open
        var readers: [ObjectIdentifier: Reader] = [:]
        var audience = Audience.expected
        var sent: UInt64 = 0
        /// Goes on when there is room.
        var sender: (@Sendable () -> Void)?
        /// Whether the request was cancelled: nothing more is delivered.
        var isCut = false

        var hasRoom: Bool {
            if case .ended = stage { return true }
            if isCut { return true }
            return readers.isEmpty ? audience != .expected : readers.values.allSatisfy { $0.room > sent }
        }

        mutating func takeSender() -> (@Sendable () -> Void)? { hasRoom ? sender.take() : nil }
    }

    /// Of what may be held in all, most waits with the hop: what waits there is the same for all readers.
    let limit: UInt64
    /// Raised by a cancel. Readers look at it before each element.
    let isCut = Flag()
    private let box = Protected(State())

    init(limit: Int) { self.limit = UInt64(max(4, limit)) }

    // MARK: The readers' side

    func register() -> ByteChannel {
        let channel = ByteChannel(capacity: limit / 4)
        let id = ObjectIdentifier(channel)
        channel.connect { [weak self] position in self?.allow(id, upTo: position) }
        let (stage, sender) = box.withLock { state in
            state.readers[id] = Reader(
                channel: channel, base: state.sent, room: state.sent + channel.capacity, before: state.audience)
            if state.audience == .gone { state.audience = .expected }
            return (state.stage, state.takeSender())
        }
        sender?()
        if case .ended(let error) = stage { channel.end(error) }
        return channel
    }

    func begin(_ channel: ByteChannel) {
        box.withLock { $0.readers[ObjectIdentifier(channel)]?.hasBegun = true }
    }

    /// The reader takes no more. Says whether the body was for it, and is now for nobody.
    ///
    /// - Parameter isStarted: Whether the request is on its way: one that is not may yet get readers.
    func leave(_ channel: ByteChannel, isStarted: Bool) -> Bool {
        let (isLast, sender) = box.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard let reader = state.readers.removeValue(forKey: ObjectIdentifier(channel)), state.readers.isEmpty
            else { return (false, state.takeSender()) }
            let wasAwaited = isStarted && state.audience == .expected && reader.before == .expected
            if state.audience == .expected { state.audience = reader.hasBegun || isStarted ? .gone : reader.before }
            return (reader.hasBegun || wasAwaited, state.takeSender())
        }
        channel.abandon()
        sender?()
        return isLast
    }

    /// How many bytes were handed on.
    var sent: UInt64 { box.withLock { $0.sent } }

    var isUnread: Bool { box.withLock { $0.readers.isEmpty } }

    /// From now on the body waits for nobody who is not reading it: somebody wants the end.
    func expectNobody() {
        let sender = box.withLock { state in
            state.audience = .unneeded
            return state.takeSender()
        }
        sender?()
    }

    private func allow(_ id: ObjectIdentifier, upTo position: UInt64) {
        let sender = box.withLock { state -> (@Sendable () -> Void)? in
            guard let reader = state.readers[id], reader.room < reader.base + position else { return nil }
            state.readers[id]?.room = reader.base + position
            return state.takeSender()
        }
        sender?()
    }

    // MARK: The pipeline's side

    var capacity: UInt64 { limit - limit / 4 }

    var canBeginAgain: Bool { sent == 0 }

    func begin(_ exchange: CompletedExchange) {}

    func receive(_ bytes: Data) async {
        await suspended { (sender: Suspension<Void>) in
            if hasRoom(or: { sender.resume() }) { sender.resume() }
        }
        handOn(bytes)
    }

    func take(_ body: ByteChannel) async throws -> Bool {
        let later: @Sendable () -> Void = { body.give() }
        try await body.read { [self] bytes in
            guard hasRoom(or: later) else { return false }
            handOn(bytes)
            return true
        }
        return true
    }

    /// If not, the closure is called when there is.
    private func hasRoom(or later: @escaping @Sendable () -> Void) -> Bool {
        box.withLock { state in
            if !state.hasRoom { state.sender = later }
            return state.hasRoom
        }
    }

    private func handOn(_ bytes: Data) {
        let channels = box.withLock { state -> [ByteChannel] in
            if state.isCut { return [] }
            state.sent += UInt64(bytes.count)
            return state.readers.values.map(\.channel)
        }
        for channel in channels { channel.receive(bytes) }
    }

    func finish(_ exchange: CompletedExchange, telling tell: @Sendable (RequestEvent) -> Void) {}

    func stopDelivering() {
        let (channels, sender) = box.withLock { state in
            state.isCut = true
            return (state.readers.values.map(\.channel), state.takeSender())
        }
        for channel in channels { channel.cut(.requestCancelled) }
        // Last: a reader that drops what it has must find the end in its channel, and not the end of the body.
        isCut.raise()
        sender?()
    }

    func end(_ error: RequestError?) {
        let (channels, error, sender) = box.withLock { state in
            // A request that ends well while it is cancelled has ended well, but not for its readers.
            let error = error ?? (state.isCut ? .requestCancelled : nil)
            state.stage = .ended(error)
            return (state.readers.values.map(\.channel), error, state.takeSender())
        }
        for channel in channels { channel.end(error) }
        sender?()
    }
}
