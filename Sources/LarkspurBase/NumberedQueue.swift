/// A queue of elements in the order of their numbers. An element that was removed leaves a gap for a while.
@usableFromInline
package struct NumberedQueue<Element> {
    /// The first entry that counts is at `start`, and has an element.
    @usableFromInline var entries: [(number: UInt64, element: Element?)] = []
    @usableFromInline var start = 0
    @usableFromInline var gaps = 0

    @inlinable
    package init() {}

    @inlinable package var count: Int { entries.count - start - gaps }

    @inlinable package var isEmpty: Bool { start == entries.count }

    /// The number of the first element; nil if the queue is empty.
    @inlinable package var first: UInt64? { isEmpty ? nil : entries[start].number }

    /// Adds an element, whose number is higher than those of all earlier elements.
    @inlinable
    package mutating func append(_ element: Element, _ number: UInt64) { entries.append((number, element)) }

    @inlinable
    package mutating func removeFirst() -> Element? { isEmpty ? nil : takeElement(at: start) }

    /// Removes the element with a number; returns nil if it was removed before.
    @inlinable
    package mutating func remove(_ number: UInt64) -> Element? {
        var (low, high) = (start, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].number == number ? takeElement(at: low) : nil
    }

    /// Removes all elements and returns them in their order.
    @inlinable
    package mutating func removeAll() -> [Element] {
        defer { self = NumberedQueue() }
        return entries[start...].compactMap(\.element)
    }

    @inlinable
    mutating func takeElement(at index: Int) -> Element? {
        guard let element = entries[index].element.take() else { return nil }
        gaps += 1
        while start < entries.count, entries[start].element == nil {
            start += 1
            gaps -= 1
        }
        if isEmpty {
            start = 0
            entries.removeAll(keepingCapacity: entries.capacity <= 64)
        } else if start > 32, start > entries.count / 2 {
            entries.removeFirst(start)
            start = 0
        } else if gaps > count + 32 {
            entries = entries[start...].filter { $0.element != nil }
            (start, gaps) = (0, 0)
        }
        return element
    }
}

extension NumberedQueue: Sendable where Element: Sendable {}
