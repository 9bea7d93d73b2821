/// The first step: an attempt begins, and the attempt's request is built from its source.
extension RequestPipeline {
    func begin() throws(Exit) -> Next {
        let plan = try core.beginAttempt()
        guard core.isLimited(plan.settings.timeouts) else { return try build(plan) }
        // The attempt's timeout is started in a task, because starting it calls a clock, and a clock may be user code.
        return .later { () async throws(Exit) in
            core.watchAttempt(plan)
            return try build(core.currentPlan())
        }
    }

    private func build(_ plan: AttemptPlan) throws(Exit) -> Next {
        guard core.source.needsTask else {
            let request: OutgoingRequest
            do { request = try core.source.build(in: core.context, within: plan.settings.timeouts) } catch {
                return try fail(error)
            }
            return try adapt(request, builtBy: plan, plan)
        }
        return .later { () async throws(Exit) in
            let request: OutgoingRequest
            do {
                request = try await inTime(plan) {
                    try await core.source.buildWithUserCode(in: core.context, within: plan.settings.timeouts)
                }
            } catch {
                return try fail(error)
            }
            return try adapt(request, builtBy: plan, core.currentPlan())
        }
    }
}
