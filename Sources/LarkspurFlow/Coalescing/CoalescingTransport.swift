/// A transport that sends equal reads once, with another transport.
package final class CoalescingTransport: TransportWrapper {
    // Immutable
    package let base: any Transport
    private let coalescing: Coalescing

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct State {
        var isInvalidated = false
        var reads: [CoalescingKey: SharedRead] = [:]
        var tasks: [ObjectIdentifier: CoalescedTask] = [:]
    }

    package init(_ base: any Transport, _ coalescing: Coalescing) { (self.base, self.coalescing) = (base, coalescing) }

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
        while true {
            let listed = box.withLock { $0.reads[key] }
            if let listed, let seat = listed.join(task) { return (listed, seat, false) }
            let read = SharedRead(key, task.request, transport: self)
            guard let seat = read.join(task) else { return nil }
            // If another task has listed an exchange meanwhile, this task joins that one.
            let isListed = box.withLock { state in
                guard state.reads[key] === listed else { return false }
                state.reads[key] = read
                return true
            }
            if isListed { return (read, seat, true) }
        }
    }

    /// The number of tasks that have joined an exchange which further tasks may join.
    var joined: Int { box.withLock { Array($0.reads.values) }.map(\.count).reduce(0, +) }

    func forget(_ task: CoalescedTask) { _ = box.withLock { $0.tasks.removeValue(forKey: ObjectIdentifier(task)) } }

    func unlist(_ read: SharedRead) {
        _ = box.withLock { state in
            state.reads[read.key] === read ? state.reads.removeValue(forKey: read.key) : nil
        }
    }
}
