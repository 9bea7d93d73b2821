import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Server trust", .limited)
struct ServerTrustTests {
    private let log = TransportLog()
    private let own: Certificate
    private let other: Certificate

    init() throws {
        own = try Certificate(Certificate.own)
        other = try Certificate(Certificate.other)
    }

    private func peer(
        _ certificates: [Certificate], chain: TransportError.Code? = nil, host: TransportError.Code? = nil
    ) -> PeerTrust {
        PeerTrust(
            host: "api.example.com", port: 443, certificates: certificates.map(\.bytes),
            chainError: chain.map { TransportError($0) }, hostError: host.map { TransportError($0) })
    }

    private func session(_ manager: ServerTrustManager?, peer: PeerTrust, _ log: TransportLog? = nil) -> Session {
        (log ?? self.log).session(SessionConfiguration { $0.serverTrust = manager }) { _, _ in
            .text("secret").by(peer)
        }
    }

    private func outcome(
        _ evaluator: any ServerTrustEvaluating, _ certificates: [Certificate], chain: TransportError.Code? = nil,
        host: TransportError.Code? = nil
    ) async -> RequestError.Code? {
        let session = session(
            ServerTrustManager(evaluators: ["*": evaluator]), peer: peer(certificates, chain: chain, host: host))
        return await session.request("https://api.example.com/").serializingData().response.error?.code
    }

    // MARK: Which evaluator

    private static let named: [String: any ServerTrustEvaluating] = Dictionary(
        uniqueKeysWithValues: [
            "api.example.com", "*.example.com", "**.example.com", "*.deep.example.com", "192.0.2.7", "bücher.example",
        ].map { ($0, Named(name: $0)) })

    private struct Named: ServerTrustEvaluating {
        let name: String
        func evaluate(_ trust: ServerTrust) {}
    }

    @Test(
        "The most specific pattern applies",
        arguments: [
            ("api.example.com", "api.example.com"), ("API.Example.Com", "api.example.com"),
            ("api.example.com.", "api.example.com"), ("www.example.com", "*.example.com"),
            ("example.com", "**.example.com"), ("a.b.example.com", "**.example.com"),
            ("a.deep.example.com", "*.deep.example.com"), ("a.b.deep.example.com", "**.example.com"),
            ("deep.example.com", "*.example.com"), ("192.0.2.7", "192.0.2.7"),
            ("xn--bcher-kva.example", "bücher.example"), ("badexample.com", nil), ("example.org", nil),
            ("example.com.evil.org", nil),
        ])
    func patterns(host: String, pattern: String?) throws {
        let open = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: Self.named)
        let found = try open.evaluator(for: host) as? Named
        #expect(found?.name == pattern)
        let closed = ServerTrustManager(evaluators: Self.named)
        if pattern == nil { #expect(throws: TrustError.self) { try closed.evaluator(for: host) } }
        let all = ServerTrustManager(evaluators: ["*": Named(name: "*")])
        #expect((try all.evaluator(for: host) as? Named)?.name == "*")
    }

