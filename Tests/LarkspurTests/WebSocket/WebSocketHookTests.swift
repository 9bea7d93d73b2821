import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The closure `onOpen` of the rules for reconnection, together with lost connections, closes and cancels.
@Suite("WebSockets: the closure for openings", .limited)
struct WebSocketHookTests {
    /// A session over a stub. The closure is the server's end of each connection, with its number from 1.
    private func session(
        _ serve: @escaping @Sendable (MockWebSocket, Int) async throws -> Void
    ) -> (Session, Counter) {
        let connections = Counter()
        let stub = StubTransport { request in
            let number = connections.increment()
            return .webSocket(answering: request, compression: nil) { try await serve($0, number) }
        }
        return (Session(transport: stub), connections)
    }

    private func options(
        _ unsent: WebSocketReconnection.UnsentMessages = .fail, closeTimeout: Duration = .seconds(30),
        _ onOpen: @escaping @Sendable (WebSocketOpening) async throws -> Void
    ) -> WebSocketOptions {
        WebSocketOptions {
            $0.closeTimeout = closeTimeout
            $0.reconnection = .backoff(limit: 3)
            $0.reconnection?.backoff = .init(scale: .zero)
            $0.reconnection?.unsentMessages = unsent
            $0.reconnection?.onOpen = onOpen
        }
    }

    @Test("JSON messages keep the order of the type, and are made by the given encoder")
    func json() async throws {
        struct Many: Encodable { var oneValue = 1, g = 2, f = 3, e = 4, d = 5, c = 6, b = 7, a = 8 }
        struct One: Encodable { var oneValue = 1 }
        let received = Protected<[WebSocketMessage]>([])
        let arrivals = Counter()
        let (session, _) = session { socket, _ in
            for await message in socket.messages {
                received.withLock { $0.append(message) }
                arrivals.increment()
            }
        }
        let own = JSON.Encoder { $0.keyEncodingStrategy = .convertToSnakeCase }
        let foundations = { @Sendable () -> JSONEncoder in
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            return encoder
        }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: options { opening in
                try await opening.send(json: Many())
                try await opening.send(json: One(), encoder: own)
                try await opening.send(json: One(), encoder: foundations())
            })
        try await socket.send(json: Many())
        try await socket.send(json: One(), encoder: own)
        try await socket.send(json: One(), encoder: foundations())
        await arrivals.reached(6)
        try await socket.close()
        let many = #"{"oneValue":1,"g":2,"f":3,"e":4,"d":5,"c":6,"b":7,"a":8}"#
        let three = [many, #"{"one_value":1}"#, #"{"one_value":1}"#].map { WebSocketMessage.text($0) }
        #expect(received.withLock { $0 } == three + three)
    }

    @Test(
        "The closure's messages of a lost connection are not sent again, and lost messages do not make the closure fail",
        arguments: [WebSocketReconnection.UnsentMessages.fail, .keep(upTo: 1_000)])
    func lostBeforeSending(unsent: WebSocketReconnection.UnsentMessages) async throws {
        let (gate, deaf, arrivals) = (Gate(), Gate(), Counter())
        let received = Protected<[WebSocketMessage]>([])
        let (session, _) = session { socket, number in
            guard number == 1 else {
                for await message in socket.messages {
                    received.withLock { $0.append(message) }
                    arrivals.increment()
                }
                return
            }
            socket.setReading(false)
            deaf.open()
            socket.send("ready")
            await gate.pass()
            socket.cut()
            await socket.closed()
        }
        let hooks = Counter()
        let socket = await session.webSocket(
            "wss://example.com/",
            options: options(unsent) { opening in
                hooks.increment()
                await deaf.pass()
                try await opening.send("subscribe \(opening.number)")
            })
        for try await _ in socket.messages(automaticallyClosing: false) { break }
        try await socket.send("first")
        gate.open()
        await hooks.reached(2)
        if unsent == .fail {
            let error = await #expect(throws: RequestError.self) { try await socket.send("second") }
            #expect(error?.code == .messagesNotSent)
        }
        try await socket.send("third")
        await arrivals.reached(unsent == .fail ? 2 : 3)
        try await socket.close()
        let kept: [WebSocketMessage] = unsent == .fail ? [] : [.text("first")]
        #expect(received.withLock { $0 } == [.text("subscribe 2")] + kept + [.text("third")])
    }

    @Test("A connection that is lost while the closure waits is opened again")
    func lostDuringHook() async throws {
        let (session, _) = session { socket, number in
            if number == 1 { return socket.cut() }
            await socket.closed()
        }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: options { opening in
                if opening.number == 1 { for await _ in AsyncStream.makeStream(of: Void.self).stream {} }
            })
        #expect(try await socket.opened.status == 101)
        #expect(socket.retryCount == 1)
        try await socket.close()
    }

    /// The ways to end a request whose closure for openings does not return.
    enum End: CaseIterable { case close, cancel, invalidate }

    @Test("A closure that never returns holds up no end of the request", arguments: End.allCases)
    func neverReturns(end: End) async throws {
        let (session, _) = session { socket, _ in await socket.closed() }
        let gate = Gate()
        let socket = await session.webSocket(
            "wss://example.com/",
            options: options(closeTimeout: .milliseconds(20)) { _ in await gate.pass() })
        let opened = Task { try await socket.opened }
        try await socket.send("never sent")
        await gate.arrived()
        switch end {
        case .close: try await socket.close()
        case .cancel: socket.cancel()
        case .invalidate: await session.invalidate()
        }
        #expect(await socket.closed.isClean == false)
        await #expect(throws: RequestError.self) { try await opened.value }
        await #expect(throws: RequestError.self) { try await socket.send("too late") }
        gate.open()
    }
}
