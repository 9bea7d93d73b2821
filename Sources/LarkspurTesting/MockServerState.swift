import Larkspur

enum MockHandler: Sendable {
    /// Responds with a 404 that lists the routes.
    case missing
    case closure(@Sendable (MockRequest) async -> MockResponse)
    /// Sends these responses in turn; the last response repeats.
    case responses(Protected<(first: MockResponse, later: ArraySlice<MockResponse>)>)

    /// Returns a handler that calls the closure. If the closure throws, the response is a 500.
    static func asking(_ closure: @escaping @Sendable (MockRequest) async throws -> MockResponse) -> MockHandler {
        .closure { request in
            do {
                return try await closure(request)
            } catch {
                return .text("\(error)", status: 500)
            }
        }
    }
}

struct MockRoute: Sendable {
    let reading: MockBodyReading
    let handler: MockHandler
}

/// The state that a server's callers and its thread share: routes and log.
final class MockServerState: Sendable {
    private typealias Waiter = Continuation<Result<Void, any Error>>

    private struct Key: Hashable {
        let method: String?
        let path: String
    }

    private struct State {
        var routes: [Key: MockRoute] = [:]
        var log: MockServer.Log
        /// The number of changes of the log.
        var version = 0
        var waiting: [(number: Int, continuation: Waiter)] = []
        var numbers = 0
    }

    private let fallback: MockRoute
    private let box: Protected<State>

    init(fallback: MockRoute, requestLimit: Int) {
        self.fallback = fallback
        box = Protected(State(log: MockServer.Log(requestLimit: requestLimit)))
    }

    var log: MockServer.Log { box.withLock { $0.log } }

    func add(_ method: String?, _ path: String, _ route: MockRoute) {
        // The replaced route is returned, so that it is released after unlocking.
        _ = box.withLock { $0.routes.updateValue(route, forKey: Key(method: method, path: path)) }
    }

    func route(for request: MockRequest) -> MockRoute {
        let path = request.path
        return box.withLock {
            $0.routes[Key(method: request.method, path: path)] ?? $0.routes[Key(method: nil, path: path)]
        } ?? fallback
    }

    /// Returns the response to a request without a route.
    func missing(_ request: MockRequest) -> MockResponse {
        let routes = box.withLock { Array($0.routes.keys) }
            .sorted { ($0.path, $0.method ?? "") < ($1.path, $1.method ?? "") }
            .map { "\($0.method ?? "any method") \($0.path)" }
        let list = routes.isEmpty ? "The server has no routes." : "The routes are:\n" + routes.joined(separator: "\n")
        return .text("No route answers \(request.method) \(request.path). \(list)\n", status: 404)
    }

    func didAccept() -> Int {
        change { log in
            log.connectionCount += 1
            log.connectionsAccepted += 1
            return log.connectionsAccepted
        }
    }

    func didReceive(_ request: MockRequest) { change { $0.add(request) } }
    func didClose() { change { $0.connectionCount -= 1 } }
    func didStop() { change { $0.isStopped = true } }

    private func change<Result: Sendable>(_ body: (inout MockServer.Log) -> Result) -> Result {
        let (result, waiting) = box.withLock { state in
            let result = body(&state.log)
            state.version += 1
            defer { state.waiting = [] }
            return (result, state.waiting)
        }
        for waiter in waiting { waiter.continuation.resume(returning: .success(())) }
        return result
    }

    /// Waits until the log fulfils the condition. After every change of the log, the waiting task runs the condition.
    func wait(until isReached: (MockServer.Log) -> Bool) async throws -> MockServer.Log {
        while true {
            let (log, version) = box.withLock { ($0.log, $0.version) }
            if isReached(log) { return log }
            try await waitForChange(after: version)
        }
    }

    private func waitForChange(after version: Int) async throws {
        let number = box.withLock { state in
            state.numbers += 1
            return state.numbers
        }
        let result = await suspended { (continuation: Waiter) in
            let hasChanged = box.withLock { state in
                if state.version == version { state.waiting.append((number, continuation)) }
                return state.version != version
            }
            if hasChanged { continuation.resume(returning: .success(())) }
        } onCancel: {
            let waiter = box.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: .failure(CancellationError()))
        }
        try result.get()
    }
}
