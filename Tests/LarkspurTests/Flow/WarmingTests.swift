import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Connections ahead of requests", .limited)
struct WarmingTests {
    /// A transport whose warming tasks ask about their peer and end as the test says.
    private final class Warm: TransportWrapper {
        let base: any Transport = StubTransport { _ in .text("ok") }
        let requests = Protected<[TransportRequest]>([])
        private let certificate: [UInt8]?
        private let end: TransportError?
        private let stalls: Bool
        let isStarted = Gate()

        init(showing certificate: [UInt8]? = nil, ending end: TransportError? = nil, stalls: Bool = false) {
            (self.certificate, self.end, self.stalls) = (certificate, end, stalls)
        }

        func task(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> any TransportTask {
            base.task(for: request, id: id, delegate: delegate)
        }

        func warmingTask(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> (any TransportTask)? {
            requests.withLock { $0.append(request) }
            return Connecting(id: id) { [self] isCancelled in
                if stalls, !isCancelled { return isStarted.open() }
                var error = isCancelled ? TransportError.cancelled : end
                if let certificate, !isCancelled {
                    let reply = TransportReply<TrustDecision>()
                    let peer = PeerTrust(
                        host: request.url.host.map(String.init) ?? "", port: 443, certificates: [certificate])
                    delegate.answer(.serverTrust(peer, reply), for: id)
                    error = peer.fault(after: reply.value)
                }
                delegate.received(.metrics(TransportMetrics()), for: id)
                delegate.received(.completed(error), for: id)
            }
        }
    }

    private final class Connecting: TransportTask {
        let id: TransportTaskID
        private let begin: Protected<(@Sendable (Bool) -> Void)?>

        init(id: TransportTaskID, _ begin: @escaping @Sendable (Bool) -> Void) {
            (self.id, self.begin) = (id, Protected(begin))
        }

        func resume() { begin.withLock { $0 }?(false) }
        func cancel() { begin.withLock { $0.take() }?(true) }
        func suspend() {}
        func allow(upTo position: UInt64) {}
    }

    @Test("A transport that opens no connections ahead of requests is an error with a code of its own")
    func unsupported() async {
        let session = Session(transport: StubTransport { _ in .text("ok") })
        await #expect(throws: RequestError.self) { try await session.warm("https://a.test/") }
        do { try await session.warm("https://a.test/") } catch { #expect(error.code == .transportUnavailable) }
        do { try await session.warm("no URL") } catch { #expect(error.code == .invalidURL) }
    }

    @Test("All layers of a session pass it on, and the request is that of a hop: its URL, its trust")
    func layers() async throws {
        let warm = Warm(showing: try Certificate(Certificate.own).bytes)
        let own = try Certificate(Certificate.own)
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = "https://a.test/v1"
                $0.limits = RequestLimits(perHost: 1)
                $0.coalescing = .identicalReads
                $0.cache = .inMemory()
                $0.serverTrust = ServerTrustManager(evaluators: ["a.test": .pinnedCertificates([own])])
            },
            transport: .routing(
                ["a.test": HedgingTransport(warm, after: .duration(.seconds(60)))], otherwise: CurlTransport()))
        try await session.warm("users")
        let sent = warm.requests.withLock { $0 }
        #expect(sent.map { String($0.url.originText) } == ["https://a.test"] && sent.map(\.asksForTrust) == [true])
        #expect(await session.requests.isEmpty)
    }

    @Test(
        "A server that the evaluators refuse is an error, and user code that evaluates is awaited",
        arguments: [true, false])
    func evaluation(isTrusted: Bool) async throws {
        let (warm, calls) = (Warm(showing: try Certificate(Certificate.own).bytes), Counter())
        let session = Session(
            configuration: SessionConfiguration {
                $0.serverTrust = ServerTrustManager(evaluators: [
                    "*": ClosureTrustEvaluator { _ in
                        calls.increment()
                        if !isTrusted { throw TrustError(.pinMismatch, "not this one") }
                    }
                ])
            }, transport: warm)
        do {
            try await session.warm("https://a.test/")
            #expect(isTrusted)
        } catch {
            #expect(!isTrusted && error.code == .pinMismatch)
        }
        #expect(calls.value == 1)
        #expect(warm.requests.withLock { $0.count } == (isTrusted ? 2 : 1))
    }

    @Test("The error of the connection is thrown, and a cancel ends the wait")
    func errors() async {
        let refused = Session(transport: Warm(ending: TransportError(.connectionRefused)))
        do { try await refused.warm("http://a.test/") } catch { #expect(error.code == .connectionRefused) }
        let warm = Warm(stalls: true)
        let stalled = Session(transport: warm)
        let task = Task { () -> RequestError? in
            do throws(RequestError) { try await stalled.warm("http://a.test/") } catch { return error }
            return nil
        }
        await warm.isStarted.pass()
        task.cancel()
        #expect(await task.value?.isCancelled == true)
        let late = Task { () -> RequestError? in
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(RequestError) { try await stalled.warm("http://a.test/") } catch { return error }
            return nil
        }
        #expect(await late.value?.isCancelled == true)
    }
}
