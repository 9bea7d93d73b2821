import LarkspurTransport

/// Serializers attached, awaited, withdrawn: the faces' side of the queue.
extension RequestCore {
    /// Attaches a serializer and gives the handle to await it by.
    func task<Serializer: ResponseSerializer>(
        _ serializer: Serializer, for face: any Request, _ automaticallyCancelling: Bool
    ) -> DataTask<Serializer.SerializedObject> {
        let slot = attach(serializer, to: face)
        return DataTask(face, slot: slot, automaticallyCancelling: automaticallyCancelling) {
            await self.response(of: slot, automaticallyCancelling: automaticallyCancelling, face)
        }
    }

    /// Attaches a serializer, and starts the request if that is what it waited for.
    func attach<Serializer: ResponseSerializer>(
        _ serializer: Serializer, to face: any Request,
        handler: (@Sendable (DataResponse<Serializer.SerializedObject>) async -> Void)? = nil
    ) -> Int {
        let job = SerializerJob(serializer, requestID: id)
        let untyped = handler.map { handler -> SerializerSlot.Handler in
            { await handler(ResponseBox.open($0)) }
        }
        return attach(SerializerSlot(job: job, handler: untyped), to: face)
    }

    private func attach(_ new: SerializerSlot, to face: any Request) -> Int {
        let starts = startsAutomatically
        let (slot, action) = box.withLock { $0.attach(new, of: face, startsAutomatically: starts) }
        switch action {
        case .none: break
        case .run: run(face)
        case .keep: if !context.register(face, id) { cancel(face, .sessionEnded) }
        case .workLate: workLate(face)
        }
        return slot
    }

    /// Runs the serializers that were attached after the finish, each once, and delivers each as it ends.
    private func workLate(_ face: any Request) {
        // Unstructured, one for each burst of late serializers: the exchange's own task is over.
        Task {
            let exchange = read { $0.exchange } ?? CompletedExchange()
            while let (slot, job) = box.withLock({ $0.queue.nextLate() }) {
                let (response, failure) = await job.run(exchange)
                hold(response, in: slot, during: .finished)
                emit(.serialize(failure), for: face)
                for delivery in box.withLock({ $0.queue.deliverHeld() }) { delivery() }
            }
            if box.withLock({ $0.queue.beginHandlers() }) { await callHandlers() }
        }
    }

    /// Calls what waits to be called, one after another, until nothing does.
    func callHandlers() async {
        while let handlers = box.withLock({ $0.queue.nextHandlers() }) {
            for handler in handlers { await handler.call(handler.response) }
        }
    }

    /// Takes a serializer's response, to be delivered with the others.
    func hold(_ response: AnyResponse, in slot: Int, during phase: RequestPhase) {
        _ = box.withLock { $0.hold(response, in: slot, during: phase) }
    }

    // MARK: Awaiting

    /// Waits for the slot's response. A cancelled awaiter gets a cancelled response at once.
    func response<Value: Sendable>(
        of slot: Int, automaticallyCancelling: Bool, _ face: any Request
    ) async -> DataResponse<Value> {
        let (ready, number) = box.withLock { ($0.queue[slot].finalResponse, $0.nextWaiterNumber()) }
        if let ready { return ResponseBox.open(ready) }
        let cancel: @Sendable () -> Void = {
            self.cancelWaiter(number, of: slot, automaticallyCancelling, face)
        }
        return await withTaskCancellationHandler {
            await suspended { (continuation: Suspension<DataResponse<Value>>) in
                let waiter: SerializerSlot.Waiter = { continuation.resume(returning: ResponseBox.open($0)) }
                if let ready = box.withLock({ $0.queue[slot].answer(number, waiter) }) { return waiter(ready) }
                // A cancel before the waiter was in its place has found nothing.
                if Task.isCancelled { cancel() }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Answers one waiter; the request goes on for all others, and is cancelled if nobody is left.
    private func cancelWaiter(_ number: UInt64, of slot: Int, _ automaticallyCancelling: Bool, _ face: any Request) {
        let (waiter, job, exchange, isLast) = box.withLock { state in
            let waiter = state.queue[slot].removeWaiter(number, abandons: automaticallyCancelling)
            let isAbandoned = waiter != nil && state.queue[slot].interest == .abandoned
            return (waiter, state.queue[slot].job, state.cancelledExchange, isAbandoned && !state.queue.isOwing)
        }
        waiter?(job.fail(exchange, .requestCancelled))
        if isLast { cancel(face) }
    }

    /// Ends one serializer before its time; the request too if it was the last that anybody wanted.
    func withdraw(_ slot: Int, automaticallyCancelling: Bool, _ face: any Request) {
        let (job, exchange) = box.withLock { ($0.queue[slot].job, $0.cancelledExchange) }
        let response = job.fail(exchange, .requestCancelled)
        let (delivery, isLast) = box.withLock { state in
            (state.queue[slot].withdraw(with: response), automaticallyCancelling && !state.queue.isOwing)
        }
        guard let delivery else { return }
        delivery()
        if isLast { cancel(face) }
    }
}
