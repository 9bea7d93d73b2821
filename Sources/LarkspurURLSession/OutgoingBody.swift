/// A streamed request body, as `URLSession` reads it.
///
/// The stream that `URLSession` reads asks for bytes with `read`. If none are available, it asks again when `isReady`
/// was called.
final class OutgoingBody: Sendable {
    enum Bytes {
        case count(Int)
        case pending
        case end
        case failed
    }

    private struct State {
        var count: UInt64 = 0
        var hasBegun = false
        var isSuspended = false
        var isReading = false
        var hasEnded = false
        var isClosed = false
        var isReady: (@Sendable () -> Void)?
        #if canImport(Darwin)
            var kept: (any AnyObject & Sendable)?
        #endif
    }

    private let source: any TransportBodyStream
    private let length: UInt64?
    private let fail: @Sendable (TransportError) -> Void
    private let box = Protected(State())

    /// - Parameters:
    ///   - length: The declared length; nil if it is unknown.
    ///   - fail: Called if the body cannot be read completely (T24).
    init(_ source: any TransportBodyStream, length: UInt64?, fail: @escaping @Sendable (TransportError) -> Void) {
        self.source = source
        self.length = length
        self.fail = fail
    }

    /// The number of bytes that were read.
    var count: UInt64 { box.withLock(\.count) }
    /// Whether the body was read to its end.
    var hasEnded: Bool { box.withLock(\.hasEnded) }
    /// Whether the body was ended before `URLSession` needs no more of it.
    var isClosed: Bool { box.withLock(\.isClosed) }

    /// Sets the closure that is called whenever `read` may have another result than before.
    /// A body that was ended keeps no closure.
    func whenReady(_ act: @escaping @Sendable () -> Void) {
        let replaced = box.withLock { state in
            let old = state.isReady
            if !state.isClosed { state.isReady = act }
            return old
        }
        withExtendedLifetime(replaced) {}  // released after unlocking
    }

    func setSuspended(_ isSuspended: Bool) {
        box.withLock { $0.isSuspended = isSuspended }
        if !isSuspended { notify() }
    }

    private func notify() { box.withLock { $0.isReady }?() }

    /// Reads bytes. Only one thread reads at a time.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Bytes {
        let (state, begins) = box.withLock { state in
            if !state.isClosed, !state.isSuspended, !state.hasEnded { state.isReading = true }
            return (state, state.isReading && state.hasBegun.setOnce())
        }
        if state.isClosed { return .failed }
        if state.hasEnded { return .end }
        if state.isSuspended { return .pending }
        if begins { source.begin { [weak self] in self?.notify() } }
        let room = length.map { Int(clamping: min($0 - state.count, UInt64(buffer.count))) } ?? buffer.count
        if room == 0 { return finish(.end) }
        switch source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(room))) {
        case .bytes(let count): return finish(.count(count))
        case .pending: return finish(.pending)
        case .end:
            guard let length, state.count < length else { return finish(.end) }
            return failed(.bodyFailed("the body ended after \(state.count) of \(length) bytes"))
        case .failed(let error):
            let own = error as? TransportError
            return failed(own?.code == .bodyFailed ? own : .bodyFailed("the body cannot be read: \(error)", error))
        }
    }

    /// Notes the end of a read. If the body was ended meanwhile, its source is ended now.
    private func finish(_ bytes: Bytes) -> Bytes {
        let endsSource = box.withLock { state in
            state.isReading = false
            if case .count(let count) = bytes { state.count += UInt64(count) }
            if case .end = bytes { state.hasEnded = true }
            return state.isClosed
        }
        if endsSource { source.end() }
        return endsSource ? .failed : bytes
    }

    private func failed(_ error: TransportError?) -> Bytes {
        _ = finish(.failed)
        fail(error ?? .bodyFailed("the body cannot be read"))
        return .failed
    }

    #if canImport(Darwin)
        /// Keeps an object alive until the platform's task has ended.
        func keepUntilGone(_ object: any AnyObject & Sendable) { box.withLock { $0.kept = object } }

        /// Notes that the platform's task has ended. The kept object is released after unlocking.
        func gone() { _ = box.withLock { $0.kept.take() } }
    #endif

    /// Ends the body: nothing more is read. A read that runs on another thread ends the source.
    func end() {
        let endsSource = box.withLock { state in
            state.isClosed.setOnce() && !state.isReading
        }
        if endsSource { source.end() }
        let isReady = box.withLock { $0.isReady.take() }  // called and released after unlocking
        isReady?()
    }
}
