import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Shared tokens", .limited)
struct SharedTokensTests {
    private let site: TokenSite

    init() throws { site = try TokenSite() }

    @Test("Many requests of eight processes with an expired token cause one refresh")
    func oneRefresh() async throws {
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let processes = (0..<8).map { _ in site.process() }
        try await withThrowingTaskGroup(of: String.self) { group in
            for process in processes {
                for _ in 0..<20 { group.addTask { try await TokenSite.text(from: process) } }
            }
            await gate.arrived()
            gate.open()
            for try await text in group { #expect(text == "ok") }
        }
        #expect(site.refreshes == ["refresh 0"])
        #expect(try await site.process().shared.token()?.accessToken == "token 101")
        #expect(try await TokenSite.text(from: site.process()) == "ok")  // a process that starts later
        #expect(site.refreshes.count == 1)
    }

    @Test("A token that another process has refreshed does not count towards the window of refreshes")
    func adoption() async throws {
        try await site.saveExpired()
        let process = site.process()
        #expect(try await TokenSite.text(from: process) == "ok")
        for number in 1...8 {
            // Another process refreshes: the server accepts only the new token.
            let token = site.issueToken()
            try await process.shared.save(token)
            #expect(try await TokenSite.text(from: process) == "ok", "adoption \(number)")
        }
        #expect(site.refreshes == ["refresh 0"])
    }

    @Test("A refusal by the server fails the requests of all processes that wait; the next request tries again")
    func refusal() async throws {
        try await site.saveExpired()
        site.reply(.refusal)
        // The process holds the lease until both others wait.
        let lease = try #require(try await site.store.takeLease("shop", for: .seconds(100)))
        let processes = (0..<3).map { _ in site.process() }
        let errors = await withTaskGroup(of: AuthenticationError?.self) { group in
            for process in processes { group.addTask { await TokenSite.error(from: process) } }
            for process in processes {
                // The sleeper is not that of the first wait, which ended with the stored token.
                await poll { process.tokens.credential?.accessToken == "token 0" }
                await process.clock.waitForSleepers()
            }
            try? await site.store.release(lease)
            for process in processes { process.clock.advance(by: .seconds(1)) }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.map(\.?.code) == [.notRefreshable, .notRefreshable, .notRefreshable])
        #expect(site.refreshes.count == 1)
        for process in processes { #expect(try await TokenSite.text(from: process) == "ok") }
        #expect(site.refreshes == ["refresh 0", "refresh 0"])
    }

    @Test("If a refresh loses its connection, its outcome is not known, until a process saves a token")
    func lostConnection() async throws {
        try await site.saveExpired()
        site.reply(.failure(.connectionLost))
        let (first, second) = (site.process(), site.process())
        #expect(await TokenSite.error(from: first)?.code == .refreshOutcomeUnknown)
        #expect(await TokenSite.error(from: second)?.code == .refreshOutcomeUnknown)
        #expect(await TokenSite.error(from: first)?.code == .refreshOutcomeUnknown)
        #expect(site.refreshes.count == 1)
        try await second.shared.save(BearerToken("token 100", refreshToken: "refresh 100"))
        #expect(try await TokenSite.text(from: first) == "ok")
        #expect(try await TokenSite.text(from: second) == "ok")
        #expect(site.refreshes.count == 1)
    }

    @Test("If a refresh was certainly not sent, the next request tries again")
    func unsent() async throws {
        try await site.saveExpired()
        site.reply(.failure(.connectionRefused))
        let process = site.process()
        #expect(await TokenSite.error(from: process)?.code == .refreshFailed)
        #expect(try await TokenSite.text(from: process) == "ok")
        #expect(site.refreshes.count == 2)
    }

    @Test("With `.reuseOnce` the old refresh token is sent once more, and not a third time")
    func reuse() async throws {
        try await site.saveExpired()
        site.reply(.failure(.connectionLost), .failure(.timedOut))
        let process = site.process(ifOutcomeUnknown: .reuseOnce)
        for count in [1, 2, 2] {
            #expect(await TokenSite.error(from: process)?.code == .refreshOutcomeUnknown)
            #expect(site.refreshes.count == count)
        }
        let other = try TokenSite()
        try await other.saveExpired()
        other.reply(.failure(.connectionLost))
        #expect(await TokenSite.error(from: other.process(ifOutcomeUnknown: .reuseOnce)) != nil)
        #expect(try await TokenSite.text(from: other.process(ifOutcomeUnknown: .reuseOnce)) == "ok")
        #expect(other.refreshes == ["refresh 0", "refresh 0"])
    }

    @Test(
        "A process that was killed before its refresh began is replaced when its lease ends", arguments: [false, true])
    func killed(hasBegun: Bool) async throws {
        try await site.saveExpired()
        let dead = site.process()
        let lease = try #require(try await site.store.takeLease("shop", for: .seconds(10)))
        if hasBegun {
            let stored = try #require(try await dead.shared.read())
            var record = stored.record
            record.intent = TokenRecord.Intent(number: lease.number, isReuse: false)
            #expect(try await dead.shared.write(record, over: stored.version, under: lease) != nil)
        }
        let process = site.process()
        async let response = process.session.request("http://h/").serializingString().response
        for _ in 0..<3 {  // the lease is held
            await process.clock.waitForSleepers()
            process.clock.advance(by: .seconds(1))
        }
        #expect(site.refreshes.isEmpty)
        site.time.advance(by: .seconds(10))
        await process.clock.waitForSleepers()
        process.clock.advance(by: .seconds(1))
        let result = await response
        #expect(result.value == (hasBegun ? nil : "ok"))
        #expect(result.error?.authenticationError?.code == (hasBegun ? .refreshOutcomeUnknown : nil))
        #expect(site.refreshes.count == (hasBegun ? 0 : 1))
    }

    @Test("The late result of a process that was stopped is refused if another process has refreshed the token")
    func stoppedTooLong() async throws {
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let stopped = site.process()  // its clock stands still, so it does not renew its lease
        async let text = TokenSite.text(from: stopped)
        await gate.arrived()
        site.time.advance(by: .seconds(10))
        let next = site.process(ifOutcomeUnknown: .reuseOnce)
        #expect(try await TokenSite.text(from: next) == "ok")
        #expect(site.refreshes == ["refresh 0", "refresh 0"])
        gate.open()
        #expect(try await text == "ok")
        #expect(stopped.tokens.credential?.accessToken == "token 102")
        #expect(try await next.shared.token()?.accessToken == "token 102")
        #expect(site.refreshes.count == 2)
    }

    @Test("The late result of a process that was stopped is stored if no other process has refreshed the token")
    func stoppedForAWhile() async throws {
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let (stopped, next) = (site.process(), site.process())
        async let text = TokenSite.text(from: stopped)
        await gate.arrived()
        site.time.advance(by: .seconds(10))
        #expect(await TokenSite.error(from: next)?.code == .refreshOutcomeUnknown)
        gate.open()
        #expect(try await text == "ok")
        #expect(try await TokenSite.text(from: next) == "ok")
        #expect(site.refreshes.count == 1)
    }

    @Test("A process that works renews its lease")
    func slow() async throws {
        try await site.saveExpired()
        let gate = Gate()
        site.reply(.held(gate))
        let process = site.process()
        async let text = TokenSite.text(from: process)
        await gate.arrived()
        for _ in 0..<8 {
            // The wait for changes of the stored token, and the pause until the next renewal
            await process.clock.waitForSleepers(2)
            site.time.advance(by: .seconds(4))
            process.clock.advance(by: .seconds(4))
        }
        await process.clock.waitForSleepers(2)
        #expect(try await site.store.takeLease("shop", for: .seconds(1)) == nil)
        gate.open()
        #expect(try await text == "ok")
    }
}
