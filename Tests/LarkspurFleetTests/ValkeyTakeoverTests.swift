#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import LarkspurFleet

    @Suite("A replica that takes over early", .enabled(if: ValkeyServer.isPresent), .limited)
    struct ValkeyTakeoverTests {
        @Test("A change that the replica has not received is lost, and its fencing numbers still grow")
        func early() async throws {
            let first = try ValkeyServer([])
            let second = try ValkeyServer(
                ["--replicaof", "127.0.0.1", "\(first.port)", "--repl-diskless-sync-delay", "0"])
            let sentinel = try ValkeyServer(
                ["--sentinel"], configuration: "sentinel monitor shop 127.0.0.1 \(first.port) 1\n")
            let store = try ValkeyStore(
                "redis+sentinel://127.0.0.1:\(sentinel.port)/shop", prefix: "test:", patience: .seconds(60))
            try await store.set(Data([1]), for: "a")
            await wait { try second.ask("HGET", "test:value:{a}", "data") == .bytes(Data([1])) }

            // From here on, the replica receives nothing.
            await wait { try second.ask("REPLICAOF", "NO", "ONE") == .status("OK") }
            try await store.set(Data([2]), for: "a")
            let lease = try #require(try await store.takeLease("l", for: .seconds(1_000)))
            await wait { try sentinel.ask("SENTINEL", "REMOVE", "shop") == .status("OK") }
            await wait {
                try sentinel.ask("SENTINEL", "MONITOR", "shop", "127.0.0.1", "\(second.port)", "1") == .status("OK")
            }
            first.kill()

            // A change that meets the end of the old connection fails.
            var next: StoreLease?
            while next == nil { next = try? await store.takeLease("l", for: .seconds(1_000)) }
            #expect(try await store.value(for: "a")?.data == Data([1]), "the change is lost")
            #expect(try #require(next).number > lease.number, "the replica knows nothing of the earlier holder")
            _ = try await store.set(Data([3]), for: "b", if: .always, lifetime: nil, under: next)
            await #expect {
                _ = try await store.set(Data([4]), for: "b", if: .always, lifetime: nil, under: lease)
            } throws: {
                ($0 as? StoreError)?.code == .staleLease
            }
        }

        /// Waits for a state of servers, which may not answer yet.
        private func wait(until isReached: () throws -> Bool) async {
            await poll { (try? isReached()) == true }
        }
    }
#endif
