/// The handover of a hop's end to the awaiter of the response. It is used when no task waits for the hop.
///
/// The awaiter's thread runs the remaining steps, so the transport's thread stays free for the events of other
/// requests. Besides, memory is freed faster by the thread that allocated it.
extension RequestState {
    /// Whether the hop's end was left to an awaiter that has not begun to handle it.
    var isLeftToAwaiter: Bool {
        if case .awaiter = hop?.waiter { true } else { false }
    }

    /// Leaves the end of a hop to the awaiter of the response, if there is exactly one awaiter, and returns the
    /// awaiter's continuation. If there were several awaiters, one of them could have to wait for another.
    mutating func leaveToAwaiter(_ hop: HopProgress, _ error: TransportError?) -> Continuation<SerializerSlot.Answer>? {
        guard case .deliveringThread = hop.waiter, phase == .transferring, hop.isDelivered(with: error),
            let awaiter = queue.takeSoleWaiter()
        else { return nil }
        hop.waiter = .awaiter
        return awaiter
    }

    /// Returns the answer if the response is final, or if the awaiter has to handle the hop's end. Otherwise stores the
    /// waiter and returns nil.
    mutating func answer(_ waiter: SerializerSlot.Waiter, in slot: Int) -> SerializerSlot.Answer? {
        let isLeft = isLeftToAwaiter
        guard queue[slot].keep(isLeft ? (waiter.number, nil) : waiter) else { return .ready }
        return isLeft ? .takeUpHop : nil
    }

    /// Ends the hop and returns its result for the next steps. Returns nil if another thread already runs these steps.
    /// The caller releases the transport's task after unlocking.
    mutating func takeUpHop() -> (CompletedExchange, Session, any TransportTask)? {
        guard isLeftToAwaiter, let hop, let session else { return nil }
        return (end(hop, nil), session, hop.task)
    }
}

/// The task that runs a request's steps.
struct PipelineTask {
    private(set) var task: Task<Void, Never>?
    private var isDropped = false

    /// - Parameter isFirst: Whether the task is the request's first. If it was dropped before, it is not kept.
    mutating func keep(_ task: Task<Void, Never>, isFirst: Bool) {
        if !isFirst || !isDropped { self.task = task }
    }

    /// Forgets the first task. Returns it, to be released after unlocking.
    mutating func drop() -> Task<Void, Never>? {
        isDropped = true
        return task.take()
    }
}
