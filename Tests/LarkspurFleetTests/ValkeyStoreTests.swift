#if os(Linux)
    import CLarkspurFleet
    import Foundation
    import LarkspurAnnex
    import TestSupport
    import Testing

    @testable import LarkspurFleet

    @Suite("A store of a Valkey server", .enabled(if: ValkeyServer.isPresent), .limited)
    struct ValkeyStoreTests {
        private let store: ValkeyStore
        private let prefix = "\(UUID().uuidString):"

        init() throws { store = try ValkeyServer.store(prefix) }

        @Test("The laws of stores are tested over the server, and over the library that the environment names")
        func laws() {
            #expect(TestedStore.Kind.allCases.contains(.valkey))
            switch ProcessInfo.processInfo.environment["LARKSPUR_HIREDIS"] {
            case "0.14": #expect(clarkspur_hiredis() == clarkspur_hiredis_0 && !clarkspur_hiredis_has_tls())
            case "1": #expect(clarkspur_hiredis() == clarkspur_hiredis_1 && clarkspur_hiredis_has_tls())
            default: #expect(clarkspur_hiredis().rawValue >= clarkspur_hiredis_0.rawValue)
            }
        }

        @Test("Two stores with one prefix are one store; those with other prefixes are independent")
        func shared() async throws {
            let (second, other) = (try ValkeyServer.store(prefix), try ValkeyServer.store())
            var changes = second.changes(of: "a").makeAsyncIterator()
            #expect(await changes.next() != nil)
            let version = try await store.set(Data([1]), for: "a")
            #expect(await changes.next() != nil)
            #expect(try await second.value(for: "a") == StoredValue(Data([1]), version: version))
            #expect(try await other.value(for: "a") == nil)
            let lease = try #require(try await store.takeLease("l", for: .seconds(60)))
            #expect(try await second.takeLease("l", for: .seconds(60)) == nil)
            #expect(try await other.takeLease("l", for: .seconds(60)) != nil)
            try await second.release(lease)
            #expect(try await second.takeLease("l", for: .seconds(60)) != nil)
            _ = try await store.add(2, to: "c", window: .seconds(60))
            #expect(try await second.add(3, to: "c", window: .seconds(60)).value == 5)
        }

        @Test("Lifetimes, windows and leases end by the server's clock, and the server frees their memory")
        func clock() async throws {
            try await store.set(Data([1]), for: "a", lifetime: .milliseconds(20))
            _ = try await store.add(5, to: "c", window: .milliseconds(20))
            #expect(try await store.takeLease("l", for: .milliseconds(20)) != nil)
            while try await store.value(for: "a") != nil {}
            while try await store.takeLease("l", for: .milliseconds(20)) == nil {}
            while try await store.add(1, to: "c", window: .seconds(60)).value != 1 {}
            let time = try await store.add(1, to: "c", window: .seconds(60)).remaining
            #expect(time > .seconds(1) && time <= .seconds(60))
            for kind in ["value", "lease", "counter"] {
                let key = "\(prefix)\(kind):{\(kind == "value" ? "a" : kind == "lease" ? "l" : "c")}"
                let left = try await command(["PTTL", key])
                guard case .integer(let left) = left else { throw StoreError(.damaged, "\(left)") }
                #expect(left != -1, "\(kind)")  // -1: it lasts
            }
        }

        @Test("If the server's clock is set back, nothing ends early, and nothing lasts for more than its duration")
        func clockSetBack() async throws {
            let now = Guarded(Duration.seconds(10_000))
            func set(_ seconds: Int) { now.withLock { $0 = .seconds(seconds) } }
            let store = try ValkeyServer.store { now.withLock { $0 } }
            try await store.set(Data([1]), for: "a", lifetime: .seconds(10))
            let lease = try #require(try await store.takeLease("l", for: .seconds(10)))
            #expect(try await store.add(1, to: "c", window: .seconds(10)).value == 1)
            set(5_000)
            #expect(try await store.value(for: "a") != nil)
            #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
            #expect(
                try await store.add(1, to: "c", window: .seconds(10)) == StoreCount(value: 2, remaining: .seconds(10)))
            set(5_009)
            #expect(try await store.value(for: "a") != nil)
            #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
            #expect(
                try await store.add(1, to: "c", window: .seconds(10)) == StoreCount(value: 3, remaining: .seconds(1)))
            set(5_010)
            #expect(try await store.value(for: "a") == nil)
            let next = try #require(try await store.takeLease("l", for: .seconds(10)))
            #expect(next.number > lease.number)
            #expect(try await !store.renew(lease, for: .seconds(10)))
            #expect(try await store.add(1, to: "c", window: .seconds(10)).value == 1)
        }

        @Test("If the server's clock is set forward, all ends early, and an earlier holder of a lease cannot write")
        func clockSetForward() async throws {
            let now = Guarded(Duration.seconds(10_000))
            let store = try ValkeyServer.store { now.withLock { $0 } }
            try await store.set(Data([1]), for: "a", lifetime: .seconds(1_000))
            try await store.set(Data([1]), for: "lasting")
            let lease = try #require(try await store.takeLease("l", for: .seconds(1_000)))
            #expect(try await store.add(1, to: "c", window: .seconds(1_000)).value == 1)
            now.withLock { $0 += .seconds(5_000) }
            #expect(try await store.value(for: "a") == nil)
            #expect(try await store.value(for: "lasting")?.data == Data([1]))
            #expect(try await store.add(1, to: "c", window: .seconds(1_000)).value == 1)
            let next = try #require(try await store.takeLease("l", for: .seconds(1_000)))
            #expect(next.number > lease.number)
            #expect(try await !store.renew(lease, for: .seconds(1_000)))
            _ = try await store.set(Data([2]), for: "f", if: .always, lifetime: nil, under: next)
            await #expect {
                _ = try await store.set(Data([3]), for: "f", if: .always, lifetime: nil, under: lease)
            } throws: {
                ($0 as? StoreError)?.code == .staleLease
            }
            #expect(try await store.value(for: "f")?.data == Data([2]))
        }

        private func command(_ command: [String]) async throws -> ValkeyReply {
            let connector = ValkeyConnector(
                address: try ValkeyAddress("redis://:\(ValkeyServer.password)@127.0.0.1:\(ValkeyServer.port ?? 0)/1"),
                authorities: nil, patience: .seconds(60))
            let connection = try connector.connect()
            defer { connection.close() }
            return try connection.exchange([command.map { Array($0.utf8) }], within: .seconds(60))[0]
        }

        @Test("A holder whose lease has ended cannot write after the next holder has written")
        func fencing() async throws {
            let old = try #require(try await store.takeLease("l", for: .milliseconds(10)))
            var next: StoreLease?
            while next == nil { next = try await store.takeLease("l", for: .seconds(60)) }
            let new = try #require(next)
            #expect(new.number > old.number)
            #expect(try await !store.renew(old, for: .seconds(1)))
            let version = try await store.set(Data([2]), for: "a", if: .always, lifetime: .milliseconds(1), under: new)
            #expect(version != nil)
            while try await store.value(for: "a") != nil {}
            await #expect {
                try await store.set(Data([1]), for: "a", if: .always, lifetime: nil, under: old)
            } throws: {
                ($0 as? StoreError)?.code == .staleLease
            }
            // Numbers are compared as numbers, also beyond those that Lua has.
            let largest = StoreLease(name: "l", number: .max, holder: 1)
            #expect(try await store.removeValue(for: "a", if: .always, under: largest))
            let before = StoreLease(name: "l", number: .max - 1, holder: 1)
            await #expect(throws: StoreError.self) { try await store.removeValue(for: "a", if: .always, under: before) }
        }

        @Test("Concurrent callers share one connection, and each gets its own reply")
        func pipelining() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let data = Data("\(number)".utf8)
                        try await store.set(data, for: "\(number)")
                        #expect(try await store.value(for: "\(number)")?.data == data)
                    }
                }
                try await group.waitForAll()
            }
            // The channel has no subscriber, so the store has no second connection.
            let clients = try await command(["CLIENT", "LIST"]).text ?? ""
            #expect(clients.split(separator: "\n").contains { $0.contains("cmd=evalsha") })
        }

        @Test("Scripts that the server has forgotten are sent again")
        func forgottenScripts() async throws {
            try await store.set(Data([1]), for: "a")
            #expect(try await command(["SCRIPT", "FLUSH"]) == .status("OK"))
            // Another test may load them again meanwhile; the results are the same.
            #expect(try await store.value(for: "a")?.data == Data([1]))
            #expect(try await store.add(1, to: "c", window: .seconds(60)).value == 1)
        }

        @Test("Large values are stored whole, also many at once")
        func largeValues() async throws {
            // A length without a common divisor shows parts that are lost or in another order.
            let part = Data((0..<1_021).map { UInt8(truncatingIfNeeded: $0) })
            let data = (0..<13).reduce(part) { data, _ in data + data }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<4 { group.addTask { try await store.set(data, for: "\(number)") } }
                try await group.waitForAll()
            }
            for number in 0..<4 {
                #expect(try await store.value(for: "\(number)")?.data == data)
                try await store.removeValue(for: "\(number)")
            }
        }

        @Test("A key of another program is an error")
        func otherProgram() async throws {
            #expect(try await command(["SET", "\(prefix)value:{a}", "text"]) == .status("OK"))
            await #expect { try await store.value(for: "a") } throws: { ($0 as? StoreError)?.code == .damaged }
            await #expect { try await store.set(Data(), for: "a") } throws: { ($0 as? StoreError)?.code == .damaged }
        }

        @Test("A store shows its address without its password")
        func description() throws {
            // The code of the guide, word for word.
            let store = try ValkeyStore("redis://user:password@10.0.0.5:6379/0", prefix: "shop:")
            #expect("\(store)" == "ValkeyStore(redis://10.0.0.5:6379/0)")
            var dumped = ""
            dump(store, to: &dumped)
            #expect(!dumped.contains("password"))
        }

        @Test("Input that a store cannot have is refused")
        func badInput() {
            for patience in [Duration.zero, .seconds(-1), .seconds(3_601)] {
                #expect { try ValkeyStore("redis://h", patience: patience) } throws: {
                    ($0 as? StoreError)?.code == .invalidInput
                }
            }
            #expect { try ValkeyStore("redis://h", authorities: URL(string: "https://h/")) } throws: {
                ($0 as? StoreError)?.code == .invalidInput
            }
        }

        // MARK: TLS

        private func secure(_ host: String, authorities: String?) throws -> ValkeyStore {
            try ValkeyStore(
                "rediss://:\(ValkeyServer.password)@\(host):\(ValkeyServer.securePort ?? 0)/1", prefix: prefix,
                patience: .seconds(60), authorities: authorities.map { URL(fileURLWithPath: $0) })
        }

        @Test("With TLS, the server's certificate and name are checked", .enabled(if: clarkspur_hiredis_has_tls()))
        func tls() async throws {
            for host in ["localhost", "127.0.0.1"] {
                let store = try secure(host, authorities: ValkeyServer.authorities)
                let data = Data(repeating: 7, count: 3 << 20)
                try await store.set(data, for: "a")
                #expect(try await store.value(for: "a")?.data == data)
            }
            let untrusted = try secure("localhost", authorities: nil)
            await #expect { try await untrusted.value(for: "a") } throws: { ($0 as? StoreError)?.code == .denied }
            // Another address of the same machine, which the certificate does not have.
            let misnamed = try secure("127.0.0.2", authorities: ValkeyServer.authorities)
            await #expect { try await misnamed.value(for: "a") } throws: { ($0 as? StoreError)?.code == .denied }
        }

        @Test(
            "Without the library's part for TLS, a secure store is refused", .disabled(if: clarkspur_hiredis_has_tls()))
        func noTLS() {
            #expect { try secure("localhost", authorities: nil) } throws: { error in
                (error as? StoreError)?.code == .unavailable && "\(error)".contains("libhiredis_ssl")
            }
        }
    }
#endif
