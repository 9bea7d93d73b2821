/// Serializers attached, awaited, withdrawn: the faces' side of the queue.
extension RequestCore {
    /// Attaches a serializer and gives the handle to await it by; in a cancelled task it starts nothing.
    func task<Serializer: ResponseSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> DataTask<Serializer.SerializedObject> {
        task(SerializerJob(serializer, requestID: id), automaticallyCancelling)
    }

    /// The same for a serializer of the library's own.
    func task<Serializer: PromptSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> DataTask<Serializer.SerializedObject> {
        task(SerializerJob(prompt: serializer, requestID: id), automaticallyCancelling)
    }

    private func task<Value>(_ job: SerializerJob, _ automaticallyCancelling: Bool) -> DataTask<Value> {
        let isCancelled = automaticallyCancelling && Task.isCancelled
        let (slot, face) = attach(job, starting: startsAutomatically && !isCancelled)
        if isCancelled { withdraw(slot, automaticallyCancelling: true) }
        return DataTask(face, slot: slot, automaticallyCancelling: automaticallyCancelling) {
            await self.response(of: slot, automaticallyCancelling: automaticallyCancelling)
        }
    }

    /// Attaches a serializer whose response is given to a closure.
    func attach<Serializer: ResponseSerializer>(
        _ serializer: Serializer, handler: @escaping @Sendable (DataResponse<Serializer.SerializedObject>) async -> Void
    ) {
        let job = SerializerJob(serializer, requestID: id)
        _ = attach(job, starting: startsAutomatically) { await handler(DataResponse($0)) }
    }

    /// Puts the job into the queue, and starts the request if that is what it waited for.
    private func attach(
        _ job: SerializerJob, starting: Bool, handler: SerializerSlot.Handler? = nil
    ) -> (slot: Int, face: any Request) {
        let (slot, action, face) = box.withLock { state in
            let (slot, action) = state.attach(
                SerializerSlot(job: job, handler: handler), startsAutomatically: starting)
            return (slot, action, state.face)
        }
        guard let face else { preconditionFailure("a serializer was attached to a request that is gone") }
        act(on: action, face)
        return (slot, face)
    }

    /// Starts the request for a reader of its body or a follower of its events. If it does not start automatically, the session
    /// keeps it, and answers all waiters when the session ends.
    func demand() {
        let (action, face) = box.withLock { ($0.demand(startsAutomatically: startsAutomatically), $0.face) }
        if let face { act(on: action, face) }
    }

    private func act(on action: RequestState.AttachAction, _ face: any Request) {
        switch action {
        case .none: break
        case .run(let opening): run(opening)
        case .keep: if !register(face) { cancel(context.endReason) }
        case .workLate: workLate(face)
        case .takeUpHop: takeUpHopApart()
        }
    }

    /// Runs the serializers that were attached after the finish, each once, and delivers each as it ends.
    ///
    /// - Parameter face: The request, which lives until its monitors have heard of the last one.
    private func workLate(_ face: any Request) {
        // Unstructured, one for each burst of late serializers: the exchange's own task is over.
        Task {
            let exchange = read { $0.exchange } ?? CompletedExchange()
            while let (slot, job) = box.withLock({ $0.queue.nextLate() }) {
                let (response, failure) = await run(job, exchange)
                hold(response, in: slot, during: .finished)
                emit(.serialize(failure), isLate: true)
                let (deliveries, callsHandlers) = box.withLock { ($0.queue.deliverHeld(), $0.queue.beginHandlers()) }
                deliveries.forEach { $0() }
                // A task of its own: a closure may wait for a serializer that is later still.
                if callsHandlers { Task { await callHandlers() } }
            }
            withExtendedLifetime(face) {}
        }
    }

    /// Calls what waits to be called, one after another, until nothing does.
    func callHandlers() async {
        while let calls = box.withLock({ $0.queue.nextHandlers() }) {
            for call in calls { await call.handler(call.response) }
        }
    }

    /// Takes a serializer's response, to be delivered with the others; false if nobody wants it any more.
    @discardableResult
    func hold(_ response: AnyResponse, in slot: Int, during phase: RequestPhase) -> Bool {
        box.withLock { $0.hold(response, in: slot, during: phase) }.isHeld
    }

    // MARK: Awaiting

    /// Waits for the slot's response. A cancelled awaiter gets a cancelled response at once.
    func response<Value: Sendable>(
        of slot: Int, automaticallyCancelling: Bool
    ) async -> DataResponse<Value> {
        var (ready, number) = box.withLock { ($0.queue[slot].finalResponse, $0.nextWaiterNumber()) }
        while true {
            if let ready { return DataResponse(ready) }
            if let error = selfAwait {
                return DataResponse(exchange: read { $0.cancelledExchange }, result: .failure(error))
            }
            let answer = await suspended { [number] (continuation: Suspension<SerializerSlot.Answer>) in
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

    /// Answers one waiter; the request goes on for all others, and is cancelled if nobody is left.
    private func cancelWaiter(_ number: UInt64, of slot: Int, _ automaticallyCancelling: Bool) {
        let (waiter, action) = box.withLock { state in
            let waiter = state.queue[slot].removeWaiter(number, abandons: automaticallyCancelling)
            let isAbandoned = waiter != nil && state.queue[slot].interest == .abandoned
            return (waiter, isAbandoned && !state.queue.isOwing ? state.cancel(.requestCancelled) : .none)
        }
        waiter?.continuation?.resume(returning: .cancelled)
        act(on: action)
    }

    /// Ends one serializer before its time; the request too if it was the last that anybody wanted.
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
