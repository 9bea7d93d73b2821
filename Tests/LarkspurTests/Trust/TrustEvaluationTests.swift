import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

/// The calls of a user's evaluator: when they happen, which requests share them, and how long a verdict is kept.
@Suite("Trust evaluations", .limited)
struct TrustEvaluationTests {
    private let log = TransportLog()
    private let calls = Journal()
    private let own: Certificate
    private let other: Certificate

    init() throws {
        own = try Certificate(Certificate.own)
        other = try Certificate(Certificate.other)
    }

    /// Returns a session whose servers present a chain: their own certificate, and as many others as the closure
    /// returns for the number of the request.
    private func session(
        _ configuration: SessionConfiguration = SessionConfiguration(),
        showing others: @escaping @Sendable (Int) -> Int = { _ in 0 },
        _ judge: @escaping @Sendable (ServerTrust) async throws -> Void
    ) -> Session {
        var configuration = configuration
        configuration.serverTrust = ServerTrustManager(evaluators: [
            "*": ClosureTrustEvaluator { [calls] trust in
                calls.note(trust.host)
                try await judge(trust)
            }
        ])
        let (own, other) = (own, other)
        return log.session(configuration) { request, number in
            let chain = [own] + Array(repeating: other, count: others(number))
            let host = String(request.url.host ?? "")
            return .text("ok").by(PeerTrust(host: host, port: 443, certificates: chain.map(\.bytes)))
        }
    }

    private func error(_ session: Session, _ url: String = "https://a/") async -> RequestError? {
        await session.request(url).serializingData().response.error
    }

    /// Waits until the task is cancelled.
    private static func waitForCancel() async {
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        for await _ in silence {}
        withExtendedLifetime(end) {}
    }

