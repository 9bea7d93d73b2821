import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Shared tokens whose refresh token may have been used", .limited)
struct SharedTokensOutcomeTests {
    private static let replies: [(reply: String, status: Int, code: AuthenticationError.Code)] = [
        // The server has accepted the refresh token, and its new token is lost.
        ("<html>", 200, .refreshOutcomeUnknown), ("{}", 200, .refreshOutcomeUnknown),
        (#"{"access_token": "a"}"#, 200, .refreshOutcomeUnknown),
        (#"{"access_token": "a", "token_type": "mac"}"#, 201, .refreshOutcomeUnknown),
        ("", 502, .refreshOutcomeUnknown),
        // The server has refused it.
        (#"{"error": "invalid_grant"}"#, 200, .refreshFailed), (#"{"error": "invalid_grant"}"#, 400, .refreshFailed),
        ("<html>", 403, .refreshFailed), ("", 302, .refreshFailed),
    ]

    @Test("A reply of success without a usable token is an unknown outcome, and a refusal is not", arguments: replies)
    func reply(reply: String, status: Int, code: AuthenticationError.Code) async throws {
        let shared = SharedTokens(
            MemoryStore(), name: "shop", sealedBy: try SealingKey([UInt8](repeating: 1, count: 32)))
        try await shared.save(BearerToken("old", refreshToken: "refresh", renewalDate: .distantPast))
        let client = OAuth2Client(tokenURL: "http://h/token", clientID: "shop", clientSecret: "s")
        let session = Session(
            transport: StubTransport { _ in .json(reply, status: status) },
            interceptor: .authentication(BearerTokens(shared: shared, renewedBy: client)))
        let response = await session.request("http://h/").serializingString().response
        #expect(response.error?.authenticationError?.code == code)
    }

    @Test("If the store has lost the token, another process may have used the refresh token")
    func lost() async throws {
        let site = try TokenSite()
        try await site.saveExpired()
        let (process, patient) = (site.process(), site.process(ifOutcomeUnknown: .reuseOnce))
        for process in [process, patient] { #expect(try await TokenSite.text(from: process) == "ok") }
        try await site.store.removeValue(for: "shop")
        for process in [process, patient] { process.tokens.credential?.renewalDate = .distantPast }
        let error = await TokenSite.error(from: process)
        #expect(error?.code == .refreshOutcomeUnknown)
        #expect(site.refreshes.count == 1)
        #expect(try await TokenSite.text(from: patient) == "ok")
        #expect(site.refreshes == ["refresh 0", "refresh 101"])
        #expect(try await TokenSite.text(from: process) == "ok")
    }

    @Test("A first refresh that fails leaves no token")
    func unissued() async throws {
        let process = try TokenSite().process()
        #expect(await TokenSite.error(from: process)?.code == .missingCredential)
        #expect(try await process.shared.token() == nil)
    }

    /// A store whose lease has lost its numbers: all writes under it are refused.
    private final class ForgetfulStore: ForwardingStore {
        let base: any SharedStore = MemoryStore()
        let leases = Guarded(0)

        func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
            leases.withLock { $0 += 1 }
            return try await base.takeLease(name, for: duration)
        }

        func set(
            _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
        ) async throws(StoreError) -> StoreVersion? {
            if lease != nil { throw StoreError(.staleLease, "a later holder has written") }
            return try await base.set(value, for: key, if: condition, lifetime: lifetime, under: nil)
        }
    }

    @Test("A process whose writes are refused asks the store with pauses")
    func forgottenNumbers() async throws {
        let store = ForgetfulStore()
        let site = try TokenSite(store: store)
        try await site.saveExpired()
        let process = site.process()
        let request = await process.session.request("http://h/")
        async let response = request.serializingString().response
        var advances = 0
        await poll {
            process.clock.advance(by: .seconds(1))
            advances += 1
            return store.leases.withLock { $0 } >= 20
        }
        // The first lease is taken without a pause.
        #expect(store.leases.withLock { $0 } <= 1 + advances)
        request.cancel()
        #expect(await response.error?.isCancelled == true)
        #expect(site.refreshes.isEmpty)
    }
}
