import LarkspurTransport

/// The session's state: an immutable configuration and one box with its requests and tasks.
///
/// The actor `Session` is a face over it. Pipelines and the delegate see the context, because an actor cannot answer
/// synchronously.
package final class SessionContext: SessionStateProvider {
    // Immutable
    let configuration: SessionConfiguration
    let transport: any Transport
    let interceptors: [any RequestInterceptor]
    let monitors: [MonitorMailbox]

    // Guarded by the box
    private let registry = Protected(Registry())

    private struct Registry {
        enum Life {
            case open
            /// The session object is gone.
            case ended
            case invalidated
        }

        var life = Life.open
        weak var session: Session?
        var lastID: UInt64 = 0
        /// Every request that was started, or waits for its start with a serializer attached.
        var requests: [RequestID: any Request] = [:]
        var tasks = TaskTable()
    }

    init(
        configuration: SessionConfiguration, transport: any Transport, interceptor: (any RequestInterceptor)?,
        eventMonitors: [any EventMonitor]
    ) {
        self.configuration = configuration
        self.transport = transport
        interceptors = interceptor.map { [$0] } ?? []
        monitors = eventMonitors.map(MonitorMailbox.init)
    }

    // MARK: The session

    func adopt(_ session: Session) {
        registry.withLock { $0.session = session }
    }

    var session: Session? { registry.withLock { $0.session } }

    /// The session object is gone. Started requests hold it, so this meets only those that never were.
    func sessionDidEnd() {
        let waiting = registry.withLock { registry in
            if registry.life == .open { registry.life = .ended }
            return Array(registry.requests.values)
        }
        for request in waiting { request.handle.core.cancel(request, .sessionEnded) }
    }

    /// Why the session takes no more requests.
    var endReason: RequestError {
        registry.withLock { $0.life } == .invalidated ? .sessionInvalidated : .sessionEnded
    }

    // MARK: Requests

    func nextRequestID() -> RequestID {
        registry.withLock { registry in
            registry.lastID += 1
            return RequestID(registry.lastID)
        }
    }

    /// Keeps a request until it has finished; false if the session is over and it will not be kept.
    func register(_ request: any Request, _ id: RequestID) -> Bool {
        registry.withLock { registry in
            guard registry.life == .open else { return false }
            registry.requests[id] = request
            return true
        }
    }

    func forget(_ id: RequestID) {
        // Let go of after unlocking: it may be the last reference.
        _ = registry.withLock { $0.requests.removeValue(forKey: id) }
    }

    var requests: [any Request] {
        registry.withLock { registry in
            registry.requests.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    // MARK: Tasks

    func registerTask(of core: RequestCore) -> TransportTaskID {
        registry.withLock { $0.tasks.insert(core) }
    }

    package func request(for task: TransportTaskID) -> RequestCore? {
        registry.withLock { $0.tasks[task] }
    }

    /// Nil: the platform's own verdict stands for every host.
    package func trustPolicy(for task: TransportTaskID) -> TrustPolicy? { nil }

    /// Nothing waits for metrics: on every transport they come before the end (T7).
    package func didGatherMetrics(for task: TransportTaskID) {}

    package func didComplete(_ task: TransportTaskID) {
        _ = registry.withLock { $0.tasks.remove(task) }
    }

    package func cancelRequestsForSessionInvalidation(with error: (any Error)?) {
        let requests = registry.withLock { registry in
            registry.life = .invalidated
            return Array(registry.requests.values)
        }
        let reason = RequestError(.sessionInvalidated, "the session was invalidated", underlying: error)
        for request in requests { request.handle.core.cancel(request, reason) }
    }
}

/// Which request a task belongs to: looked up for every event, so a place in an array, not a hash.
///
/// An ID is a place and how often it has been given away, so that an ID of a task long gone finds nothing.
private struct TaskTable {
    private var places: [(uses: UInt64, core: RequestCore?)] = []
    private var free: [Int] = []

    private static let placeBits: UInt64 = 24

    mutating func insert(_ core: RequestCore) -> TransportTaskID {
        let place = free.popLast() ?? places.count
        if place == places.count { places.append((0, nil)) }
        places[place] = (places[place].uses + 1, core)
        return TransportTaskID(places[place].uses << Self.placeBits | UInt64(place))
    }

    subscript(id: TransportTaskID) -> RequestCore? {
        place(of: id).flatMap { places[$0].core }
    }

    /// Gives the core back, to be let go of after unlocking.
    mutating func remove(_ id: TransportTaskID) -> RequestCore? {
        guard let place = place(of: id), let core = places[place].core else { return nil }
        places[place].core = nil
        free.append(place)
        return core
    }

    private func place(of id: TransportTaskID) -> Int? {
        let place = Int(id.rawValue & (1 << Self.placeBits - 1))
        return place < places.count && places[place].uses == id.rawValue >> Self.placeBits ? place : nil
    }
}
