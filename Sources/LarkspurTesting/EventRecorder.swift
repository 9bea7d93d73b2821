import Larkspur

/// A recorder of all events that also checks on which threads user code runs.
///
/// The recorder is a monitor and an interceptor in one. In other closures that the library calls, call `probe(_:)`
/// yourself. In debug builds, each call of the recorder checks two rules in Concurrency.md: the thread holds none of
/// the library's locks (R1) and is not delivering a transport's event (R2).
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

    /// Creates an empty recorder.
    public init() {}

    /// All recorded events, in order.
    public var events: [RequestEvent] { box.withLock { $0.events.map(\.event) } }

    /// Returns the names of one request's events, in order.
    public func names(of request: any Request) -> [String] {
        let id = request.id
        return box.withLock { $0.events.filter { $0.request == id }.map(\.event.name) }
    }

    /// The places where user code ran under a lock or on a transport's thread; empty if no rule was broken.
    public var violations: [String] { box.withLock { $0.violations } }

    /// Checks the rules R1 and R2 (see ``EventRecorder``) on the calling thread, and records violations.
    ///
    /// - Parameter place: The name of the calling code, for `violations`.
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

    /// Resumes the waiting callers whose condition is fulfilled. The conditions are code of the test, so they run
    /// outside the lock. If new events were recorded meanwhile, the conditions run again.
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
