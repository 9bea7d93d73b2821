import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurReachability

@Suite("The offline retrier", .limited)
struct OfflineRetrierTests {
    private let network = ScriptedNetwork()
    private let log = TransportLog()
    private let clock = ManualClock()
    /// The failures that the retrier passed on to the next one.
    private let passedOn = Journal()
    private var online: NetworkStatus { ScriptedNetwork.online }

    /// Returns a session with the retrier, and a next retrier that only records.
    private func session(
        limit: Int = 3, idempotencyKey: RetryPolicy.IdempotencyKey? = nil,
        required: Set<NetworkStatus.InterfaceKind> = [], prohibited: Set<NetworkStatus.InterfaceKind> = [],
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) -> Session {
        let retrier = OfflineRetrier(
            maximumWait: .seconds(30), limit: limit, idempotencyKey: idempotencyKey, requiredInterfaces: required,
            prohibitedInterfaces: prohibited, monitor: NetworkMonitor(source: network))
        let next = Interceptor(retry: { [passedOn] _, _, error in
            passedOn.note("\(error.code)")
            return .doNotRetry
        })
        return log.session(
            SessionConfiguration {
                $0.clock = clock
                $0.headers = [:]
            }, interceptor: Interceptor(interceptors: [retrier, next]), answering: answer)
    }

    private func response(_ request: DataRequest) async -> DataResponse<Data> {
        await request.serializingData().response
    }

    @Test("Added by retry(using:), it also sends its idempotency key")
    func keyOfOneRequest() async {
        let retrier = OfflineRetrier(idempotencyKey: .automatic(), monitor: NetworkMonitor(source: network))
        let session = log.session { _, _ in .text("x") }
        _ = await response(await session.request("http://h/", method: .post).retry(using: retrier))
        #expect(log.requests.first?.fields.contains { $0.name == "Idempotency-Key" } == true)
    }

    // MARK: Retries

    @Test(
        "A request that failed without a network is retried when the network is reachable",
        arguments: [TransportError.Code.nameLookup, .unreachable, .connectionLost, .truncated, .timedOut])
    func retry(code: TransportError.Code) async throws {
        let session = session { _, number in number == 1 ? .failure(code) : .text("ok") }
        let request = await session.request("http://h/")
        async let response = response(request)
        await network.watched.reached(1)
        #expect(log.count == 1)
        network.become(online)
        #expect(await response.value == Data("ok".utf8))
        #expect(log.count == 2 && request.retryCount == 1 && passedOn.lines.isEmpty)
        #expect(Set(network.hosts) == ["h"])
        await network.cancelled.reached(1)
    }

    @Test("Each outage has one retry, and the limit ends the retries")
    func limit() async {
        let session = session { [network] _, _ in
            network.become(.unreachable)
            return .failure(.unreachable)
        }
        let request = await session.request("http://h/")
        async let response = response(request)
        for number in 1...3 {
            await network.watched.reached(number)
            #expect(log.count == number)
            network.become(online)
        }
        #expect(await response.error?.code == .unreachable)
        #expect(log.count == 4 && passedOn.lines == ["unreachable"])
    }

    @Test("The host of the last redirect is waited for")
    func redirect() async {
        let session = session { request, number in
            switch number {
            case 1: .redirect(302, to: "http://other/")
            case 2: .failure(.connectionLost)
            default: .text("ok")
            }
        }
        async let response = response(session.request("http://h/"))
        await network.watched.reached(1)
        network.become(online)
        #expect(await response.error == nil)
        #expect(Set(network.hosts) == ["other"])
    }

    @Test("A missing route to the host is an outage, though other hosts can be reached")
    func hostRoute() async {
        network.become(online, routes: ["h": .missing])
        let session = session { _, number in number == 1 ? .failure(.unreachable) : .text("ok") }
        async let response = response(session.request("http://h/"))
        await network.watched.reached(1)
        network.become(routes: ["h": .exists])
        #expect(await response.error == nil)
        #expect(log.count == 2)
    }

