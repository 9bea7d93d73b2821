/// A transport that asks admissions before another transport performs a hop.
package final class AdmittingTransport: TransportWrapper {
    // Immutable
    package let base: any Transport
    let admissions: [any HopAdmission]

    // Mutable state, guarded by the lock of `Protected`
    /// The tasks that wait; nil after the transport has ended.
    private let waiting = Protected<[ObjectIdentifier: AdmittingTask]?>([:])

    package init(_ base: any Transport, _ admissions: [any HopAdmission]) {
        (self.base, self.admissions) = (base, admissions)
    }

    package func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        AdmittingTask(request, id: id, delegate: delegate, transport: self)
    }

    package func invalidate() {
        let tasks = waiting.withLock { $0.take() }
        base.invalidate()
        for task in tasks?.values ?? [:].values { task.end(with: TransportError(.invalidated)) }
    }

    /// Keeps a task that waits, so that `invalidate()` can end it. Returns false if the transport has ended.
    func keep(_ task: AdmittingTask) -> Bool {
        waiting.withLock { waiting in
            waiting?[ObjectIdentifier(task)] = task
            return waiting != nil
        }
    }

    func forget(_ task: AdmittingTask) {
        _ = waiting.withLock { $0?.removeValue(forKey: ObjectIdentifier(task)) }
    }
}

/// A task that waits for its admissions, and then passes everything on between the user of the task and the base's
/// task.
final class AdmittingTask: TransportTask, TransportDelegate {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    private let transport: AdmittingTransport

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<AdmittingState>

    init(
        _ request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate, transport: AdmittingTransport
    ) {
        self.id = id
        self.request = request
        self.transport = transport
        box = Protected(AdmittingState(delegate: delegate, allowed: request.initialAllowance))
    }

    // MARK: Control

    func resume() {
        let (isFirst, inner) = box.withLock { $0.resume() }
        if isFirst { ask(at: 0) } else { inner?.resume() }
    }

    func suspend() {
        box.withLock { $0.suspend() }?.suspend()
    }

    func cancel() { end(with: .cancelled) }

    func allow(upTo position: UInt64) { box.withLock { $0.allow(upTo: position) }?.allow(upTo: position) }

    /// Ends the task: at once if it waits, otherwise through the base's task.
    func end(with error: TransportError) {
        switch box.withLock({ $0.end(with: error) }) {
        case .none: break
        case .forward(let inner): inner.cancel()
        case .complete(let ending): complete(ending, error)
        }
    }

    // MARK: Admissions

    /// Asks the admission. If it does not decide at once, the hop has to wait.
    private func ask(at step: Int) {
        guard step < transport.admissions.count else { return send() }
        transport.admissions[step].admit(PendingHop(task: self, step: step))
        guard let delegate = box.withLock({ $0.waits(at: step) }) else {
            // If the task was ended while the admission was being asked, the admission may have learned of the end
            // before it learned of the hop.
            if box.withLock({ $0.hasEnded }) {
                transport.admissions[step].withdraw(PendingHop(task: self, step: step))
            }
            return
        }
        if transport.keep(self) {
            delegate.received(.admission(.waits), for: id)
        } else {
            end(with: TransportError(.invalidated))
        }
        // The admission may have decided meanwhile, or the task may have been cancelled. The other thread has left the
        // rest to this one, so that `.waits` comes first.
        settle(box.withLock { $0.endAnnouncement() })
    }

    func admit(at step: Int) -> Bool {
        guard let action = box.withLock({ $0.admit(at: step) }) else { return false }
        settle(action)
        return true
    }

    func refuse(_ error: TransportError, at step: Int) {
        if let action = box.withLock({ $0.refuse(error, at: step) }) { settle(action) }
    }

    private func settle(_ action: AdmittingState.Decision) {
        switch action {
        case .none: break
        case .next(let step): ask(at: step)
        case .complete(let ending, let error): complete(ending, error)
        }
    }

    private func complete(_ ending: AdmittingState.Completion, _ error: TransportError) {
        if ending.metrics != nil { transport.forget(self) }
        if let step = ending.withdrawn, step < transport.admissions.count {
            transport.admissions[step].withdraw(PendingHop(task: self, step: step))
        }
        release(ending.admitted)
        if let metrics = ending.metrics { ending.delegate.received(.metrics(metrics), for: id) }
        ending.delegate.received(.completed(error), for: id)
        advance(ending.admitted)
    }

    private func release(_ count: Int) {
        for (step, admission) in transport.admissions.prefix(count).enumerated() {
            admission.release(PendingHop(task: self, step: step))
        }
    }

    private func advance(_ count: Int) {
        for admission in transport.admissions.prefix(count) { admission.advance() }
    }

    // MARK: Sending

    private func send() {
        guard let (delegate, waited) = box.withLock({ $0.beginSending() }) else { return }
        if let waited {
            transport.forget(self)
            delegate.received(.admission(.admitted(after: waited)), for: id)
        }
        let inner = transport.base.task(for: request, id: id, delegate: self)
        box.withLock { $0.keep(inner) }
        inner.start(granted: request.initialAllowance) { box.withLock { $0.endSending() } }
    }

    // MARK: The base's side

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        var event = event
        let (delegate, waited) = box.withLock { state in
            state.receive()
            return (state.delegate, state.waited)
        }
        switch event {
        case .head(let head):
            for (step, admission) in transport.admissions.enumerated() {
                admission.receive(head, for: PendingHop(task: self, step: step))
            }
        case .metrics(var metrics):
            if let waited { metrics.queued = (metrics.queued ?? .zero) + waited }
            event = .metrics(metrics)
        case .completed:
            // The places are free before the request's awaiter is resumed, so that its next request need not wait.
            release(transport.admissions.count)
            _ = box.withLock { $0.complete() }
            delegate?.received(event, for: id)
            return advance(transport.admissions.count)
        case .admission, .waitsForNetwork, .information, .cache, .body, .trailers, .bodySent: break
        }
        delegate?.received(event, for: id)
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        box.withLock { $0.delegate }?.answer(question, for: id)
    }
}
