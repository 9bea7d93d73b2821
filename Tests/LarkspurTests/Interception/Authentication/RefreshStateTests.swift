import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

/// The machine alone, where a whole request cannot be had to come at the moment.
@Suite("The state of a refresh", .limited)
struct RefreshStateTests {
    private typealias State = RefreshState<Key>

    /// A state whose only waiter has gone, and the refresh that was begun for it.
    private func abandoned() async throws -> (state: State, refresh: SharedWork) {
        var state = State(credential: .old, window: nil)
        var begun: SharedWork?
        var cancelled = false
        let outcome: State.Outcome = await suspended { waiter in
            let ticket = state.nextTicket()
            begun = state.wait(waiter, ticket, on: .retrying, knowing: 0, at: .zero).begun?.refresh
            let action = state.withdraw(ticket)
            cancelled = if case .failure(let error) = action.outcome { error is CancellationError } else { false }
            for waiter in action.answered { waiter.resume(returning: action.outcome) }
        }
        #expect(throws: CancellationError.self) { try outcome.get() }
        #expect(cancelled && state.refresh == nil)
        return (state, try #require(begun))
    }

    @Test("A request with an older credential than the current one does not wait")
    func renewedMeanwhile() async {
        var state = State(credential: .revoked, window: nil)
        let known = state.version
        _ = state.replace(.new)
        var begins = false
        let outcome: State.Outcome = await suspended { waiter in
            let action = state.wait(waiter, state.nextTicket(), on: .retrying, knowing: known, at: .zero)
            begins = action.begun != nil
            let waiters = begins ? [waiter] : action.answered
            for waiter in waiters { waiter.resume(returning: action.outcome) }
        }
        #expect(throws: Never.self) { try outcome.get() }
        #expect(!begins && state.refresh == nil)
    }

    @Test("The late result of a cancelled refresh is kept")
    func lateResult() async throws {
        var (state, refresh) = try await abandoned()
        _ = state.end(refresh, .success(.new), .keep)
        #expect(state.credential == .new && state.version == 1)
        _ = state.end(refresh, .success(.old), .keep)
        #expect(state.credential == .new, "once")
    }

    @Test("A cancelled refresh fails no request and does not replace a credential that was set meanwhile")
    func lateFailure() async throws {
        var (state, refresh) = try await abandoned()
        _ = state.end(refresh, .failure(.missingCredential), .clear)
        #expect(state.credential == .old)
        (state, refresh) = try await abandoned()
        _ = state.replace(nil)
        _ = state.end(refresh, .success(.new), .keep)
        #expect(state.credential == nil)
    }

    @Test("R1: a failure that is forgotten is handed out, not freed under the lock")
    func discarded() async throws {
        var state = State(credential: .revoked, window: nil)
        func fail() async throws {
            let outcome: State.Outcome = await suspended { waiter in
                let begun = state.wait(
                    waiter, state.nextTicket(), on: .retrying, knowing: state.version, at: .zero
                ).begun
                let action = begun.map { state.end($0.refresh, .failure(.refreshTimedOut), .keep) }
                for waiter in action?.answered ?? [waiter] { waiter.resume(returning: action?.outcome ?? .success(())) }
            }
            #expect(throws: AuthenticationError.self) { try outcome.get() }
        }
        try await fail()
        #expect(state.beginAdapting().discarded?.code == .refreshTimedOut)
        try await fail()
        #expect(state.replace(.new).discarded.failure?.code == .refreshTimedOut)
    }
}
