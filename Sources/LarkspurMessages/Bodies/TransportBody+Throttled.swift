extension TransportBody {
    /// Returns the body with a pause after each packet, to test slow networks or to save bandwidth for other transfers.
    ///
    /// - Parameter packetSize: The number of bytes between two pauses; 16 KiB by default.
    /// - Parameter pause: The pause after each packet; 200 milliseconds by default.
    /// - Parameter clock: The clock that measures the pauses.
    public func throttled(
        packetSize: Int = 16 * 1_024, pause: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> TransportBody {
        .stream(
            TransportBodySource(length: length, isReplayable: isReplayable, trailerNames: trailerNames) {
                ThrottledBodyStream(open(), packetSize: max(1, packetSize)) { try await clock.sleep(for: pause) }
            })
    }
}

/// A stream that delivers another stream's bytes in packets, with a pause after each packet.
private final class ThrottledBodyStream: TransportBodyStream {
    private struct State {
        var left: Int
        /// Whether a read has returned `.pending` because the whole packet was delivered, so that the transport waits
        /// for `wake`.
        var isAwaited = false
    }

    private let base: any TransportBodyStream
    private let packetSize: Int
    private let pause: @Sendable () async throws -> Void
    /// Gets an element when a whole packet has been delivered. The pause starts only then, so a body that the transport
    /// does not read needs no timer.
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
        // One task for the whole body. After `end()` the task ends at once, or after the current pause.
        Task {
            for await _ in packets {
                try? await pause()  // a failing clock must not block the body for ever
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

    var trailers: [HTTPHeader] { base.trailers }

    func end() {
        base.end()
        packetIsOver.finish()
    }
}
