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
    }

    private let base: any TransportBodyStream
    private let packetSize: Int
    private let pause: @Sendable () async throws -> Void
    /// Rings when a packet is used up: what nobody reads costs no time.
    private let (packets, packetIsOver) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let box: Protected<State>

    init(_ base: any TransportBodyStream, packetSize: Int, pause: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.packetSize = packetSize
        self.pause = pause
        box = Protected(State(left: packetSize))
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        base.begin(wake: wake)
        // One task for the whole body, which ends with it, or with the pause that it finds under way.
        Task {
            for await _ in packets {
                try? await pause()  // a clock that fails must not hold the body for ever
                let isAwaited = box.withLock { state in
                    defer { state.isAwaited = false }
                    state.left = packetSize
                    return state.isAwaited
                }
                if isAwaited { wake() }
            }
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let left = box.withLock { state in
            state.isAwaited = state.left == 0
            return state.left
        }
        guard left > 0 else { return .pending }
        let read = base.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(left)))
        guard case .bytes(let count) = read else { return read }
        let isOver = box.withLock { state in
            state.left -= min(count, state.left)
            return state.left == 0
        }
        if isOver { packetIsOver.yield() }
        return read
    }

    func end() {
        base.end()
        packetIsOver.finish()
    }
}
