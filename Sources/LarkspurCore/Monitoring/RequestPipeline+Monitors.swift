/// The wait for monitors that delay requests.
extension RequestPipeline {
    /// Whether a hop cannot begin now, because a monitor that delays requests has a full queue.
    func mustWaitForMonitors(_ plan: AttemptPlan) -> Bool {
        plan.settings.monitors.contains { delays($0) && !$0.isOpen }
    }

    /// Waits until the monitors that delay requests have room for the events of a hop. After a cancel or a timeout the
    /// wait ends, and the hop that follows fails at once.
    ///
    /// - Returns: The turn of the hop; nil if it has none.
    func turn(_ plan: AttemptPlan) async -> MonitorTurn? {
        try? await inTime(plan) {
            var turn: MonitorTurn?
            for queue in plan.settings.monitors where delays(queue) {
                // The hop gives its turn at one queue back before it waits for another queue, so that other hops need
                // not wait for both.
                turn?.end()
                turn = await queue.turn()
            }
            return turn
        }
    }

    /// Whether the request waits for this queue. A request that the monitor's own code makes does not, because the
    /// monitor may wait for the request.
    private func delays(_ queue: MonitorQueue) -> Bool {
        queue.delaysRequests && !core.sharedWork.contains { $0 === queue.work }
    }
}
