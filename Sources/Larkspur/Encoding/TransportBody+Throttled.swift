import LarkspurTransport

extension TransportBody {
    /// The same body, sent in packets with a pause after each: to see how a program does on a slow network, or to leave
    /// room for others on a narrow one.
    public func throttled(
        packetSize: Int = 16 * 1_024, pause: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> TransportBody {
        .stream(
            TransportBodySource(length: length, isReplayable: isReplayable) {
                ThrottledBodyStream(open(), packetSize: max(1, packetSize)) { try await clock.sleep(for: pause) }
            })
    }
}

/// Lets so many bytes of another stream through, then none until a pause has passed.
private final class ThrottledBodyStream: TransportBodyStream {
    private struct State {
        var left: Int
        /// Whether the transport was told `.pending` because nothing was left.
        var isAwaited = false
        var isOver = false
    }

    private let base: any TransportBodyStream
    private let packetSize: Int
    private let pause: @Sendable () async throws -> Void
    private let box: Protected<State>

    init(_ base: any TransportBodyStream, packetSize: Int, pause: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.packetSize = packetSize
        self.pause = pause
        box = Protected(State(left: packetSize))
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        base.begin(wake: wake)
        // One task for the whole body, which ends with the first pause that finds it over.
        Task {
            repeat {
                do { try await pause() } catch { return }
            } while refill(wake)
        }
    }

    private func refill(_ wake: @Sendable () -> Void) -> Bool {
        let (isAwaited, isOver) = box.withLock { state in
            defer { state.isAwaited = false }
            state.left = packetSize
            return (state.isAwaited, state.isOver)
        }
        if isAwaited { wake() }
        return !isOver
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let left = box.withLock { state in
            state.isAwaited = state.left == 0
            return state.left
        }
        guard left > 0 else { return .pending }
        let read = base.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(left)))
        // Refilled meanwhile, it is a little less than it might be, and never more.
        if case .bytes(let count) = read { box.withLock { $0.left = max(0, $0.left - count) } }
        return read
    }

    func end() {
        base.end()
        box.withLock { $0.isOver = true }
    }
}
