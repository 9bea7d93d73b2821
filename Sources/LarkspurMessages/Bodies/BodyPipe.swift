/// A bounded buffer between the producer of a body and the transport that reads it. The producer has its own task or
/// thread.
///
/// While the buffer is full, the producer waits. While the buffer is empty, the transport gets `.pending`, and the pipe
/// wakes the transport when bytes arrive.
///
/// The pipe delivers the last byte of a declared length only after the producer has finished. Otherwise a server could
/// take the body as complete although the producer then fails or writes more bytes.
package final class BodyPipe: TransportBodyStream {
    /// A function that starts the producer, and returns a closure that stops the producer.
    package typealias Start = @Sendable (BodyPipe) -> @Sendable () -> Void

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
        /// Whether a read has returned `.pending`, and `wake` has not been called since.
        var isAwaited = false
        var wake: (@Sendable () -> Void)?
        var resumeProducer: (@Sendable () -> Void)?
        var stop: (@Sendable () -> Void)?

        /// Returns the wake callback if the transport waits for it, and clears `isAwaited`.
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

    package init(length: UInt64?, earlier: EarlierSends? = nil, start: @escaping Start) {
        self.length = length
        self.earlier = earlier
        self.start = start
        // The buffer has one byte more than a short body, so it never becomes full. The producer therefore reaches
        // `finish` without waiting for the transport.
        let capacity = length.map { Int(clamping: min($0, UInt64(Self.capacity - 1)) + 1) } ?? Self.capacity
        box = Protected(State(ring: ByteRing(capacity: capacity)))
    }

    // MARK: The transport's side

    package func begin(wake: @escaping @Sendable () -> Void) {
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

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
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
            // The producer is resumed only when half of the buffer is free, because switching threads for every read
            // would cost more than copying the bytes.
            return (.bytes(count), state.ring.count <= state.ring.capacity / 2 ? state.resumeProducer.take() : nil)
        }
        resumeProducer?()
        return read
    }

    package func end() {
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

    /// Writes the first bytes, as many as the buffer has room for, and returns their count. Returns nil if the
    /// transport needs no more bytes, or if the body is longer than declared.
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

    /// Calls the closure once: when the buffer has room, or when the transport needs no more bytes of the body.
    func whenThereIsRoom(_ resumeProducer: @escaping @Sendable () -> Void) {
        let waits = box.withLock { state in
            guard case .open = state.end, state.ring.count == state.ring.capacity else { return false }
            state.resumeProducer = resumeProducer
            return true
        }
        if !waits { resumeProducer() }
    }

    package func finish(_ error: TransportError? = nil) {
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

/// The byte count of the longest send so far, for a body without a declared length.
///
/// The user's closure makes a sequence for each send of the body. If the closure returns the same `AsyncStream` twice,
/// the first send has consumed the stream, and the second send is shorter or empty. The second send must then fail,
/// because the server would take the shorter body as complete.
package final class EarlierSends: Sendable {
    private let longest = Protected<UInt64>(0)

    func note(_ count: UInt64) { longest.withLock { $0 = max($0, count) } }

    /// Returns an error message if an earlier send had more than `count` bytes; nil if the body may end here.
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
