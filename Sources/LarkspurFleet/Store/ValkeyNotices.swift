import Larkspur
internal import LarkspurAnnex

/// The notices of changed values, which the scripts publish.
///
/// A notice that is published while there is no connection is lost. Each new subscription is therefore an element for
/// its sequences.
final class ValkeyNotices: ValkeyDuty {
    private typealias Watchers = [UInt64: AsyncStream<Void>.Continuation]

    private struct State {
        var watchers: [[UInt8]: Watchers] = [:]
        var lastWatcher: UInt64 = 0
        var output: [[[UInt8]]] = []
        var isConnected = false
        /// When the server is asked for a sign of life, or has to have given it.
        var nextCheck: SuspendingClock.Instant?
        var isAsked = false
    }

    private let state = Guarded(State())
    private let patience: Duration

    init(patience: Duration) { self.patience = patience }

    private static func command(_ name: String, _ channel: [UInt8]) -> [[UInt8]] { [Array(name.utf8), channel] }

    /// Adds a sequence, and returns its number. The worker has to be woken.
    func add(_ continuation: AsyncStream<Void>.Continuation, to channel: [UInt8]) -> UInt64 {
        state.withLock { state in
            state.lastWatcher += 1
            if state.watchers[channel] == nil, state.isConnected {
                state.output.append(Self.command("SUBSCRIBE", channel))
            }
            state.watchers[channel, default: [:]][state.lastWatcher] = continuation
            return state.lastWatcher
        }
    }

    /// Removes a sequence. The worker has to be woken.
    func remove(_ number: UInt64, from channel: [UInt8]) {
        let removed = state.withLock { state in
            let removed = state.watchers[channel]?.removeValue(forKey: number)
            guard state.watchers[channel]?.isEmpty == true else { return removed }
            state.watchers[channel] = nil
            if state.isConnected { state.output.append(Self.command("UNSUBSCRIBE", channel)) }
            return removed
        }
        withExtendedLifetime(removed) {}  // it is released outside of the lock
    }

    // MARK: The worker's calls

    var needsConnection: Bool { state.withLock { !$0.watchers.isEmpty } }

    var keepsConnection: Bool {
        state.withLock { state in
            if state.watchers.isEmpty { (state.isConnected, state.output, state.nextCheck) = (false, [], nil) }
            return !state.watchers.isEmpty
        }
    }

    var nextCheck: SuspendingClock.Instant? { state.withLock { $0.nextCheck } }

    func didConnect(_ connection: ValkeyConnection) {
        state.withLock { state in
            state.isConnected = true
            state.output = state.watchers.keys.map { Self.command("SUBSCRIBE", $0) }
            (state.nextCheck, state.isAsked) = (.now + patience, false)
        }
    }

    func nextCommand(for connection: ValkeyConnection) -> [[UInt8]]? {
        state.withLock { $0.output.isEmpty ? nil : $0.output.removeFirst() }
    }

    func didReceive(_ reply: ValkeyReply) throws(ValkeyFailure) {
        if case .error(let text) = reply { throw ValkeyFailure(StoreError(server: text)) }
        guard case .array(let parts) = reply, parts.count >= 2, let kind = parts[0].text else {
            throw ValkeyFailure(StoreError(.unavailable, "the server has sent another reply than a notice"))
        }
        let channel: [UInt8]? = if case .bytes(let name) = parts[1] { Array(name) } else { nil }
        let isNews = kind == "subscribe" || kind == "message"
        let watchers = state.withLock { state in
            (state.nextCheck, state.isAsked) = (.now + patience, false)
            return isNews ? channel.flatMap { state.watchers[$0] } : nil
        }
        for watcher in (watchers ?? [:]).values { watcher.yield() }
    }

    func didFail(_ failure: ValkeyFailure) {
        state.withLock { ($0.isConnected, $0.output, $0.nextCheck) = (false, [], nil) }
    }

    func check(at now: SuspendingClock.Instant) throws(ValkeyFailure) {
        let isSilent = state.withLock { state in
            guard let next = state.nextCheck, next <= now else { return false }
            guard !state.isAsked else { return true }
            state.output.append([Array("PING".utf8)])
            (state.nextCheck, state.isAsked) = (now + patience, true)
            return false
        }
        if isSilent { throw ValkeyFailure(StoreError(.unavailable, "the server has not answered in time")) }
    }
}
