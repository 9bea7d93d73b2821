/// The events of one request that its monitors have not received yet, in order.
///
/// These events are a part of the request's state. A step that changes the state adds its events under the state's
/// lock. After unlocking, one thread at a time delivers the events. A monitor therefore gets the events in the order of
/// the changes: for example, it never gets the end of a hop before its beginning.
struct PendingEvents {
    struct Entry: Sendable {
        let event: RequestEvent
        let request: any Request
        let occurrence: EventQueue.Occurrence
        let queues: [MonitorQueue]
    }

    private var entries: [Entry] = []
    private var isBeingDelivered = false

    mutating func add(_ entry: Entry) { entries.append(entry) }

    /// Returns the events that the caller must deliver. If another thread is already delivering, that thread also
    /// delivers the new events, and this call returns none.
    mutating func begin() -> [Entry] {
        guard !entries.isEmpty, !isBeingDelivered else { return [] }
        isBeingDelivered = true
        return next()
    }

    /// Returns the events that were added during a delivery. If there are none, the delivery ends.
    mutating func next() -> [Entry] {
        if entries.isEmpty { isBeingDelivered = false }
        defer { entries = [] }
        return entries
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
                event: event(), request: owner, occurrence: isFirst ? .first : isOutside ? .outside : .inside,
                queues: settings.content.monitors))
    }
}

extension RequestCore {
    /// Changes the state, and delivers the events that the change has added.
    func update<Value: Sendable>(_ change: (inout RequestState) -> Value) -> Value {
        let (value, events) = box.withLock { (change(&$0), $0.pendingEvents.begin()) }
        post(events)
        return value
    }

    /// Delivers an event to the monitors, after all events that were added earlier.
    package func emit(_ event: @autoclosure () -> RequestEvent, isLate: Bool = false) {
        guard read({ $0.isObserved(isLate: isLate) }) else { return }
        let event = event()
        update { $0.note(event, isLate: isLate) }
    }

    func postNoted() { post(box.withLock { $0.pendingEvents.begin() }) }

    @inline(__always)
    func post(_ events: [PendingEvents.Entry]) {
        if !events.isEmpty { deliver(events) }
    }

    private func deliver(_ first: [PendingEvents.Entry]) {
        var events = first
        while !events.isEmpty {
            // An index, because an iterator would copy each entry.
            for index in events.indices {
                for queue in events[index].queues {
                    queue.post(events[index].event, from: events[index].request, events[index].occurrence)
                }
            }
            events = box.withLock { $0.pendingEvents.next() }
        }
    }
}
