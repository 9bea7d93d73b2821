import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Faults of shared tokens", .limited)
struct SharedTokensFaultTests {
    private let site: TokenSite

    init() throws { site = try TokenSite() }

    @Test("A request waits for another process at most until its deadline")
    func deadline() async throws {
        try await site.saveExpired()
        let lease = try #require(try await site.store.takeLease("shop", for: .seconds(100)))
        let process = site.process()
        let response = await process.session.request("http://h/") {
            $0.options.timeouts.total = .milliseconds(50)
        }.serializingString().response
        #expect(response.error?.isTimeout == true)
        #expect(site.refreshes.isEmpty)
        try await site.store.release(lease)
        #expect(try await TokenSite.text(from: process) == "ok")
        #expect(site.refreshes.count == 1)
    }

    @Test("A refresh that has begun goes on if its requests are cancelled, and its result is stored")
    func cancelled() async throws {
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let (process, other) = (site.process(), site.process())
        let request = await process.session.request("http://h/")
        async let response = request.serializingString().response
        await gate.arrived()
        request.cancel()
        #expect(await response.error?.isCancelled == true)
        gate.open()
        async let text = TokenSite.text(from: other)
        #expect(try await text == "ok")
        #expect(site.refreshes.count == 1)
    }

    @Test("With another key, requests fail with the reason, and the stored token stays as it is")
    func wrongKey() async throws {
        try await site.saveExpired()
        let before = try await site.store.value(for: "shop")
        let process = site.process(key: try SealingKey([UInt8](repeating: 8, count: 32), id: "k"))
        let error = await TokenSite.error(from: process)
        #expect((error?.underlying as? SealingError)?.code == .wrongKey)
        #expect(try await site.store.value(for: "shop") == before)
        #expect(site.refreshes.isEmpty)
        await #expect(throws: SealingError.self) { try await process.shared.token() }
    }

    @Test("The store, descriptions and errors do not contain the token")
    func secrecy() async throws {
        try await site.saveExpired()
        let stored = try #require(try await site.store.value(for: "shop")).data
        #expect(stored.range(of: Data("refresh 0".utf8)) == nil && stored.range(of: Data("token 0".utf8)) == nil)
        site.reply(.failure(.connectionLost))
        let process = site.process()
        var text = "\(String(describing: await TokenSite.error(from: process))) \(process.shared)"
        dump(process.shared, to: &text)
        dump(process.tokens, to: &text)
        #expect(!text.contains("refresh 0") && !text.contains("token 0"))
    }

    @Test("After the token was removed, requests fail and nothing is refreshed")
    func removed() async throws {
        try await site.saveExpired()
        let (process, other) = (site.process(), site.process())
        #expect(try await TokenSite.text(from: process) == "ok")
        try await other.shared.remove()
        try await other.shared.remove()
        #expect(try await process.shared.token() == nil)
        #expect(try await TokenSite.text(from: process) == "ok")  // its token is still good
        process.tokens.credential?.renewalDate = .distantPast
        #expect(await TokenSite.error(from: process)?.code == .missingCredential)
        #expect(await TokenSite.error(from: other)?.code == .missingCredential)
        #expect(site.refreshes.count == 1)
    }

    @Test("A login during a refresh replaces its result")
    func login() async throws {
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let process = site.process()
        async let text = TokenSite.text(from: process)
        await gate.arrived()
        try await process.shared.save(BearerToken("token 101", refreshToken: "login"))
        gate.open()
        #expect(try await text == "ok")
        #expect(process.tokens.credential?.refreshToken == "login")
        #expect(try await process.shared.token()?.refreshToken == "login")
    }

    @Test("Without a stored token, requests fail before they are sent")
    func nothingStored() async throws {
        let process = site.process()
        #expect(await TokenSite.error(from: process)?.code == .missingCredential)
        #expect(site.refreshes.isEmpty)
    }

    @Test("Processes with a client's own credentials request one token, again after an unknown outcome")
    func clientCredentials() async throws {
        let requests = Guarded(0)
        let server = StubTransport { request in
            guard request.url.path == "/token" else {
                return request.authorization == "Bearer t2" ? .text("ok") : .text("", status: 401)
            }
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            return number == 1
                ? .failure(.connectionLost)
                : .json(#"{"access_token": "t\#(number)", "token_type": "Bearer", "expires_in": 3600}"#)
        }
        let client = OAuth2Client(tokenURL: "http://h/token", clientID: "shop", clientSecret: "s")
        let sessions = (0..<4).map { _ in
            let shared = SharedTokens(site.store, name: "client", sealedBy: site.key)
            return Session(
                configuration: SessionConfiguration { $0.validation = [.standard] }, transport: server,
                interceptor: .authentication(BearerTokens(shared: shared, clientCredentials: client)))
        }
        let first = await sessions[0].request("http://h/").serializingString().response
        #expect(first.error?.authenticationError?.code == .refreshFailed)
        for session in sessions {
            #expect(try await session.request("http://h/").serializingString().value == "ok")
        }
        #expect(requests.withLock { $0 } == 2)
    }

    @Test("A refresh that takes longer than its timeout is cancelled, and its outcome is not known")
    func timeout() async throws {
        try await site.saveExpired()
        site.reply(.none)
        let (process, other) = (site.process(), site.process())
        async let error = TokenSite.error(from: process)
        await poll { site.refreshes.count == 1 }
        let time = Task {
            while !Task.isCancelled {
                await process.clock.waitForSleepers()
                site.time.advance(by: .seconds(1))
                process.clock.advance(by: .seconds(1))
            }
        }
        #expect(await error?.code == .refreshOutcomeUnknown)
        time.cancel()
        await time.value
        #expect(await TokenSite.error(from: other)?.code == .refreshOutcomeUnknown)
        #expect(site.refreshes.count == 1)
    }

    @Test("If the store fails, requests that need another token fail with its error")
    func storeFails() async throws {
        let site = try TokenSite(store: FailingStore(MemoryStore(), failures: .max))
        let error = await TokenSite.error(from: site.process())
        #expect((error?.underlying as? StoreError)?.code == .unavailable)
        #expect(site.refreshes.isEmpty)
    }

    @Test("If the store fails for a while when the new token is to be stored, the process tries again")
    func storeFailsForAWhile() async throws {
        let store = FailingStore(MemoryStore(), failures: 0)
        let site = try TokenSite(store: store)
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let process = site.process()
        async let text = TokenSite.text(from: process)
        await gate.arrived()
        store.failNext(2)
        gate.open()
        let time = Task {
            while !Task.isCancelled {
                await process.clock.waitForSleepers(2)  // the renewals of the lease, and the pause before the next try
                process.clock.advance(by: .milliseconds(1_250))
            }
        }
        #expect(try await text == "ok")
        time.cancel()
        await time.value
        #expect(try await TokenSite.text(from: site.process()) == "ok")
        #expect(site.refreshes.count == 1)
    }
}
