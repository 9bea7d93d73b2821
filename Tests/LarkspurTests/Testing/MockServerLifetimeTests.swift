import Larkspur
import LarkspurTesting
import Testing

@Suite("MockServer: lifetime", .serialized, .timeLimit(.minutes(10)))
struct MockServerLifetimeTests {
    @Test("A stopped server has closed its listener and its connections, and ignores handlers under way")
    func stopped() async throws {
        let gate = Gate()
        let server = try MockServer { _ in
            await gate.pass()
            return .text("too late")
        }
        let (idle, busy) = (try WireClient(port: server.port), try WireClient(port: server.port))
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
        #expect(throws: POSIXError.self) { try WireClient(port: server.port) }
        await server.stop()
    }

    @Test("A server that nobody keeps stops")
    func dropped() async throws {
        var server: MockServer? = try MockServer()
        let client = try WireClient(port: try #require(server).port)
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
        @Test("Starting and stopping many servers leaves no thread and no descriptor behind")
        func leavesNothing() async throws {
            let before = try Self.resources()
            for _ in 0..<500 {
                let server = try MockServer()
                let client = try WireClient(port: server.port)
                try await server.wait { $0.connectionCount == 1 }
                await server.stop()
                client.close()
            }
            let after = try Self.resources()
            // Other tests run meanwhile and have theirs.
            #expect(after.descriptors - before.descriptors < 250)
            #expect(after.threads - before.threads < 250)
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
    func manyConnections() async throws {
        let server = try MockServer { request in .text("<\(request.connection)>") }
        let count = Self.affordableConnections()
        let clients = try (0..<count).map { _ in try WireClient(port: server.port) }
        try await server.wait { $0.connectionCount == count }
        for client in clients { try client.sendAtOnce("GET / HTTP/1.1\r\n\r\n".utf8) }
        try await server.wait { $0.requests.count == count }
        for client in clients { #expect(try await client.receive { $0.bytes.last == UInt8(ascii: ">") }.end == .open) }
        for client in clients { client.close() }
        try await server.wait { $0.connectionCount == 0 }
    }

    /// Both ends are in this process, and other tests have theirs.
    private static func affordableConnections() -> Int {
        var limit = rlimit()
        #if os(Linux)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return min(4_000, Int(clamping: limit.rlim_cur) / 2 - 200)
    }
}
