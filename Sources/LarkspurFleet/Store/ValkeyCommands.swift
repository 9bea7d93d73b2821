import Larkspur
internal import LarkspurAnnex

/// The commands of a store, in the order of their calls. Those of concurrent callers are sent together.
final class ValkeyCommands: ValkeyDuty {
    private struct Command {
        /// The script; nil for `ASKING`.
        let script: ValkeyScript?
        let keys: [[UInt8]]
        let arguments: [[UInt8]]
        let end: SuspendingClock.Instant
        /// The server has forgotten the script, so its text is sent.
        var sendsText = false
        let resume: @Sendable (Result<ValkeyReply, StoreError>) -> Void

        /// A command that changes nothing can be sent again.
        var isRepeatable: Bool { script == .get }

        func parts(for connection: ValkeyConnection) -> [[UInt8]] {
            guard let script else { return [Array("ASKING".utf8)] }
            let hash = sendsText ? nil : connection.hashes[script]
            return [Array((hash == nil ? "EVAL" : "EVALSHA").utf8), hash ?? Array(script.text.utf8)]
                + [Array(String(keys.count).utf8)] + keys + arguments
        }
    }

    private struct State {
        var waiting = ValkeyQueue<Command>()
        var sent = ValkeyQueue<Command>()
        /// A time at or before the first end of a command. Ends are not in the order of the queues: a command that was
        /// redirected has an early one.
        var nextEnd: SuspendingClock.Instant?
        var isConnected = false
        /// Why there is no connection.
        var problem: StoreError?
    }

    private let state = Guarded(State())
    private let patience: Duration

    init(patience: Duration) { self.patience = patience }

    /// Adds a command. Returns whether the worker has to be woken.
    ///
    /// - Parameters:
    ///   - asks: Whether the command follows an `ASKING`. The server may not know the script then.
    ///   - end: The time at which the command fails; nil for the patience from now.
    func add(
        _ script: ValkeyScript, keys: [[UInt8]], arguments: [[UInt8]], asks: Bool = false,
        until end: SuspendingClock.Instant? = nil,
        resume: @escaping @Sendable (Result<ValkeyReply, StoreError>) -> Void
    ) -> Bool {
        let end = end ?? .now + patience
        let command = Command(
            script: script, keys: keys, arguments: arguments, end: end, sendsText: asks, resume: resume)
        let asking = Command(script: nil, keys: [], arguments: [], end: end) { _ in }
        return state.withLock { state in
            let isFirst = state.waiting.first == nil
            if asks { state.waiting.append(asking) }
            state.waiting.append(command)
            state.nextEnd = min(state.nextEnd ?? end, end)
            return isFirst
        }
    }

    /// Ends all commands that have not been sent.
    func fail(_ error: StoreError) {
        let commands = state.withLock { $0.waiting.removeAll() }
        for command in commands { command.resume(.failure(error)) }
    }

    // MARK: The worker's calls

    var needsConnection: Bool { state.withLock { $0.waiting.first != nil } }
    var keepsConnection: Bool { true }

    var nextCheck: SuspendingClock.Instant? {
        state.withLock { $0.waiting.first == nil && $0.sent.first == nil ? nil : $0.nextEnd }
    }

    func didConnect(_ connection: ValkeyConnection) {
        state.withLock { ($0.isConnected, $0.problem) = (true, nil) }
    }

    func nextCommand(for connection: ValkeyConnection) -> [[UInt8]]? {
        let command = state.withLock { state in
            let command = state.waiting.popFirst()
            if let command { state.sent.append(command) }
            return command
        }
        return command?.parts(for: connection)
    }

    func didReceive(_ reply: ValkeyReply) throws(ValkeyFailure) {
        guard let command = state.withLock({ $0.sent.popFirst() }) else {
            throw ValkeyFailure(StoreError(.unavailable, "the server has sent a reply without a command"))
        }
        guard case .error(let text) = reply else { return command.resume(.success(reply)) }
        // The server has not run the script.
        if text.hasPrefix("NOSCRIPT"), !command.sendsText {
            var again = command
            again.sendsText = true
            return state.withLock { [again] in $0.waiting.insert([again]) }
        }
        // The caller follows the redirect, or sends the command again later.
        if ValkeyRedirect(text) != nil || ValkeyRedirect.isPostponed(text) { return command.resume(.success(reply)) }
        let error = StoreError(server: text)
        if text.hasPrefix("LOADING") {
            state.withLock { $0.waiting.insert([command]) }
            throw ValkeyFailure(error)
        }
        command.resume(.failure(error))
        // The server was a primary, and another one may have its address now.
        if text.contains("READONLY") { throw ValkeyFailure(error) }
    }

    func didFail(_ failure: ValkeyFailure) {
        let (sent, waiting) = state.withLock { state in
            (state.isConnected, state.problem) = (false, failure.error)
            let sent = state.sent.removeAll()
            state.waiting.insert(sent.filter(\.isRepeatable))
            return (sent.filter { !$0.isRepeatable }, failure.isLasting ? state.waiting.removeAll() : [])
        }
        let unknown = StoreError(
            .unavailable, "\(failure.error.message); whether a change was made is not known")
        for command in sent { command.resume(.failure(unknown)) }
        for command in waiting { command.resume(.failure(failure.error)) }
    }

    func check(at now: SuspendingClock.Instant) throws(ValkeyFailure) {
        guard state.withLock({ $0.nextEnd.map { $0 <= now } ?? false }) else { return }
        let (ended, problem, isLate) = state.withLock { state in
            let waiting = state.waiting.removeAll()
            let (ended, others) = (waiting.filter { $0.end <= now }, waiting.filter { $0.end > now })
            state.waiting.insert(others)
            let sent = state.sent.all.map(\.end)
            state.nextEnd = (others.map(\.end) + sent).min()
            let late =
                state.isConnected ? "the server does not take commands" : "no connection to the server was made in time"
            let problem = state.problem ?? StoreError(.unavailable, late)
            return (ended, problem, sent.contains { $0 <= now })
        }
        for command in ended {
            command.resume(.failure(StoreError(problem.code, "\(problem.message); nothing was changed")))
        }
        // Replies come in order, so a connection that lacks one is of no more use.
        if isLate { throw ValkeyFailure(StoreError(.unavailable, "the server has not answered in time")) }
    }
}

/// A queue whose first element is removed in constant time.
struct ValkeyQueue<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var count: Int { elements.count - start }
    var first: Element? { start < elements.count ? elements[start] : nil }
    var all: [Element] { elements[start...].compactMap { $0 } }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Inserts elements before all others.
    mutating func insert(_ new: [Element]) {
        elements.replaceSubrange(..<start, with: new)
        start = 0
    }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        defer {
            elements[start] = nil
            start += 1
            if start * 2 > elements.count, start > 32 || start == elements.count { insert([]) }
        }
        return elements[start]
    }

    mutating func removeAll() -> [Element] {
        defer { (elements, start) = ([], 0) }
        return all
    }
}
