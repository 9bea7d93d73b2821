import Dispatch
import Larkspur

@testable import LarkspurURLSession

/// A WebSocket that plays the platform's, together with its server. All its calls come from a queue of its own.
final class FakeSocket: PlatformSocket {
    /// The behaviour of the server.
    struct Server: Sendable {
        /// Called when the handshake starts.
        var start: @Sendable (FakeSocket) -> Void = { $0.open() }
        /// Called for each message.
        var message: @Sendable (FakeSocket, SocketMessage) -> Void = { _, _ in }
        var answersPings = true
        var answersClose = true

        static let echo = Server(message: { $0.push($1) })
    }

    /// The calls of the hop.
    struct Log: Sendable {
        var sent: [SocketMessage] = []
        var receives = 0
        var pings = 0
        var closes: [SocketMessage] = []
        var cancels = 0
        var faults: [String] = []
    }

    private enum Fact: Sendable { case message(SocketMessage), failure(any Error) }

    private struct State {
        var hop: URLSessionHop?
        /// The messages that the hop has not received, and the end that follows them.
        var incoming: [Fact] = []
        var close: SocketMessage?
        var completion: (any Error)?
        var ends = false
        var isOver = false
        var receiver: (@Sendable (Result<SocketMessage, any Error>) -> Void)?
        var holdsSends = false
        var held: (@Sendable ((any Error)?) -> Void)?
        var response: HTTPURLResponse?
    }

    static let notConnected = POSIXError(.ENOTCONN)
    static let tooLong = POSIXError(.EMSGSIZE)

    let request: URLRequest
    let maximumMessageSize: Int
    let log = Observed(Log())
    private let server: Server
    private let queue = DispatchQueue(label: "fake WebSocket")
    private let box: Protected<State>

    init(_ request: URLRequest, _ maximumMessageSize: Int, _ hop: URLSessionHop, _ server: Server) {
        self.request = request
        self.maximumMessageSize = maximumMessageSize
        self.server = server
        box = Protected(State(hop: hop))
    }

    private func tell(_ act: @escaping @Sendable (URLSessionHop) -> Void) {
        queue.async { [self] in box.withLock { $0.hop }.map(act) }
    }

