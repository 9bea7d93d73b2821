internal import CLarkspur

/// Asks the system for its routes to hosts. Names are looked up on separate threads, because a lookup may block.
///
/// Concurrent questions about one name share a lookup. A thread ends when no name is left; further names wait for one
/// of a few threads, so that hanging lookups cannot use up the process's threads.
final class HostRoutes: Sendable {
    static let shared = HostRoutes(find: HostRoutes.system)

    /// Finds a route. If `isAddress`, it must not block.
    typealias Find = @Sendable (_ host: String, _ isAddress: Bool) -> HostRoute
    private typealias Waiter = Continuation<HostRoute>

    private static let maximumThreads = 8

    private struct State {
        var lastID = 0
        var threads = 0
        /// The names that no thread has begun to look up.
        var queue: [String] = []
        /// The waiters of each name in the queue or in a lookup.
        var waiters: [String: [Int: Waiter]] = [:]

        /// Returns the next name that has a waiter. If there is none, the thread has to end.
        mutating func next() -> String? {
            while !queue.isEmpty {
                let host = queue.removeFirst()
                if waiters[host]?.isEmpty == false { return host }
                waiters[host] = nil
            }
            threads -= 1
            return nil
        }
    }

    private let find: Find
    private let box = Protected(State())

    init(find: @escaping Find) { self.find = find }

    /// The number of threads that look up names.
    var threads: Int { box.withLock { $0.threads } }

    /// The number of callers that wait for a lookup.
    var waiting: Int { box.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// Returns the route to a host. Returns `noAnswer` if the time limit passes or the task is cancelled.
    func route(to host: String, within limit: Duration) async -> HostRoute {
        // A C string would end at a zero byte.
        guard !host.isEmpty, !host.utf8.contains(0) else { return .unknownName }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let host = isBracketed ? String(host.dropFirst().dropLast()) : host
        let name = host.lowercased()
        // RFC 6761: such names are the loopback interface's, and name servers are not asked.
        let isLocal = name == "localhost" || name.hasSuffix(".localhost")
        let answer = find(isLocal ? "127.0.0.1" : host, true)
        guard answer == .unknownName, !isLocal else { return answer }
        let id = box.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let leave: @Sendable () -> Void = { self.leave(name, id) }
        var timer: DeadlineTimer?
        defer { timer?.cancel() }
        return await suspended { waiter in
            join(name, id, waiter)
            timer = DeadlineTimer(on: ContinuousClock(), after: { limit }, leave)
        } onCancel: {
            leave()
        }
    }

    private func join(_ host: String, _ id: Int, _ waiter: Waiter) {
        let needsThread = box.withLock { state in
            let isNew = state.waiters[host] == nil
            state.waiters[host, default: [:]][id] = waiter
            guard isNew else { return false }
            state.queue.append(host)
            guard state.threads < Self.maximumThreads else { return false }
            state.threads += 1
            return true
        }
        if needsThread { startThread() }
    }

    private func leave(_ host: String, _ id: Int) {
        let waiter = box.withLock { $0.waiters[host]?.removeValue(forKey: id) }
        waiter?.resume(returning: .noAnswer)
    }

    private func startThread() {
        let context = Unmanaged.passRetained(self)
        let starts = clarkspur_thread_start(
            "larkspur-names", { $0.map { Unmanaged<HostRoutes>.fromOpaque($0).takeRetainedValue().run() } },
            context.toOpaque())
        if starts { return }
        context.release()
        // If there are other threads, they look up the names in the queue.
        let waiters = box.withLock { state -> [Waiter] in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            state.queue = []
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in waiters { waiter.resume(returning: .noAnswer) }
    }

    private func run() {
        while let host = box.withLock({ $0.next() }) {
            let route = find(host, false)
            let waiters = box.withLock { $0.waiters.removeValue(forKey: host) } ?? [:]
            for waiter in waiters.values { waiter.resume(returning: route) }
        }
    }

    private static func system(_ host: String, _ isAddress: Bool) -> HostRoute {
        switch clarkspur_route_find(host, isAddress) {
        case clarkspur_route_exists: .exists
        case clarkspur_route_missing: .missing
        case clarkspur_route_unknown_name: .unknownName
        default: .noAnswer
        }
    }
}
