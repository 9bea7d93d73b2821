/// A queue that serves higher priorities first, and equal ones in the order of their numbers. A lower priority is
/// served at the latest after ten elements of higher ones: after eight, unless other priorities have waited as long.
@usableFromInline
package struct FairQueue<Element> {
    @usableFromInline
    struct Level {
        @usableFromInline var queue = NumberedQueue<Element>()
        /// The number of elements of higher priorities that were served while elements of this one waited.
        @usableFromInline var passedOver = 0

        @usableFromInline
        init() {}
    }

    /// The rank of the next element among the next elements of several queues. The greater one is served first.
    @usableFromInline
    package struct Rank: Comparable {
        @usableFromInline let isPassedOver: Bool
        @usableFromInline package let level: Int
        @usableFromInline let number: UInt64

        @inlinable
        init(isPassedOver: Bool, level: Int, number: UInt64) {
            (self.isPassedOver, self.level, self.number) = (isPassedOver, level, number)
        }

        @inlinable
        package static func < (lhs: Rank, rhs: Rank) -> Bool {
            if lhs.isPassedOver != rhs.isPassedOver { return rhs.isPassedOver }
            return lhs.level != rhs.level ? lhs.level < rhs.level : lhs.number > rhs.number
        }
    }

    /// The elements by priority; empty until an element is added.
    @usableFromInline var levels: [Level] = []

    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { levels.allSatisfy(\.queue.isEmpty) }

    /// The rank of the next element; nil if the queue is empty.
    @inlinable package var first: Rank? {
        levels.indices.compactMap { level in
            levels[level].queue.first.map { number in
                Rank(isPassedOver: levels[level].passedOver >= RequestPriority.patience, level: level, number: number)
            }
        }.max()
    }

    /// Returns the number of elements that are certainly served before a new one of this priority. More may be served
    /// before it: elements of lower priorities that have waited long, and elements that arrive later.
    package func count(before priority: RequestPriority) -> Int {
        guard !levels.isEmpty else { return 0 }
        let level = levels[priority.rawValue]
        let higher = levels[(priority.rawValue + 1)...].reduce(0) { $0 + $1.queue.count }
        // Each element of this level is served at the latest after so many of higher levels.
        let patience = RequestPriority.patience
        let passing = max(0, patience - level.passedOver) + level.queue.count * patience
        return level.queue.count + min(higher, passing)
    }

    /// Adds an element, whose number is higher than those of all earlier elements.
    @inlinable
    package mutating func append(_ element: Element, _ priority: RequestPriority, _ number: UInt64) {
        if levels.isEmpty { levels = RequestPriority.allCases.map { _ in Level() } }
        levels[priority.rawValue].queue.append(element, number)
    }

    /// Removes and returns the next element.
    @inlinable
    package mutating func removeFirst() -> Element? {
        guard let level = first?.level else { return nil }
        levels[level].passedOver = 0
        passOver(below: level)
        return levels[level].queue.removeFirst()
    }

    /// Notes that an element of this level is served before the elements of lower levels.
    @inlinable
    package mutating func passOver(below level: Int) {
        for lower in levels.indices.prefix(level) where !levels[lower].queue.isEmpty { levels[lower].passedOver += 1 }
    }

    /// Removes the element with a number; returns nil if it was removed before.
    @inlinable
    package mutating func remove(_ number: UInt64) -> Element? {
        for level in levels.indices {
            guard let element = levels[level].queue.remove(number) else { continue }
            if levels[level].queue.isEmpty { levels[level].passedOver = 0 }
            return element
        }
        return nil
    }

    /// Removes all elements and returns them, those of higher priorities first.
    @inlinable
    package mutating func removeAll() -> [Element] {
        levels.indices.reversed().flatMap { levels[$0].queue.removeAll() }
    }
}

extension FairQueue: Sendable where Element: Sendable {}
extension FairQueue.Level: Sendable where Element: Sendable {}
