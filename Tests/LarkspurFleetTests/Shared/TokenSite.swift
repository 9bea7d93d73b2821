import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport

@testable import LarkspurFleet

/// A server with one valid token, a store, and processes that share a token in it. Each process has a clock of its own,
/// so that a test can stop a process while time passes for the store.
final class TokenSite: Sendable {
    /// The server's reply to a refresh.
    enum Reply: Sendable {
        case token, refusal
        case failure(TransportError.Code)
        /// The server issues a token, but the answer is not delivered before the gate is opened.
        case held(Gate)
        /// No answer comes.
        case none
    }

    struct Process: Sendable {
        let shared: SharedTokens
        let tokens: BearerTokens
        let session: Session
        let clock: ManualClock
    }

    let time = TestedStore.Time()
    let store: any SharedStore
    let key: SealingKey
    private let state = Guarded((number: 0, refreshes: [String](), replies: [Reply]()))

    init(store: (any SharedStore)? = nil) throws {
        key = try SealingKey([UInt8](repeating: 7, count: 32), id: "k")
        let time = time
        self.store = store ?? MemoryStore(now: { time.current })
    }

    /// The refresh tokens that the server has seen.
    var refreshes: [String] { state.withLock { $0.refreshes } }

    /// Sets the server's replies to the next refreshes; later ones get tokens.
    func reply(_ replies: Reply...) { state.withLock { $0.replies = replies } }

    /// Makes the server accept a new token alone, as after a refresh by another process.
    func issueToken() -> BearerToken {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        return BearerToken("token \(number)", refreshToken: "refresh \(number)")
    }

    /// Stores a token that the server refuses.
    func saveExpired() async throws {
        try await process().shared.save(BearerToken("token 0", refreshToken: "refresh 0"))
        state.withLock { $0.number = 100 }
    }

    func process(
        ifOutcomeUnknown outcome: SharedTokens.UnknownOutcome = .fail, key: SealingKey? = nil
    ) -> Process {
        let clock = ManualClock()
        let shared = SharedTokens(
            store, name: "shop", sealedBy: key ?? self.key, lease: .seconds(10), ifOutcomeUnknown: outcome, clock: clock
        )
        let tokens = BearerTokens(shared: shared, for: "http://h") { [self] in try await renewed($0, $1) }
        let transport = StubTransport { [self] request in
            let number = state.withLock { $0.number }
            return request.authorization == "Bearer token \(number)" ? .text("ok") : .text("", status: 401)
        }
        let session = Session(
            configuration: SessionConfiguration { $0.validation = [.standard] }, transport: transport,
            interceptor: .authentication(tokens))
        return Process(shared: shared, tokens: tokens, session: session, clock: clock)
    }

    private func renewed(_ old: BearerToken, _ session: Session) async throws -> BearerToken {
        let (reply, number) = state.withLock { state in
            state.refreshes.append(old.refreshToken ?? "-")
            let reply = state.replies.isEmpty ? Reply.token : state.replies.removeFirst()
            switch reply {
            case .token, .held: state.number += 1
            case .refusal, .failure, .none: break
            }
            return (reply, state.number)
        }
        let new = BearerToken("token \(number)", refreshToken: "refresh \(number)")
        switch reply {
        case .token: break
        case .refusal: throw AuthenticationError(.notRefreshable, "refused")
        case .held(let gate): await gate.pass()
        case .failure(let code): try await Self.post(.failure(code))
        case .none: try await Self.post(StubAnswer([.stall]))
        }
        return new
    }

    private static func post(_ answer: StubAnswer) async throws {
        let session = Session(transport: StubTransport { _ in answer })
        _ = try await session.request("http://h/token", method: .post).serializingData().value
    }

    /// Sends a request, and returns the text of its response.
    static func text(from process: Process) async throws -> String {
        try await process.session.request("http://h/").serializingString().value
    }

    /// Sends a request that fails, and returns the reason why it could not be authenticated.
    static func error(from process: Process) async -> AuthenticationError? {
        await process.session.request("http://h/").serializingString().response.error?.authenticationError
    }
}

extension TransportRequest {
    var authorization: String? { fields.first { $0.name == "Authorization" }?.value }
}

typealias Gate = TestSupport.Gate
