import Larkspur

/// Records everything that user code is told, and proves where user code runs.
///
/// It is monitor and interceptor in one, and `probe(_:)` can stand in any closure: in debug builds each call checks that
/// the thread holds none of the library's locks (R1) and is not delivering a transport's event (R2).
public final class EventRecorder: EventMonitor, RequestInterceptor {
    private struct State {
        var events: [(request: RequestID, event: RequestEvent)] = []
        var violations: [String] = []
        var watchers: [Watcher] = []
    }

    private struct Watcher: Sendable {
        let isReached: @Sendable ([RequestEvent]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private let box = Protected(State())

    /// A recorder that has recorded nothing.
    public init() {}

    /// Everything recorded so far, in order.
    public var events: [RequestEvent] { box.withLock { $0.events.map(\.event) } }

    /// The names of one request's events, in order.
    public func names(of request: any Request) -> [String] {
        let id = request.id
        return box.withLock { $0.events.filter { $0.request == id }.map(\.event.name) }
    }

    /// Places where user code ran under a lock or on a transport's thread; empty if the rules hold.
    public var violations: [String] { box.withLock { $0.violations } }

    /// Checks the rules where it is called.
    public func probe(_ place: String) {
        let (locks, deliveries) = (ThreadMarks.lockDepth, ThreadMarks.transportDepth)
        if locks > 0 { box.withLock { $0.violations.append("R1: \(place) ran under a lock") } }
        if deliveries > 0 { box.withLock { $0.violations.append("R2: \(place) ran on a transport's thread") } }
    }

    /// Waits until the recorded events fulfil the condition.
    public func wait(until isReached: @escaping @Sendable ([RequestEvent]) -> Bool) async {
        await withCheckedContinuation { continuation in
            box.withLock { $0.watchers.append(Watcher(isReached: isReached, continuation: continuation)) }
            wakeWatchers()
        }
    }

    public func request(_ request: any Request, did event: RequestEvent) {
        probe("a monitor")
        let id = request.id
        box.withLock { $0.events.append((id, event)) }
        wakeWatchers()
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        probe("an adapter")
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        probe("a retrier")
        return .doNotRetry
    }

    /// The conditions are the test's code, so they are tried outside the lock, and again if events came meanwhile.
    private func wakeWatchers() {
        var tried = -1
        while true {
            let (watchers, events) = box.withLock { state -> ([Watcher], [RequestEvent]) in
                guard !state.watchers.isEmpty, state.events.count != tried else { return ([], []) }
                defer { state.watchers = [] }
                return (state.watchers, state.events.map(\.event))
            }
            guard !watchers.isEmpty else { return }
            tried = events.count
            for watcher in watchers {
                if watcher.isReached(events) {
                    watcher.continuation.resume()
                } else {
                    box.withLock { $0.watchers.append(watcher) }
                }
            }
        }
    }
}
