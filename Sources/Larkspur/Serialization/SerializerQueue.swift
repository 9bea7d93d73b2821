/// A request's serializers in the order they were attached, and how far each stage has got with them.
///
/// Part of the request's box. While the request runs, responses are held until the last serializer has ended and then
/// delivered in order; after the finish each late one is delivered as it ends.
struct SerializerQueue {
    /// Whether a task works on something; it takes up whatever is added until it finds nothing more.
    enum Worker { case idle, running }

    private var slots: [SerializerSlot] = []
    /// All slots before this one are answered.
    private var delivered = 0
    /// All slots before this one have been serialized in this attempt.
    private var serialized = 0
    private var lateWorker = Worker.idle

    private var handlers: [SerializerSlot.Call] = []
    private var handlerWorker = Worker.idle

    var isOwing: Bool { slots[delivered...].contains { $0.isOwed } }

    /// Whether a serializer, or a closure that is given a response, is the user's.
    var needsTask: Bool {
        for index in slots.indices where slots[index].needsTask { return true }
        return false
    }

    /// Makes the response of the only slot, if that is the library's work alone.
    var solePrompt: SerializerJob.Prompt? { slots.count == 1 && !slots[0].needsTask ? slots[0].job?.prompt : nil }

    /// The only one who waits for the only slot.
    mutating func takeSoleWaiter() -> Suspension<SerializerSlot.Answer>? {
        slots.count == 1 && !slots[0].needsTask ? slots[0].takeSoleWaiter() : nil
    }

    subscript(slot: Int) -> SerializerSlot {
        get { slots[slot] }
        _modify { yield &slots[slot] }
    }

    mutating func append(_ slot: consuming SerializerSlot) -> Int {
        slots.append(slot)
        return slots.count - 1
    }

    mutating func nextWaiting() -> (slot: Int, job: SerializerJob)? {
        while serialized < slots.count {
            if case .waiting = slots[serialized].status, let job = slots[serialized].job { return (serialized, job) }
            serialized += 1
        }
        return nil
    }

    /// A new attempt begins: nothing from the last one is delivered. Returns the responses, to be let go of after
    /// unlocking: the ends of their values may be somebody's code (R1).
    mutating func discardHeld() -> [AnyResponse] {
        serialized = delivered
        return (delivered..<slots.count).compactMap { slots[$0].discard() }
    }

    /// Ends every slot that has its response, in order: its waiters are answered, its handler is queued.
    mutating func deliverHeld() -> Few<Delivery> {
        var deliveries = Few<Delivery>()
        while delivered < slots.count {
            if case .waiting = slots[delivered].status { break }
            if let delivery = slots[delivered].deliver(queueing: &handlers) { deliveries.append(delivery) }
            delivered += 1
        }
        return deliveries
    }

    /// Asks for the work on late serializers; whoever gets true does it.
    mutating func beginLateWork() -> Bool {
        guard lateWorker == .idle, delivered < slots.count else { return false }
        lateWorker = .running
        return true
    }

    /// The next late serializer, or nil, and the worker's part is over.
    mutating func nextLate() -> (slot: Int, job: SerializerJob)? {
        if let next = nextWaiting() { return next }
        lateWorker = .idle
        return nil
    }

    /// Asks for the handlers' part; whoever gets true calls them.
    mutating func beginHandlers() -> Bool {
        guard handlerWorker == .idle, !handlers.isEmpty else { return false }
        handlerWorker = .running
        return true
    }

    /// Handlers to call now, in order, or nil, and the worker's part is over.
    mutating func nextHandlers() -> [SerializerSlot.Call]? {
        guard !handlers.isEmpty else {
            handlerWorker = .idle
            return nil
        }
        defer { handlers = [] }
        return handlers
    }
}
