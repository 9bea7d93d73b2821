internal import CLarkspur

/// The start of tasks that have a connection slot. Only the thread that has the turn calls these functions.
extension CurlLoop {
    /// Frees a connection slot, and starts the waiting task that gets it.
    func leave(_ place: CurlOrigins.Place) {
        if let next = next(after: place) { start(next) }
    }

    /// Frees a connection slot. Returns the waiting task that gets it, if this loop performs that task.
    private func next(after place: CurlOrigins.Place) -> CurlOrigins.Start? {
        guard let next = shared.origins.withLock({ $0.leave(place) }) else { return nil }
        if next.place.loop == index, multi != nil { return next }
        next.task.transport.start(next)
        return nil
    }

    /// Starts a task that was admitted to this loop. If the task has ended meanwhile or cannot be sent, its connection
    /// slot goes to the next waiting task.
    func start(_ first: CurlOrigins.Start) {
        var next: CurlOrigins.Start? = first
        while let start = next {
            if begins(start) { return }
            next = self.next(after: start.place)
        }
    }

    /// Begins the hop of a task, whose orders are posted to this loop from now on. Returns false if the task has ended.
    private func begins(_ start: CurlOrigins.Start) -> Bool {
        guard let orders = start.task.takeOrders(in: index) else { return false }
        if let error = orders.end ?? CurlTransfer.refusal(of: start.task.request, configuration, routes) {
            start.task.end(error, metrics: TransportMetrics())
            return false
        }
        guard let slot = freeSlot() else {
            let error = TransportError(.unavailable, "libcurl has no memory left")
            start.task.end(error, metrics: TransportMetrics())
            return false
        }
        if transfers[slot].begin(start.task, at: start.place) { return true }
        free.append(slot)
        return false
    }

    private func freeSlot() -> CurlTransfer.Slot? {
        if let slot = free.popLast() { return slot }
        guard let transfer = CurlTransfer(slot: transfers.count, loop: self) else { return nil }
        transfers.append(transfer)
        limitConnections()
        return transfer.slot
    }

    /// Admits more of the origin's waiting tasks, because all requests to the origin share one connection from now on.
    /// A callback of libcurl calls this function, so the tasks start only after libcurl has returned.
    func speaksHTTP2(at place: CurlOrigins.Place) {
        if !place.isMultiplexed { admitted += shared.origins.withLock { $0.multiplex(place.origin) } }
    }

    /// Admits more of the origin's waiting tasks to this loop, which has a connection over HTTP/3.
    func speaksHTTP3(at place: CurlOrigins.Place) {
        if place.teachesHTTP1 { admitted += shared.origins.withLock { $0.gather(place.origin) } }
    }

    /// Lets other loops perform the origin's requests too, because no connection can be shared.
    func speaksHTTP1(at place: CurlOrigins.Place) {
        if place.teachesHTTP1 { admitted += shared.origins.withLock { $0.spread(place.origin) } }
    }

    func startAdmitted() {
        let starting = admitted
        admitted.removeAll()
        for next in starting { next.place.loop == index ? start(next) : next.task.transport.start(next) }
    }
}

extension CurlLoop {
    /// Ends posted tasks of a loop that was not started. Another thread may be starting it, so this uses no state that
    /// the turn guards.
    func refuse(_ entries: [CurlTaskQueue.Entry], _ error: TransportError) {
        for entry in entries {
            entry.task.end(error, metrics: TransportMetrics())
            guard let place = entry.place, let next = shared.origins.withLock({ $0.leave(place) }) else { continue }
            next.task.transport.start(next)
        }
    }
}
