import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// WebSockets over the platform's engine, against a server of the test kit.
@Suite("WebSockets", .limited)
struct WebSocketRequestTests {
    let server: MockServer
    let session = Session()

    init() throws {
        server = try MockServer()
        server.webSocket("/echo", protocols: ["chat.v2", "chat.v1"]) { socket in
            for await message in socket.messages { socket.send(message) }
        }
    }

    var url: String { "ws" + server.url.dropFirst(4) }

    @Test("Messages go out and come back in order, texts and data, short and long")
    func echo() async throws {
        let socket = await session.webSocket(url + "/echo", protocols: ["chat.v1"])
        let sent: [WebSocketMessage] = [
            .text("hello"), .data(Data([0, 255])), .text(""), .text(String(repeating: "ä", count: 40_000)),
            .data(Data(count: 300_000)), .text("end"),
        ]
        for message in sent { try await socket.send(message) }
        var received: [WebSocketMessage] = []
        for try await message in socket.messages {
            received.append(message)
            if received.count == sent.count { try await socket.close() }
        }
        #expect(received == sent)
        #expect(socket.negotiatedProtocol == "chat.v1")
        #expect(await socket.closed == WebSocketClose(code: .normal, isClean: true, byPeer: false))
        #expect(socket.error == nil)
        #expect(socket.status == .finished)
    }

    @Test("Messages sent before the opening, more than the buffer holds, go out in order")
    func manyBeforeOpening() async throws {
        for size in [100, 300_000] {
            let socket = await session.webSocket(url + "/echo", options: .init { $0.sendBufferSize = size })
            let count = 40
            async let sent: Void = {
                for number in 0..<count {
                    try await socket.send(Data(repeating: UInt8(number), count: size / 2 + number))
                }
            }()
            var received = 0
            for try await message in socket.messages {
                #expect(message == .data(Data(repeating: UInt8(received), count: size / 2 + received)))
                received += 1
                if received == count { try await socket.close() }
            }
            try await sent
            #expect(received == count)
        }
    }

    @Test("The server's close ends the messages, and tells its code and reason")
    func serverCloses() async throws {
        server.webSocket("/bye") { socket in
            socket.send("last")
            await socket.close(.goingAway, reason: "restart")
        }
        let socket = await session.webSocket(url + "/bye")
        var messages: [WebSocketMessage] = []
        for try await message in socket.messages { messages.append(message) }
        #expect(messages == [.text("last")])
        #expect(await socket.closed == WebSocketClose(code: .goingAway, reason: "restart", isClean: true, byPeer: true))
    }

