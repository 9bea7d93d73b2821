/// An event, and the request that it is of.
public struct IdentifiedEvent: Sendable, CustomStringConvertible {
    /// Whose event it is.
    public let request: RequestID
    /// What has happened.
    public let event: RequestEvent

    /// The request's name and the event's: `#1 beginHop`.
    public var description: String { "\(request) \(event.name)" }
}

extension Request {
    /// What happens to the request from the first iteration on, up to its finish. Iterating starts the request, as a
    /// serializer does; each iteration is told everything from its own beginning on, and a slow one delays nobody.
    ///
    ///     for await event in request.events { print(event) }
    public var events: RequestSequence<IdentifiedEvent> {
        RequestSequence(following: {
            let core = self.handle.core
            let subscription = EventSubscription(to: core.id)
            let isLate = core.box.withLock { state in
                if state.phase != .finished { state.settings.monitors.append(subscription.mailbox) }
                return state.phase == .finished
            }
            if isLate { subscription.mailbox.close() } else { core.demand() }
            return subscription.stream
        })
    }
}

/// A mailbox whose mail is read as a sequence. It closes when nobody keeps the sequence.
final class EventSubscription: Sendable {
    let mailbox: MonitorMailbox
    private let bell: AsyncStream<Void>
    private let ringer: AsyncStream<Void>.Continuation
    private let request: RequestID?
    /// The next one is the last.
    private let waiting = Protected<[EventQueue.Letter]>([])

    /// - Parameter request: What it is of; it ends with its finish.
    init(to request: RequestID? = nil) {
        let (bell, ringer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.bell, self.ringer, self.request) = (bell, ringer, request)
        mailbox = MonitorMailbox(for: .sequence(ringer), of: request)
    }

    deinit {
        mailbox.close()
        // What waits holds its request, and the request may hold the mailbox.
        _ = mailbox.take()
    }

    var stream: AsyncStream<IdentifiedEvent> { AsyncStream { await self.next() } }

    private func next() async -> IdentifiedEvent? {
        while true {
            if let event = takeFirst() { return event }
            var bell = bell.makeAsyncIterator()
            guard await bell.next() != nil else { return Task.isCancelled ? nil : takeFirst() }
        }
    }

    private func takeFirst() -> IdentifiedEvent? {
        var (letter, isLast) = waiting.withLock { ($0.popLast(), $0.isEmpty) }
        if letter == nil, let mail = mailbox.take() {
            (letter, isLast) = waiting.withLock { letters in
                letters.insert(contentsOf: mail.letters.reversed(), at: 0)
                return (letters.popLast(), letters.isEmpty)
            }
        }
        guard let letter else { return nil }
        // Another reader may be asleep, and this one may not come again.
        if !isLast, request == nil { ringer.yield() }
        if case .finish = letter.event, request != nil { mailbox.close() }
        return IdentifiedEvent(request: letter.request.id, event: letter.event)
    }
}
