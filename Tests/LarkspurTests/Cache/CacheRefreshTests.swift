import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Validation of stored responses in the background", .limited)
struct CacheRefreshTests {
    private static let control: HTTPHeaders = ["Cache-Control": "max-age=60, stale-while-revalidate=6000"]

    @Test("The session's evaluator judges the server, and a refused server replaces nothing")
    func pinned() async throws {
        let (own, other) = (try Certificate(Certificate.own), try Certificate(Certificate.other))
        let stage = CacheStage {
            let pins = PinnedCertificatesTrustEvaluator([own], performDefaultValidation: false)
            $0.serverTrust = ServerTrustManager(evaluators: ["h": pins])
        } answer: { _, number in
            let certificate = number == 2 ? other : own
            return .fresh("\(number)", Self.control)
                .by(PeerTrust(host: "h", port: 443, certificates: [certificate.bytes]))
        }
        #expect(await stage.get("https://h/").value == "1")
        stage.wait(61)
        for count in 2...3 {
            let stale = await stage.get("https://h/")
            #expect(stale.value == "1" && stale.cache == .stale(because: .revalidating))
            #expect(stage.log.count == count)
        }
        let renewed = await stage.get("https://h/")
        #expect(renewed.value == "3" && renewed.cache == .hit(age: .zero))
    }

    @Test("It ends when its transport is invalidated")
    func invalidated() async {
        let (clock, time) = (ManualClock(), Protected(1_767_225_600.0))
        let (count, ends) = (Protected(0), Journal())
        let stub = StubTransport(clock: clock) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let answer = StubAnswer.fresh("\(number)", Self.control)
            return number == 2 ? answer.after(.seconds(1_000)) : answer
        }
        let store = MemoryStore(limit: 1 << 20, maximumEntrySize: 1 << 20)
        let configuration = SessionConfiguration {
            $0.cache = HTTPCache(store, options: HTTPCache.Options(), now: { time.withLock { $0 } })
        }
        let session = Session(configuration: configuration, transport: WatchedTransport(stub, ends))
        func get() async -> DataResponse<String> {
            await session.request("http://h/").serializingString().response
        }
        #expect(await get().value == "1")
        time.withLock { $0 += 61 }
        for _ in 0..<2 { #expect(await get().cache == .stale(because: .revalidating)) }
        await clock.waitForSleepers()
        #expect(ends.lines == ["-"])
        session.context.transport.invalidate()
        await poll { ends.lines.count == 2 }
        #expect(ends.lines == ["-", "invalidated"])
        #expect(count.withLock { $0 } == 2)
        #expect(await get().error?.code == .sessionInvalidated)
    }
}

/// A transport that notes how each hop ends.
private final class WatchedTransport: TransportWrapper {
    private final class Delegate: TransportDelegate {
        private let delegate: any TransportDelegate
        private let ends: Journal

        init(_ delegate: any TransportDelegate, _ ends: Journal) { (self.delegate, self.ends) = (delegate, ends) }

        func received(_ event: TransportEvent, for task: TransportTaskID) {
            if case .completed(let error) = event { ends.note(error?.code.rawValue ?? "-") }
            delegate.received(event, for: task)
        }

        func answer(_ question: TransportQuestion, for task: TransportTaskID) { delegate.answer(question, for: task) }
    }

    let base: any Transport
    private let ends: Journal

    init(_ base: any Transport, _ ends: Journal) { (self.base, self.ends) = (base, ends) }

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        base.task(for: request, id: id, delegate: Delegate(delegate, ends))
    }
}
