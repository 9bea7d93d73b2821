import CLarkspurFleet
import Larkspur
internal import LarkspurAnnex

/// The use of a connection. The worker calls all functions on its thread.
protocol ValkeyDuty: Sendable {
    /// Whether a connection has to be made.
    var needsConnection: Bool { get }
    /// Whether a connection that was made is still of use.
    var keepsConnection: Bool { get }
    /// The next time at which `check(at:)` must be called.
    var nextCheck: SuspendingClock.Instant? { get }

    func didConnect(_ connection: ValkeyConnection)
    /// Returns the next command to send.
    func nextCommand(for connection: ValkeyConnection) -> [[UInt8]]?
    /// Takes a reply. A failure closes the connection.
    func didReceive(_ reply: ValkeyReply) throws(ValkeyFailure)
    /// The connection has ended, or could not be made.
    func didFail(_ failure: ValkeyFailure)
    /// Ends commands whose time is over. A failure closes the connection.
    func check(at now: SuspendingClock.Instant) throws(ValkeyFailure)
}

/// A thread with one connection, which it makes again when it has ended, after pauses that grow up to a second.
final class ValkeyWorker: Sendable {
    private struct State {
        var isStarted = false
        var isStopped = false
        /// The connection that another thread has made, or why it has not.
        var arrived: Result<ValkeyConnection, ValkeyFailure>?
    }

    private static let pauses = (first: Duration.milliseconds(10), longest: Duration.seconds(1))
    /// Output beyond this many bytes waits in the duty until the server has taken some.
    private static let maximumOutput = 256 << 10

    private let duty: any ValkeyDuty
    private let connector: ValkeyConnector
    private let state = Guarded(State())
    private let (reading, writing): (Int32, Int32)

    init(_ duty: any ValkeyDuty, _ connector: ValkeyConnector) throws(StoreError) {
        (self.duty, self.connector) = (duty, connector)
        var ends: [Int32] = [-1, -1]
        guard clarkspur_make_pipe(&ends) else {
            throw StoreError(.unavailable, "the process has no file descriptor left")
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit { clarkspur_close_pipe([reading, writing]) }

    /// Makes the thread look at its duty. The first call starts the thread. Returns false if that fails, or if the
    /// worker was stopped: its thread may have looked for the last time.
    func wake() -> Bool {
        let (mustStart, isStopped) = state.withLock { state in
            defer { state.isStarted = true }
            return (!state.isStarted && !state.isStopped, state.isStopped)
        }
        if isStopped { return false }
        guard mustStart else {
            clarkspur_wake(writing)
            return true
        }
        if Self.startThread({ self.run() }) { return true }
        state.withLock { $0.isStarted = false }
        return false
    }

    /// Ends the thread and its connection.
    func stop() {
        state.withLock { $0.isStopped = true }
        clarkspur_wake(writing)
    }

    private static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
        final class Start: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let start = Unmanaged.passRetained(Start(body))
        let isStarted = clarkspur_start_thread(
            { context in
                if let context { Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body() }
            }, start.toOpaque())
        if !isStarted { start.release() }
        return isStarted
    }

    // MARK: The thread

    /// The state of the thread alone.
    private struct Work {
        var connection: ValkeyConnection?
        var isConnecting = false
        /// Attempts and short connections that have failed in a row.
        var failures = 0
        var start: SuspendingClock.Instant?
        /// No connection is made before.
        var pause: SuspendingClock.Instant?
    }

    private func run() {
        var work = Work()
        while !state.withLock({ $0.isStopped }) {
            do throws(ValkeyFailure) {
                try takeConnection(&work)
                try startConnecting(&work)
                try duty.check(at: .now)
                try send(work.connection)
                try turn(work)
                try receive(work)
            } catch {
                work.connection?.close()
                let isShort = work.start.map { .now - $0 < Self.pauses.longest } ?? true
                work.failures = isShort ? work.failures + 1 : 1
                (work.connection, work.start) = (nil, nil)
                work.pause = .now + Self.pause(after: work.failures)
                duty.didFail(error)
            }
        }
        work.connection?.close()
        if case .success(let connection) = state.withLock({ $0.arrived }) { connection.close() }
        let reason = StoreError(.unavailable, "the connection to the server was given up")
        duty.didFail(ValkeyFailure(reason, isLasting: true))
    }

    /// Half of the pause is random, so that many processes do not come at the same time.
    private static func pause(after failures: Int) -> Duration {
        let pause = min(pauses.first * (1 << min(failures - 1, 10)), pauses.longest)
        return pause * Double.random(in: 0.5...1)
    }

    private func takeConnection(_ work: inout Work) throws(ValkeyFailure) {
        let arrived = state.withLock { state in
            defer { state.arrived = nil }
            return state.arrived
        }
        if let connection = work.connection, !duty.keepsConnection {
            connection.close()
            work.connection = nil
        }
        guard let arrived else { return }
        work.isConnecting = false
        let connection = try arrived.get()
        (work.connection, work.start) = (connection, .now)
        duty.didConnect(connection)
    }

    /// Connects on another thread, because the resolution of a name has no time limit.
    private func startConnecting(_ work: inout Work) throws(ValkeyFailure) {
        guard work.connection == nil, !work.isConnecting, duty.needsConnection, work.pause.map({ $0 <= .now }) ?? true
        else { return }
        work.isConnecting = true
        let isStarted = Self.startThread {
            let result = Result { () throws(ValkeyFailure) in try self.connector.connect() }
            let isLate = self.state.withLock { state in
                if !state.isStopped { state.arrived = result }
                return state.isStopped
            }
            if isLate, case .success(let connection) = result { connection.close() }
            clarkspur_wake(self.writing)
        }
        guard !isStarted else { return }
        work.isConnecting = false
        throw ValkeyFailure(StoreError(.unavailable, "the process cannot start another thread"))
    }

    private func send(_ connection: ValkeyConnection?) throws(ValkeyFailure) {
        guard let connection, !connection.hasOutput else { return }
        var size = 0
        while size < Self.maximumOutput, let command = duty.nextCommand(for: connection) {
            try connection.append(command)
            size += command.reduce(0) { $0 + $1.count }
        }
    }

    private func turn(_ work: Work) throws(ValkeyFailure) {
        var next = duty.nextCheck
        if work.connection == nil, duty.needsConnection, !work.isConnecting, let pause = work.pause {
            next = min(next ?? pause, pause)
        }
        let patience = next.map { max($0 - .now, .zero) } ?? .seconds(3_600)
        if let connection = work.connection {
            try connection.turn(wake: reading, patience)
        } else {
            _ = clarkspur_valkey_turn(nil, reading, Int32(clamping: patience.wholeMilliseconds))
        }
    }

    private func receive(_ work: Work) throws(ValkeyFailure) {
        while let reply = try work.connection?.next() {
            try duty.didReceive(reply)
        }
    }
}