    @Test("A connection that ends without a close is an error for its readers and for later sends")
    func cut() async throws {
        server.webSocket("/cut") { socket in
            socket.send("one")
            socket.cut()
            await socket.closed()
        }
        let socket = await session.webSocket(url + "/cut")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("one"))
        let error = await #expect(throws: RequestError.self) { try await messages.next() }
        #expect(error?.code == .connectionLost)
        #expect(await socket.closed.code == .abnormal)
        await #expect(throws: RequestError.self) { try await socket.send("late") }
    }

    @Test("A refused handshake fails with the server's status and body")
    func refused() async throws {
        server.on("GET", "/private", .text("members only", status: 403))
        let socket = await session.webSocket(url + "/private")
        let error = await #expect(throws: RequestError.self) { try await socket.opened }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.statusCode == 403)
        #expect(error?.responseData == Data("members only".utf8))
        #expect(await socket.closed.isClean == false)
    }

    @Test(
        "The schemes ws and wss mean http and https, with port, user and host in any spelling",
        arguments: [
            ("ws://example.com/a?b#c", "http://example.com/a?b#c"), ("WSS://Example.com:443/", "https://example.com/"),
            ("ws://example.com:80", "http://example.com/"), ("wss://[::1]:8443/x", "https://[::1]:8443/x"),
            ("https://example.com/", "https://example.com/"),
            ("wss://b\u{FC}cher.example/", "https://xn--bcher-kva.example/"),
        ])
    func schemes(_ text: String, _ expected: String) async throws {
        let session = Session(transport: StubTransport { _ in .failure(.connectionRefused) })
        let socket = await session.webSocket(text.replacing("://", with: "://me:secret@"))
        await #expect(throws: RequestError.self) { try await socket.opened }
        #expect(socket.request?.url.text == expected)
        #expect(socket.request?.headers["Authorization"] == "Basic bWU6c2VjcmV0")
    }

    @Test("Cancelling the reading task closes the connection with 1001")
    func cancelledReader() async throws {
        let closes = AsyncStream.makeStream(of: WebSocketClose?.self)
        server.webSocket("/quiet") { socket in
            await socket.closed()
            closes.continuation.yield(socket.close)
        }
        let socket = await session.webSocket(url + "/quiet")
        let reader = Task { for try await _ in socket.messages {} }
        _ = try await socket.opened
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        var iterator = closes.stream.makeAsyncIterator()
        #expect(await iterator.next()??.code == .goingAway)
        #expect(await socket.closed.code == .goingAway)
    }

    @Test("A ping is answered with its time; a server without pongs is a lost connection")
    func pings() async throws {
        let socket = await session.webSocket(url + "/echo")
        #expect(try await socket.ping() > .zero)
        server.webSocket("/dead") { socket in
            socket.answersPings = false
            await socket.closed()
        }
        let dead = await session.webSocket(
            url + "/dead",
            options: .init {
                $0.pingInterval = .milliseconds(20)
                $0.pongTimeout = .milliseconds(60)
            })
        let error = await #expect(throws: RequestError.self) { for try await _ in dead.messages {} }
        #expect(error?.code == .connectionLost)
        #expect("\(error as Any)".contains("ping"))
        try await socket.close()
    }

    @Test("A message over the limit closes with 1009, and a garbage frame with 1002")
    func violations() async throws {
        server.webSocket("/huge") { socket in
            socket.sendFrameHead(declaring: 1 << 40)
            await socket.closed()
        }
        let huge = await session.webSocket(url + "/huge", options: .init { $0.maximumMessageSize = 1_000 })
        let tooLarge = await #expect(throws: RequestError.self) { for try await _ in huge.messages {} }
        #expect(tooLarge?.code == .messageTooLarge)
        #expect(tooLarge?.webSocketCloseCode == .messageTooBig)
        let seen = AsyncStream.makeStream(of: WebSocketClose?.self)
        server.webSocket("/garbage") { socket in
            socket.send(raw: Data([0xFF, 0x00]))
            await socket.closed()
            seen.continuation.yield(socket.close)
        }
        let garbage = await session.webSocket(url + "/garbage")
        let error = await #expect(throws: RequestError.self) { for try await _ in garbage.messages {} }
        #expect(error?.code == .webSocketViolation)
        #expect(error?.webSocketCloseCode == .protocolError)
        var iterator = seen.stream.makeAsyncIterator()
        #expect(await iterator.next()??.code == .protocolError)
    }

    @Test("A lost connection is opened again, the hook runs first, and kept messages are sent")
    func reconnection() async throws {
        let connections = Protected(0)
        server.webSocket("/steady") { socket in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            var messages = socket.messages.makeAsyncIterator()
            #expect(await messages.next() == .text("subscribe \(number)"))
            socket.send("welcome \(number)")
            if number == 1 {
                _ = await messages.next()
                return socket.reset()
            }
            while let message = await messages.next() { socket.send(message) }
        }
        let socket = await session.webSocket(
            url + "/steady",
            options: .init {
                var rules = WebSocketReconnection.backoff(limit: 3)
                rules.backoff = .init(scale: .milliseconds(1))
                rules.onOpen = { try await $0.send("subscribe \($0.number)") }
                $0.reconnection = rules
            })
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("welcome 1"))
        try await socket.send("break")
        #expect(try await messages.next() == .text("welcome 2"))
        try await socket.send("still here")
        #expect(try await messages.next() == .text("still here"))
        #expect(socket.retryCount == 1)
        try await socket.close()
    }
}
