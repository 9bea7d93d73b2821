/// A transport that sends equal reads once, with another transport.
package final class CoalescingTransport: Transport {
    // Immutable
    let base: any Transport
    private let coalescing: Coalescing

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct State {
        var isInvalidated = false
        var reads: [CoalescingKey: SharedRead] = [:]
        var tasks: [ObjectIdentifier: CoalescedTask] = [:]
    }

    package init(_ base: any Transport, _ coalescing: Coalescing) { (self.base, self.coalescing) = (base, coalescing) }

    package var capabilities: TransportCapabilities { base.capabilities }

    package func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        guard let key = CoalescingKey(request, coalescing) else {
            return base.task(for: request, id: id, delegate: delegate)
        }
        return CoalescedTask(request, key, id: id, delegate: delegate, transport: self)
    }

    package func invalidate() {
        let tasks = box.withLock { state in
            state.isInvalidated = true
            return Array(state.tasks.values)
        }
        base.invalidate()
        for task in tasks { task.end(with: TransportError(.invalidated)) }
    }

    /// Adds the task to an exchange in flight, or to a new one, which the caller starts if `isNew` is true. Returns nil
    /// if the transport has ended.
    func join(_ task: CoalescedTask, _ key: CoalescingKey) -> (read: SharedRead, seat: Int, isNew: Bool)? {
        let isOpen = box.withLock { state in
            if !state.isInvalidated { state.tasks[ObjectIdentifier(task)] = task }
            return !state.isInvalidated
        }
        guard isOpen else { return nil }
        if let read = box.withLock({ $0.reads[key] }), let seat = read.join(task) { return (read, seat, false) }
        let read = SharedRead(key, task.request, transport: self)
        guard let seat = read.join(task) else { return nil }
        // Another task may have listed an exchange meanwhile. Then both are sent, which is not wrong.
        _ = box.withLock { $0.reads.updateValue(read, forKey: key) }
        return (read, seat, true)
    }

    func forget(_ task: CoalescedTask) { _ = box.withLock { $0.tasks.removeValue(forKey: ObjectIdentifier(task)) } }

    func unlist(_ read: SharedRead) {
        _ = box.withLock { state in
            state.reads[read.key] === read ? state.reads.removeValue(forKey: read.key) : nil
        }
    }
}

extension SessionConfiguration {
    /// Returns the transport that sends equal requests once with the given transport, if the configuration wants that.
    func coalescing(_ transport: any Transport) -> any Transport {
        coalescing.map { CoalescingTransport(transport, $0) } ?? transport
    }
}
