/// A request's serializers in the order in which they were attached, with the numbers of those that have run and of
/// those whose responses are delivered.
///
/// The queue is part of the request's state. While the request runs, the queue holds the responses until the last
/// serializer has ended, and then delivers them in order. If a serializer is attached after the request has finished,
/// its response is delivered as soon as that serializer has ended.
struct SerializerQueue {
    /// Whether a task runs the late serializers or calls the handlers. The task ends when no such work is left.
    enum Worker { case idle, running }

    private var slots: [SerializerSlot] = []
    /// The number of slots at the front of `slots` that have their final response.
    private var delivered = 0
    /// The number of slots at the front of `slots` that need no serializer to run in this attempt any more.
    private var serialized = 0
    private var lateWorker = Worker.idle

    private var handlers: [SerializerSlot.Call] = []
    private var handlerWorker = Worker.idle

    var isOwing: Bool { slots[delivered...].contains { $0.isOwed } }

    /// Whether user code may have to run, which needs a task: a serializer that is not a ``PromptSerializer``, or a
    /// closure that receives a response.
    var needsTask: Bool {
        for index in slots.indices where slots[index].needsTask { return true }
        return false
    }

    /// The `prompt` closure of the only slot's serializer; nil if there are several slots or the slot runs user code.
    var solePrompt: SerializerJob.Prompt? { slots.count == 1 && !slots[0].needsTask ? slots[0].job?.prompt : nil }

    /// Removes and returns the continuation of the only task that awaits the only slot. Returns nil if there are
    /// several slots, if the slot runs user code, or if several tasks or none await the slot.
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
    /// the returned responses after unlocking the request's state, because releasing their values may run user code
    /// (rule R1 in Concurrency.md).
    mutating func discardHeld() -> [AnyResponse] {
        serialized = delivered
        return (delivered..<slots.count).compactMap { slots[$0].discard() }
    }

    /// Marks the held responses as delivered, in order, up to the first slot without a response, and queues their
    /// handlers. The caller calls the returned deliveries after unlocking, which resumes the awaiting tasks.
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
    /// the caller must run these serializers, and false if another task runs them or none is left.
    mutating func beginLateWork() -> Bool {
        guard lateWorker == .idle, delivered < slots.count else { return false }
        lateWorker = .running
        return true
    }

    /// Returns the next serializer that was attached after the request had finished. If there is none, returns nil and
    /// marks the worker as idle; the calling task then ends.
    mutating func nextLate() -> (slot: Int, job: SerializerJob)? {
        if let next = nextWaiting() { return next }
        lateWorker = .idle
        return nil
    }

    /// Claims the work of calling the queued handlers. Returns true if the caller must call them, and false if another
    /// task calls them or none is queued.
    mutating func beginHandlers() -> Bool {
        guard handlerWorker == .idle, !handlers.isEmpty else { return false }
        handlerWorker = .running
        return true
    }

    /// Removes and returns the queued handlers, in order. If there are none, returns nil and marks the worker as idle;
    /// the calling task then ends.
    mutating func nextHandlers() -> [SerializerSlot.Call]? {
        guard !handlers.isEmpty else {
            handlerWorker = .idle
            return nil
        }
        defer { handlers = [] }
        return handlers
    }
}
