import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Idempotency keys that processes share", .limited)
struct SharedIdempotencyKeysTests {
    private let sent = Guarded([TransportRequest]())

    private func session(
        _ store: any SharedStore, header: String = "Idempotency-Key", lifetime: Duration = .seconds(100),
        failures: Int = 0
    ) -> Session {
        let keys = SharedIdempotencyKeys(store, header: header, lifetime: lifetime) { request in
            request.method == .post ? String(request.url.path) : nil
        }
        let left = Guarded(failures)
        return Session(
            configuration: SessionConfiguration {
                $0.interceptors = [
                    keys, RetryPolicy(backoff: .init(scale: .zero), idempotencyKey: .automatic(header: header)),
                ]
            },
            transport: StubTransport { [sent] request in
                sent.withLock { $0.append(request) }
                let fails = left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                return fails ? .failure(.connectionLost) : .text("ok")
            })
    }

    @discardableResult
    private func post(_ path: String, with session: Session, _ headers: HTTPHeaders = [:]) async -> RequestError? {
        await session.request("http://h" + path, method: .post, headers: headers).serializingData().response.error
    }

    private func values(_ header: String = "Idempotency-Key") -> [String?] {
        sent.withLock { requests in
            requests.map { $0.fields.first { $0.name.lowercased() == header.lowercased() }?.value }
        }
    }

    @Test("Two processes send one key for an operation, also in retries", arguments: TestedStore.Kind.allCases)
    func shared(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let killed = session(tested.store, failures: 1)
        await post("/orders/1", with: killed)
        await post("/orders/1", with: session(tested.store))
        await post("/orders/2", with: session(tested.store))
        let keys = values()
        #expect(keys.count == 4 && Set(keys).count == 2 && Set(keys.prefix(3)).count == 1)
        #expect(UUID(uuidString: try #require(keys[0])) != nil)
        tested.time.advance(by: .seconds(100))
        await post("/orders/1", with: session(tested.store))
        #expect(Set(values()).count == 3, "the lifetime of the key has ended")
    }

    @Test("A request that has the field keeps it, and one without an operation gets none")
    func kept() async throws {
        let store = RecordingStore(MemoryStore())
        await post("/orders/1", with: session(store), ["idempotency-key": "mine"])
        _ = await session(store).request("http://h/orders/1").serializingData().response
        #expect(values() == ["mine", nil])
        #expect(store.record.values.isEmpty)
        await post("/orders/1", with: session(store, header: "Request-Token"))
        #expect(values("Request-Token").last != .some(nil))
    }

    @Test("The store's names do not show the operation")
    func hashed() async throws {
        let store = RecordingStore(MemoryStore())
        let path = "/orders/" + String(repeating: "ö", count: 2_000)
        await post(path, with: session(store))
        let name = try #require(store.record.values.keys.first)
        #expect(name.hasPrefix("idempotency:") && name.count == 12 + 64)
        #expect(store.record.lifetimes[name] == .seconds(100))
    }

    @Test("Many callers at once get one key")
    func concurrent() async throws {
        let keys = SharedIdempotencyKeys(MemoryStore()) { _ in nil }
        let all = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await keys.key(for: "order 42") } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(all.count == 1)
    }

    @Test("If the store fails, the request fails with its error and is not sent")
    func storeFails() async throws {
        let store = FailingStore(MemoryStore(), failures: .max)
        let session = session(store)
        let error = await post("/orders/1", with: session)
        #expect(error?.code == .adaptationFailed && error?.stage == .adapting)
        #expect((error?.underlying as? StoreError)?.code == .unavailable)
        #expect(values().isEmpty)
        store.failNext(0)
        #expect(await post("/orders/1", with: session) == nil)
        #expect(values().count == 1)
    }

    @Test("A stored value that is no key is an error", arguments: ["", "key\r\nX: y", "00000000"])
    func damaged(text: String) async throws {
        let store = RecordingStore(MemoryStore())
        await post("/orders/1", with: session(store))
        let name = try #require(store.record.values.keys.first)
        try await store.set(Data(text.utf8), for: name)
        let error = await post("/orders/1", with: session(store))
        #expect((error?.underlying as? StoreError)?.code == .damaged)
        #expect(values().count == 1)
    }
}
