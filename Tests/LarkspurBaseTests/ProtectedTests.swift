import Foundation
import LarkspurBase
import TestSupport
import Testing

@Suite("Protected", .limited)
struct ProtectedTests {
    @Test("only one thread at a time reaches the value")
    func mutualExclusion() async {
        struct Count {
            var total = 0
            var isInside = false
            var overlaps = 0
        }
        let box = Protected(Count())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<4_000 {
                        box.withLock { count in
                            if count.isInside { count.overlaps += 1 }
                            count.isInside = true
                            count.total += 1
                            count.isInside = false
                        }
                    }
                }
            }
        }
        #expect(box.withLock { $0.total } == 32_000)
        #expect(box.withLock { $0.overlaps } == 0)
    }

    private struct Failure: Error, Equatable {
        let number: Int
    }

    @Test("a body that throws unlocks and keeps its changes, and the typed error is rethrown")
    func throwing() {
        let box = Protected(1)
        for number in 1...3 {
            do throws(Failure) {
                try box.withLock { value throws(Failure) in
                    value += 1
                    throw Failure(number: number)
                }
                Issue.record("nothing was thrown")
            } catch {
                #expect(error == Failure(number: number))
            }
        }
        #expect(box.withLock { $0 } == 4)
        #expect(ThreadMarks.lockDepth == 0)
    }

    @Test("withLock returns the body's result, and the change stays")
    func returning() {
        let box = Protected(["a"])
        let count = box.withLock { value in
            value.append("b")
            return value.count
        }
        #expect(count == 2)
        #expect(box.withLock { $0 } == ["a", "b"])
    }

    private final class Watched: Sendable {
        let released: Protected<Int>
        init(_ released: Protected<Int>) { self.released = released }
        deinit { released.withLock { $0 += 1 } }
    }

    @Test("the value lives as long as the box, and is released once")
    func lifetime() {
        let released = Protected(0)
        do {
            let box = Protected<Watched?>(Watched(released))
            #expect(released.withLock { $0 } == 0)
            withExtendedLifetime(box) {}
        }
        #expect(released.withLock { $0 } == 1)
    }

    #if DEBUG
        @Test("debug builds count the locks that a thread holds, also after an error")
        func depth() {
            let (outer, inner) = (Protected(0), Protected(0))
            #expect(ThreadMarks.lockDepth == 0)
            outer.withLock { _ in
                #expect(ThreadMarks.lockDepth == 1)
                inner.withLock { _ in #expect(ThreadMarks.lockDepth == 2) }
                #expect(ThreadMarks.lockDepth == 1)
                try? inner.withLock { _ throws(Failure) in throw Failure(number: 1) }
                #expect(ThreadMarks.lockDepth == 1)
            }
            #expect(ThreadMarks.lockDepth == 0)
        }

        @Test("each thread has its own marks")
        func marksAreTheThreadsOwn() async {
            let box = Protected(0)
            await withCheckedContinuation { continuation in
                box.withLock { _ in
                    ThreadMarks.transportDepth += 1
                    Thread.detachNewThread {
                        #expect(ThreadMarks.lockDepth == 0)
                        #expect(ThreadMarks.transportDepth == 0)
                        ThreadMarks.transportDepth = 5
                        continuation.resume()
                    }
                    #expect(ThreadMarks.lockDepth == 1)
                    #expect(ThreadMarks.transportDepth == 1)
                    ThreadMarks.transportDepth -= 1
                }
            }
            #expect(ThreadMarks.transportDepth == 0)
        }
    #endif
}
