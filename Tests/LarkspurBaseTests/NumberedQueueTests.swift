import LarkspurBase
import TestSupport
import Testing

@Suite("Queues with numbers", .limited)
struct NumberedQueueTests {
    @Test("Elements come in their order, whatever was removed meanwhile", arguments: 0..<20)
    func order(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = NumberedQueue<String>()
        var model: [UInt64] = []
        var last: UInt64 = 0
        for step in 0..<1_000 {
            switch Int.random(in: 0..<(step < 500 ? 5 : 9), using: &random) {
            case 0...2:
                last += UInt64.random(in: 1...3, using: &random)
                queue.append("\(last)", last)
                model.append(last)
            case 3...4:
                let number = UInt64.random(in: 0...last, using: &random)
                let index = model.firstIndex(of: number)
                if let index { model.remove(at: index) }
                #expect(queue.remove(number) == index.map { _ in "\(number)" })
            default:
                let first = model.isEmpty ? nil : model.removeFirst()
                #expect(queue.removeFirst() == first.map { "\($0)" })
            }
            #expect(queue.count == model.count)
            #expect(queue.isEmpty == model.isEmpty)
            #expect(queue.first == model.first)
        }
        #expect(queue.removeAll() == model.map { "\($0)" })
        #expect(queue.isEmpty && queue.first == nil)
    }
}
