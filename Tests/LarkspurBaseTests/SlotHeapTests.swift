import LarkspurBase
import TestSupport
import Testing

@Suite("Heaps of slots", .limited)
struct SlotHeapTests {
    @Test("The first slot has the smallest key, whatever was added, moved and removed before", arguments: 0..<20)
    func order(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var heap = SlotHeap<Int>()
        var model: [Int: Int] = [:]
        for _ in 0..<400 {
            let slot = Int.random(in: 0..<30, using: &random)
            if random.once(in: 3) {
                heap.remove(slot)
                model[slot] = nil
            } else {
                let key = Int.random(in: 0..<100, using: &random)
                heap.set(key, for: slot)
                model[slot] = key
            }
            #expect(heap.count == model.count)
            #expect(heap.first?.key == model.values.min())
            for slot in 0..<31 { #expect(heap[slot] == model[slot]) }
        }
        #expect(heap.slots.sorted() == model.keys.sorted())
        var keys: [Int] = []
        while let (key, slot) = heap.first {
            keys.append(key)
            #expect(model.removeValue(forKey: slot) == key)
            heap.remove(slot)
        }
        #expect(keys == keys.sorted() && model.isEmpty)
    }
}
