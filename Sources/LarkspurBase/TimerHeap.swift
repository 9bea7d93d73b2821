/// A heap of elements that are ordered by time. Adding an element, removing an element and removing the earliest
/// element each take O(log n).
package struct TimerHeap<Element, Time: Comparable> {
    /// Identifies an element until it is removed. A later element never has the same identifier.
    package struct ID: Hashable, Sendable {
        fileprivate let slot: Int
        fileprivate let use: UInt64
    }

    fileprivate struct Slot {
        var use: UInt64 = 0
        /// The index of the slot's node in the heap.
        var node = 0
        var element: Element?
    }

    private var nodes: [(time: Time, slot: Int)] = []
    private var slots: [Slot] = []
    private var free: [Int] = []

    package init() {}

    package var count: Int { nodes.count }

    /// The earliest time; nil if the heap is empty.
    package var firstTime: Time? { nodes.first?.time }

    package mutating func insert(_ element: Element, at time: Time) -> ID {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        slots[slot].use += 1
        slots[slot].element = element
        nodes.append((time, slot))
        moveUp(nodes.count - 1)
        return ID(slot: slot, use: slots[slot].use)
    }

    /// Removes the element and returns it; nil if it was removed before.
    package mutating func remove(_ id: ID) -> Element? {
        guard slots[id.slot].use == id.use, let element = slots[id.slot].element.take() else { return nil }
        free.append(id.slot)
        let hole = slots[id.slot].node
        let last = nodes.removeLast()
        if hole < nodes.count {
            nodes[hole] = last
            moveUp(hole)
            moveDown(slots[last.slot].node)
        }
        return element
    }

    /// Removes the earliest element and returns it; nil if its time is later than `time`.
    package mutating func removeFirst(until time: Time) -> Element? {
        guard let first = nodes.first, first.time <= time else { return nil }
        return remove(ID(slot: first.slot, use: slots[first.slot].use))
    }

    private mutating func moveUp(_ start: Int) {
        var child = start
        while child > 0, case let parent = (child - 1) / 2, nodes[child].time < nodes[parent].time {
            nodes.swapAt(child, parent)
            slots[nodes[child].slot].node = child
            child = parent
        }
        slots[nodes[child].slot].node = child
    }

    private mutating func moveDown(_ start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < nodes.count && nodes[child].time < nodes[first].time {
                first = child
            }
            guard first != parent else { break }
            nodes.swapAt(parent, first)
            slots[nodes[parent].slot].node = parent
            parent = first
        }
        slots[nodes[parent].slot].node = parent
    }
}

extension TimerHeap.Slot: Sendable where Element: Sendable, Time: Sendable {}

extension TimerHeap: Sendable where Element: Sendable, Time: Sendable {}
