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
        var element: Element?
    }

    private var heap = SlotHeap<Time>()
    private var slots: [Slot] = []
    private var free: [Int] = []

    package init() {}

    package var count: Int { heap.count }

    /// The earliest time; nil if the heap is empty.
    package var firstTime: Time? { heap.first?.key }

    package mutating func insert(_ element: Element, at time: Time) -> ID {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        slots[slot].use += 1
        slots[slot].element = element
        heap.set(time, for: slot)
        return ID(slot: slot, use: slots[slot].use)
    }

    /// Removes the element and returns it; nil if it was removed before.
    package mutating func remove(_ id: ID) -> Element? {
        guard slots[id.slot].use == id.use, let element = slots[id.slot].element.take() else { return nil }
        free.append(id.slot)
        heap.remove(id.slot)
        return element
    }

    /// Removes the earliest element and returns it; nil if its time is later than `time`.
    package mutating func removeFirst(until time: Time) -> Element? {
        guard let first = heap.first, first.key <= time else { return nil }
        return remove(ID(slot: first.slot, use: slots[first.slot].use))
    }
}

extension TimerHeap.Slot: Sendable where Element: Sendable, Time: Sendable {}

extension TimerHeap: Sendable where Element: Sendable, Time: Sendable {}