    private func response(_ status: Int, _ fields: [String: String]) -> HTTPURLResponse? {
        request.url.flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        }
    }

    /// Waits until all calls that are due have returned.
    func settle() { queue.sync {} }

    // MARK: The server

    func open(_ name: String? = nil, fields: [String: String] = [:]) {
        let response = response(101, fields)
        tell { $0.didOpen(choosing: name, response) }
    }

    /// Refuses the handshake.
    func refuse(_ status: Int, fields: [String: String] = [:]) {
        box.withLock { $0.response = response(status, fields) }
        complete(URLError(.badServerResponse))
    }

    /// Answers the handshake with a redirect, which the session's delegate receives before the end of the task.
    func redirect(to location: String) {
        let response = response(302, ["Location": location])
        tell { $0.didComplete(nil, response) }
        complete(URLError(.badServerResponse))
    }

    func push(_ message: SocketMessage) { add(.message(message)) }

    /// Lets the next `receive` after all messages fail.
    func failReceive(_ error: any Error) { add(.failure(error)) }

    private func add(_ fact: Fact) {
        box.withLock { $0.incoming.append(fact) }
        deliver()
    }

    /// Closes the connection. The hop learns of the close before or after it has received all messages.
    func sendClose(_ code: UInt16, _ reason: String, isEarly: Bool = false) {
        if isEarly { tell { $0.didClose(code, reason) } }
        box.withLock { state in
            if !isEarly { state.close = .close(code: code, reason: reason) }
            state.ends = true
        }
        deliver()
    }

    /// Ends the task at once, as after the loss of the connection.
    func complete(_ error: (any Error)?) {
        let (isFirst, receiver, sender, response) = box.withLock { state in
            (state.isOver.setOnce(), state.receiver.take(), state.held.take(), state.response)
        }
        guard isFirst else { return }
        queue.async {
            receiver?(.failure(error ?? Self.notConnected))
            sender?(error ?? Self.notConnected)
        }
        tell { $0.didComplete(error, response) }
        queue.async { [self] in _ = box.withLock { $0.hop.take() } }
    }

    /// Stops or continues to take messages from the hop.
    func holdSends(_ holds: Bool) {
        let held = box.withLock { state in
            state.holdsSends = holds
            return holds ? nil : state.held.take()
        }
        if let held { queue.async { held(nil) } }
    }

    private func deliver() {
        queue.async { [self] in
            typealias Next = (receiver: @Sendable (Result<SocketMessage, any Error>) -> Void, fact: Fact?)
            let (next, close) = box.withLock { state -> (Next?, SocketMessage?) in
                guard state.receiver != nil, !state.incoming.isEmpty || state.ends else { return (nil, nil) }
                let fact = state.incoming.isEmpty ? nil : state.incoming.removeFirst()
                return (state.receiver.take().map { ($0, fact) }, fact == nil ? state.close : nil)
            }
            switch next?.fact {
            case .message(let message)?: next?.receiver(.success(message))
            case .failure(let error)?:
                next?.receiver(.failure(error))
                complete(error)
            case nil:
                guard let next else { return }
                next.receiver(.failure(Self.notConnected))
                if case .close(let code, let reason)? = close { tell { $0.didClose(code, reason) } }
                complete(nil)
            }
        }
    }

    // MARK: The hop's side

    func resume() { queue.async { [self] in server.start(self) } }

    func send(_ message: SocketMessage, _ done: @escaping @Sendable ((any Error)?) -> Void) {
        let (isOver, isHeld, isSecond) = box.withLock { state in
            let isSecond = state.held != nil
            if !state.isOver, state.holdsSends { state.held = done }
            return (state.isOver, state.holdsSends, isSecond)
        }
        log.change { log in
            log.sent.append(message)
            if isSecond { log.faults.append("a second send is outstanding") }
        }
        queue.async { [self] in
            if isOver { return done(Self.notConnected) }
            server.message(self, message)
            if !isHeld { done(nil) }
        }
    }

    func receive(_ done: @escaping @Sendable (Result<SocketMessage, any Error>) -> Void) {
        let (isOver, isSecond) = box.withLock { state in
            let isSecond = state.receiver != nil
            if !state.isOver { state.receiver = done }
            return (state.isOver, isSecond)
        }
        log.change { log in
            log.receives += 1
            if isSecond { log.faults.append("a second receive is outstanding") }
        }
        isOver ? queue.async { done(.failure(Self.notConnected)) } : deliver()
    }

    func ping(_ done: @escaping @Sendable ((any Error)?) -> Void) {
        log.change { $0.pings += 1 }
        if server.answersPings { queue.async { done(nil) } }
    }

    func close(_ code: UInt16, _ reason: String) {
        log.change { $0.closes.append(.close(code: code, reason: reason)) }
        guard server.answersClose else { return }
        tell { $0.didClose(code, reason) }
        complete(nil)
    }

    func cancel() {
        log.change { $0.cancels += 1 }
        complete(URLError(.cancelled))
    }
}

/// A network of fake WebSockets, each of which plays the next server.
final class FakeNetwork: Sendable {
    let sockets = Observed<[FakeSocket]>([])
    private let servers: [FakeSocket.Server]

    init(_ servers: FakeSocket.Server...) { self.servers = servers }

    /// Ends all sockets, as the platform does some time after a close. An open socket holds its hop.
    deinit { for socket in sockets.value { socket.complete(nil) } }

    /// - Parameter clock: The clock that measures the transport's timeouts; nil stands for the system's clock.
    func makeTransport(clock: EngineClock? = nil) -> URLSessionTransport {
        URLSessionTransport(clock: clock) { [sockets, servers] request, limit, hop in
            let server = servers[min(sockets.value.count, servers.count - 1)]
            let socket = FakeSocket(request, limit, hop, server)
            sockets.change { $0.append(socket) }
            return socket
        }
    }

    /// Returns the socket with this number.
    func socket(_ index: Int = 0) async throws -> FakeSocket { try await sockets.wait { $0.count > index }[index] }
}
