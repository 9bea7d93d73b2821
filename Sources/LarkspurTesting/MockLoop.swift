internal import CLarkspur
import Larkspur

/// The loop of a `MockServer`'s thread. The loop owns all sockets of the server: it accepts connections, reads, writes
/// and runs timers.
final class MockLoop {
    private struct Timer {
        let time: ContinuousClock.Instant
        let connection: MockConnectionID
    }

    private static let batch = 256

    private let listener: Int32
    private let state: MockServerState
    private let commands: MockCommandQueue
    private let waker: MockWaker
    private var poller: clarkspur_poller
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var connections: [Int32: MockConnection] = [:]
    /// The timers, the latest first.
    private var timers: [Timer] = []
    private var isRunning = true

    init(listener: Int32, state: MockServerState, commands: MockCommandQueue, waker: MockWaker) {
        self.listener = listener
        self.state = state
        self.commands = commands
        self.waker = waker
        poller = waker.poller
    }

    deinit { buffer.deallocate() }

    /// Runs until the server is stopped. Then closes all descriptors except the poller's.
    func run() {
        isRunning = clarkspur_poller_watch(&poller, listener, 0, Int32(clarkspur_read))
        var ready = [clarkspur_ready](repeating: clarkspur_ready(), count: Self.batch)
        while isRunning {
            let count = clarkspur_poller_wait(&poller, &ready, Int32(Self.batch), millisecondsToNextTimer())
            for event in ready.prefix(Int(count)) { didBecomeReady(event) }
            for command in commands.take() { perform(command) }
            fireTimers()
        }
        for connection in connections.values { end(connection) }
        close(listener)
        commands.close()
    }

    private func didBecomeReady(_ event: clarkspur_ready) {
        if event.descriptor == listener { return acceptAll() }
        guard let connection = connections[event.descriptor] else { return }
        connection.didBecomeReady(event.interest, buffer)
        advance(connection)
    }

    private func acceptAll() {
        while case let descriptor = clarkspur_loopback_accept(listener), descriptor >= 0 {
            let connection = MockConnection(descriptor: descriptor, number: state.didAccept()) { [state] request in
                state.route(for: request)
            }
            connections[descriptor] = connection
            advance(connection)
        }
    }

    private func perform(_ command: MockCommandQueue.Command) {
        switch command {
        case .play(let response, let id): with(id) { $0.play(response) }
        case .proceed(let id): with(id) { $0.proceed() }
        case .write(let bytes, let id): with(id) { $0.write(bytes) }
        case .setReading(let reads, let id): with(id) { $0.setReading(reads) }
        case .endSocket(let id, let isReset): with(id) { $0.endSocket(isReset: isReset) }
        case .close(let id): connections[id.descriptor].map { if $0.number == id.number { end($0) } }
        case .stop: isRunning = false
        }
    }

    private func with(_ id: MockConnectionID, _ body: (MockConnection) -> Void) {
        guard let connection = connections[id.descriptor], connection.number == id.number else { return }
        body(connection)
        advance(connection)
    }

    private func advance(_ connection: MockConnection) {
        let id = MockConnectionID(descriptor: connection.descriptor, number: connection.number)
        var need = connection.advance()
        while case .answer(let request, let handler) = need {
            state.didReceive(request)
            switch handler {
            case .missing:
                connection.play(state.missing(request))
                need = connection.advance()
            case .responses(let left):
                connection.play(
                    left.withLock { left in
                        defer { left.first = left.later.popFirst() ?? left.first }
                        return left.first
                    })
                need = connection.advance()
            case .closure(let closure):
                connection.work = Task { [commands] in  // one task per request: the handler is asynchronous
                    commands.post(.play(await closure(request), on: id))
                }
                need = .peer
            }
        }
        switch need {
        case .peer, .answer: break
        case .signal(let closure):
            connection.work = Task { [commands] in  // one task for each pause, to await the test's closure
                do {
                    try await closure()
                    commands.post(.proceed(id))
                } catch {
                    commands.post(.close(id))
                }
            }
        case .webSocket(let socket, let handler):
            socket.attach(
                MockWebSocket.Wire { [commands] in
                    commands.post(.write($0, on: id))
                } end: { [commands] in
                    commands.post(.endSocket(id, isReset: $0))
                } setReading: { [commands] in
                    commands.post(.setReading($0, on: id))
                })
            connection.work = Task { await socket.run(handler) }  // one task per WebSocket
        case .time(let duration): add(Timer(time: .now + duration, connection: id))
        case .close: return end(connection)
        }
        watch(connection, connection.interest)
    }

    private func watch(_ connection: MockConnection, _ interest: Int32) {
        guard connection.watched != interest else { return }
        _ = clarkspur_poller_watch(&poller, connection.descriptor, connection.watched, interest)
        connection.watched = interest
    }

    private func end(_ connection: MockConnection) {
        watch(connection, 0)
        connection.work?.cancel()
        connection.didEnd()
        connections[connection.descriptor] = nil
        close(connection.descriptor)
        state.didClose()
    }

    // MARK: Time

    private func add(_ timer: Timer) {
        var (low, high) = (0, timers.count)
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].time > timer.time { low = middle + 1 } else { high = middle }
        }
        timers.insert(timer, at: low)
    }

    /// Returns the milliseconds to the next timer, or -1 if there is no timer. The number is rounded up, so that the
    /// timer is due when the wait ends.
    private func millisecondsToNextTimer() -> Int32 {
        guard let next = timers.last else { return -1 }
        let rest = max(.zero, ContinuousClock.now.duration(to: next.time)) + .microseconds(999)
        return Int32(clamping: Int64(rest / .milliseconds(1)))
    }

    private func fireTimers() {
        guard !timers.isEmpty else { return }
        let now = ContinuousClock.now
        while let timer = timers.last, timer.time <= now {
            timers.removeLast()
            with(timer.connection) { $0.proceed() }
        }
    }
}
