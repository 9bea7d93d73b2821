/// The state of a session: its immutable configuration, and its requests and tasks behind locks.
///
/// Pipelines and the transport's delegate use this state directly, because they cannot wait for the actor `Session`.
package final class SessionContext: SessionStateProvider {
    // Immutable
    package let configuration: SessionConfiguration
    /// The transport that the session was created with.
    let engine: any Transport
    /// The transport of the session's requests: the engine, inside the transports of the session's participants.
    package let transport: any Transport
    let monitors: [MonitorQueue]
    /// The initial settings of each request.
    let settings: RequestSettings
    /// The thread that writes the session's downloads to their files.
    package let files = FileThread.assigned()
    /// The session's interceptors, if their adapters need no task; nil otherwise.
    let promptAdapters: [any PromptAdapter]?
    /// Whether the session's retriers call code of users.
    let retriersAskUsers: Bool
    /// The base of relative URLs, or the error that makes them fail; nil if the session has no base.
    let baseURL: Result<RequestURL, RequestError>?
    /// The header fields that are added to the session's requests.
    let headers: SessionHeaders
    /// The settings of serializers that name none of their own.
    package let serializers: SerializerDefaults
    /// The retries that the session's budget still allows; nil without a limit.
    let retryAccount: RetryAccount?
    /// The remarks that were made about the program.
    let advice = AdviceRecord()
    /// The parts of the session that take part in each hop.
    package let participants: HopParticipants
    /// The participant that answers the questions of the transport; nil if none does.
    package let advisor: (any TransportAdvisor)?

    // Mutable state, guarded by the locks of `Protected`
    private let owner = Protected(Owner())
    /// The requests and tasks. They are spread over several locks, because each event of the transport acquires one of
    /// these locks. With a single lock, the threads of the transport would often wait for each other.
    private let shards = (0..<Shard.count).map { _ in Protected(Shard()) }

    private struct Owner {
        weak var session: Session?
        var isInvalidated = false
    }

    private struct Shard {
        static let count = 16

        enum Status {
            case open
            /// The session object was released.
            case ended
            case invalidated
        }

        var status = Status.open
        /// The requests in flight, and those that have a serializer and wait for their start.
        var requests = SlotMap<any Request>()
        var tasks = SlotMap<RequestCore>()
    }

    private func shard(_ id: RequestID) -> Protected<Shard> { shards[Int(id.number % UInt64(Shard.count))] }

    private func shard(_ id: TransportTaskID) -> Protected<Shard> { shards[Int(id.rawValue % UInt64(Shard.count))] }

    /// - Parameter parent: The context of the session that this session extends. Both share one retry account if their
    ///   budgets are equal.
    init(configuration: SessionConfiguration, transport: any Transport, parent: SessionContext? = nil) {
        self.configuration = configuration
        engine = transport
        participants = HopParticipants(configuration.makeParticipants(extending: parent?.participants.all ?? []))
        advisor = AdvisorChain.advisor(participants.all.compactMap { $0 as? any TransportAdvisor })
        self.transport = participants.all.reversed().reduce(transport) { $1.wrap($0) }
        headers = SessionHeaders(configuration.headers)
        serializers = configuration.serializers
        retryAccount = configuration.retryBudget.map { budget in
            parent?.retryAccount.flatMap { $0.budget == budget ? $0 : nil }
                ?? RetryAccount(budget, on: configuration.clock)
        }
        let adapters = configuration.interceptors.map { $0 as? any PromptAdapter }
        retriersAskUsers = configuration.interceptors.askUsers
        promptAdapters = adapters.contains { $0 == nil } ? nil : adapters.compactMap(\.self)
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

    /// Returns the URL relative to the session's base.
    package func resolved(_ url: any URLConvertible) throws -> RequestURL {
        try baseURL.map { try url.asRequestURL(relativeTo: $0.get()) } ?? url.asRequestURL()
    }

    // MARK: The session

    func adopt(_ session: Session) { owner.withLock { $0.session = session } }

    var session: Session? { owner.withLock { $0.session } }

    /// Fails the registered requests after the session object was released. None of them has started, because a request
    /// in flight keeps its session alive.
    func sessionDidEnd() {
        for request in end(.ended) { request.handle.core.cancel(.sessionEnded) }
    }

    /// Returns the registered requests, and stops further requests from being registered.
    private func end(_ status: Shard.Status) -> [any Request] {
        shards.flatMap { shard in
            shard.withLock { shard in
                if shard.status != .invalidated { shard.status = status }
                return shard.requests.all
            }
        }
    }

    var endReason: RequestError {
        shards[0].withLock { $0.status } == .invalidated ? .sessionInvalidated : .sessionEnded
    }

    // MARK: Requests

    /// Keeps a request alive until `forget` is called. Returns the number to pass to `forget`; nil if the session has
    /// ended.
    func register(_ request: any Request, _ id: RequestID) -> UInt64? {
        shard(id).withLock { $0.status == .open ? $0.requests.insert(request) : nil }
    }

    func forget(_ id: RequestID, in place: UInt64) {
        // The request is released after unlocking: this may be its last reference, and its `deinit` may run user code
        // (rule R1).
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

    package func advisor(for task: TransportTaskID) -> (any TransportAdvisor)? { advisor }

    @discardableResult
    package func remove(_ task: TransportTaskID) -> RequestCore? {
        shard(task).withLock { $0.tasks.remove(task.rawValue / UInt64(Shard.count)) }
    }

    package func cancelRequestsForSessionInvalidation(with error: (any Error)?) {
        let reason = RequestError(.sessionInvalidated, "the session was invalidated", underlying: error)
        let isFirst = owner.withLock { $0.isInvalidated.setOnce() }
        if isFirst { for monitor in monitors { monitor.postInvalidation(error) } }
        for request in end(.invalidated) { request.handle.core.cancel(reason) }
    }
}

#if DEBUG
    extension SessionContext {
        /// The number of times that the locks of the session's state were acquired. For tests.
        var lockCount: Int { shards.reduce(owner.lockCount) { $0 + $1.lockCount } }
    }
#endif

/// A collection whose elements are found by a number. The number contains an array index, so a lookup needs no hash.
/// Lookups must be fast, because every event of the transport looks up its request here.
///
/// A number contains the index and the generation of its slot. The generation counts the uses of the slot, so the
/// number of a removed element finds nothing after the slot was reused.
private struct SlotMap<Element> {
    private var slots: [(generation: UInt64, element: Element?)] = []
    private var free: [Int] = []

    private static var indexBits: UInt64 { 24 }

    var all: [Element] { slots.compactMap(\.element) }

    mutating func insert(_ element: Element) -> UInt64 {
        let index = free.popLast() ?? slots.count
        if index == slots.count { slots.append((0, nil)) }
        slots[index] = (slots[index].generation + 1, element)
        return slots[index].generation << Self.indexBits | UInt64(index)
    }

    subscript(number: UInt64) -> Element? {
        index(of: number).flatMap { slots[$0].element }
    }

    /// Removes and returns the element. The caller releases it after unlocking.
    mutating func remove(_ number: UInt64) -> Element? {
        guard let index = index(of: number), let element = slots[index].element.take() else { return nil }
        free.append(index)
        return element
    }

    private func index(of number: UInt64) -> Int? {
        let index = Int(number & (1 << Self.indexBits - 1))
        return index < slots.count && slots[index].generation == number >> Self.indexBits ? index : nil
    }
}
