/// The drivers, which call the steps of a request. The thread that starts the request runs steps until a step needs a
/// task. The request's task then runs the remaining steps.
extension RequestPipeline {
    /// Starts a request. On Linux the caller's thread runs the steps up to the first hop, or up to the first step that
    /// needs a task. Handing the request to another thread would take more time than all these steps.
    ///
    /// If a caller starts a request while the same thread is already starting another request, all steps of the new
    /// request run in a task. Otherwise a chain of requests could overflow the stack. On Apple platforms every request
    /// starts in a task, because callers are often on the main thread.
    func start() {
        #if canImport(Darwin)
            runInTask(.now(.begin))
        #else
            guard !ThreadMarks.isStarting else { return runInTask(.now(.begin)) }
            ThreadMarks.isStarting = true
            defer { ThreadMarks.isStarting = false }
            run { () throws(Exit) in
                try begin()
            } rest: { next in
                guard case .wait(let request, let plan, _) = next else { return runInTask(next) }
                // The task is opened before the hop, so that user code after the hop gets the caller's task-local
                // values.
                guard needsNoTask(plan) else { return core.keep(Task.immediate { await run(next) }) }
                if case .unwind = core.beginHop(request, for: session, .deliveringThread) { core.unwind() }
            }
        #endif
    }

    /// Whether no task has to wait for the end of a hop. If user code runs after it, a task waits, so that the user
    /// code has the caller's task-local values.
    private func needsNoTask(_ plan: AttemptPlan) -> Bool {
        core.receiver?.isPrompt != false && !plan.callsUserAfterHop && !core.context.retriersAskUsers
            && !plan.settings.interceptors.askUsers && !mustWaitForMonitors(plan)
    }

    /// Runs the steps after a hop, or after the head of its response, that no task waits for, on the awaiter's or the
    /// transport's thread.
    func resume(after outcome: HopOutcome) {
        run { () throws(Exit) in
            try judge(outcome, HopLoop())
        } rest: { next in
            core.keep(Task.detached { await run(next) }, isFirst: false)
        }
    }

    /// Runs steps on the current thread as long as they need no task.
    ///
    /// - Parameter rest: Handles the first result that needs a task or a hop.
    private func run(_ first: () throws(Exit) -> Next, rest: (Next) -> Void) {
        do throws(Exit) {
            var next = try first()
            while case .now(let step) = next { next = try self.next(step) }
            switch next {
            case .done: break
            case .listen(let delivery): listen(to: delivery)
            case .now, .later, .wait: rest(next)
            }
        } catch {
            leave(error)
        }
    }

    /// Runs the steps in an unstructured task, because the request must not end with its caller's task.
    private func runInTask(_ next: Next) {
        core.keep(Task { await run(next) })
    }

    /// Runs this step and all later steps in the request's task.
    private func run(_ first: Next) async {
        guard !core.sharedWork.isEmpty else { return await runToEnd(first) }
        await SharedWork.$current.withValue(SharedWork.current + core.sharedWork) { await runToEnd(first) }
    }

    private func runToEnd(_ first: Next) async {
        var next = first
        do throws(Exit) {
            while true {
                if case .done = next { return }
                if case .listen(let delivery) = next { return listen(to: delivery) }
                if leaves(next) { return }
                next = try await advance(next)
            }
        } catch {
            leave(error)
        }
    }

    /// Begins the first hop of an attempt and leaves its end to an awaiter or the transport's thread, as `start()`
    /// does, if no task has to wait for it. Returns false if a task does. After adapters that needed the task, this
    /// saves the request a second change of threads.
    private func leaves(_ next: Next) -> Bool {
        #if canImport(Darwin)
            return false
        #else
            guard case .wait(let request, let plan, let loop) = next, loop.inquiries.isEmpty, needsNoTask(plan),
                !plan.finishNeedsTask
            else { return false }
            core.dropTask()
            if case .unwind = core.beginHop(request, for: session, .deliveringThread) { core.unwind() }
            return true
        #endif
    }

    /// Leaves the request to the transport's threads until the end of its body. The thread that delivers the end runs
    /// the steps after it, up to the first step that needs a task.
    private func listen(to delivery: Delivery) {
        core.dropTask()
        delivery.body.deliver(to: delivery.consumer) { error in
            run { () throws(Exit) in
                try delivery.finish(error)
            } rest: { next in
                guard core.isWithPipeline else { return }
                core.keep(Task.detached { await run(next) }, isFirst: false)
            }
        }
    }

    /// Runs only the hop loop, from a request to its final response. Called when middleware calls `next`.
    func hops(_ first: Next) async throws(Exit) -> HopOutcome {
        var (pipeline, next) = (self, first)
        pipeline.isStepwise = true
        while true {
            switch next {
            case .now(.examine(let exchange, _)): return .ended(exchange)
            case .now(.receive(let head, let body)): return .live(head, body)
            case .now, .later, .wait, .listen, .done: next = try await pipeline.advance(next)
            }
        }
    }

    private func advance(_ next: Next) async throws(Exit) -> Next {
        switch next {
        case .now(let step): try self.next(step)
        case .later(let work): try await work()
        case .wait(let request, let plan, let loop):
            .now(
                .judge(
                    try await core.perform(
                        request, plan, for: session, in: mustWaitForMonitors(plan) ? turn(plan) : nil), loop))
        case .listen, .done: next
        }
    }

    private func leave(_ exit: Exit) {
        switch exit {
        case .abandon: break
        case .unwind: core.unwind()
        }
    }
}
