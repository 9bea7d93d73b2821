/// Limits the number of transfers in flight, because each one has open files. Waiting transfers start in their order.
final class BackgroundSlots: Sendable {
    private enum Entry {
        /// The transfer waits; nil until its task waits.
        case queued(Continuation<Bool>?)
        case granted
        case withdrawn
    }

    private struct State {
        var free: Int
        var entries: [UUID: Entry] = [:]
        var queue: [UUID] = []
    }

    private let box: Protected<State>

    init(_ count: Int) { box = Protected(State(free: max(1, count))) }

    /// Takes a slot or a place in the queue. It is followed by `wait`.
    func enter(_ id: UUID) {
        box.withLock { state in
            guard state.free == 0 else {
                state.free -= 1
                state.entries[id] = .granted
                return
            }
            state.entries[id] = .queued(nil)
            state.queue.append(id)
        }
    }

    /// Waits for the slot. Returns false if the transfer was withdrawn from the queue.
    func wait(_ id: UUID) async -> Bool {
        await suspended { (continuation: Continuation<Bool>) in
            let known = box.withLock { state -> Bool? in
                switch state.entries[id] {
                case .queued:
                    state.entries[id] = .queued(continuation)
                    return nil
                case .granted: return true
                case .withdrawn, nil:
                    state.entries[id] = nil
                    return false
                }
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    /// Removes a transfer from the queue. It has no effect on a transfer that has its slot.
    func withdraw(_ id: UUID) {
        let waiter = box.withLock { state -> Continuation<Bool>? in
            guard case .queued(let waiter) = state.entries[id] else { return nil }
            state.queue.removeAll { $0 == id }
            state.entries[id] = waiter == nil ? .withdrawn : nil
            return waiter
        }
        waiter?.resume(returning: false)
    }

    /// Gives the slot to the first transfer of the queue.
    func leave(_ id: UUID) {
        let waiter = box.withLock { state -> Continuation<Bool>? in
            state.entries[id] = nil
            guard !state.queue.isEmpty else {
                state.free += 1
                return nil
            }
            let next = state.queue.removeFirst()
            defer { state.entries[next] = .granted }
            if case .queued(let waiter) = state.entries[next] { return waiter }
            return nil
        }
        waiter?.resume(returning: true)
    }
}
