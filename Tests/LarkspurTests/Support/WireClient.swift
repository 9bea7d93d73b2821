import Larkspur

/// A plain socket to this machine, to see the exact bytes of a server.
///
/// Each blocking call runs on its own thread, because the pool of Swift tasks has only one thread per core.
final class WireClient: Sendable {
    enum End: Sendable { case open, closed, reset }

    struct Received: Sendable {
        var bytes: [UInt8] = []
        var end = End.open

        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// The text after the first blank line.
        var body: Substring {
            text.range(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
        }
    }

    private let descriptor: Int32
    private let isClosed = Protected(false)

    /// Connects. If the server does not answer, the system retries for minutes.
    init(port: Int) async throws {
        descriptor = try await Self.onThread { try Self.connected(to: port) }
    }

    deinit { close() }

    /// Sends one request over its own connection, and returns everything that the server sends before it closes.
    static func exchange(_ port: Int, _ request: String) async throws -> Received {
        let client = try await WireClient(port: port)
        try await client.send(request)
        return try await client.receive()
    }

    func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        if isFirst { Foundation.close(descriptor) }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await Self.onThread { [self] in try sendAtOnce(bytes) }
    }

    /// Blocks the current thread, so it is only for few bytes.
    func sendAtOnce(_ bytes: some Collection<UInt8>) throws {
        #if os(Linux)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads until the condition is met, or to the end.
    func receive(until isEnough: @escaping @Sendable (Received) -> Bool = { _ in false }) async throws -> Received {
        try await Self.onThread { [self] in
            var received = Received()
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while received.end == .open, !isEnough(received) {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0, errno != ECONNRESET { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
                if count <= 0 { received.end = count == 0 ? .closed : .reset }
                received.bytes += buffer[..<max(count, 0)]
            }
            return received
        }
    }

    /// Reads until this text has arrived.
    func receive(_ text: String) async throws -> Received {
        try await receive { $0.bytes.suffix(text.utf8.count) == Array(text.utf8)[...] }
    }

    private static func connected(to port: Int) throws -> Int32 {
        #if os(Linux)
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            bytes.baseAddress.map { connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), size) == 0 } ?? false
        }
        guard isConnected else {
            let reason = POSIXErrorCode(rawValue: errno) ?? .EIO
            Foundation.close(descriptor)
            throw POSIXError(reason)
        }
        // Less than the time limit of a test, so that a failure has a cause.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    private static func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
