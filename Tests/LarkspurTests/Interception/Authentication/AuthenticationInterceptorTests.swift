import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Authentication", .limited)
struct AuthenticationInterceptorTests {
    private let log = TransportLog()
    private let refreshes = Counter()
    private let clock = ManualClock()

    private func keys(
        _ key: Key?, host: String? = nil, window: RefreshWindow? = RefreshWindow(),
        policy: FailedRefreshPolicy = .keep,
        renew: @escaping @Sendable (Key, Session) async throws -> Key = { _, _ in .new }
    ) -> Keys {
        let authenticator = KeyAuthenticator(host: host) { [refreshes] key, session in
            refreshes.increment()
            return try await renew(key, session)
        }
        return Keys(authenticator, credential: key, refreshWindow: window, failurePolicy: policy, clock: clock)
    }

    private func session(_ keys: Keys) -> Session {
        log.session(.validating, interceptor: .authentication(keys)) { request, _ in .guarding(request) }
    }

    private func sent() -> [String?] { log.requests.map { $0["Authorization"] } }

    // MARK: Adapting

    @Test("A credential that is good is put into each request")
    func applied() async throws {
        let session = session(keys(.new))
        for _ in 1...2 { #expect(try await session.request("http://h/").serializingString().value == "ok") }
        #expect(sent() == ["Key new", "Key new"])
        #expect(refreshes.value == 0)
    }

    @Test("A credential that is due is renewed before it is used, and kept")
    func due() async throws {
        let keys = keys(.old)
        let session = session(keys)
        for _ in 1...2 { #expect(try await session.request("http://h/").serializingString().value == "ok") }
        #expect(sent() == ["Key new", "Key new"])
        #expect(refreshes.value == 1)
        #expect(keys.credential == .new)
    }

    @Test("A new credential is used even if it is due again: a clock that is off is no endless loop")
    func dueAgain() async throws {
        let session = session(keys(.old) { _, _ in Key(text: "new", isDue: true) })
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        #expect(refreshes.value == 1)
    }

    @Test("Without a credential nothing is sent, and the error says so")
    func missing() async throws {
        let error = await session(keys(nil)).request("http://h/").serializingData().response.error
        #expect(error?.code == .adaptationFailed)
        #expect(error?.authenticationError?.code == .missingCredential)
        #expect(log.count == 0)
    }

    @Test("A request that the authenticator leaves alone passes untouched, whatever becomes of it")
    func foreign() async throws {
        let session = session(keys(nil, host: "h"))
        #expect(await session.request("http://other/").serializingData().response.error?.statusCode == 401)
        #expect(sent() == [nil])
    }

    // MARK: Refused

    @Test("A refusal refreshes the credential, and the whole chain adapts the request again")
    func refused() async throws {
        let adapted = Journal()
        let keys = keys(.revoked)
        let chain = Interceptor(adapt: { _, state in adapted.note("\(state.attempt)") })
        let session = log.session(.validating, interceptor: .composed(chain, .authentication(keys))) { request, _ in
            .guarding(request)
        }
        let request = await session.request("http://h/")
        #expect(try await request.serializingString().value == "ok")
        #expect(sent() == ["Key revoked", "Key new"])
        #expect(adapted.lines == ["1", "2"])
        #expect(request.retryCount == 1)
    }

    @Test("Without validation a refusal is a response like any other")
    func unvalidated() async throws {
        let session = log.session(interceptor: .authentication(keys(.revoked))) { request, _ in .guarding(request) }
        let response = await session.request("http://h/").serializingString().response
        #expect(response.value == "who are you?")
        #expect(refreshes.value == 0)
    }

    @Test("Other failures are not the credential's")
    func otherFailure() async throws {
        let session = log.session(.validating, interceptor: .authentication(keys(.new))) { _, _ in
            .text("forbidden", status: 403)
        }
        #expect(await session.request("http://h/").serializingData().response.error?.statusCode == 403)
        #expect(refreshes.value == 0)
    }

    @Test("A refusal of a credential that was replaced meanwhile is answered with the new one, without a refresh")
    func replacedInFlight() async throws {
        let keys = keys(.revoked)
        let session = log.session(.validating, interceptor: .authentication(keys)) { request, number in
            if number == 1 { keys.credential = .new }
            return .guarding(request)
        }
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        #expect(sent() == ["Key revoked", "Key new"])
        #expect(refreshes.value == 0)
    }

    @Test("A server that refuses everything gets three attempts, and its refusal stands")
    func endless() async throws {
        let numbers = Counter()
        let session = session(keys(.revoked) { _, _ in Key(text: "key \(numbers.increment())") })
        let error = await session.request("http://h/").serializingData().response.error
        #expect(error?.statusCode == 401)
        #expect(error?.code == .unacceptableStatus)
        #expect(sent() == ["Key revoked", "Key key 1", "Key key 2"])
        #expect(refreshes.value == 2)
    }

    @Test("A request whose credential is replaced each time does not repeat without end")
    func overwritten() async throws {
        let chain = Interceptor(adapt: { request, _ in request.headers["Authorization"] = "mine" })
        let session = log.session(.validating, interceptor: .composed(.authentication(keys(.new)), chain)) {
            request, _ in
            .guarding(request)
        }
        #expect(await session.request("http://h/").serializingData().response.error?.statusCode == 401)
        #expect(log.count == 3)
        #expect(refreshes.value == 0)
    }

    @Test("A refusal by another origin, after a redirect, is not this credential's")
    func redirected() async throws {
        let session = log.session(.validating, interceptor: .authentication(keys(.new))) { request, number in
            number == 1 ? .redirect(to: "http://other/") : .guarding(request)
        }
        #expect(await session.request("http://h/").serializingData().response.error?.statusCode == 401)
        #expect(sent() == ["Key new", nil])
        #expect(refreshes.value == 0)
    }

    // MARK: Failures

    @Test("A refresh that fails fails the request with its error; the next request tries again")
    func failed() async throws {
        let keys = keys(.old) { [refreshes] _, _ in
            if refreshes.value == 1 { throw ForeignError() }
            return .new
        }
        let session = session(keys)
        let error = try #require(
            await session.request("http://h/").serializingData().response.error?.authenticationError)
        #expect(error.code == .refreshFailed)
        #expect(error.underlying as? ForeignError == ForeignError())
        #expect(keys.credential == .old)
        #expect(try await session.request("http://h/").serializingString().value == "ok")
    }

    @Test("A request that is refused after a failed refresh, and was sent before it, shares the failure")
    func sharedFailure() async throws {
        let keys = keys(.revoked) { _, _ in throw ForeignError() }
        let transport = StubTransport(clock: clock) { request in
            request.url.path == "/late" ? .guarding(request).after(.seconds(5)) : .guarding(request)
        }
        let session = Session(configuration: .validating, transport: transport, interceptor: .authentication(keys))
        let late = await session.request("http://h/late").serializingData()
        await clock.waitForSleepers()
        let early = await session.request("http://h/early").serializingData().response.error
        clock.advance(by: .seconds(5))
        let shared = await late.response.error
        for error in [early, shared] {
            #expect(error?.code == .retryFailed)
            #expect(error?.authenticationError?.code == .refreshFailed)
            #expect(error?.statusCode == 401)
        }
        #expect(refreshes.value == 1)
    }

    @Test("With .clear a failed refresh drops the credential, until another one is set")
    func cleared() async throws {
        let keys = keys(.old, policy: .clear) { _, _ in throw ForeignError() }
        let session = session(keys)
        var codes: [AuthenticationError.Code?] = []
        for _ in 1...2 {
            codes.append(await session.request("http://h/").serializingData().response.error?.authenticationError?.code)
        }
        #expect(codes == [.refreshFailed, .missingCredential])
        #expect(keys.credential == nil)
        keys.credential = .new
        #expect(try await session.request("http://h/").serializingString().value == "ok")
    }

    @Test("More refreshes than the window allows are refused, until time has passed", arguments: [true, false])
    func window(isLimited: Bool) async throws {
        let window = isLimited ? RefreshWindow(interval: .seconds(30), maximumAttempts: 2) : nil
        let session = session(keys(.old, window: window) { _, _ in Key(text: "new", isDue: true) })
        func code() async -> AuthenticationError.Code? {
            await session.request("http://h/").serializingData().response.error?.authenticationError?.code
        }
        #expect(await code() == nil)
        clock.advance(by: .seconds(20))
        #expect(await code() == nil)
        #expect(await code() == (isLimited ? .excessiveRefresh : nil))
        clock.advance(by: .seconds(10))
        #expect(await code() == nil)
        #expect(await code() == (isLimited ? .excessiveRefresh : nil))
        #expect(refreshes.value == (isLimited ? 3 : 5))
    }
}
