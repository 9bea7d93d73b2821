/// What the monitors of one request have yet to be told, in the order in which it happened.
///
/// Part of the request's box. An event is put here in the step that makes it true, and handed over after unlocking by one
/// thread at a time: so a cancel is never told before the start that it meets, nor a hop's end before its beginning.
struct EventOutbox {
    struct Letter: Sendable {
        let event: RequestEvent
        let request: any Request
        let mailboxes: [MonitorMailbox]
    }

    private var letters: [Letter] = []
    private var isBeingEmptied = false

    mutating func add(_ letter: Letter) { letters.append(letter) }

    /// What is to be handed over; nothing if somebody is at it, who then goes on with what has been added.
    mutating func begin() -> [Letter] {
        guard !letters.isEmpty, !isBeingEmptied else { return [] }
        isBeingEmptied = true
        return next()
    }

    /// What was added meanwhile; nothing if that was all.
    mutating func next() -> [Letter] {
        if letters.isEmpty { isBeingEmptied = false }
        defer { letters = [] }
        return letters
    }
}

extension RequestState {
    /// - Parameter isLate: Whether the event may come after the finish; others are not noted then.
    func isObserved(isLate: Bool = false) -> Bool {
        !settings.content.monitors.isEmpty && (isLate ? face : heldFace) != nil
    }

    /// Notes an event for the monitors, and builds it only if there are any (R8).
    mutating func note(_ event: @autoclosure () -> RequestEvent, isLate: Bool = false) {
        guard isObserved(isLate: isLate), let face else { return }
        outbox.add(EventOutbox.Letter(event: event(), request: face, mailboxes: settings.content.monitors))
    }
}

extension RequestCore {
    /// Changes the state, and hands over the events that were noted.
    func update<Value: Sendable>(_ change: (inout RequestState) -> Value) -> Value {
        let (value, mail) = box.withLock { (change(&$0), $0.outbox.begin()) }
        post(mail)
        return value
    }

    /// Tells the monitors, and what has been noted before as well.
    func emit(_ event: @autoclosure () -> RequestEvent, isLate: Bool = false) {
        guard read({ $0.isObserved(isLate: isLate) }) else { return }
        let event = event()
        update { $0.note(event, isLate: isLate) }
    }

    func postNoted() { post(box.withLock { $0.outbox.begin() }) }

    @inline(__always)
    func post(_ mail: [EventOutbox.Letter]) {
        if !mail.isEmpty { deliver(mail) }
    }

    private func deliver(_ first: [EventOutbox.Letter]) {
        var mail = first
        while !mail.isEmpty {
            for letter in mail {
                for mailbox in letter.mailboxes { mailbox.post(letter.event, from: letter.request) }
            }
            mail = box.withLock { $0.outbox.next() }
        }
    }
}
