/// Functions that attach, await and withdraw serializers, for request objects and their callers.
extension RequestCore {
    /// Attaches a serializer and returns a task that delivers the response. If the caller's task is already cancelled,
    /// the request is not started.
    func task<Serializer: ResponseSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> DataTask<Serializer.SerializedObject> {
        task(SerializerJob(serializer, requestID: id), automaticallyCancelling)
    }

    /// Attaches one of the library's synchronous serializers, and returns a task that delivers the response.
    func task<Serializer: PromptSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> DataTask<Serializer.SerializedObject> {
        task(SerializerJob(prompt: serializer, requestID: id), automaticallyCancelling)
    }

    private func task<Value>(_ job: SerializerJob, _ automaticallyCancelling: Bool) -> DataTask<Value> {
        let isCancelled = automaticallyCancelling && Task.isCancelled
        let (slot, owner) = attach(job, starting: startsAutomatically && !isCancelled)
        if isCancelled { withdraw(slot, automaticallyCancelling: true) }
        return DataTask(owner, slot: slot, automaticallyCancelling: automaticallyCancelling) {
            await self.response(of: slot, automaticallyCancelling: automaticallyCancelling)
        }
    }

    /// Attaches a serializer whose response is passed to a closure.
    package func attach<Serializer: ResponseSerializer>(
        _ serializer: Serializer, handler: @escaping @Sendable (DataResponse<Serializer.SerializedObject>) async -> Void
    ) {
        let job = SerializerJob(serializer, requestID: id)
        _ = attach(job, starting: startsAutomatically) { await handler(DataResponse($0)) }
    }

    /// Adds the job to the queue of serializers, and starts the request if it starts automatically.
    private func attach(
        _ job: SerializerJob, starting: Bool, handler: SerializerSlot.Handler? = nil
    ) -> (slot: Int, owner: any Request) {
        let (slot, action, owner) = box.withLock { state in
            let (slot, action) = state.attach(
                SerializerSlot(job: job, handler: handler), startsAutomatically: starting)
            return (slot, action, state.owner)
        }
        guard let owner else { preconditionFailure("a serializer was attached to a request that was released") }
        act(on: action, owner)
        return (slot, owner)
    }

    /// Starts the request for a reader of its body or events. If the request does not start automatically, registers it
    /// with the session instead. The session cancels the request if the session ends first.
    package func demand() {
        let (action, owner) = box.withLock { ($0.demand(startsAutomatically: startsAutomatically), $0.owner) }
        if let owner { act(on: action, owner) }
    }

    private func act(on action: RequestState.AttachAction, _ owner: any Request) {
        switch action {
        case .none: break
        case .run(let opening): run(opening)
        case .keep: if !register(owner) { cancel(context.endReason) }
        case .workLate: workLate(owner)
        case .takeUpHop: takeUpHopInTask()
        }
    }

    /// Runs the serializers that were attached after the finish, and delivers each response at once.
    ///
    /// - Parameter owner: The request object. The task keeps it alive until its monitors were told about the last
    ///   serializer.
    private func workLate(_ owner: any Request) {
        // The request's own task has ended, so late serializers run in an unstructured task. Serializers that are
        // attached while this task runs use the same task.
        Task {
            let exchange = read { $0.exchange } ?? CompletedExchange()
            while let (slot, job) = box.withLock({ $0.queue.nextLate() }) {
                let (response, failure) = await run(job, exchange)
                hold(response, in: slot, during: .finished)
                emit(.serialize(SerializationEvent(exchange, response, error: failure)), isLate: true)
                let (deliveries, callsHandlers) = box.withLock { ($0.queue.deliverHeld(), $0.queue.beginHandlers()) }
                deliveries.forEach { $0() }
                // Closures run in another task, because a closure may wait for a serializer that is attached later.
                if callsHandlers { Task { await callHandlers() } }
            }
            withExtendedLifetime(owner) {}
        }
    }

    /// Calls the response closures that are waiting in the queue, one after another.
    func callHandlers() async {
        while let calls = box.withLock({ $0.queue.nextHandlers() }) {
            for call in calls { await call.handler(call.response) }
        }
    }

    /// Stores a serializer's response until the request delivers all responses. Returns false if the response is no
    /// longer wanted.
    @discardableResult
    func hold(_ response: AnyResponse, in slot: Int, during phase: RequestPhase) -> Bool {
        box.withLock { $0.hold(response, in: slot, during: phase) }.isHeld
    }

    // MARK: Awaiting

    /// Waits for a serializer's response. If the awaiting task is cancelled, that task gets a cancellation error at
    /// once.
    func response<Value: Sendable>(
        of slot: Int, automaticallyCancelling: Bool
    ) async -> DataResponse<Value> {
        var (ready, number) = box.withLock { ($0.queue[slot].finalResponse, $0.nextWaiterNumber()) }
        while true {
            if let ready { return DataResponse(ready) }
            if let error = selfAwait {
                return DataResponse(exchange: read { $0.cancelledExchange }, result: .failure(error))
            }
            let answer = await suspended { [number] (continuation: Continuation<SerializerSlot.Answer>) in
                let answer = box.withLock { $0.answer((number, continuation), in: slot) }
                if let answer { continuation.resume(returning: answer) }
            } onCancel: { [number] in
                cancelWaiter(number, of: slot, automaticallyCancelling)
            }
            switch answer {
            case .ready: break
            case .takeUpHop: takeUpHop()
            case .cancelled:
                let exchange = read { $0.cancelledExchange }
                return DataResponse(exchange: exchange, result: .failure(cancelError(exchange)))
            }
            ready = box.withLock { $0.queue[slot].finalResponse }
        }
    }

    /// Resumes one cancelled awaiter. If no caller needs a response any more, cancels the request.
    private func cancelWaiter(_ number: UInt64, of slot: Int, _ automaticallyCancelling: Bool) {
        let (waiter, action) = box.withLock { state in
            let waiter = state.queue[slot].removeWaiter(number, abandons: automaticallyCancelling)
            let isAbandoned = waiter != nil && state.queue[slot].interest == .abandoned
            return (waiter, isAbandoned && !state.queue.isOwing ? state.cancel(.requestCancelled) : .none)
        }
        waiter?.continuation?.resume(returning: .cancelled)
        act(on: action)
    }

    /// Withdraws a serializer before the request finishes. Cancels the request if `automaticallyCancelling` is true and
    /// no caller needs another serializer's response.
    func withdraw(_ slot: Int, automaticallyCancelling: Bool) {
        let (job, exchange) = box.withLock { ($0.queue[slot].job, $0.cancelledExchange) }
        guard let job else { return }
        let response = job.fail(exchange, cancelError(exchange))
        let (delivery, action) = box.withLock { state -> (Delivery?, RequestState.CancelAction) in
            guard let delivery = state.queue[slot].withdraw(with: response) else { return (nil, .none) }
            let isLast = automaticallyCancelling && !state.queue.isOwing
            return (delivery, isLast ? state.cancel(.requestCancelled) : .none)
        }
        delivery?()
        act(on: action)
    }

    private func cancelError(_ exchange: CompletedExchange) -> RequestError {
        RequestError.requestCancelled.adding(to: exchange, requestID: id)
    }
}
