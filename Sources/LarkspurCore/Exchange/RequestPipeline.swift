/// The steps of a request, from its source to its finish. Only the pipeline has a retry loop and a hop loop.
///
/// The steps are in the files `Step1` to `Step8`:
///
/// 1. Build: an attempt begins, and its request is built.
/// 2. Adapt: adapters change the request.
/// 3. Send: middleware sends the request.
/// 4. Hops: the request is sent, redirects are followed, and challenges are answered.
/// 5. Receive: a body that is not kept in memory goes to its receiver.
/// 6. Validate: response gates and validators see the response.
/// 7. Retry: retriers are asked about a failure. A retry continues with step 1.
/// 8. Serialize: serializers run, and the request finishes.
///
/// The pipeline is a value without mutable state. Each step is a function that does its work and calls the next step.
/// If a step has to run user code or to wait, it instead returns that work, and a driver runs the work in a task. The
/// step decides this by its plan (`AttemptPlan`). Every request takes the same steps, on any thread. The drivers that
/// call the steps are in `RequestPipeline+Drivers.swift`.
///
/// After a cancel, another task finishes the request. A step of the pipeline that then tries to change the state throws
/// `RequestCore.Exit`, and the pipeline stops.
struct RequestPipeline: Sendable {
    let core: RequestCore
    let session: Session
    /// Whether each step returns to the driver before the next step runs. Middleware needs this to run the hop loop
    /// without the later steps. Tests need it to inject events between two steps.
    var isStepwise = false

    typealias Exit = RequestCore.Exit

    /// The result of a step: the work that follows the step.
    enum Next: Sendable {
        /// Another step, which the driver calls at once.
        case now(Step)
        /// Work that needs a task.
        case later(Work)
        /// A hop with this request. The step `judge` follows the hop.
        case wait(OutgoingRequest, AttemptPlan, HopLoop)
        /// A body that a receiver is called with. No task waits for its end, so an idle stream takes little memory.
        case listen(Delivery)
        /// The request has finished.
        case done
    }

    typealias Work = @Sendable () async throws(Exit) -> Next

    /// A body, the closure that is called with its bytes, and the step that follows its end.
    struct Delivery: Sendable {
        let body: ByteChannel
        let consumer: ByteChannel.Consumer
        let finish: @Sendable (RequestError?) throws(Exit) -> Next
    }

    /// The steps that a driver calls. These steps call all other steps.
    enum Step: Sendable {
        /// An attempt begins.
        case begin
        /// A hop has ended or delivered its head. The step decides whether another hop follows or the response is
        /// final.
        case judge(HopOutcome, HopLoop)
        /// The final response has a body that the channel delivers. The response is validated, and the body goes to the
        /// receiver.
        case receive(CompletedExchange, ByteChannel)
        /// The hops have ended. Response gates and validators see the response.
        case examine(CompletedExchange, AttemptPlan)
        /// The next serializer runs. When none is left, the request finishes.
        case serialize(CompletedExchange, held: HeldResponse?)
    }

    /// The hops of one attempt, or of one call of `next` by middleware.
    struct HopLoop: Sendable {
        /// The number of hops that the attempt had before this loop.
        var earlier = 0
        /// The inquiries because of which hops of this loop were sent again.
        var inquiries: [any HopInquiry] = []
    }

    /// Calls one step. Without inlining, the variables of all steps do not take up the stack of the drivers, which are
    /// below every step.
    @inline(never)
    func next(_ step: Step) throws(Exit) -> Next {
        switch step {
        case .begin: try begin()
        case .judge(let outcome, let loop): try judge(outcome, loop)
        case .receive(let head, let body): try receive(head, body)
        case .examine(let exchange, let plan): try examine(exchange, plan)
        case .serialize(let exchange, let held): try serialize(exchange, held)
        }
    }

    func failed(_ error: RequestError, _ exchange: CompletedExchange) -> CompletedExchange {
        exchange.failed(with: error.adding(to: exchange, requestID: core.id))
    }

    /// Runs user code within the attempt's timeout. If the attempt times out, the method throws at once and leaves the
    /// user code running in a cancelled task.
    func inTime<Value: Sendable>(
        _ plan: AttemptPlan, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let limit = plan.deadlines.attempt else { return try await work() }
        return try await limit.run(work)
    }
}
