/// The events of one request that its monitors have not received yet, in order.
///
/// These events are a part of the request's state. A step that changes the state adds its events under the state's
/// lock. After unlocking, one thread at a time delivers the events. A monitor therefore gets the events in the order of
/// the changes: for example, it never gets the end of a hop before its beginning.
struct PendingEvents {
    struct Entry: Sendable {
        /// The event; nil after the delivery.
        private var event: EventQueue.Entry?
        private let queues: [MonitorQueue]

        init(_ event: EventQueue.Entry, for queues: [MonitorQueue]) { (self.event, self.queues) = (event, queues) }

        /// Passes the event to the monitors. The last of them gets the event itself, and the others get copies.
        mutating func deliver() {
            for index in queues.indices.dropLast() {
                var copy = event
                queues[index].post(&copy)
            }
            queues.last?.post(&event)
        }
    }

    /// The largest number of events whose memory the request keeps.
    static let keptCapacity = 16

    private var entries: [Entry] = []
    private var isBeingDelivered = false

    mutating func add(_ entry: consuming Entry) { entries.append(entry) }

    /// Returns whether the caller must deliver events after unlocking. If another thread is already delivering, that
    /// thread also delivers the new events.
    mutating func begin() -> Bool {
        guard !entries.isEmpty, !isBeingDelivered else { return false }
        isBeingDelivered = true
        return true
    }

    /// Moves the events to an empty array. If there are none, the delivery ends. The memory of the array is used for
    /// later events.
    ///
    /// The array is a parameter and not a result, so that the caller has its only reference. Otherwise the delivery
    /// would copy it.
    mutating func next(_ events: inout [Entry]) {
        if entries.isEmpty { isBeingDelivered = false }
        swap(&entries, &events)
    }
}

extension RequestState {
    /// Returns whether the request has monitors for an event that occurs now.
    ///
    /// - Parameter isLate: Whether the event may also occur after the request has finished. If false, such an event is
    ///   dropped.
    func isObserved(isLate: Bool = false) -> Bool {
        !settings.content.monitors.isEmpty && (isLate ? owner : keptOwner) != nil
    }

    /// Adds an event for the monitors. Without monitors the event is not created, to save time (rule R8 in
    /// Concurrency.md).
    ///
    /// - Parameter isFirst: Whether this is the first event of the request: `start`, or `cancel` before the start.
    mutating func note(_ event: @autoclosure () -> RequestEvent, isLate: Bool = false, isFirst: Bool = false) {
        guard isObserved(isLate: isLate), let owner else { return }
        let isOutside = phase == .idle || keptOwner == nil
        pendingEvents.add(
            PendingEvents.Entry(
                EventQueue.Entry(
                    request: owner, event: event(), occurrence: isFirst ? .first : isOutside ? .outside : .inside),
                for: settings.content.monitors))
    }
}

extension RequestCore {
    /// Changes the state, and delivers the events that the change has added.
    func update<Value: Sendable>(_ change: (inout RequestState) -> Value) -> Value {
        let (value, isDue) = box.withLock { (change(&$0), $0.pendingEvents.begin()) }
        if isDue { deliverEvents() }
        return value
    }

    /// Delivers an event to the monitors, after all events that were added earlier.
    package func emit(_ event: @autoclosure () -> RequestEvent, isLate: Bool = false) {
        guard read({ $0.isObserved(isLate: isLate) }) else { return }
        let event = event()
        update { $0.note(event, isLate: isLate) }
    }

    func postNoted() {
        if box.withLock({ $0.pendingEvents.begin() }) { deliverEvents() }
    }

    /// Delivers the events. The caller has called `PendingEvents.begin()` under the lock, and it has returned true.
    @inline(never)
    func deliverEvents() {
        var events: [PendingEvents.Entry] = []
        while true {
            box.withLock { $0.pendingEvents.next(&events) }
            if events.isEmpty { return }
            for index in events.indices { events[index].deliver() }
            // Released here, because a release must not run under the lock. The memory of many events is given back.
            events.removeAll(keepingCapacity: events.capacity <= PendingEvents.keptCapacity)
        }
    }
}
