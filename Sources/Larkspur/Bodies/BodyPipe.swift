/// A bounded buffer between the producer of a body and the transport that reads it. The producer has its own task or
/// thread.
///
/// While the buffer is full, the producer waits. While the buffer is empty, the transport gets `.pending`, and is woken
/// when bytes arrive. A declared length is exact: the last byte is delivered only after the producer has finished. So a
/// body that is longer than declared, or fails at its end, never looks complete.
final class BodyPipe: TransportBodyStream {
    /// Starts the producer, and returns a closure that stops it.
    typealias Start = @Sendable (BodyPipe) -> @Sendable () -> Void

    private enum End {
        case open
        case finished
        case failed(TransportError)
        case abandoned
    }

    private struct State {
        var ring: ByteRing
        var end = End.open
        var written: UInt64 = 0
        var delivered: UInt64 = 0
        /// Whether the transport was told `.pending` and waits for its wake callback.
        var isAwaited = false
        var wake: (@Sendable () -> Void)?
        var resumeProducer: (@Sendable () -> Void)?
        var stop: (@Sendable () -> Void)?

        /// Returns the transport's wake callback if it waits for one.
        mutating func takeWake() -> (@Sendable () -> Void)? {
            defer { isAwaited = false }
            return isAwaited ? wake : nil
        }
    }

    static let capacity = 256 * 1_024

    private let length: UInt64?
    private let earlier: EarlierSends?
    private let start: Start
    private let box: Protected<State>

    init(length: UInt64?, earlier: EarlierSends? = nil, start: @escaping Start) {
        self.length = length
        self.earlier = earlier
        self.start = start
        // One byte more than the length of a short body, so that its producer never blocks before it calls `finish`.
        let capacity = length.map { Int(clamping: min($0, UInt64(Self.capacity - 1)) + 1) } ?? Self.capacity
        box = Protected(State(ring: ByteRing(capacity: capacity)))
    }

    // MARK: The transport's side

    func begin(wake: @escaping @Sendable () -> Void) {
        box.withLock { $0.wake = wake }
        let stop = start(self)
        let isTooLate = box.withLock { state in
            switch state.end {
            case .open: state.stop = stop
            case .abandoned: return true
            case .finished, .failed: break
            }
            return false
        }
        if isTooLate { stop() }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let (read, resumeProducer) = box.withLock { state -> (TransportBodyRead, (@Sendable () -> Void)?) in
            var available = state.ring.count
            switch state.end {
            case .open: if let length, state.delivered + UInt64(available) == length, available > 0 { available -= 1 }
            case .finished: if available == 0 { return (.end, nil) }
            case .failed(let error): return (.failed(error), nil)
            case .abandoned: return (.end, nil)
            }
            guard available > 0 else {
                state.isAwaited = true
                return (.pending, nil)
            }
            let count = state.ring.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(available)))
            state.delivered += UInt64(count)
            // Resumes the producer only when half of the buffer is free, because switching threads for every read would
            // cost more than copying the bytes.
            return (.bytes(count), state.ring.count <= state.ring.capacity / 2 ? state.resumeProducer.take() : nil)
        }
        resumeProducer?()
        return read
    }

    func end() {
        let (resumeProducer, stop, _, _) = box.withLock { state in
            defer { state.end = .abandoned }
            state.ring.clear()
            if case .open = state.end { earlier?.note(state.written) }
            return (state.resumeProducer.take(), state.stop.take(), state.wake.take(), state.end)
        }
        resumeProducer?()
        stop?()
    }

    // MARK: The producer's side

    /// Writes as many bytes as fit, from the first one on, and returns their count; nil if the transport needs no more
    /// bytes.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let (count, wake) = box.withLock { state -> (Int?, (@Sendable () -> Void)?) in
            guard case .open = state.end else { return (nil, nil) }
            if let length, UInt64(bytes.count) > length - state.written {
                state.end = .failed(.bodyFailed("the body is longer than its declared length of \(length) bytes"))
                return (nil, state.takeWake())
            }
            let count = state.ring.write(bytes)
            state.written += UInt64(count)
            return (count, count > 0 ? state.takeWake() : nil)
        }
        wake?()
        return count
    }

    /// Calls the closure once: when the buffer has room, or when the transport needs no more bytes.
    func whenThereIsRoom(_ resumeProducer: @escaping @Sendable () -> Void) {
        let waits = box.withLock { state in
            guard case .open = state.end, state.ring.count == state.ring.capacity else { return false }
            state.resumeProducer = resumeProducer
            return true
        }
        if !waits { resumeProducer() }
    }

    func finish(_ error: TransportError? = nil) {
        let (stop, wake) = box.withLock { state in
            if case .open = state.end {
                if let error {
                    state.end = .failed(error)
                } else if let length, state.written < length {
                    state.end = .failed(.bodyFailed("the body ended after \(state.written) of \(length) bytes"))
                } else if let problem = earlier?.problem(withEndAt: state.written) {
                    state.end = .failed(.bodyFailed(problem))
                } else {
                    state.end = .finished
                }
            }
            return (state.stop.take(), state.takeWake())
        }
        withExtendedLifetime(stop) {}
        wake?()
    }
}

/// The longest length so far of a body without a declared length, over all times it was sent.
///
/// If a closure returns the same `AsyncStream` each time, the body is shorter or empty when the request is sent again.
/// Such a body must not look complete to the server.
final class EarlierSends: Sendable {
    private let longest = Protected<UInt64>(0)

    func note(_ count: UInt64) { longest.withLock { $0 = max($0, count) } }

    /// Returns the reason why the body must not end here; nil if it may.
    func problem(withEndAt count: UInt64) -> String? {
        let before = longest.withLock { longest in
            defer { longest = max(longest, count) }
            return longest
        }
        guard count < before else { return nil }
        return "the body ended after \(count) bytes, but an earlier send had \(before); the closure must make a new "
            + "sequence each time"
    }
}
