import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("MockServer: lifetime", .serialized, .limited)
struct MockServerLifetimeTests {
    @Test("A stopped server has closed its listener and its connections, and ignores running handlers")
    func stopped() async throws {
        let gate = Gate()
        let server = try MockServer { _ in
            await gate.pass()
            return .text("too late")
        }
        let (idle, busy) = (try await WireClient(port: server.port), try await WireClient(port: server.port))
        try await busy.send("GET / HTTP/1.1\r\n\r\n")
        await gate.arrived()
        try await server.wait { $0.connectionCount == 2 }
        await server.stop()
        #expect(server.log.isStopped)
        #expect(server.log.connectionCount == 0)
        gate.open()
        for client in [idle, busy] {
            let received = try await client.receive()
            #expect(received.bytes.isEmpty && received.end != .open)
        }
        // Another server may have the port by now.
        _ = try? await WireClient(port: server.port)
        #expect(server.log.connectionsAccepted == 2)
        await server.stop()
    }

    @Test("A released server stops")
    func dropped() async throws {
        var server: MockServer? = try MockServer()
        let client = try await WireClient(port: try #require(server).port)
        // The end of a connection that the server has accepted is sent until it arrives. A connection that still waits
        // in the system's queue is reset, once: the client waits for good where that packet is lost, and busy systems
        // lose some.
        try await server?.wait { $0.connectionCount == 1 }
        server = nil
        #expect(try await client.receive().end != .open)
    }

    @Test("A wait ends when its task is cancelled")
    func cancelledWait() async throws {
        let server = try MockServer()
        let task = Task { try await server.wait { !$0.requests.isEmpty } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    #if os(Linux)
        @Test("Starting and stopping many servers leaks no thread and no descriptor")
        func leavesNothing() async {
            await #expect(processExitsWith: .success) {
                let before = try MockServerLifetimeTests.resources()
                for _ in 0..<200 {
                    let server = try MockServer()
                    let client = try await WireClient(port: server.port)
                    try await server.wait { $0.connectionCount == 1 }
                    await server.stop()
                    client.close()
                }
                let after = try MockServerLifetimeTests.resources()
                #expect(after.descriptors - before.descriptors < 50)
                #expect(after.threads - before.threads < 50)
            }
        }

        private static func resources() throws -> (descriptors: Int, threads: Int) {
            let files = FileManager.default
            return (
                try files.contentsOfDirectory(atPath: "/proc/self/fd").count,
                try files.contentsOfDirectory(atPath: "/proc/self/task").count
            )
        }
    #endif

    @Test("Thousands of connections are open and answered at once")
    func manyConnections() async {
        await #expect(processExitsWith: .success) { try await MockServerLifetimeTests.openManyConnections() }
    }

    private static func openManyConnections() async throws {
        let server = try MockServer { request in .text("<\(request.connection)>") }
        let count = affordableConnections()
        var clients: [WireClient] = []
        for _ in 0..<count { clients.append(try await WireClient(port: server.port)) }
        try await server.wait { $0.connectionCount == count }
        for client in clients { try client.sendAtOnce("GET / HTTP/1.1\r\n\r\n".utf8) }
        try await server.wait { $0.requests.count == count }
        for client in clients { #expect(try await client.receive { $0.bytes.last == UInt8(ascii: ">") }.end == .open) }
        for client in clients { client.close() }
        try await server.wait { $0.connectionCount == 0 }
    }

    /// A Python program. It opens so many connections, each with a request before the first answer is read, and prints
    /// the number of different answers. The connections end with resets, because closed ones would block their ports
    /// for a while.
    private static let clients = """
        import resource, socket, struct
        port, count = map(int, input().split())
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        clients = [socket.create_connection(("127.0.0.1", port), timeout=120) for _ in range(count)]
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        print(len({client.recv(1000).rpartition(b"\\n")[2] for client in clients}))
        """

    @Test(
        "10,000 connections are held, as many as the system lets a process have",
        .enabled(if: Python.path != nil, "there is no python3 in PATH"))
    func tenThousandConnections() async {
        await #expect(processExitsWith: .success) { try await MockServerLifetimeTests.holdTenThousandConnections() }
    }

    private static func holdTenThousandConnections() async throws {
        let (server, held, gate) = (try MockServer(), Counter(), Gate())
        let most = descriptorLimit() - 200  // the process has other descriptors
        let count = min(10_000, most)
        if count < 10_000 { print("The process may have no more than \(count) connections for this test.") }
        server.on("GET", "/") { request in
            if held.increment() == count { gate.open() }
            await gate.pass()
            return .text("<\(request.connection)>")
        }
        let output = try await Python.run(clients, input: "\(server.port) \(count)")
        #expect(output == "\(count)\n")
        #expect(held.value == count)
        try await server.wait { $0.connectionCount == 0 }
    }

    /// Both ends are in this process, which has other descriptors too.
    private static func affordableConnections() -> Int { min(4_000, descriptorLimit() / 2 - 200) }

    private static func descriptorLimit() -> Int {
        var limit = rlimit()
        #if os(Linux)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return Int(clamping: limit.rlim_cur)
    }
}
