#if os(Linux)
    import Foundation
    import Glibc
    import LarkspurAnnex
    import TestSupport
    import Testing

    @testable import LarkspurFleet

    @Suite("Clusters of Valkey servers", .limited)
    struct ValkeyClusterTests {
        @Test("Slots are those of the servers")
        func slots() {
            #expect(ValkeySlot.of(Array("123456789".utf8)) == 0x31C3)  // the check value of CRC-16/XMODEM
            #expect(ValkeySlot.of(Array("foo".utf8)) == 12_182)
            #expect(ValkeySlot.of(Array("a{foo}b{c}".utf8)) == 12_182)
            #expect(ValkeySlot.of(Array("{}foo".utf8)) != ValkeySlot.of([]))
        }

        @Test("Redirects are read, and invalid ones are not")
        func redirects() throws {
            let moved = try #require(ValkeyRedirect("MOVED 3999 10.0.0.5:6381"))
            #expect(moved.slot == 3_999 && moved.host == ValkeyHost(name: "10.0.0.5", port: 6_381) && !moved.asks)
            #expect(ValkeyRedirect("ASK 1 ::1:6381")?.host.name == "::1")
            #expect(ValkeyRedirect("ASK 1 :6381")?.host.name.isEmpty == true)
            let invalid = [
                "MOVED", "MOVED 1", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:65536",
                "MOVED 1 a\u{7}:1", "MOVED 1 \(String(repeating: "a", count: 256)):1", "MOVED  1 a:1", "ERR 1 a:1",
            ]
            for text in invalid { #expect(ValkeyRedirect(text) == nil, "\(text)") }
        }

        @Test("A command is redirected a limited number of times", .enabled(if: ValkeyServer.isPresent))
        func circles() async throws {
            let (first, second) = (try ListeningSocket(), try ListeningSocket())
            defer {
                first.close()
                second.close()
            }
            let redirects = [first, second].map { _ in Guarded(0) }
            for (socket, other, count) in [(first, second, redirects[0]), (second, first, redirects[1])] {
                socket.answerScripts(with: "-MOVED 1 127.0.0.1:\(other.port)\r\n", count)
            }
            let store = try ValkeyStore("redis://127.0.0.1:\(first.port)", patience: .seconds(60))
            do {
                _ = try await store.value(for: "a")
                Issue.record("the redirects have no end")
            } catch {
                #expect(error.code == .unavailable && error.message.contains("circles"), "\(error)")
            }
            #expect(redirects.map { $0.withLock { $0 } } == [3, 3])
        }

        @Test("Two nodes with half of the slots each are one store", .enabled(if: ValkeyServer.isPresent))
        func nodes() async throws {
            // By default the nodes talk over a port that is larger by 10,000, which may be no port.
            let ports = try (0..<2).map { _ in "\(try ValkeyServer.freePort())" }
            let nodes = try ports.map { port in
                try ValkeyServer(
                    ["--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-port", port])
            }
            // The servers answer once a store has reached them.
            for node in nodes { _ = try? await node.store().value(for: "a") }
            for (number, node) in nodes.enumerated() {
                let slots = (0..<8_192).map { "\($0 + number * 8_192)" }
                _ = try node.run(["CLUSTER", "ADDSLOTS"] + slots)
                _ = try node.run(["CLUSTER", "SET-CONFIG-EPOCH", "\(number + 1)"])
            }
            _ = try nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", "\(nodes[1].port)", ports[1])
            for node in nodes {
                try await poll {
                    let text = try node.ask("CLUSTER", "INFO").text ?? ""
                    return text.contains("cluster_state:ok") && text.contains("cluster_slots_assigned:16384")
                }
            }
            let store = try nodes[0].store()
            for number in 0..<50 { try await store.set(Data([UInt8(number)]), for: "\(number)") }
            let other = try nodes[1].store()
            for number in 0..<50 { #expect(try await other.value(for: "\(number)")?.data == Data([UInt8(number)])) }
            let lease = try #require(try await store.takeLease("a", for: .seconds(60)))
            for number in 0..<50 {
                let version = try await other.set(
                    Data([1]), for: "\(number)", if: .always, lifetime: .seconds(60), under: lease)
                #expect(version != nil)
            }
            #expect(try await other.takeLease("a", for: .seconds(60)) == nil)
            try await asking(nodes, store)
        }

        /// A slot on its way to the other node.
        private func asking(_ nodes: [ValkeyServer], _ store: ValkeyStore) async throws {
            let ids = try nodes.map { try #require(try $0.ask("CLUSTER", "MYID").text) }
            let name = try #require((100..<200).map(String.init).first { ValkeySlot.of(Array($0.utf8)) < 8_192 })
            let slot = "\(ValkeySlot.of(Array(name.utf8)))"
            _ = try nodes[1].ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
            _ = try nodes[0].ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
            // A command with one key follows the redirect. One with several waits for the end of the move.
            #expect(try await store.value(for: name) == nil)
            async let version = store.set(Data("moved".utf8), for: name)
            try await poll { try nodes[1].ask("INFO", "errorstats").text?.contains("TRYAGAIN") == true }
            for node in nodes.reversed() { _ = try node.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[1]) }
            _ = try await version
            #expect(try await store.value(for: name)?.data == Data("moved".utf8))
            #expect(try nodes[1].ask("CLUSTER", "COUNTKEYSINSLOT", slot) != .integer(0))
        }
    }

    extension ValkeyServer {
        fileprivate func run(_ command: [String]) throws -> ValkeyReply {
            try Self.ask(command, port: port, password: nil)
        }
    }

    extension ListeningSocket {
        /// Answers the login of each connection, and then each script with these bytes, which are counted.
        fileprivate func answerScripts(with reply: String, _ count: Guarded<Int>) {
            let login = "+PONG\r\n" + String(repeating: "-ERR no\r\n", count: ValkeyScript.allCases.count)
            Thread.detachNewThread { [self] in
                while case let client = accept(file, nil, nil), client >= 0 {
                    Thread.detachNewThread { Self.serve(client, login, reply, count) }
                }
            }
        }

        private static func serve(_ client: Int32, _ login: String, _ reply: String, _ count: Guarded<Int>) {
            var (bytes, input, isIn) = ([UInt8](repeating: 0, count: 65_536), Data(), false)
            let last = Data((ValkeyScript.allCases.map(\.text).last.map { "\($0)\r\n" } ?? "").utf8)
            while case let size = recv(client, &bytes, bytes.count, 0), size > 0 {
                input.append(contentsOf: bytes.prefix(size))
                guard let end = input.range(of: isIn ? Data("EVAL\r\n".utf8) : last) else { continue }
                let answer = Array((isIn ? reply : login).utf8)
                if isIn { count.withLock { $0 += 1 } }
                input = isIn ? Data() : Data(input[end.upperBound...])
                isIn = true
                guard Glibc.send(client, answer, answer.count, Int32(MSG_NOSIGNAL)) >= 0 else { break }
            }
            Glibc.close(client)
        }
    }
#endif
