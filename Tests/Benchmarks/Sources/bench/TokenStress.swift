import Larkspur
import LarkspurFleet

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Sends requests with a token that other processes use too. `.ci/steps/shared-tokens.py` is the server, and kills and stops
/// some of the processes.
struct TokenStress {
    let store: any SharedStore
    let server: String
    let reuses: Bool

    private func shared() throws -> SharedTokens {
        let key = try SealingKey([UInt8](repeating: 1, count: 32))
        return SharedTokens(
            store, name: "token", sealedBy: key, lease: .seconds(3),
            ifOutcomeUnknown: reuses ? .reuseOnce : .fail)
    }

    /// Stores the first token.
    func save(refreshToken: String) async throws {
        try await shared().save(BearerToken("none", refreshToken: refreshToken))
    }

    /// Sends requests, twenty at a time, and prints how they ended.
    func run(requests: Int) async throws {
        let tokens = BearerTokens(shared: try shared()) { [server] old, session in
            try await session.request(
                server + "/token", method: .post, parameters: ["refresh_token": old.refreshToken ?? ""],
                encoder: .urlEncodedForm, headers: ["X-Process": "\(getpid())"]
            ).validate().serializingDecodable(BearerToken.self).value
        }
        let session = Session(
            configuration: SessionConfiguration { $0.validation = [.standard] }, interceptor: .authentication(tokens))
        let ends = await withTaskGroup(of: String.self) { group in
            for number in 0..<requests {
                if number >= 20 { _ = await group.next() }
                group.addTask { [server] in
                    let response = await session.request(server + "/order").serializingData().response
                    guard let error = response.error else { return "ok" }
                    return error.authenticationError?.code.rawValue ?? "\(error)"
                }
            }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        print(ends.sorted().joined(separator: ","))
    }
}
