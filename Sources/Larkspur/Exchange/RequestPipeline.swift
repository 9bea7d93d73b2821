/// The way of one request as a machine: its steps in order, the only retry loop, the only hop loop.
///
/// The machine is a value that keeps nothing. Each step is a function: it does its part, by the plan of its attempt, and goes on
/// with the next step. It decides by its plan alone whether it can be done at once, without code of the user's and without a wait; if
/// not, it returns the work for a task. So every request takes the same steps, on whatever thread a driver runs them
/// (`RequestPipeline+Drivers.swift`).
///
/// A step that changes the state fails with `RequestCore.Exit` after a cancel: another task finishes the request then.
struct RequestPipeline: Sendable {
    let core: RequestCore
    let session: Session
    /// Whether a driver is given each step before it is done: where middleware drives the hop loop alone, and where a test
    /// plays what comes between two steps.
    var isStepwise = false

    typealias Exit = RequestCore.Exit

    /// What follows a step.
    enum Next: Sendable {
        /// This step, at once.
        case now(Step)
        /// Work that needs a task, and returns what follows.
        case later(Work)
        /// A hop with this request, and then `judge`.
        case wait(OutgoingRequest, AttemptPlan, HopLoop)
        /// Nothing: the request has finished.
        case done
    }

    typealias Work = @Sendable () async throws(Exit) -> Next

    /// Where a driver may look at the machine; the steps in between call each other.
    enum Step: Sendable {
        /// An attempt begins, the first one or a further one.
        case begin
        /// A hop has ended, or its head is there: another hop follows, or the response is final.
        case judge(HopOutcome, HopLoop)
        /// The final response has a body that is not kept in memory: it is validated and received.
        case receive(CompletedExchange, ByteChannel)
        /// The hops have ended: response gates and validators see the response, or retriers the failure.
        case examine(CompletedExchange, AttemptPlan)
        /// The next serializer runs; when none is left, the request finishes.
        case serialize(CompletedExchange, held: HeldResponse?)
    }

    /// The hops of one attempt, or of one call of `next` by middleware.
    struct HopLoop: Sendable {
        /// The number of the attempt's hops that came before this loop.
        var earlier = 0
        /// Nil if there were none.
        var inquiries: TrustInquiries?
    }

    /// Does one step.
    func next(_ step: Step) throws(Exit) -> Next {
        switch step {
        case .begin: try begin()
        case .judge(let outcome, let loop): try judge(outcome, loop)
        case .receive(let head, let body):
            .later { () async throws(Exit) in try await conclude(receive(body, of: head), core.look()) }
        case .examine(let exchange, let plan): try examine(exchange, plan)
        case .serialize(let exchange, let held): try serialize(exchange, held)
        }
    }

    func failed(_ error: RequestError, _ exchange: CompletedExchange) -> CompletedExchange {
        exchange.failed(with: error.adding(to: exchange, requestID: core.id))
    }

    /// Runs code of the user's within an attempt. Where the attempt has a limit, the code is left behind when that passes.
    func inTime<Value: Sendable>(
        _ plan: AttemptPlan, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let limit = plan.deadlines.attempt else { return try await work() }
        return try await limit.run(work)
    }
}
