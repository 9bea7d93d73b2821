import LarkspurTesting
import Testing

@testable import Larkspur

/// Bugs of bodies and of how they are sent, one test each.
@Suite("Regressions of bodies", .timeLimit(.minutes(1)))
struct BodyRegressions {
    /// Bytes without end, from code that does not look whether its task is cancelled.
    private struct Endless: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let pulls: Counter

        func makeAsyncIterator() -> Endless { self }

        mutating func next() async -> UInt8? {
            if pulls.increment() % 64 == 0 { await Task.yield() }
            return 1
        }
    }

    @Test("A sequence of bytes is asked for no more once nobody wants them", arguments: [nil, 10] as [UInt64?])
    func endlessBytes(length: UInt64?) async {
        let pulls = Counter()
        let stream = TransportBody.sequence(Endless(pulls: pulls), length: length).open()
        stream.begin {}
        while pulls.value < 11 { await Task.yield() }
        stream.end()
        var (before, same) = (-1, 0)
        for _ in 0..<20_000 where same < 500 {
            await Task.yield()
            same = pulls.value == before ? same + 1 : 0
            before = pulls.value
        }
        #expect(same == 500)
    }
}
