internal import CLarkspur
import Larkspur

/// An HTTP/1.1 server inside the test's process: real sockets on the loopback, answers as the test says.
///
///     let server = try MockServer()
///     server.on("GET", "/joke") { request in .json(#"{"setup": "…"}"#) }
///     let joke = try await session.request(server.url + "/joke").serializingJSON().value
///
/// It listens at a port of its own, records what arrives, and runs on one thread, which ends with the server. A peer
/// that closes its half of a connection counts as gone.
public final class MockServer: Sendable {
    /// What has happened so far.
    public struct Log: Sendable {
        /// The latest requests in the order in which they arrived, at most as many as the server's `requestLimit`. A
        /// request is recorded when its handler is asked.
        public var requests: [MockRequest] { kept.count > limit ? kept.suffix(limit) : kept }
        /// How many requests arrived, including those that are no longer in `requests`.
        public private(set) var requestCount = 0
        /// How many connections are open.
        public internal(set) var connectionCount = 0
        /// How many connections there were, those that are open included.
        public internal(set) var connectionsAccepted = 0
        /// Whether the server has ended: its thread, its listener and all its connections.
        public internal(set) var isStopped = false

        private let limit: Int
        /// A few more than the limit, so that dropping the oldest moves the others seldom.
        private var kept: [MockRequest] = []

        var keptCount: Int { kept.count }

        init(requestLimit: Int) { limit = max(0, requestLimit) }

        mutating func add(_ request: MockRequest) {
            requestCount += 1
            kept.append(request)
            if kept.count > limit + max(16, limit / 8) { kept.removeFirst(kept.count - limit) }
        }
    }

    /// `http://127.0.0.1:` and the port, without a slash at the end.
    public let url: String
    /// On the loopback.
    public let port: Int

    private let state: MockServerState
    private let inbox: MockInbox

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - reading: How the bodies of requests without a route are read.
    ///   - requestLimit: The maximum number of requests that the log keeps; the oldest are dropped.
    ///   - handler: Answers requests without a route. An error that it throws becomes a 500. Without a handler the answer is
    ///     a 404 whose body lists the routes.
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
        let inbox = MockInbox(waker)
        (self.state, self.inbox) = (state, inbox)
        let thread = Thread {
            MockLoop(listener: listener, state: state, inbox: inbox, waker: waker).run()
            state.didStop()
        }
        thread.name = "MockServer"
        thread.start()
    }

    deinit { inbox.post(.stop) }

    /// Answers requests for this path, with any query; nil stands for any method. A later handler replaces an earlier.
    public func on(
        _ method: String?, _ path: String, reading: MockBodyReading = .kept,
        handler: @escaping @Sendable (MockRequest) async throws -> MockResponse
    ) {
        state.add(method, path, MockRoute(reading: reading, handler: .asking(handler)))
    }

    /// Answers requests for this path with these responses in turn; the last one stays.
    ///
    ///     server.on("GET", "/flaky", .text("try again", status: 503), .text("ok"))
    ///
    /// The server gives them without waiting for anybody, so they come in time also while the process is busy.
    public func on(
        _ method: String?, _ path: String, reading: MockBodyReading = .kept, _ first: MockResponse,
        _ later: MockResponse...
    ) {
        state.add(method, path, MockRoute(reading: reading, handler: .responses(Protected((first, later[...])))))
    }

    /// What has happened so far.
    public var log: Log { state.log }

    /// The requests so far, in the order in which they arrived: the latest ones, up to `requestLimit`.
    public var requests: [MockRequest] { log.requests }

    /// Waits until the log fulfils the condition; throws if the task is cancelled.
    @discardableResult
    public func wait(until isReached: (Log) -> Bool) async throws -> Log {
        try await state.wait(until: isReached)
    }

    /// Closes listener and connections, and returns when the server's thread has let go of everything.
    ///
    /// Handlers under way are cancelled, and what they return is ignored. A server that nobody keeps stops by itself.
    public func stop() async {
        inbox.post(.stop)
        _ = try? await wait { $0.isStopped }
    }
}
