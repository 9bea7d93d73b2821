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
        handler: TypedSlot<Serializer.SerializedObject>.Handler? = nil
    ) -> Int {
        let starts = startsAutomatically
        let (slot, action) = box.withLock { state in
            state.attach(
                TypedSlot(job: TypedJob(serializer: serializer), handler: handler), of: face,
                startsAutomatically: starts)
        }
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
                let failure = await job.run(exchange, in: self, slot: slot, during: .finished)
                emit(.serialize(failure), for: face)
                for delivery in box.withLock({ $0.queue.deliverHeld() }) { delivery() }
            }
            if box.withLock({ $0.queue.beginHandlers() }) { await callHandlers() }
        }
    }

    /// Calls what waits to be called, one after another, until nothing does.
    func callHandlers() async {
        while let handlers = box.withLock({ $0.queue.nextHandlers() }) {
            for handler in handlers { await handler() }
        }
    }

    /// Takes a serializer's response, to be delivered with the others.
    func hold<Value: Sendable>(_ response: DataResponse<Value>, in slot: Int, during phase: RequestPhase) {
        _ = box.withLock { $0.hold(response, in: slot, during: phase) }
    }

    // MARK: Awaiting

    /// Waits for the slot's response. A cancelled awaiter gets a cancelled response at once.
    func response<Value: Sendable>(
        of slot: Int, automaticallyCancelling: Bool, _ face: any Request
    ) async -> DataResponse<Value> {
        let (ready, number) = box.withLock { state in
            (state.slot(slot, of: Value.self).finalResponse, state.nextWaiterNumber())
        }
        if let ready { return ready }
        let cancel: @Sendable () -> Void = {
            self.cancelWaiter(number, of: slot, Value.self, automaticallyCancelling, face)
        }
        return await withTaskCancellationHandler {
            await suspended { (waiter: TypedSlot<Value>.Waiter) in
                let ready = box.withLock { $0.slot(slot, of: Value.self).answer(number, waiter) }
                if let ready { return waiter.resume(returning: ready) }
                // A cancel before the waiter was in its place has found nothing.
                if Task.isCancelled { cancel() }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Answers one waiter; the request goes on for all others, and is cancelled if nobody is left.
    private func cancelWaiter<Value: Sendable>(
        _ number: UInt64, of slot: Int, _: Value.Type, _ automaticallyCancelling: Bool, _ face: any Request
    ) {
        let taken = box.withLock { state -> (TypedSlot<Value>.Waiter, CompletedExchange, isLast: Bool)? in
            let typed = state.slot(slot, of: Value.self)
            guard let waiter = typed.removeWaiter(number, abandons: automaticallyCancelling) else { return nil }
            return (waiter, state.cancelledExchange, typed.interest == .abandoned && !state.queue.isOwing)
        }
        guard let (waiter, exchange, isLast) = taken else { return }
        waiter.resume(returning: DataResponse(exchange: exchange, result: .failure(.requestCancelled)))
        if isLast { cancel(face) }
    }

    /// Ends one serializer before its time; the request too if it was the last that anybody wanted.
    func withdraw(_ slot: Int, automaticallyCancelling: Bool, _ face: any Request) {
        let (delivery, isLast) = box.withLock { state in
            (
                state.queue.slots[slot].withdraw(state.cancelledExchange, .requestCancelled),
                automaticallyCancelling && !state.queue.isOwing
            )
        }
        guard let delivery else { return }
        delivery()
        if isLast { cancel(face) }
    }
}

extension RequestState {
    /// Takes a serializer's response if the request is still in this phase; after a cancel somebody else answers.
    /// Returns the response that it replaces, to be let go of after unlocking.
    func hold<Value: Sendable>(
        _ response: DataResponse<Value>, in index: Int, during phase: RequestPhase
    ) -> DataResponse<Value>? {
        self.phase == phase ? slot(index, of: Value.self).hold(response) : nil
    }

    /// The slot with its type, which the one who attached it knows.
    func slot<Value: Sendable>(_ index: Int, of _: Value.Type) -> TypedSlot<Value> {
        guard let slot = queue.slots[index] as? TypedSlot<Value> else {
            preconditionFailure("a serializer's slot was asked for with a type other than its own")
        }
        return slot
    }
}
