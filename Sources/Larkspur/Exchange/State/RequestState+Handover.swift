/// The end of a hop that no task waits for, left to the awaiter of the response.
///
/// The awaiter goes on with the request: the transport's thread handles the events of all requests, and the allocator is
/// faster where the thread that frees a request is like the one that made it.
extension RequestState {
    /// Whether the end of a hop is left to an awaiter who has not begun.
    var isLeftToAwaiter: Bool {
        if case .awaiter = hop?.waiter { true } else { false }
    }

    /// Leaves the end of a hop to the awaiter, if exactly one waits; of several, one could have to wait for another.
    mutating func leaveToAwaiter(_ hop: HopProgress, _ error: TransportError?) -> Suspension<SerializerSlot.Answer>? {
        guard case .nobody = hop.waiter, phase == .transferring, hop.isDelivered(with: error),
            let awaiter = queue.takeSoleWaiter()
        else { return nil }
        hop.waiter = .awaiter
        return awaiter
    }

    /// Returns the answer if the response is final or there is a hop to be taken up, or else keeps the waiter.
    mutating func answer(_ waiter: SerializerSlot.Waiter, in slot: Int) -> SerializerSlot.Answer? {
        let isLeft = isLeftToAwaiter
        guard queue[slot].keep(isLeft ? (waiter.number, nil) : waiter) else { return .ready }
        return isLeft ? .takeUpHop : nil
    }

    /// Ends the hop for the thread that goes on with it; nil if another one does. The task is released after unlocking.
    mutating func takeUpHop() -> (CompletedExchange, Session, any TransportTask)? {
        guard isLeftToAwaiter, let hop, let session else { return nil }
        return (end(hop, nil), session, hop.task)
    }
}
