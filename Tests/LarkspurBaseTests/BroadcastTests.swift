import LarkspurBase
import TestSupport
import Testing

@Suite("Broadcasts", .limited)
struct BroadcastTests {
    private struct State {
        var last = 0
        var changes = Broadcast<Int>()
    }

    private let box = Protected(State())

    private func follow(first: Int? = nil) -> AsyncStream<Int> {
        let (follower, stream) = Follower<Int>.make(.unbounded)
        box.withLock { $0.changes.add(follower, first: first) }
        box.deliver(\.changes)
        return stream
    }

    private func send() {
        box.withLock { state in
            state.last += 1
            state.changes.send(state.last)
        }
        box.deliver(\.changes)
    }

    private func end() { _ = box.withLock { $0.changes.end() } }

    private func values(_ stream: AsyncStream<Int>) async -> [Int] { await stream.reduce(into: []) { $0.append($1) } }

    @Test("A follower gets its first value, all values that are sent later, and the end")
    func values() async {
        let early = follow()
        send()
        let late = follow(first: 1)
        send()
        end()
        send()
        let after = follow(first: 2)
        #expect(await values(early) == [1, 2])
        #expect(await values(late) == [1, 2])
        #expect(await values(after) == [2])
    }

    @Test("Values that several threads send come in their order")
    func order() async {
        let stream = follow()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<500 { send() } } }
        }
        end()
        #expect(await values(stream) == Array(1...2_000))
    }

    @Test("A follower without a reader is released at the next value")
    func readers() {
        weak var gone: Follower<Int>?
        do {
            let (follower, stream) = Follower<Int>.make(.unbounded)
            gone = follower
            box.withLock { $0.changes.add(follower) }
            withExtendedLifetime(stream) { send() }
        }
        send()
        #expect(gone == nil)
    }
}