    @Test("A lookup without an answer is an outage only for a request that failed by its lookup")
    func lookup() async {
        network.become(online, routes: ["h": .noAnswer])
        let session = session { request, number in
            request.url.path == "/lost" ? .failure(.connectionLost) : number == 2 ? .failure(.nameLookup) : .text("ok")
        }
        #expect(await response(session.request("http://h/lost")).error?.code == .connectionLost)
        #expect(passedOn.lines == ["connectionLost"] && network.watched.value == 0)
        async let response = response(session.request("http://h/"))
        await network.watched.reached(1)
        network.become(routes: ["h": .exists])
        #expect(await response.error == nil)
        #expect(log.count == 3)
    }

    // MARK: Interfaces

    private static let conditions:
        [(required: Set<NetworkStatus.InterfaceKind>, prohibited: Set<NetworkStatus.InterfaceKind>)] = [
            ([.wifi], []), ([.wifi, .wiredEthernet], []), ([], [.cellular]), ([.wifi], [.cellular]),
            ([], [.cellular, .other]),
        ]

    private func status(over interfaces: Set<NetworkStatus.InterfaceKind>) -> NetworkStatus {
        NetworkStatus(isReachable: true, interfaces: interfaces, supportsIPv4: true)
    }

    @Test("A network over other interfaces is waited out", arguments: 0..<conditions.count)
    func interfaces(index: Int) async {
        let (required, prohibited) = Self.conditions[index]
        network.become(status(over: [.cellular]))
        let session = session(required: required, prohibited: prohibited) { _, number in
            number == 1 ? .failure(.connectionLost) : .text("ok")
        }
        async let response = response(session.request("http://h/"))
        await network.watched.reached(1)
        #expect(log.count == 1)
        network.become(.unreachable)
        network.become(status(over: [.cellular, .wifi]))
        #expect(await response.error == nil)
        #expect(log.count == 2 && passedOn.lines.isEmpty)
        await network.cancelled.reached(1)
    }

    @Test("Over the wanted interface, or in an unknown network, the next retrier is asked at once")
    func wantedInterface() async {
        for status in [status(over: [.wifi]), status(over: [.cellular, .wifi]), .unknown] {
            network.become(status)
            let session = session(required: [.wifi], prohibited: [.cellular]) { _, _ in .failure(.connectionLost) }
            #expect(await response(session.request("http://h/")).error?.code == .connectionLost)
        }
        #expect(log.count == 3 && passedOn.lines.count == 3 && network.watched.value == 0)
    }

