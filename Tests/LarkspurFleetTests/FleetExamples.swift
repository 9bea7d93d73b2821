import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurFleet
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide, word for word.

private actor Values {
    private var values: [String: Data] = [:]

    func get(_ names: [String]) -> [Data?] { names.map { values[$0] } }
    func set(_ value: Data, for name: String, lifetime: Duration) { values[name] = value }
    func remove(_ name: String) { values[name] = nil }
}

private struct LocalLevel: SharedCacheLevel {
    let maximumSize = 64 << 10
    let maximumLifetime = Duration.seconds(3_600)
    let values = Values()

    func values(for names: [String]) async throws -> [Data?] {
        await values.get(names)
    }

    func set(
        _ value: Data, for name: String, lifetime: Duration
    ) async throws {
        await values.set(value, for: name, lifetime: lifetime)
    }

    func removeValue(for name: String) async throws {
        await values.remove(name)
    }

    func claim(
        _ name: String,
        unless isStored:
            nonisolated(nonsending) @escaping @Sendable ()
            async throws -> Bool
    ) async throws -> SharedCacheTurn? {
        SharedCacheTurn {}  // each process asks the server itself
    }
}

@Suite("The guide to stores", .limited)
struct FleetExamples {
    private func report() -> Data { Data("all is well".utf8) }

    private func makeReport(in folder: URL) async throws {
        let store = try FileStore(folder: folder)
        guard
            let lease = try await store.takeLease("report", for: .seconds(30))
        else {
            return  // another process makes the report
        }
        _ = try await store.set(
            report(), for: "report", if: .always,
            lifetime: .seconds(3_600), under: lease)
        try await store.release(lease)
    }

    @Test("One process makes a report")
    func reporting() async throws {
        let folder = TestedStore.Folder()
        try await makeReport(in: folder.url)
        #expect(try await FileStore(folder: folder.url).value(for: "report")?.data == report())
    }

    @Test("A store of a server is created, or says which library is missing")
    func server() throws {
        do {
            let store = try ValkeyStore(
                "redis://user:password@10.0.0.5:6379/0", prefix: "shop:")
            #expect(!"\(store)".contains("password"))
        } catch {
            #expect(error.code == .unavailable && error.message.contains("libhiredis"))
        }
    }

    private func login() async throws -> BearerToken { BearerToken("access", refreshToken: "refresh") }

    private func session(in folder: URL, keyFile: URL, secret: String) async throws -> Session {
        let store = try FileStore(folder: folder)
        let key = try SealingKey(Data(contentsOf: keyFile), id: "2026")
        let client = OAuth2Client(
            tokenURL: "https://id.example.com/token", clientID: "shop",
            clientSecret: secret)
        var configuration = SessionConfiguration()
        configuration.validation = [.standard]
        let shared = SharedTokens(store, name: "shop", sealedBy: key)
        let tokens = BearerTokens(
            shared: shared, for: "https://api.example.com", renewedBy: client)
        let session = Session(
            configuration: configuration, interceptor: .authentication(tokens))
        try await shared.save(BearerToken("access", refreshToken: "refresh"))
        return session
    }

    private func send(with session: Session, _ shared: SharedTokens) async throws {
        let response = await session.request("https://api.example.com/orders")
            .serializingData().response
        if response.error?.authenticationError?.code == .refreshOutcomeUnknown {
            try await shared.save(try await login())
        }
    }

    private func configure(_ configuration: inout SessionConfiguration, _ store: any SharedStore) {
        let limiter = SharedRateLimiter(
            store, name: "api", 1_000, per: .seconds(60),
            ifStoreFails: .failOpen, expectedProcesses: 4,
            where: { request in request.url.host == "api.example.com" })
        configuration.admissions = [limiter]
    }

    private func share(_ configuration: inout SessionConfiguration, _ store: any SharedStore, _ key: SealingKey) {
        let responses = SharedResponses(store, name: "shop", sealedBy: key)
        configuration.cache = HTTPCache(shared: responses, limit: 64 << 20)
    }

    @Test("Two sessions with one store send one request")
    func responses() async throws {
        let (store, count) = (MemoryStore(), Guarded(0))
        let key = try SealingKey([UInt8](repeating: 1, count: 32))
        let transport = StubTransport { _ in
            count.withLock { $0 += 1 }
            return CacheFleet.fresh()
        }
        for _ in 0..<2 {
            // As in `share`, which the test only compiles, but for a machine that may be busy.
            let responses = SharedResponses(store, name: "shop", sealedBy: key, timeout: .seconds(60))
            let configuration = SessionConfiguration { $0.cache = HTTPCache(shared: responses, limit: 64 << 20) }
            let session = Session(configuration: configuration, transport: transport)
            #expect(try await session.request("http://h/").serializingString().value == "text")
        }
        #expect(count.withLock { $0 } == 1)
    }

