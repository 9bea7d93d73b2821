import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("R4: every handler is answered exactly once, whatever happens in which order", .limited)
struct RequestModelTests {
    static let interleavings = rounds(5_000, nightly: 20_000)

    /// Sessions whose requests need a task at different steps, or at none.
    private static let sessions: [Session] = [
        Session(transport: PlayedTransport()),
        Session(configuration: SessionConfiguration { $0.validation = [.standard] }, transport: PlayedTransport()),
        Session(
            transport: PlayedTransport(),
            interceptor: Interceptor(adapt: { request, _ in
                request.headers.update(name: "A", value: "b")
            })),
        Session(
            transport: PlayedTransport(),
            interceptor: Interceptor(retry: { request, _, _ in
                request.retryCount < 2 ? .retry : .doNotRetry
            })),
    ]

    @Test(
        "R4: random interleavings of start, steps, events, attach, await, suspend, cancel, late attach and session end")
    func interleavings() async throws {
        let continuation = await spentContinuation()
        var counts: [RequestModel.Event: Int] = [:]
        for seed in 0..<UInt64(Self.interleavings) {
            let session = Self.sessions[Int(seed % UInt64(Self.sessions.count))]
            let request = await session.request("http://example.com/")
            let model = RequestModel(seed: seed, request: request, session: session, continuation: continuation)
            await model.run()
            try #require(model.faults.isEmpty, "seed \(seed): \(model.faults)")
            for event in model.met { counts[event, default: 0] += 1 }
        }
        for event in RequestModel.Event.allCases {
            #expect(counts[event, default: 0] > Self.interleavings / 1_000, "the mix covers \(event): \(counts)")
        }
    }

    private func spentContinuation() async -> HopProgress.OutcomeContinuation {
        let box = Protected<HopProgress.OutcomeContinuation?>(nil)
        _ = await suspended { (continuation: HopProgress.OutcomeContinuation) in
            box.withLock { $0 = continuation }
            continuation.resume(returning: .notBegun(.proceed))
        }
        guard let continuation = box.withLock({ $0 }) else { preconditionFailure("the continuation was kept above") }
        return continuation
    }
}
