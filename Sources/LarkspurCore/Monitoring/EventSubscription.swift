/// An event with the identifier of its request.
public struct IdentifiedEvent: Sendable, CustomStringConvertible {
    /// The identifier of the request.
    public let request: RequestID
    /// The event.
    public let event: RequestEvent

    /// The request and the name of the event: `#1 beginHop`.
    public var description: String { "\(request) \(event.name)" }
}

extension Request {
    /// The events of the request. Each iteration gets the events from its own start until the request finishes.
    /// Iterating starts the request, as attaching a serializer does. A slow reader delays neither the request nor other
    /// readers. While 8,192 events wait for a reader, it misses events of a WebSocket.
    ///
    ///     for await event in request.events { print(event) }
    public var events: RequestSequence<IdentifiedEvent> {
        RequestSequence(following: {
            let core = self.handle.core
            let subscription = EventSubscription(to: core.id)
            let isLate = core.box.withLock { state in
                if state.phase != .finished { state.settings.monitors.append(subscription.queue) }
                return state.phase == .finished
            }
            if isLate { subscription.queue.close() } else { core.demand() }
            return subscription.stream
        })
    }
}

/// A monitor queue that is read as an asynchronous sequence. The queue closes when the subscription is released.
final class EventSubscription: Sendable {
    let queue: MonitorQueue
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let request: RequestID?
    /// Events taken from the queue, in reverse order: the next event is the last element.
    private let waiting = Protected<[EventQueue.Entry]>([])

    /// Creates a subscription.
    ///
    /// - Parameter request: The request to observe, whose finish ends the sequence; nil observes all requests of a
    ///   session.
    init(to request: RequestID? = nil) {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.signals, self.signal, self.request) = (signals, signal, request)
        queue = MonitorQueue(for: .sequence(signal), of: request)
    }

    deinit {
        queue.close()
        // Waiting events hold their request, and the request may hold the queue. Removing the events breaks this
        // reference cycle.
        _ = queue.take()
    }

    var stream: AsyncStream<IdentifiedEvent> { AsyncStream { await self.next() } }

    private func next() async -> IdentifiedEvent? {
        while true {
            if let event = takeFirst() { return event }
            var signals = signals.makeAsyncIterator()
            guard await signals.next() != nil else { return Task.isCancelled ? nil : takeFirst() }
        }
    }

    private func takeFirst() -> IdentifiedEvent? {
        var entry = waiting.withLock { $0.popLast() }
        if entry == nil, let batch = queue.take() {
            entry = waiting.withLock { entries in
                entries.insert(contentsOf: batch.entries.reversed(), at: 0)
                return entries.popLast()
            }
        }
        guard let entry else { return nil }
        // This reader may never read again, so it wakes another one. It also does so after the last waiting event,
        // because the queue signals no later event before a reader has found it empty.
        if request == nil { signal.yield() }
        if case .finish = entry.event, request != nil { queue.close() }
        return IdentifiedEvent(request: entry.request.id, event: entry.event)
    }
}
