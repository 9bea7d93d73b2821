#if os(Linux)
    import CLarkspurFleet
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    @testable import LarkspurFleet

    @Suite("Faults of a Valkey server", .enabled(if: ValkeyServer.isPresent), .limited)
    struct ValkeyFaultTests {
        /// Runs an operation that must fail, and returns its error.
        private func failure<Result>(_ operation: () async throws -> Result) async throws -> StoreError {
            do { _ = try await operation() } catch { return try #require(error as? StoreError) }
            throw StoreError(.damaged, "the operation has not failed")
        }

        @Test("After the server was killed and started again, the store works, and keeps what the server has saved")
        func restart() async throws {
            let options = ["--appendonly", "yes", "--appendfsync", "always", "--dir", NSTemporaryDirectory()]
            let name = "store-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "/" + name) }
            let first = try ValkeyServer(options + ["--appenddirname", name])
            let store = try first.store()
            try await store.set(Data([1]), for: "a")
            let lease = try #require(try await store.takeLease("l", for: .milliseconds(1)))
            var changes = store.changes(of: "a").makeAsyncIterator()
            #expect(await changes.next() != nil)
            first.kill()
            async let value = store.value(for: "a")  // it waits
            let second = try ValkeyServer(port: first.port, options + ["--appenddirname", name])
            #expect(try await value?.data == Data([1]))
            // The notice of this change can come before the new subscription, which then is an element itself.
            try await store.set(Data([2]), for: "a")
            repeat { #expect(await changes.next() != nil) } while try await store.value(for: "a")?.data != Data([2])
            let next = try #require(try await store.takeLease("l", for: .seconds(1)))
            #expect(next.number > lease.number)
            withExtendedLifetime(second) {}
        }

        @Test("Fencing numbers grow although the server has lost its data")
        func lostData() async throws {
            let first = try ValkeyServer([])
            let store = try first.store()
            let lease = try #require(try await store.takeLease("l", for: .seconds(60)))
            first.kill()
            let second = try ValkeyServer(port: first.port, [])
            var next: StoreLease?
            // A change that meets the end of the old connection fails.
            while next == nil { next = try? await store.takeLease("l", for: .seconds(60)) }
            #expect(try #require(next).number > lease.number)
            withExtendedLifetime(second) {}
        }

        @Test("A stopped server ends operations after the patience, and is used again later")
        func stopped() async throws {
            let server = try ValkeyServer([])
            let patient = try server.store()
            try await patient.set(Data([1]), for: "a")
            let store = try server.store(patience: .milliseconds(300))
            var value: StoredValue?
            while value == nil { value = try? await store.value(for: "a") }
            server.send(SIGSTOP)
            let start = SuspendingClock.now
            let writing = try await failure { try await store.set(Data([2]), for: "a") }
            #expect(writing.code == .unavailable && writing.message.contains("not known"))
            let reading = try await failure { try await store.value(for: "a") }
            #expect(reading.code == .unavailable && reading.message.contains("nothing was changed"))
            #expect(SuspendingClock.now - start >= .milliseconds(600))
            server.send(SIGCONT)
            #expect(try await patient.value(for: "a") != nil)
            value = nil
            while value == nil { value = try? await store.value(for: "a") }
        }

        @Test("Commands that a killed server has not answered fail")
        func killed() async throws {
            let server = try ValkeyServer([])
            let store = try server.store(patience: .seconds(2))
            try await store.set(Data([1]), for: "a")
            server.send(SIGSTOP)
            async let writing = failure { try await store.add(1, to: "c", window: .seconds(1)) }
            async let reading = failure { try await store.value(for: "a") }
            server.kill()
            #expect(try await writing.code == .unavailable)
            let error = try await reading
            #expect(error.code == .unavailable && error.message.contains("start the server"))
        }

        @Test("A read-only replica refuses changes, and is read")
        func replica() async throws {
            let server = try ValkeyServer(["--replicaof", "127.0.0.1", "\(try ValkeyServer.freePort())"])
            let store = try server.store()
            #expect(try await failure { try await store.set(Data([1]), for: "a") }.code == .denied)
            #expect(try await failure { try await store.add(1, to: "a", window: .seconds(1)) }.code == .denied)
            #expect(try await failure { try await store.takeLease("a", for: .seconds(1)) }.code == .denied)
            #expect(try await store.value(for: "a") == nil)
            #expect(try server.ask("REPLICAOF", "NO", "ONE") == .status("OK"))
            try await store.set(Data([1]), for: "a")
        }

        @Test("A full server refuses changes, keeps what it has, and can remove it")
        func full() async throws {
            let server = try ValkeyServer(["--maxmemory-policy", "noeviction"])
            let store = try server.store()
            let lease = try #require(try await store.takeLease("l", for: .seconds(60)))
            let version = try await store.set(Data([1]), for: "a")
            #expect(try await store.add(1, to: "c", window: .seconds(60)).value == 1)
            #expect(try server.ask("CONFIG", "SET", "maxmemory", "1") == .status("OK"))
            #expect(try await failure { try await store.set(Data([2]), for: "a") }.code == .full)
            let fenced = try await failure {
                try await store.set(Data([2]), for: "a", if: .always, lifetime: nil, under: lease)
            }
            #expect(fenced.code == .full)
            #expect(try await failure { try await store.add(1, to: "c", window: .seconds(60)) }.code == .full)
            #expect(try await failure { try await store.takeLease("m", for: .seconds(60)) }.code == .full)
            #expect(try await store.value(for: "a") == StoredValue(Data([1]), version: version))
            #expect(try await store.removeValue(for: "a", if: .isVersion(version), under: lease))
            #expect(try server.ask("CONFIG", "SET", "maxmemory", "0") == .status("OK"))
            #expect(try await store.add(1, to: "c", window: .seconds(60)).value == 2)
        }

        @Test("While another program's script blocks the server, operations fail as busy, and change nothing")
        func busy() async throws {
            let server = try ValkeyServer(["--lua-time-limit", "1"])
            let store = try server.store()
            let version = try await store.set(Data([1]), for: "a")
            Thread.detachNewThread { _ = try? server.ask("EVAL", "while true do end", "0") }
            var first: StoreError?
            while first == nil { do { _ = try await store.value(for: "a") } catch { first = error } }
            #expect(first?.code == .busy)
            #expect(try await failure { try await store.set(Data([2]), for: "a") }.code == .busy)
            #expect(try await failure { try await store.takeLease("a", for: .seconds(1)) }.code == .busy)
            #expect(try server.ask("SCRIPT", "KILL") == .status("OK"))
            await wait { try server.ask("PING") == .status("PONG") }
            #expect(try await store.value(for: "a") == StoredValue(Data([1]), version: version))
            #expect(try await store.takeLease("a", for: .seconds(1)) != nil)
        }

        @Test("A wrong password, a missing one or a wrong database is an error at once")
        func credentials() async throws {
            let port = try #require(ValkeyServer.port)
            let urls = [
                "redis://:wrong@127.0.0.1:\(port)", "redis://default:wrong@127.0.0.1:\(port)",
                "redis://user:\(ValkeyServer.password)@127.0.0.1:\(port)", "redis://127.0.0.1:\(port)",
                "redis://:\(ValkeyServer.password)@127.0.0.1:\(port)/999",
            ]
            for url in urls {
                let store = try ValkeyStore(url, patience: .seconds(3_600))  // longer than the test's limit
                let error = try await failure { try await store.value(for: "a") }
                #expect(error.code == .denied && !error.message.contains(ValkeyServer.password), "\(error)")
            }
            let store = try ValkeyStore("redis://default:\(ValkeyServer.password)@127.0.0.1:\(port)")
            #expect(try await store.value(for: UUID().uuidString) == nil)
        }

        @Test("A user without the rights changes nothing")
        func rights() async throws {
            let server = try ValkeyServer([])
            let admin = try server.store()
            try await admin.set(Data([1]), for: "a")
            // The user may not publish, which the script does before it writes.
            let user = ["user", "on", ">secret", "~test:*", "+@all", "-publish"]
            #expect(try ValkeyServer.ask(["ACL", "SETUSER"] + user, port: server.port, password: nil) == .status("OK"))
            let store = try server.store(user: "user:secret@")
            #expect(try await store.value(for: "a")?.data == Data([1]))
            #expect(try await failure { try await store.set(Data([2]), for: "a") }.code == .denied)
            #expect(try await failure { try await store.removeValue(for: "a") }.code == .denied)
            #expect(try await admin.value(for: "a")?.data == Data([1]))
        }

        @Test("Without a server, the error says what to do")
        func noServer() async throws {
            let store = try ValkeyStore(
                "redis://127.0.0.1:\(try ValkeyServer.freePort())", patience: .seconds(1))
            let error = try await failure { try await store.set(Data(), for: "a") }
            #expect(error.code == .unavailable && error.message.contains("start the server"), "\(error)")
            let unknown = try ValkeyStore("redis://host.invalid", patience: .milliseconds(500))
            #expect(try await failure { try await unknown.value(for: "a") }.code == .unavailable)
        }

        @Test(
            "A program that is no such server is an error, whatever its bytes are",
            arguments: [
                "HTTP/1.1 400 Bad Request\r\n\r\n", "+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "*2\r\n+a\r\n",
                "$5\r\nab", "",
                ":x\r\n", "$-5\r\nx\r\n", "*-5\r\n", "%1\r\n+a\r\n+b\r\n", "\0\0\0\0",
                "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
                "-ERR\r\n", "-\r\n", "+PONG\r\n+PONG\r\n",
            ])
        func garbage(bytes: String) async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            socket.answer(bytes)
            let store = try ValkeyStore("redis://127.0.0.1:\(socket.port)", patience: .milliseconds(200))
            #expect(try await failure { try await store.value(for: "a") }.code == .unavailable)
        }

        @Test("Arrays in arrays without end are refused", arguments: [33, 300_000])
        func nested(depth: Int) async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            socket.answer(String(repeating: "*1\r\n", count: depth) + "+a\r\n")
            let store = try ValkeyStore("redis://127.0.0.1:\(socket.port)", patience: .milliseconds(200))
            #expect(try await failure { try await store.value(for: "a") }.code == .unavailable)
        }

        @Test("A reply without end is refused before it takes much memory")
        func endless() async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            let login = "+PONG\r\n" + String(repeating: "-ERR no\r\n", count: ValkeyScript.allCases.count)
            socket.answer(login + "$8589934592\r\n", andFloods: 400 << 20)
            let store = try ValkeyStore("redis://127.0.0.1:\(socket.port)", patience: .seconds(3))
            #expect(try await failure { try await store.value(for: "a") }.code == .unavailable)
            #expect(socket.flooded.withLock { $0 } < 200 << 20)
        }

        @Test("A password that the server repeats is not shown")
        func repeatedPassword() async throws {
            let server = try ValkeyServer(["--rename-command", "AUTH", ""])
            let store = try server.store(user: ":hunter2@")
            let error = try await failure { try await store.value(for: "a") }
            #expect(error.code == .denied && error.message.contains("AUTH"), "\(error)")
            #expect(!"\(error)".contains("hunter2"))
        }

        @Test("A command on a node that was given up ends")
        func stoppedNode() async throws {
            let address = try ValkeyAddress("redis://127.0.0.1:\(ValkeyServer.port ?? 0)")
            let node = try ValkeyNode(ValkeyConnector(address: address, authorities: nil, patience: .seconds(60)))
            node.stop()
            let error = try await failure { try await node.run(.get, [[1]], [[]], asks: false, until: nil) }
            #expect(error.code == .unavailable)
        }

        @Test(
            "Garbage instead of a script's reply is an error",
            arguments: ["+PONG\r\n", ":7\r\n", "*1\r\n+a\r\n", "*2\r\n+a\r\n+b\r\n", "HTTP/1.1 200 OK\r\n", "*0\r\n"])
        func laterGarbage(bytes: String) async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            // The login's replies: a PONG, and no hash for each script.
            let login = "+PONG\r\n" + String(repeating: "-ERR no\r\n", count: ValkeyScript.allCases.count)
            socket.answer(login + bytes)
            let store = try ValkeyStore("redis://127.0.0.1:\(socket.port)", patience: .milliseconds(200))
            let errors = [
                try await failure { try await store.value(for: "a") },
                try await failure { try await store.set(Data(), for: "a") },
                try await failure { try await store.add(1, to: "a", window: .seconds(1)) },
            ]
            for error in errors { #expect([.unavailable, .damaged].contains(error.code), "\(error)") }
        }

        @Test("Pauses between attempts to connect grow")
        func pauses() async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            socket.answer(nil)
            let store = try ValkeyStore("redis://127.0.0.1:\(socket.port)", patience: .seconds(2))
            #expect(try await failure { try await store.value(for: "a") }.code == .unavailable)
            // Without pauses there would be thousands; the shortest pauses sum up to the patience with the ninth.
            #expect((2...11).contains(socket.count.withLock { $0 }))
        }

        @Test("Commands end when the store is released, and a silent server cannot hold it")
        func released() async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            let start = SuspendingClock.now
            let error = try await failure {
                try await ValkeyStore("redis://127.0.0.1:\(socket.port)", patience: .milliseconds(100)).value(for: "a")
            }
            #expect(error.code == .unavailable, "\(error)")
            #expect(SuspendingClock.now - start >= .milliseconds(100))
        }

        @Test("Sentinels name the primary, also if one of them does not answer")
        func sentinel() async throws {
            let primary = try ValkeyServer([])
            try await primary.store().set(Data([1]), for: "a")
            let sentinel = try ValkeyServer(
                ["--sentinel"], configuration: "sentinel monitor shop 127.0.0.1 \(primary.port) 1\n")
            let hosts = "127.0.0.1:\(try ValkeyServer.freePort()),127.0.0.1:\(sentinel.port)"
            let store = try ValkeyStore("redis+sentinel://\(hosts)/shop", prefix: "test:", patience: .seconds(60))
            #expect(try await store.value(for: "a")?.data == Data([1]))
            let unknown = try ValkeyStore("redis+sentinel://\(hosts)/other", patience: .seconds(3))
            let error = try await failure { try await unknown.value(for: "a") }
            #expect(error.code == .unavailable && error.message.contains("other"), "\(error)")
        }

        @Test("After another primary has taken over, operations go on there: after a failover, and after a death")
        func failover() async throws {
            let first = try ValkeyServer([])
            let second = try ValkeyServer(
                ["--replicaof", "127.0.0.1", "\(first.port)", "--repl-diskless-sync-delay", "0"])
            // A sentinel that starts now knows the replica at once.
            await wait { try Self.role(of: second) == ["slave", "connected"] }
            let sentinel = try ValkeyServer(
                ["--sentinel"],
                configuration: """
                    sentinel monitor shop 127.0.0.1 \(first.port) 1
                    sentinel down-after-milliseconds shop 5000
                    sentinel failover-timeout shop 1000

                    """)
            let url = "redis+sentinel://127.0.0.1:\(sentinel.port)/shop"
            let store = try ValkeyStore(url, prefix: "test:", patience: .seconds(60))
            try await store.set(Data([1]), for: "a")
            let lease = try #require(try await store.takeLease("l", for: .milliseconds(1)))
            await wait { try second.ask("HGET", "test:value:{a}", "data") == .bytes(Data([1])) }

            // It is refused until the sentinel knows the replica.
            await wait { try sentinel.ask("SENTINEL", "FAILOVER", "shop") == .status("OK") }
            await wait { try Self.role(of: second).first == "master" }
            // The sentinel would do that after ten seconds.
            _ = try first.ask("REPLICAOF", "127.0.0.1", "\(second.port)")
            await wait { try Self.role(of: first) == ["slave", "connected"] }
            let next = try await take("l", of: store)
            #expect(next.number > lease.number)
            #expect(try Self.role(of: second).first == "master")
            #expect(try await store.value(for: "a")?.data == Data([1]))

            second.kill()
            #expect(try await take("l", of: store).number > next.number)
            #expect(try Self.role(of: first).first == "master")
            #expect(try await store.value(for: "a")?.data == Data([1]))
        }

        /// Waits for a state of servers, which may not answer yet.
        private func wait(until isReached: () throws -> Bool) async {
            await poll { (try? isReached()) == true }
        }

        /// Takes a lease. A change that meets the end of the old connection fails, and a replica refuses it.
        private func take(_ name: String, of store: ValkeyStore) async throws -> StoreLease {
            while true {
                if let lease = try? await store.takeLease(name, for: .milliseconds(1)) { return lease }
            }
        }

        /// Returns the role of a server, and for a replica the state of its connection.
        private static func role(of server: ValkeyServer) throws -> [String] {
            guard case .array(let parts) = try server.ask("ROLE") else { return [] }
            return [parts.first?.text, parts.count > 3 ? parts[3].text : nil].compactMap(\.self)
        }

        @Test("Sentinels with a password are told apart from primaries with a password")
        func sentinelPassword() async throws {
            let primary = try ValkeyServer([])
            let sentinel = try ValkeyServer(
                ["--sentinel"],
                configuration: "requirepass secret\nsentinel monitor shop 127.0.0.1 \(primary.port) 1\n")
            let url = "redis+sentinel://127.0.0.1:\(sentinel.port)/shop"
            let store = try ValkeyStore(
                url, patience: .seconds(60), sentinelUser: "default", sentinelPassword: "secret")
            try await store.set(Data([1]), for: "a")
            for wrong in [nil, "wrong"] {
                let store = try ValkeyStore(url, patience: .seconds(3_600), sentinelPassword: wrong)
                let error = try await failure { try await store.value(for: "a") }
                #expect(error.code == .denied && !error.message.contains("wrong"), "\(error)")
                #expect(error.message.contains("sentinelPassword"), "\(error)")
            }
            for (url, user, password) in [
                ("redis://127.0.0.1", nil, "secret"), (url, "user", nil), (url, nil, ""),
            ] as [(String, String?, String?)] {
                #expect(throws: StoreError.self) {
                    try ValkeyStore(url, sentinelUser: user, sentinelPassword: password)
                }
            }
        }

        @Test("With TLS, the sentinels and their primary are asked over it", .enabled(if: clarkspur_hiredis_has_tls()))
        func secureSentinel() async throws {
            let authorities = URL(fileURLWithPath: try #require(ValkeyServer.authorities))
            let folder = authorities.deletingLastPathComponent()
            let primary = try #require(ValkeyServer.securePort)
            let sentinel = try ValkeyServer(
                ["--sentinel"],
                configuration: """
                    tls-cert-file \(folder.path)/server.pem
                    tls-key-file \(folder.path)/server.key
                    tls-ca-cert-file \(authorities.path)
                    tls-auth-clients no
                    tls-replication yes
                    sentinel monitor shop 127.0.0.1 \(primary) 1
                    sentinel auth-pass shop \(ValkeyServer.password)

                    """, isSecure: true)
            let url = "rediss+sentinel://:\(ValkeyServer.password)@127.0.0.1:\(sentinel.port)/shop"
            let store = try ValkeyStore(
                url, prefix: "\(UUID().uuidString):", patience: .seconds(60), authorities: authorities)
            try await store.set(Data([1]), for: "a")
            #expect(try await store.value(for: "a")?.data == Data([1]))
            let untrusting = try ValkeyStore(url, patience: .seconds(60))
            #expect(try await failure { try await untrusting.value(for: "a") }.code == .denied)
        }
    }
#endif
