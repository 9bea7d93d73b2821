/// What does the machine's steps: a thread that happens to be there, as long as none of them needs a task, and then the
/// request's task.
extension RequestPipeline {
    /// Sets a request going where the caller is, on Linux up to its hop or to the first step that needs a task: to hand it to
    /// another thread costs more than all else that the framework does for it.
    ///
    /// A request that starts while another one is being started on the same thread gets a task at once, or a chain of them
    /// would grow the stack without end. On Apple platforms callers are often on the main thread, which is not for this.
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
                // The task that runs the user's code after the hop waits for the hop, so it has the caller's task-local values.
                guard core.receiver == nil, !plan.callsUserAfterHop else {
                    return core.keep(Task.immediate { await run(next) })
                }
                if case .unwind = core.beginHop(request, for: session, .nobody) { core.unwind() }
            }
        #endif
    }

    /// Goes on where no task waits for the hop: with its end, on the awaiter's or the transport's thread.
    func goOn(after exchange: CompletedExchange) {
        run { () throws(Exit) in
            try judge(.ended(exchange), HopLoop())
        } rest: { next in
            core.keep(Task.detached { await run(next) })
        }
    }

    /// Does the steps that can be done now.
    ///
    /// - Parameter rest: Goes on with what cannot be done now.
    private func run(_ first: () throws(Exit) -> Next, rest: (Next) -> Void) {
        do throws(Exit) {
            var next = try first()
            while case .now(let step) = next { next = try self.next(step) }
            if case .done = next { return }
            rest(next)
        } catch {
            leave(error)
        }
    }

    /// Unstructured: the exchange goes on whether or not the caller awaits it.
    private func runInTask(_ next: Next) {
        core.keep(Task { await run(next) })
    }

    /// Does all steps, one after another, in the request's task.
    private func run(_ first: Next) async {
        guard !core.sharedWork.isEmpty else { return await runToEnd(first) }
        await SharedWork.$current.withValue(SharedWork.current + core.sharedWork) { await runToEnd(first) }
    }

    private func runToEnd(_ first: Next) async {
        var next = first
        do throws(Exit) {
            while true {
                if case .done = next { return }
                next = try await advance(next)
            }
        } catch {
            leave(error)
        }
    }

    /// Drives the hop loop alone: from a request to its final response, for a call of `next` by middleware.
    ///
    /// - Parameter first: What the loop begins with.
    func hops(_ first: Next) async throws(Exit) -> HopOutcome {
        var (pipeline, next) = (self, first)
        pipeline.isStepwise = true
        while true {
            switch next {
            case .now(.examine(let exchange, _)): return .ended(exchange)
            case .now(.receive(let head, let body)): return .live(head, body)
            case .now, .later, .wait, .done: next = try await pipeline.advance(next)
            }
        }
    }

    private func advance(_ next: Next) async throws(Exit) -> Next {
        switch next {
        case .now(let step): try self.next(step)
        case .later(let work): try await work()
        case .wait(let request, let plan, let loop):
            .now(.judge(try await core.perform(request, plan, for: session), loop))
        case .done: .done
        }
    }

    private func leave(_ exit: Exit) {
        switch exit {
        case .abandon: break
        case .unwind: core.unwind()
        }
    }
}
