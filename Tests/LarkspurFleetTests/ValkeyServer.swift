#if os(Linux)
    import Foundation
    import Glibc
    import LarkspurAnnex
    import Testing

    @testable import LarkspurFleet

    /// The server that the environment names, and servers that tests start and stop.
    final class ValkeyServer: Sendable {
        private static func number(_ name: String) -> UInt16? {
            ProcessInfo.processInfo.environment[name].flatMap { UInt16($0) }
        }

        static let port = number("LARKSPUR_REDIS_PORT")
        static let securePort = number("LARKSPUR_REDIS_TLS")
        static let password = ProcessInfo.processInfo.environment["LARKSPUR_REDIS_PASSWORD"] ?? ""
        static let authorities = ProcessInfo.processInfo.environment["LARKSPUR_CA_FILE"]
        static let isPresent = port != nil

        static func store(
            _ prefix: String = "\(UUID().uuidString):", now: @escaping @Sendable () -> Duration? = { nil }
        ) throws -> ValkeyStore {
            let address = try ValkeyAddress("redis://:\(password)@127.0.0.1:\(port ?? 0)/1")
            return try ValkeyStore(
                ValkeyConnector(address: address, authorities: nil, patience: .seconds(60)), prefix: prefix, now: now)
        }

        /// Sends a command on a connection of its own, and returns the reply.
        static func ask(_ command: [String], port: UInt16? = port, password: String? = password) throws -> ValkeyReply {
            let connection = try ValkeyConnection(
                to: ValkeyHost(name: "127.0.0.1", port: try #require(port)), isSecure: false, authorities: nil,
                patience: .seconds(60))
            defer { connection.close() }
            let commands = (password.map { [["AUTH", $0]] } ?? []) + [command]
            let replies = try connection.exchange(commands.map { $0.map { Array($0.utf8) } }, within: .seconds(60))
            return try #require(replies.last)
        }

        // MARK: A server of a test's own

        let port: UInt16
        private let folder = TestedStore.Folder()
        private let process = Process()

        /// Starts a server. Clients have to wait until it answers.
        init(
            port: UInt16? = nil, _ options: [String], configuration: String? = nil, isSecure: Bool = false
        ) throws {
            self.port = try port ?? Self.freePort()
            try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.currentDirectoryURL = folder.url
            var arguments = ["redis-server"]
            if let configuration {
                let file = folder.url.appendingPathComponent("server.conf")
                try Data(configuration.utf8).write(to: file)
                arguments.append(file.path)
            }
            process.arguments =
                arguments + (isSecure ? ["--port", "0", "--tls-port"] : ["--port"])
                + ["\(self.port)", "--bind", "127.0.0.1", "--save", ""] + options
            process.standardOutput = FileHandle.nullDevice
            try process.run()
        }

        deinit { kill() }

        func kill() {
            guard process.isRunning else { return }
            send(SIGKILL)
            process.waitUntilExit()
        }

        func send(_ signal: Int32) { _ = Glibc.kill(process.processIdentifier, signal) }

        func store(patience: Duration = .seconds(60), user: String = "") throws -> ValkeyStore {
            try ValkeyStore("redis://\(user)127.0.0.1:\(port)", prefix: "test:", patience: patience)
        }

        func ask(_ command: String...) throws -> ValkeyReply { try Self.ask(command, port: port, password: nil) }

        private static let given = Guarded<Set<UInt16>>([])

        /// Returns a port for a server. It is below those that the system gives to connections, one of which could take
        /// it before the server does. No port is returned twice, because a server may not have taken its port yet.
        static func freePort() throws -> UInt16 {
            for _ in 0..<1_000 {
                let port = UInt16.random(in: 20_000..<32_000)
                let isNew = given.withLock { $0.insert(port).inserted }
                if isNew, (try? ListeningSocket(port: port)) != nil { return port }
            }
            throw POSIXError(.EADDRINUSE)
        }
    }

    /// A socket on a free port, whose connections all get the same bytes after their first ones.
    final class ListeningSocket: Sendable {
        let file: Int32
        let port: UInt16
        /// The number of connections that were answered.
        let count = Guarded(0)
        /// The number of bytes that the first connection has got after its answer.
        let flooded = Guarded(0)

        init(port wanted: UInt16 = 0) throws {
            file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            address.sin_port = wanted.bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let (file, size) = (file, length)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(file, $0, size) == 0 && listen(file, 16) == 0 && getsockname(file, $0, &length) == 0
                }
            }
            guard isBound else {
                Glibc.close(file)
                throw POSIXError(.EADDRINUSE)
            }
            port = UInt16(bigEndian: address.sin_port)
        }

        deinit { Glibc.close(file) }

        /// Ends the threads that answer. The file is closed after the last of them: if it were closed now, a thread could
        /// accept the connections of another test's socket, which has the same number.
        func close() { shutdown(file, Int32(SHUT_RDWR)) }

        /// Answers each part of the input with these bytes, one connection after the other, until the socket is closed.
        /// Ends a connection at once if there are no bytes.
        ///
        /// - Parameter size: The number of zeros that follow the first answer. Other connections are ended then.
        func answer(_ reply: String?, andFloods size: Int = 0) {
            Thread.detachNewThread { [self] in
                while case let client = accept(file, nil, nil), client >= 0 {
                    var bytes = [UInt8](repeating: 0, count: 65_536)
                    count.withLock { $0 += 1 }
                    while let reply, recv(client, &bytes, bytes.count, 0) > 0 {
                        let answer = Array(reply.utf8)
                        guard Glibc.send(client, answer, answer.count, Int32(MSG_NOSIGNAL)) >= 0 else { break }
                        guard size > 0 else { continue }
                        if count.withLock({ $0 == 1 }) { flood(client, size) }
                        break
                    }
                    Glibc.close(client)
                }
            }
        }

        private func flood(_ client: Int32, _ size: Int) {
            let zeros = [UInt8](repeating: 0, count: 1 << 20)
            while flooded.withLock({ $0 }) < size,
                case let sent = Glibc.send(client, zeros, zeros.count, Int32(MSG_NOSIGNAL)), sent >= 0
            {
                flooded.withLock { $0 += sent }
            }
        }
    }
#endif
