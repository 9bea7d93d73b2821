import LarkspurTesting
import Testing

@testable import Larkspur

@Suite("R4: every handler is answered exactly once, whatever happens in which order", .timeLimit(.minutes(3)))
struct RequestModelTests {
    static let interleavings = 20_000

    @Test("R4: random interleavings of start, events, attach, suspend, cancel, late attach and session end")
    func interleavings() async throws {
        let session = Session(transport: StubTransport { _ in .response() })
        let face = await session.request("http://example.com")
        let url = try RequestURL("http://example.com/")
        let continuation = await spentContinuation()
        var cancelled = 0
        for seed in 0..<UInt64(Self.interleavings) {
            let model = RequestModel(seed: seed, face: face, url: url, continuation: continuation)
            await model.run()
            try #require(model.faults.isEmpty, "seed \(seed): \(model.faults)")
            let everybody = Array(0..<model.attached)
            try #require(model.order == everybody, "seed \(seed): answered \(model.order) of \(everybody)")
            try #require(model.state.phase == .finished, "seed \(seed): left in \(model.state.phase)")
            if model.isCancelled { cancelled += 1 }
        }
        #expect((Self.interleavings / 10...Self.interleavings * 9 / 10).contains(cancelled), "the mix covers both ends")
    }

    private func spentContinuation() async -> HopProgress.Continuation {
        let box = Protected<HopProgress.Continuation?>(nil)
        _ = await suspended { (continuation: HopProgress.Continuation) in
            box.withLock { $0 = continuation }
            continuation.resume(returning: .notBegun(.proceed))
        }
        guard let continuation = box.withLock({ $0 }) else { preconditionFailure("the continuation was kept above") }
        return continuation
    }
}