    @Test("An interface that is required and prohibited never counts")
    func contradiction() async {
        network.become(status(over: [.wifi]))
        let session = session(required: [.wifi], prohibited: [.wifi]) { _, _ in .failure(.connectionLost) }
        async let response = response(session.request("http://h/"))
        await network.watched.reached(1)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await response.error?.code == .connectionLost)
        #expect(log.count == 1 && passedOn.lines == ["connectionLost"])
    }

    // MARK: No retries

    @Test("With a reachable or unknown network, or a name that does not exist, the next retrier is asked at once")
    func reachable() async {
        let states: [(NetworkStatus, HostRoute)] = [
            (online, .exists), (.unknown, .exists), (online, .unknownName), (.unreachable, .exists),
        ]
        for (status, route) in states {
            network.become(status, routes: ["h": route])
            let before = log.count
            let session = session { _, _ in .failure(.nameLookup) }
            #expect(await response(session.request("http://h/")).error?.code == .nameLookup)
            #expect(log.count == before + 1)
        }
        #expect(passedOn.lines.count == states.count && network.watched.value == 0)
    }

    @Test("When the maximum wait has passed, the next retrier is asked")
    func maximumWait() async {
        let session = session { _, _ in .failure(.unreachable) }
        async let response = response(session.request("http://h/"))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await response.error?.code == .unreachable)
        #expect(log.count == 1 && passedOn.lines == ["unreachable"])
        await network.cancelled.reached(1)
    }

    @Test(
        "Failures that a missing network does not cause are passed on",
        arguments: [TransportError.Code.connectionRefused, .handshake, .untrusted, .protocolViolation])
    func otherCodes(code: TransportError.Code) async {
        let session = session { _, _ in .failure(code) }
        #expect(await response(session.request("http://h/")).error != nil)
        #expect(log.count == 1 && passedOn.lines.count == 1 && network.asked.value == 0)
    }

    @Test("A timeout in user code is passed on")
    func ownTimeout() async {
        let session = session { _, _ in .text("ok") }
        let request = await session.request("http://h/").adapt(
            using: .adapter { _, _ in throw RequestError(.timedOut, "slow") })
        #expect(await response(request).error != nil)
        #expect(passedOn.lines.count == 1 && network.asked.value == 0)
    }

    @Test("A request whose method is not idempotent is not retried, unless it has an idempotency key")
    func methods() async {
        let plain = session { _, _ in .failure(.connectionLost) }
        #expect(await response(plain.request("http://h/", method: .post)).error?.code == .connectionLost)
        #expect(log.count == 1 && passedOn.lines == ["connectionLost"])
        let keyed = session(idempotencyKey: .automatic()) { _, number in
            number == 2 ? .failure(.connectionLost) : .text("ok")
        }
        async let response = response(keyed.request("http://h/", method: .post))
        await network.watched.reached(1)
        network.become(online)
        #expect(await response.error == nil)
        #expect(log.requests.dropFirst().map { $0["Idempotency-Key"] == nil } == [false, false])
        #expect(log.requests[1]["Idempotency-Key"] == log.requests[2]["Idempotency-Key"])
    }

    @Test("A body that can be sent only once is not waited for")
    func onceOnlyBody() async {
        let session = session { _, _ in .failure(.connectionLost) }
        let response = await response(session.request("http://h/", method: .put) { $0.body = .onceOnly })
        #expect(response.error?.code == .bodyNotReplayable)
        #expect(log.count == 1 && network.watched.value == 0)
    }

    // MARK: Ends of the wait

    @Test("A cancel of the request ends the wait")
    func cancel() async {
        let session = session { _, _ in .failure(.unreachable) }
        let request = await session.request("http://h/")
        async let response = response(request)
        await network.watched.reached(1)
        request.cancel()
        #expect(await response.error?.isCancelled == true)
        await network.cancelled.reached(1)
        #expect(log.count == 1 && passedOn.lines.isEmpty)
    }

    @Test("The total timeout of the request ends the wait")
    func totalTimeout() async {
        let session = session { _, _ in .failure(.unreachable) }
        let request = await session.request("http://h/").timeout(.total(.seconds(10)))
        async let response = response(request)
        await network.watched.reached(1)
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(10))
        #expect(await response.error?.isTimeout == true)
        await network.cancelled.reached(1)
        #expect(log.count == 1)
    }

    @Test("It can be named where a retrier or an interceptor is wanted")
    func names() async {
        let retrier: any RequestRetrier = .whenReachable(within: .seconds(30))
        let interceptor: any RequestInterceptor = .composed(.whenReachable(), .retry())
        #expect((retrier as? OfflineRetrier)?.maximumWait == .seconds(30))
        let parts = (interceptor as? Interceptor)?.interceptors
        #expect((parts?.first as? OfflineRetrier)?.maximumWait == .seconds(5))
        let limited: any RequestRetrier = .whenReachable(requiredInterfaces: [.wifi], prohibitedInterfaces: [.cellular])
        #expect((limited as? OfflineRetrier)?.requiredInterfaces == [.wifi])
        #expect((limited as? OfflineRetrier)?.prohibitedInterfaces == [.cellular])
    }
}