    @Test(
        "Duplicate patterns make every host fail, because one of the two would be ignored",
        arguments: [
            ("api.example.com", "API.example.com"), ("a.b", "a.b."), ("*.a", "*.A"),
            ("**.bücher.a", "**.xn--bcher-kva.a"),
        ])
    func twice(first: String, second: String) {
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: [first: .default, second: .disabled, "other.example": .default])
        #expect(throws: TrustError.self) { try manager.evaluator(for: "other.example") }
    }

    @Test(
        "An invalid pattern makes every host fail",
        arguments: [
            "", "***.a", "a.*", "*a", "*", "a/b", "a:1", "*.", "a b", "a:443", "a:", "*.a:443", "[::1]:443", "a?", "a#",
            "ada@a", "a/",
        ])
    func noPattern(text: String) throws {
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: [text: .default, "api.example.com": .default])
        if text == "*" {
            #expect(try manager.evaluator(for: "a") != nil)
        } else {
            #expect(throws: TrustError.self) { try manager.evaluator(for: "api.example.com") }
        }
    }

    // MARK: Verdicts of evaluators

    @Test("The default requires a good chain and the host's name")
    func byDefault() async {
        #expect(await outcome(.default, [own]) == nil)
        #expect(await outcome(.default, [own], chain: .selfSigned) == .selfSigned)
        #expect(await outcome(.default, [own], host: .wrongHost) == .wrongHost)
        #expect(await outcome(DefaultTrustEvaluator(validateHost: false), [own], host: .wrongHost) == nil)
        #expect(await outcome(.disabled, [own], chain: .certificateExpired, host: .wrongHost) == nil)
    }

    @Test("A pin may match any key of a good chain, and only the host's own key of another chain")
    func pinnedKeys() async {
        #expect(await outcome(.pinnedKeys(own.pin), [own, other]) == nil)
        #expect(await outcome(.pinnedKeys(other.pin), [own, other]) == nil)
        #expect(await outcome(.pinnedKeys(other.pin), [own]) == .pinMismatch)
        #expect(await outcome(.pinnedKeys(), [own]) == .pinMismatch)
        #expect(await outcome(.pinnedKeys(own.pin), [own], chain: .certificateExpired) == .certificateExpired)
        let alone = PinnedKeysTrustEvaluator([other.pin], performDefaultValidation: false)
        #expect(await outcome(alone, [other], chain: .selfSigned, host: .wrongHost) == nil)
        #expect(
            await outcome(alone, [own, other], chain: .selfSigned) == .pinMismatch,
            "an attacker can copy a certificate into the chain")
    }

    @Test("Expired pins are ignored, and the system's verdict still applies")
    func expired() async {
        let (past, future) = (Date() - 1, Date() + 1_000)
        for validates in [true, false] {
            func pins(_ date: Date) -> PinnedKeysTrustEvaluator {
                PinnedKeysTrustEvaluator([other.pin], expires: date, performDefaultValidation: validates)
            }
            #expect(await outcome(pins(past), [own]) == nil)
            #expect(await outcome(pins(past), [own], chain: .unknownIssuer) == .unknownIssuer)
            #expect(await outcome(pins(future), [own]) == .pinMismatch)
        }
    }

    @Test("Pins with reportOnly report mismatches, and fail no request")
    func reportOnly() async {
        let (reports, report) = AsyncStream.makeStream(of: TransportError.Code.self)
        let pins = PinnedKeysTrustEvaluator([other.pin]) { error, _ in report.yield(error.code) }
        #expect(await outcome(pins, [own]) == nil)
        #expect(await reports.first { _ in true } == .pinMismatch)
        #expect(await outcome(pins, [own], chain: .selfSigned) == .selfSigned, "the system's verdict is no trial")
    }

    @Test("A pinned certificate is compared as a whole, and may be self-signed")
    func pinnedCertificates() async {
        #expect(await outcome(.pinnedCertificates([own]), [own]) == nil)
        #expect(await outcome(.pinnedCertificates([other]), [own]) == .pinMismatch)
        let alone = PinnedCertificatesTrustEvaluator([own], performDefaultValidation: false)
        #expect(await outcome(alone, [own], chain: .selfSigned, host: .wrongHost) == nil)
        #expect(await outcome(alone, [other, own], chain: .selfSigned) == .pinMismatch)
    }

    @Test("All evaluators of a composite must succeed, and the first error applies", arguments: [true, false])
    func composite(isImmediate: Bool) async {
        let last: any ServerTrustEvaluating = isImmediate ? .disabled : ClosureTrustEvaluator { _ in }
        #expect(await outcome(CompositeTrustEvaluator([.default, last]), [own]) == nil)
        let pinned = CompositeTrustEvaluator([.pinnedKeys(other.pin), .default, last])
        #expect(await outcome(pinned, [own], host: .wrongHost) == (.wrongHost))
        #expect(await outcome(CompositeTrustEvaluator([last, .pinnedKeys(other.pin)]), [own]) == .pinMismatch)
    }

    // MARK: Requests

    @Test("Evaluators do not run for hosts without a pattern, nor for plain HTTP")
    func uncovered() async throws {
        let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: ["other.example": .default])
        let session = session(manager, peer: peer([own]))
        _ = try await session.request("https://api.example.com/").serializingData().value
        _ = try await session.request("http://other.example/").serializingData().value
        #expect(log.requests.map(\.asksForTrust) == [false, false])
        #expect(self.session(nil, peer: peer([own])).trust == nil)
        let refused = await self.session(nil, peer: peer([own], chain: .unknownIssuer)).request("https://a/")
        #expect(await refused.serializingData().response.error?.code == .unknownIssuer)
    }

    @Test("A host without an evaluator fails if all hosts must have one")
    func unevaluated() async {
        let session = session(ServerTrustManager(evaluators: ["a.example": .default]), peer: peer([own]))
        let response = await session.request("https://api.example.com/").serializingData().response
        #expect(response.error?.code == .untrusted && response.error?.isTrust == true)
        #expect("\(String(describing: response.error))".contains("api.example.com"))
    }

    @Test("An invalid certificate fails")
    func broken() async {
        let peer = PeerTrust(host: "api.example.com", port: 443, certificates: [[1, 2, 3]])
        let session = session(ServerTrustManager(evaluators: ["*": .disabled]), peer: peer)
        #expect(await session.request("https://a/").serializingData().response.error?.isTrust == true)
    }

    @Test(
        "A user's evaluator runs once for a host and its certificates, off the transport's thread; then the hop restarts"
    )
    func custom() async throws {
        let calls = Journal()
        let evaluator = ClosureTrustEvaluator { trust in
            calls.note("\(trust.host) \(trust.certificates.count) \(ThreadMarks.transportDepth)")
        }
        let session = session(ServerTrustManager(evaluators: ["*": evaluator]), peer: peer([own, other]))
        for _ in 0..<3 {
            let request = await session.request("https://api.example.com/", method: .post).serializingString()
            #expect(try await request.value == "secret")
        }
        #expect(calls.lines == ["api.example.com 2 0"])
        #expect(log.count == 4)
    }

    private struct Distrust: Error {}

    @Test("An error that a custom evaluator throws is the underlying error of the request")
    func customRefusal() async {
        let calls = Journal()
        let evaluator = ClosureTrustEvaluator { _ in
            calls.note("asked")
            throw Distrust()
        }
        let session = session(ServerTrustManager(evaluators: ["*": evaluator]), peer: peer([own]))
        let first = await session.request("https://a/").serializingData().response.error
        #expect(first?.code == .untrusted && first?.underlying is Distrust)
        let second = await session.request("https://a/").serializingData().response.error
        #expect(second?.code == .untrusted && second?.underlying is Distrust)
        #expect(calls.lines == ["asked", "asked"])
    }

    @Test("R4: a request whose evaluator does not return ends by its limit, or by a cancel", arguments: [true, false])
    func stuck(isCancelled: Bool) async {
        let (gate, clock) = (Gate(), ManualClock())
        let evaluator = ClosureTrustEvaluator { _ in await gate.pass() }
        var configuration = SessionConfiguration { $0.serverTrust = .init(evaluators: ["*": evaluator]) }
        configuration.clock = clock
        let peer = peer([own])
        let session = log.session(configuration) { _, _ in .text("x").by(peer) }
        let request = await session.request("https://a/")
        if !isCancelled { request.timeout(.attempt(.seconds(10))) }
        let task = request.serializingData()
        await gate.arrived()
        if isCancelled {
            request.cancel()
        } else {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(10))
        }
        let error = await task.response.error
        #expect(isCancelled ? error?.isCancelled == true : error?.isTimeout == true)
        gate.open()
    }
}
