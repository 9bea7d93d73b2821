/// Pings, which measure the way to the server and detect dead connections.
extension WebSocketCore {
    /// Sends a ping, and waits for its pong.
    nonisolated(nonsending) func ping() async throws -> Duration {
        _ = try await opened()
        let payload = Self.payload(link.withLock { $0.nextNumber() })
        return try await suspended { (continuation: Continuation<Result<Duration, any Error>>) in
            if !sendPing(payload, waiter: continuation) {
                continuation.resume(returning: .failure(Self.closed))
            }
        } onCancel: {
            endPing(payload)?.waiter?.resume(returning: .failure(CancellationError()))
        }.get()
    }

    private static func payload(_ number: UInt64) -> Data {
        withUnsafeBytes(of: number.bigEndian) { Data($0) }
    }

    /// Sends a ping. Returns false if the connection is not open.
    private func sendPing(_ payload: Data, waiter: Continuation<Result<Duration, any Error>>?) -> Bool {
        let elapsed = clock.stopwatch()
        let (isSent, wake) = link.withLock { link -> (Bool, WebSocketLink.Wake?) in
            guard link.phase == .open else { return (false, nil) }
            link.pings.append(WebSocketLink.Ping(payload: payload, elapsed: elapsed, waiter: waiter))
            link.write { $0.writePing(payload, into: &$1) }
            return (true, link.takeWake())
        }
        guard isSent else { return false }
        emit(.sendPing)
        awaitPong(payload)
        wake?()
        return true
    }

    private func endPing(_ payload: Data) -> WebSocketLink.Ping? {
        let ping = link.withLock { link -> WebSocketLink.Ping? in
            guard let index = link.pings.firstIndex(where: { $0.payload == payload }) else { return nil }
            return link.pings.remove(at: index)
        }
        ping?.timer?.cancel()
        return ping
    }

    func endPings(_ error: RequestError) {
        let pings = link.withLock { link in
            defer { link.pings = [] }
            return link.pings
        }
        for ping in pings {
            ping.timer?.cancel()
            ping.waiter?.resume(returning: .failure(error))
        }
    }

    /// Handles a pong. It answers its ping and all earlier ones, because a peer may answer only the latest ping.
    func receivePong(_ payload: Data) {
        let answered = link.withLock { link -> [WebSocketLink.Ping] in
            guard let index = link.pings.firstIndex(where: { $0.payload == payload }) else { return [] }
            defer { link.pings.removeFirst(index + 1) }
            return Array(link.pings[...index])
        }
        for ping in answered {
            let time = ping.elapsed()
            ping.timer?.cancel()
            emit(.receivePong(after: time))
            ping.waiter?.resume(returning: .success(time))
        }
    }

    // MARK: Timers

    /// Sends the next ping after the interval, if the options have one.
    func schedulePing() {
        guard let interval = options.pingInterval, interval > .zero else { return }
        let attempt = link.withLock { $0.attempt }
        let timer = DeadlineTimer(on: clock, after: { interval }) { [weak self] in
            guard let self, link.withLock({ $0.attempt == attempt && $0.phase == .open }) else { return }
            // While a ping is not answered yet, another one would say nothing new.
            if link.withLock({ $0.pings.allSatisfy { $0.waiter != nil } }) {
                _ = sendPing(Self.payload(link.withLock { $0.nextNumber() }), waiter: nil)
            }
            schedulePing()
        }
        let useless = link.withLock { link -> DeadlineTimer? in
            guard link.attempt == attempt, link.phase == .open else { return timer }
            defer { link.pingTimer = timer }
            return link.pingTimer
        }
        useless?.cancel()
    }

    /// Limits the time until the pong. Bytes of a long message and a pause of the reading extend the time.
    private func awaitPong(_ payload: Data) {
        let (limit, before) = (options.pongTimeout, progress)
        let timer = DeadlineTimer(on: clock, after: { limit }) { [weak self] in
            guard let self, link.withLock({ $0.pings.contains { $0.payload == payload } }) else { return }
            let now = progress
            if now.isPaused || now.isInMessage && now.received != before.received { return awaitPong(payload) }
            missPong(payload)
        }
        let useless = link.withLock { link -> DeadlineTimer? in
            guard let index = link.pings.firstIndex(where: { $0.payload == payload }) else { return timer }
            defer { link.pings[index].timer = timer }
            return link.pings[index].timer
        }
        useless?.cancel()
    }

    private var progress: (isPaused: Bool, isInMessage: Bool, received: UInt64) {
        let isPaused = readers.withLock { $0.isPaused }
        return parser.withLock { (isPaused, $0.reader?.isInMessage == true, $0.received) }
    }

    /// Handles a ping without a pong: tells its caller, or ends the connection if the session has sent the ping.
    private func missPong(_ payload: Data) {
        guard let ping = endPing(payload) else { return }
        let limit = options.pongTimeout
        if let waiter = ping.waiter {
            return waiter.resume(
                returning: .failure(
                    RequestError(.timedOut, "the server did not answer a ping within \(limit.readable)")))
        }
        let isFirst = link.withLock { link -> Bool in
            guard link.phase == .open, link.connection.failure == nil else { return false }
            link.connection.failure = RequestError(
                .connectionLost,
                "the server did not answer a ping within \(limit.readable), so the connection counts as lost")
            link.phase = .closing
            return true
        }
        guard isFirst else { return }
        resumeSender()
        core?.endHop()
    }
}