    @Test("A transport that cannot ask for trust sends no request to a host with an evaluator")
    func unable() async {
        let transport = UnjudgingTransport(StubTransport { _ in .text("ok") })
        var configuration = SessionConfiguration()
        configuration.serverTrust = ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: ["a": ClosureTrustEvaluator { _ in }])
        let session = Session(configuration: configuration, transport: transport)
        #expect(await error(session)?.code == .transportUnavailable)
        #expect(await error(session, "https://b/") == nil)
        #expect(await error(session, "http://a/") == nil)
    }

    // MARK: Stored verdicts

    @Test("A rejection is stored, with its code")
    func refusal() async {
        let session = session { _ in throw TrustError(.pinMismatch, "not this one") }
        for _ in 0..<3 {
            let error = await error(session)
            #expect(error?.code == .pinMismatch)
        }
        #expect(calls.lines == ["a"])
    }

    @Test("A failed evaluation fails its request, and the next request starts another one")
    func failure() async {
        let session = session { [calls] _ in
            if calls.lines.count < 3 { throw ForeignError() }
        }
        for _ in 0..<2 {
            let error = await error(session)
            #expect(error?.code == .untrusted && error?.isTrust == true)
            #expect(error?.underlying is ForeignError)
        }
        #expect(await error(session) == nil)
        #expect(await error(session) == nil)
        #expect(calls.lines.count == 3)
    }

    @Test("A cancelled evaluation is not stored", arguments: [true, false])
    func cutOff(isCancelled: Bool) async {
        let clock = ManualClock()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let session = session(SessionConfiguration { $0.clock = clock }) { [calls] _ in
            guard calls.lines.count == 1 else { return }
            begin.yield()
            await Self.waitForCancel()
            defer { end.finish() }
            throw TrustError(.certificateRevoked, "there was no time to ask")
        }
        let request = await session.request("https://a/")
        if !isCancelled { request.timeout(.attempt(.seconds(10))) }
        let task = request.serializingData()
        for await _ in begun { break }
        if isCancelled {
            request.cancel()
        } else {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(10))
        }
        let error = await task.response.error
        #expect(isCancelled ? error?.isCancelled == true : error?.isTimeout == true)
        for await _ in ended {}
        #expect(await self.error(session) == nil)
        #expect(calls.lines.count == 2)
    }

    @Test("Verdicts can be removed, for one host or all")
    func forgotten() async {
        let session = session { _ in }
        func visit() async {
            for url in ["https://a/", "https://b/"] { #expect(await error(session, url) == nil) }
        }
        await visit()
        session.forgetTrustVerdicts(for: "A.")
        await visit()
        #expect(calls.lines == ["a", "b", "a"])
        session.forgetTrustVerdicts()
        await visit()
        #expect(calls.lines == ["a", "b", "a", "a", "b"])
        await visit()
        #expect(calls.lines.count == 5)
    }

    @Test("An evaluation that runs while verdicts are removed answers its waiters, and is not stored")
    func forgottenMeanwhile() async {
        let gates = [Gate(), Gate()]
        let session = session { [calls] _ in
            let number = calls.lines.count
            if number <= 2 { await gates[number - 1].pass() }
            if number == 1 { throw TrustError(.pinMismatch, "before") }
        }
        async let early = error(session)
        await gates[0].arrived()
        session.forgetTrustVerdicts()
        async let late = error(session)
        await gates[1].arrived()
        gates[0].open()
        #expect(await early?.code == .pinMismatch)
        gates[1].open()
        #expect(await late == nil)
        #expect(await error(session) == nil)
        #expect(calls.lines.count == 2)
    }

    // MARK: Limits of a request

    @Test("A host with several certificates has an evaluation for each of them", arguments: [7, 20])
    func manyCertificates(count: Int) async {
        let session = session(showing: { $0 % count }) { _ in }
        #expect(await error(session) == nil)
        #expect(calls.lines.count == count)
    }

    @Test("A server that presents another certificate each time fails in the end")
    func changing() async {
        let session = session(showing: { $0 }) { _ in }
        let error = await error(session)
        #expect(error?.code == .untrusted)
        #expect(calls.lines.count == 100)
    }

    @Test("A verdict that is removed before each use ends the request")
    func repeated() async {
        let (sessions, give) = AsyncStream.makeStream(of: Session.self)
        let session = session { _ in
            for await session in sessions {
                session.forgetTrustVerdicts()
                give.yield(session)
                break
            }
        }
        give.yield(session)
        let error = await error(session)
        #expect(error?.code == .untrusted)
        #expect(calls.lines.count == 6)
        give.finish()
    }

    // MARK: Shared evaluations

    @Test("Concurrent and later requests to one server share one evaluation")
    func shared() async {
        let gate = Gate()
        let session = session { _ in await gate.pass() }
        await withTaskGroup(of: RequestError?.self) { group in
            for _ in 0..<200 { group.addTask { await self.error(session) } }
            await gate.arrived()
            gate.open()
            for await error in group { #expect(error == nil) }
        }
        #expect(calls.lines == ["a"])
    }

    @Test("A cancelled request does not end the evaluation of the others", arguments: [true, false])
    func leaving(isFirst: Bool) async {
        let gate = Gate()
        let session = session { [calls] _ in
            await gate.pass()
            if Task.isCancelled { calls.note("cancelled") }
        }
        let requests = [await session.request("https://a/"), await session.request("https://a/")]
        let first = requests[0].serializingData()
        await gate.arrived()
        let second = requests[1].serializingData()
        await session.waitUntilJudging(2)
        requests[isFirst ? 0 : 1].cancel()
        #expect(await (isFirst ? first : second).response.error?.isCancelled == true)
        gate.open()
        #expect(await (isFirst ? second : first).response.error == nil)
        #expect(calls.lines == ["a"])
    }

    @Test("An evaluation is cancelled with its last waiting request, and the next request starts another one")
    func lastLeaves() async {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let session = session { [calls] _ in
            guard calls.lines.count == 1 else { return }
            await Self.waitForCancel()
            end.finish()
        }
        let requests = [await session.request("https://a/"), await session.request("https://a/")]
        let tasks = requests.map { $0.serializingData() }
        await session.waitUntilJudging(2)
        for (request, task) in zip(requests, tasks) {
            request.cancel()
            #expect(await task.response.error?.isCancelled == true)
        }
        for await _ in ended {}
        #expect(await error(session) == nil)
        #expect(calls.lines.count == 2)
    }

    @Test("A request that an evaluator makes to the server that it evaluates fails, instead of waiting for itself")
    func ownRequest() async {
        let (sessions, give) = AsyncStream.makeStream(of: Session.self)
        let session = session { _ in
            for await session in sessions {
                _ = try await session.request("https://a/").serializingData().value
                break
            }
        }
        give.yield(session)
        let error = await error(session)
        #expect(error?.code == .untrusted)
        let inner = error?.underlying as? RequestError
        #expect(inner?.code == .untrusted)
        #expect(calls.lines.count == 1)
        give.finish()
    }
}

extension Session {
    /// Waits until so many requests wait for trust evaluators.
    fileprivate nonisolated func waitUntilJudging(_ count: Int) async {
        let trust = self.trust
        await poll { trust?.waiting == count }
    }
}

/// A transport that states no capability.
private final class UnjudgingTransport: Transport {
    private let inner: any Transport

    init(_ inner: any Transport) { self.inner = inner }

    var capabilities: TransportCapabilities { [] }

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        inner.task(for: request, id: id, delegate: delegate)
    }

    func invalidate() { inner.invalidate() }
}
