import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to WebSockets, word for word.

@Suite("The guide to WebSockets", .limited)
struct WebSocketExamples {
    private struct Move: Codable, Sendable {
        let from: String
        let to: String
    }

    private let server: MockServer
    private let session = Session()
    private var url: String { "ws" + server.url.dropFirst(4) + "/room" }

    init() throws { server = try MockServer() }

    private func serve(_ handler: @escaping @Sendable (MockWebSocket) async throws -> Void) {
        server.webSocket("/room", handler: handler)
    }

    @Test("A message is sent while another task reads, until the client closes")
    func overview() async throws {
        let echoed = AsyncStream.makeStream(of: String.self)
        server.webSocket("/room", protocols: ["chat.v2"]) { socket in
            for await message in socket.messages {
                socket.send(message)
                echoed.continuation.yield("\(message)")
            }
        }
        let own = session.extending {
            $0.interceptors = [
                Interceptor(adapt: { [url] request, _ in request.url = try RequestURL("http" + url.dropFirst(2)) })
            ]
        }
        func run(_ session: Session) async throws {
            let socket = await session.webSocket(
                "wss://chat.example.com/room", protocols: ["chat.v2"])
            let reader = Task {
                for try await message in socket.messages {
                    switch message {
                    case .text(let text): print(text)
                    case .data(let data): print(data.count, "bytes")
                    }
                }
            }
            try await socket.send("hello")
            for await text in echoed.stream where text.contains("hello") { break }
            try await socket.close()
            try await reader.value
            #expect(await socket.closed.code == .normal)
            #expect(socket.negotiatedProtocol == "chat.v2")
        }
        try await run(own)
    }

    @Test("The opening and the end are awaited")
    func openingAndEnd() async throws {
        serve { _ in }
        let socket = await session.webSocket(url)
        let head = try await socket.opened
        print(head.status, socket.negotiatedProtocol ?? "no protocol")
        let end = await socket.closed
        print(end.code, end.reason, end.isClean, end.byPeer)
        #expect(head.status == 101)
        #expect(end == WebSocketClose(code: .normal, isClean: true, byPeer: true))
    }

    @Test("Values are sent and received as JSON")
    func values() async throws {
        let received = Protected<[WebSocketMessage]>([])
        serve { socket in
            for await message in socket.messages {
                received.withLock { $0.append(message) }
                guard case .text(let text) = message, text.hasPrefix("{") else { continue }
                socket.send(text)
                return
            }
        }
        let socket = await session.webSocket(url)
        try await socket.send("text")
        try await socket.send(Data([1, 2, 3]))
        try await socket.send(json: Move(from: "e2", to: "e4"))
        for try await move in socket.messages(of: Move.self) {
            print(move.from, move.to)
        }
        #expect(await socket.closed.isClean)
        #expect(received.withLock { $0.prefix(2) } == [.text("text"), .data(Data([1, 2, 3]))])
    }

    @Test("The client closes")
    func close() async throws {
        serve { socket in await socket.closed() }
        let socket = await session.webSocket(url)
        _ = try await socket.opened
        try await socket.close(.goingAway, reason: "bye")
        #expect(await socket.closed.reason == "bye")
    }

    @Test("Dead connections are detected, and lost ones opened again")
    func steady() async throws {
        serve { socket in await socket.closed() }
        let alive = await session.webSocket(
            url,
            options: .init {
                $0.pingInterval = .seconds(20)
                $0.pongTimeout = .seconds(10)
            })
        print(try await alive.ping())
        try await alive.close()
        let greeted = AsyncStream.makeStream(of: WebSocketMessage.self)
        serve { socket in
            for await message in socket.messages {
                greeted.continuation.yield(message)
                return
            }
        }
        let steady = await session.webSocket(
            url,
            options: .init {
                $0.reconnection = .backoff(limit: .max)
                $0.reconnection?.unsentMessages = .keep(upTo: 1 << 20)
                $0.reconnection?.onOpen = { opening in
                    try await opening.send("subscribe")
                }
            })
        steady.resume()
        for await state in steady.states { print(state) }
        var messages = greeted.stream.makeAsyncIterator()
        #expect(await messages.next() == .text("subscribe"))
    }

    @Test("A server of the test kit echoes")
    func echo() async throws {
        server.webSocket("/room") { socket in
            for await message in socket.messages { socket.send(message) }
        }
        let socket = await session.webSocket(url)
        try await socket.send("echo")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("echo"))
    }

    @Test("A stub runs the server's end")
    func stubbed() async throws {
        let stub = StubTransport { request in
            .webSocket(answering: request) { socket in
                for await message in socket.messages { socket.send(message) }
            }
        }
        let socket = await Session(transport: stub).webSocket("wss://chat.example.com/room")
        try await socket.send("hello")
        for try await message in socket.messages {
            #expect(message == .text("hello"))
            break
        }
    }
}
