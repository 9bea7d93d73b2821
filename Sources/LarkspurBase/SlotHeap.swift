/// A heap of slots, which are small numbers, in the order of their keys. A slot is in the heap at most once. Adding a
/// slot, moving a slot and removing a slot each take O(log n).
@usableFromInline
package struct SlotHeap<Key: Comparable> {
    /// No node has a smaller key than its parent, which is at half its index.
    @usableFromInline var nodes: [(key: Key, slot: Int)] = []
    /// The index of each slot's node; -1 for a slot that is not in the heap.
    @usableFromInline var places: [Int] = []

    @inlinable
    package init() {}

    @inlinable package var count: Int { nodes.count }

    /// The slots, in no particular order.
    @inlinable package var slots: [Int] { nodes.map(\.slot) }

    /// The slot with the smallest key; nil if the heap is empty.
    @inlinable package var first: (key: Key, slot: Int)? { nodes.first }

    /// The key of a slot; nil if the slot is not in the heap.
    @inlinable
    package subscript(slot: Int) -> Key? {
        guard slot < places.count, places[slot] >= 0 else { return nil }
        return nodes[places[slot]].key
    }

    /// Adds a slot, or changes its key.
    @inlinable
    package mutating func set(_ key: Key, for slot: Int) {
        while places.count <= slot { places.append(-1) }
        if places[slot] < 0 {
            nodes.append((key, slot))
            settle(nodes.count - 1)
        } else {
            nodes[places[slot]].key = key
            settle(places[slot])
        }
    }

    /// Removes a slot, if it is in the heap.
    @inlinable
    package mutating func remove(_ slot: Int) {
        guard slot < places.count, case let hole = places[slot], hole >= 0 else { return }
        places[slot] = -1
        let last = nodes.removeLast()
        guard hole < nodes.count else { return }
        nodes[hole] = last
        settle(hole)
    }

    /// Moves the node up or down to where its key belongs.
    @inlinable
    mutating func settle(_ start: Int) {
        let node = nodes[start]
        var index = start
        while index > 0, case let parent = (index - 1) / 2, node.key < nodes[parent].key {
            put(nodes[parent], at: index)
            index = parent
        }
        while case var child = 2 * index + 1, child < nodes.count {
            if child + 1 < nodes.count, nodes[child + 1].key < nodes[child].key { child += 1 }
            guard nodes[child].key < node.key else { break }
            put(nodes[child], at: index)
            index = child
        }
        put(node, at: index)
    }

    @inlinable
    mutating func put(_ node: (key: Key, slot: Int), at index: Int) {
        nodes[index] = node
        places[node.slot] = index
    }
}

extension SlotHeap: Sendable where Key: Sendable {}
