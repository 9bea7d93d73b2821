/// The session's state: an immutable configuration, and boxes with its requests and tasks.
///
/// The actor `Session` is a face over it: pipelines and the delegate see the context, because an actor cannot answer at once.
package final class SessionContext: SessionStateProvider {
    // Immutable
    let configuration: SessionConfiguration
    let transport: any Transport
    let monitors: [MonitorQueue]
    /// What a request's settings are before anything is set.
    let settings: RequestSettings
    /// Where downloads are written.
    let files = FileThread.assigned()
    /// The base of relative URLs, or why there can be none.
    let baseURL: Result<RequestURL, RequestError>?
    /// The session's fields, if they can be sent as they are; found out once instead of for each request.
    let knownHeaders: HTTPHeaders
    /// Nil: the platform's own verdict stands for every host.
    let trust: TrustPolicy?
    /// What is left for retries; nil is without limit.
    let retryAccount: RetryAccount?

    // Guarded by boxes
    private let owner = Protected(Owner())
    /// One for every so many requests, because all threads come here for each event: one box would have them queue.
    private let shards = (0..<Shard.count).map { _ in Protected(Shard()) }

    private struct Owner {
        weak var session: Session?
        var isInvalidated = false
    }

    private struct Shard {
        static let count = 16

        enum Life {
            case open
            /// The session object is gone.
            case ended
            case invalidated
        }

        var life = Life.open
        /// Every request that was started, or waits for its start with a serializer attached.
        var requests = Places<any Request>()
        var tasks = Places<RequestCore>()
    }

    private func shard(_ id: RequestID) -> Protected<Shard> { shards[Int(id.number % UInt64(Shard.count))] }

    private func shard(_ id: TransportTaskID) -> Protected<Shard> { shards[Int(id.rawValue % UInt64(Shard.count))] }

    /// - Parameter parent: The session whose retries these are counted with.
    init(configuration: SessionConfiguration, transport: any Transport, parent: SessionContext? = nil) {
        self.configuration = configuration
        self.transport = transport
        knownHeaders = OutgoingRequest.areAlwaysFine(configuration.headers) ? configuration.headers : HTTPHeaders()
        trust = configuration.serverTrust.map(TrustPolicy.init)
        retryAccount = configuration.retryBudget.map { budget in
            parent?.retryAccount.flatMap { $0.budget == budget ? $0 : nil }
                ?? RetryAccount(budget, on: configuration.clock)
        }
        monitors = configuration.eventMonitors.map { MonitorQueue(for: .monitor($0)) }
        settings = RequestSettings(configuration, monitors)
        baseURL = configuration.baseURL.map { base in
            Result { try base.asRequestURL().asFolder }.mapError {
                let error = RequestError(wrapping: $0, as: .invalidURL)
                return RequestError(
                    .invalidURL, "the session's baseURL: \(error.message)", underlying: error.underlying)
            }
        }
    }

    // MARK: The session

    func adopt(_ session: Session) { owner.withLock { $0.session = session } }

    var session: Session? { owner.withLock { $0.session } }

    /// The session object is gone. Started requests hold it, so this meets only those that never were.
    func sessionDidEnd() {
        for request in end(.ended) { request.handle.core.cancel(.sessionEnded) }
    }

    /// Takes no more requests; gives those that are there.
    private func end(_ life: Shard.Life) -> [any Request] {
        shards.flatMap { shard in
            shard.withLock { shard in
                if shard.life != .invalidated { shard.life = life }
                return shard.requests.all
            }
        }
    }

    var endReason: RequestError {
        shards[0].withLock { $0.life } == .invalidated ? .sessionInvalidated : .sessionEnded
    }

    // MARK: Requests

    /// Keeps a request until it has finished, and says in which place; nil if the session is over and it will not be kept.
    func register(_ request: any Request, _ id: RequestID) -> UInt64? {
        shard(id).withLock { $0.life == .open ? $0.requests.insert(request) : nil }
    }

    func forget(_ id: RequestID, in place: UInt64) {
        // Let go of after unlocking: it may be the last reference.
        _ = shard(id).withLock { $0.requests.remove(place) }
    }

    var requests: [any Request] {
        shards.flatMap { shard in shard.withLock { $0.requests.all } }.sorted { $0.id < $1.id }
    }

    // MARK: Tasks

    func registerTask(of core: RequestCore) -> TransportTaskID {
        let number = core.id.number % UInt64(Shard.count)
        let local = shards[Int(number)].withLock { $0.tasks.insert(core) }
        return TransportTaskID(local * UInt64(Shard.count) + number)
    }

    package func request(for task: TransportTaskID) -> RequestCore? {
        shard(task).withLock { $0.tasks[task.rawValue / UInt64(Shard.count)] }
    }

    package func trustPolicy(for task: TransportTaskID) -> TrustPolicy? { trust }

    @discardableResult
    package func remove(_ task: TransportTaskID) -> RequestCore? {
        shard(task).withLock { $0.tasks.remove(task.rawValue / UInt64(Shard.count)) }
    }

    package func cancelRequestsForSessionInvalidation(with error: (any Error)?) {
        let reason = RequestError(.sessionInvalidated, "the session was invalidated", underlying: error)
        let isFirst = owner.withLock { $0.isInvalidated.raise() }
        if isFirst { for monitor in monitors { monitor.postInvalidation(error) } }
        for request in end(.invalidated) { request.handle.core.cancel(reason) }
    }
}

#if DEBUG
    extension SessionContext {
        /// How often the session's boxes were locked.
        var lockCount: Int { shards.reduce(owner.lockCount) { $0 + $1.lockCount } }
    }
#endif

/// Which request a task belongs to, and which are under way: asked for every event, so by a place in an array, not a hash.
///
/// A number is a place and how often it has been given away, so that the number of what is long gone finds nothing.
private struct Places<Element> {
    private var places: [(uses: UInt64, element: Element?)] = []
    private var free: [Int] = []

    private static var placeBits: UInt64 { 24 }

    var all: [Element] { places.compactMap(\.element) }

    mutating func insert(_ element: Element) -> UInt64 {
        let place = free.popLast() ?? places.count
        if place == places.count { places.append((0, nil)) }
        places[place] = (places[place].uses + 1, element)
        return places[place].uses << Self.placeBits | UInt64(place)
    }

    subscript(number: UInt64) -> Element? {
        place(of: number).flatMap { places[$0].element }
    }

    /// Gives the element back, to be let go of after unlocking.
    mutating func remove(_ number: UInt64) -> Element? {
        guard let place = place(of: number), let element = places[place].element.take() else { return nil }
        free.append(place)
        return element
    }

    private func place(of number: UInt64) -> Int? {
        let place = Int(number & (1 << Self.placeBits - 1))
        return place < places.count && places[place].uses == number >> Self.placeBits ? place : nil
    }
}
