internal import CLarkspur
import Larkspur

/// An HTTP/1.1 server inside the test process, on real loopback sockets, whose responses the test defines.
///
///     let server = try MockServer()
///     server.on("GET", "/joke") { request in .json(#"{"setup": "…"}"#) }
///     let joke = try await session.request(server.url + "/joke").serializingJSON().value
///
/// The server listens on a port of its own, records requests, and runs on one thread, which ends with the server. If a
/// peer closes its half of a connection, the server treats it as disconnected.
public final class MockServer: Sendable {
    /// The record of requests and connections.
    public struct Log: Sendable {
        /// The latest requests in order of arrival, at most the server's `requestLimit`. A request is recorded when its
        /// handler is called.
        public var requests: [MockRequest] { kept.count > limit ? kept.suffix(limit) : kept }
        /// The number of requests that have arrived, including those that `requests` no longer contains.
        public private(set) var requestCount = 0
        /// The number of open connections.
        public internal(set) var connectionCount = 0
        /// The number of connections so far, open connections included.
        public internal(set) var connectionsAccepted = 0
        /// Whether the server has stopped: its thread has ended, and its listener and all connections are closed.
        public internal(set) var isStopped = false

        private let limit: Int
        /// The kept requests. Their number may exceed the limit a little, so that the array seldom moves its elements.
        private var kept: [MockRequest] = []

        var keptCount: Int { kept.count }

        init(requestLimit: Int) { limit = max(0, requestLimit) }

        mutating func add(_ request: MockRequest) {
            requestCount += 1
            kept.append(request)
            if kept.count > limit + max(16, limit / 8) { kept.removeFirst(kept.count - limit) }
        }
    }

    /// The base URL: `http://127.0.0.1:` and the port, without a slash at the end.
    public let url: String
    /// The port on the loopback interface.
    public let port: Int

    private let state: MockServerState
    private let commands: MockCommandQueue

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - reading: How the bodies of requests without a route are read.
    ///   - requestLimit: The maximum number of requests that the log keeps; the oldest are dropped.
    ///   - handler: Responds to requests without a route. If the handler throws, the response is a 500. Without a
    ///     handler, the response is a 404 whose body lists the routes.
    public init(
        reading: MockBodyReading = .kept, requestLimit: Int = 10_000,
        handler: (@Sendable (MockRequest) async throws -> MockResponse)? = nil
    ) throws {
        clarkspur_raise_descriptor_limit()
        let waker = try MockWaker()
        var port: UInt16 = 0
        let listener = clarkspur_loopback_listen(&port)
        guard listener >= 0 else { throw POSIXError.current }
        self.port = Int(port)
        url = "http://127.0.0.1:\(port)"
        let fallback = MockRoute(reading: reading, handler: handler.map { .asking($0) } ?? .missing)
        let state = MockServerState(fallback: fallback, requestLimit: requestLimit)
        let commands = MockCommandQueue(waker)
        (self.state, self.commands) = (state, commands)
        SystemThread.start("MockServer") {
            MockLoop(listener: listener, state: state, commands: commands, waker: waker).run()
            state.didStop()
        }
    }

    deinit { commands.post(.stop) }

    /// Sets the handler of this path, with any query. A nil method means every method. A later handler replaces an
    /// earlier handler of the same method and path.
    public func on(
        _ method: String?, _ path: String, reading: MockBodyReading = .kept,
        handler: @escaping @Sendable (MockRequest) async throws -> MockResponse
    ) {
        state.add(method, path, MockRoute(reading: reading, handler: .asking(handler)))
    }

    /// Sets the responses of this path. Each request gets the next response; after the last response, each request gets
    /// the last response again.
    ///
    ///     server.on("GET", "/flaky", .text("try again", status: 503), .text("ok"))
    ///
    /// The server's own thread sends these responses, so they are not delayed if the process is busy.
    public func on(
        _ method: String?, _ path: String, reading: MockBodyReading = .kept, _ first: MockResponse,
        _ later: MockResponse...
    ) {
        state.add(method, path, MockRoute(reading: reading, handler: .responses(Protected((first, later[...])))))
    }

    /// The record of requests and connections so far.
    public var log: Log { state.log }

    /// The requests so far in order of arrival: the latest ones, at most `requestLimit`.
    public var requests: [MockRequest] { log.requests }

    /// Waits until the log fulfils the condition. Throws if the task is cancelled.
    @discardableResult
    public func wait(until isReached: (Log) -> Bool) async throws -> Log {
        try await state.wait(until: isReached)
    }

    /// Closes the listener and all connections, and returns when the server's thread has ended.
    ///
    /// Running handlers are cancelled, and their responses are ignored. Without this call, a server stops when its last
    /// reference is released.
    public func stop() async {
        commands.post(.stop)
        _ = try? await wait { $0.isStopped }
    }
}
