/// The queues of sessions' monitors, and of monitors that delay requests. A recorder finds its own queues here, to wait
/// for its last events.
enum MonitorQueues {
    private struct Entry {
        let id: ObjectIdentifier
        weak var queue: MonitorQueue?
    }

    private static let box = Protected<[ObjectIdentifier: [Entry]]>([:])

    /// Adds a queue, if the monitor is an object or a composite of objects. The queue keeps its monitor alive, so the
    /// identity of the monitor stays unique until the queue is released.
    static func add(_ queue: MonitorQueue, for monitor: any EventMonitor) {
        let entry = Entry(id: ObjectIdentifier(queue), queue: queue)
        for object in objects(of: monitor) { box.withLock { $0[object, default: []].append(entry) } }
    }

    private static func objects(of monitor: any EventMonitor) -> [ObjectIdentifier] {
        if let composite = monitor as? CompositeEventMonitor { return composite.monitors.flatMap(objects) }
        return type(of: monitor) is AnyClass ? [ObjectIdentifier(monitor as AnyObject)] : []
    }

    /// Removes a queue that is being released. A weak reference must not be read under the lock: the reader could be
    /// the last one to release the queue.
    static func remove(_ queue: ObjectIdentifier, of monitor: any EventMonitor) {
        let objects = objects(of: monitor)
        box.withLock { all in
            for object in objects {
                all[object]?.removeAll { $0.id == queue }
                if all[object]?.isEmpty == true { all[object] = nil }
            }
        }
    }

    static func queues(of monitor: AnyObject) -> [MonitorQueue] {
        let id = ObjectIdentifier(monitor)
        return box.withLock { $0[id]?.compactMap(\.queue) ?? [] }
    }
}

extension EventMonitor where Self: AnyObject {
    /// Waits until the monitor has received all events that were recorded before the call, in all sessions and
    /// requests. A recorder calls this function before it ends its file.
    ///
    /// If the monitor was added to a single request, its events are waited for only if it delays requests. The last
    /// events of a request may be recorded shortly after its response was delivered. The monitor itself must not block
    /// until this function returns.
    public func receiveAllEvents() async {
        for queue in MonitorQueues.queues(of: self) { await queue.waitForDelivery() }
    }
}

/// The tasks that wait until the events of a queue are delivered.
struct MonitorReaders {
    /// Tasks whose events are in the queue, or in the batch that is being delivered.
    private var waiting: [Continuation<Void>] = []
    /// Tasks whose events are in the batch that is being delivered, at the latest.
    private var delivering: [Continuation<Void>] = []

    var isEmpty: Bool { waiting.isEmpty && delivering.isEmpty }

    mutating func add(_ reader: Continuation<Void>) { waiting.append(reader) }

    /// Returns the tasks whose events were delivered. Called when the next batch is taken.
    mutating func next(isIdle: Bool) -> [Continuation<Void>] {
        if isEmpty { return [] }
        defer { (delivering, waiting) = (isIdle ? [] : waiting, []) }
        return isIdle ? delivering + waiting : delivering
    }
}
