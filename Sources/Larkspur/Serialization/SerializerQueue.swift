/// A request's serializers in the order in which they were attached, with the progress of each stage.
///
/// Part of the request's state. While the request runs, responses are held until the last serializer has ended, and are
/// then delivered in order. A serializer that is attached after the request has finished delivers its response when it
/// has ended.
struct SerializerQueue {
    /// Whether a task is working through the queue. It ends when the queue has no more work.
    enum Worker { case idle, running }

    private var slots: [SerializerSlot] = []
    /// The number of slots at the front of `slots` that have their final response.
    private var delivered = 0
    /// The number of slots at the front of `slots` that were serialized in this attempt.
    private var serialized = 0
    private var lateWorker = Worker.idle

    private var handlers: [SerializerSlot.Call] = []
    private var handlerWorker = Worker.idle

    var isOwing: Bool { slots[delivered...].contains { $0.isOwed } }

    /// Whether user code has to run: a serializer that is not built in, or a closure that receives a response.
    var needsTask: Bool {
        for index in slots.indices where slots[index].needsTask { return true }
        return false
    }

    /// The prompt serializer of the only slot; nil if there are other slots, or if the slot runs user code.
    var solePrompt: SerializerJob.Prompt? { slots.count == 1 && !slots[0].needsTask ? slots[0].job?.prompt : nil }

    /// Removes and returns the continuation of the only waiter of the only slot, if that slot runs no user code.
    mutating func takeSoleWaiter() -> Continuation<SerializerSlot.Answer>? {
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

    /// Resets the slots for a new attempt, so that no response of the last attempt is delivered. The caller releases
    /// the returned responses after unlocking, because releasing their values may run user code (rule R1 in
    /// Concurrency.md).
    mutating func discardHeld() -> [AnyResponse] {
        serialized = delivered
        return (delivered..<slots.count).compactMap { slots[$0].discard() }
    }

    /// Ends every slot that has its response, in order: resumes its waiters and queues its handler.
    mutating func deliverHeld() -> Few<Delivery> {
        var deliveries = Few<Delivery>()
        while delivered < slots.count {
            if case .waiting = slots[delivered].status { break }
            if let delivery = slots[delivered].deliver(queueing: &handlers) { deliveries.append(delivery) }
            delivered += 1
        }
        return deliveries
    }

    /// Claims the work of running the serializers that were attached after the request has finished. Returns true if
    /// the caller must run them, and false if another task does so or none is left.
    mutating func beginLateWork() -> Bool {
        guard lateWorker == .idle, delivered < slots.count else { return false }
        lateWorker = .running
        return true
    }

    /// Returns the next serializer that was attached after the finish. Returns nil if there is none; the worker then
    /// ends.
    mutating func nextLate() -> (slot: Int, job: SerializerJob)? {
        if let next = nextWaiting() { return next }
        lateWorker = .idle
        return nil
    }

    /// Claims the work of calling the handlers. Returns true if the caller must call them.
    mutating func beginHandlers() -> Bool {
        guard handlerWorker == .idle, !handlers.isEmpty else { return false }
        handlerWorker = .running
        return true
    }

    /// Returns the handlers to call now, in order. Returns nil if there are none; the worker then ends.
    mutating func nextHandlers() -> [SerializerSlot.Call]? {
        guard !handlers.isEmpty else {
            handlerWorker = .idle
            return nil
        }
        defer { handlers = [] }
        return handlers
    }
}