    @Test("Two sessions with one level of one's own send one request")
    func ownLevel() async throws {
        let (level, count) = (LocalLevel(), Guarded(0))
        for _ in 0..<2 {
            let cache = HTTPCache(shared: level)
            let session = Session(
                configuration: SessionConfiguration { $0.cache = cache },
                transport: StubTransport { _ in
                    count.withLock { $0 += 1 }
                    return CacheFleet.fresh()
                })
            #expect(try await session.request("http://h/").serializingString().value == "text")
            await cache.finishStoring()
        }
        #expect(count.withLock { $0 } == 1)
    }

    @Test("Circuits are shared by a middleware")
    func circuits() async throws {
        let store = MemoryStore()
        var configuration = SessionConfiguration()
        let breaker = SharedCircuitBreaker(
            store, breaker: CircuitBreaker(pause: .seconds(5)))
        configuration.middleware = [breaker]
        let session = Session(configuration: configuration, transport: StubTransport { _ in .text("ok") })
        breaker.breaker.open("http://h")
        #expect(await session.request("http://h/").serializingString().response.error?.code == .circuitOpen)
        breaker.breaker.close("http://h")
        #expect(try await session.request("http://h/").serializingString().value == "ok")
    }

    @Test("Requests of one operation have one key")
    func idempotency() async throws {
        let (store, sent) = (MemoryStore(), Guarded([String?]()))
        var configuration = SessionConfiguration()
        let keys = SharedIdempotencyKeys(store) { request in
            // For instance /orders/42/payment.
            request.method == .post ? String(request.url.path) : nil
        }
        configuration.interceptors = [
            keys, RetryPolicy(idempotencyKey: .automatic()),
        ]
        let session = Session(
            configuration: configuration,
            transport: StubTransport { request in
                let key = request.fields.first { $0.name == "Idempotency-Key" }?.value
                sent.withLock { $0.append(key) }
                return .text("ok")
            })
        for _ in 0..<2 {
            _ = await session.request("https://h/orders/42/payment", method: .post).serializingData().response
        }
        let key = try await keys.key(for: "order 42")
        let response = await session.request(
            "https://api.example.com/orders", method: .post,
            headers: ["Idempotency-Key": key]
        ).serializingData().response
        #expect(response.error == nil)
        let all = sent.withLock { $0 }
        #expect(all[0] != nil && all[0] == all[1] && all[2] == key && all[0] != key)
    }

    @Test("A token in a folder is read by another process, with an older key too")
    func tokens() async throws {
        let (folder, safe) = (TestedStore.Folder(), TestedStore.Folder())
        let keyFile = safe.url.appendingPathComponent("key")
        try FileManager.default.createDirectory(at: safe.url, withIntermediateDirectories: true)
        try Data(repeating: 1, count: 32).write(to: keyFile)
        let key = try SealingKey([UInt8](repeating: 1, count: 32), id: "2026")
        let newKey = try SealingKey([UInt8](repeating: 2, count: 32), id: "2027")
        _ = try await session(in: folder.url, keyFile: keyFile, secret: "secret")
        let store = try FileStore(folder: folder.url)
        let patient = SharedTokens(
            store, name: "shop", sealedBy: key, ifOutcomeUnknown: .reuseOnce)
        let renewed = SharedTokens(
            store, name: "shop", sealedBy: newKey, or: [key])
        #expect(try await patient.token()?.accessToken == "access")
        #expect(try await renewed.token()?.accessToken == "access")
    }

    @Test("Workers share a token that one of them gets by the client's credentials")
    func workers() async throws {
        let (store, asked) = (MemoryStore(), Guarded(0))
        let key = try SealingKey([UInt8](repeating: 1, count: 32))
        let client = OAuth2Client(tokenURL: "https://id.example.com/token", clientID: "shop", clientSecret: "secret")
        let transport = StubTransport { request in
            guard request.url.host == "id.example.com" else { return .text("ok") }
            asked.withLock { $0 += 1 }
            return .json(#"{"access_token": "shared", "token_type": "Bearer", "expires_in": 3600}"#)
        }
        for _ in 0..<2 {
            let shared = SharedTokens(store, name: "shop", sealedBy: key)
            let workers = BearerTokens(
                shared: shared, clientCredentials: client,
                for: "https://api.example.com")
            let session = Session(transport: transport, interceptor: .authentication(workers))
            let request = await session.request("https://api.example.com/orders")
            _ = try await request.serializingData().value
            #expect(request.request?.headers["Authorization"] == "Bearer shared")
        }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("A process logs in after a refresh whose outcome is not known")
    func loggingIn() async throws {
        let key = try SealingKey([UInt8](repeating: 1, count: 32))
        let shared = SharedTokens(MemoryStore(), name: "shop", sealedBy: key)
        try await shared.save(BearerToken("old", refreshToken: "used", renewalDate: .distantPast))
        let tokens = BearerTokens(shared: shared) { _, _ in throw CancellationError() }
        var configuration = SessionConfiguration()
        configure(&configuration, MemoryStore())
        let session = Session(
            configuration: configuration, transport: StubTransport { _ in .text("ok") },
            interceptor: .authentication(tokens))
        try await send(with: session, shared)
        #expect(try await shared.token()?.accessToken == "access")
        try await send(with: session, shared)
        #expect(tokens.credential?.accessToken == "access")
    }
}
