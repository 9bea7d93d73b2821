import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("WebSockets of the stub", .limited)
struct StubWebSocketTests {
    private func session(
        protocols: [String] = [], _ handler: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) -> Session {
        Session(
            transport: StubTransport { request in
                .webSocket(answering: request, protocols: protocols, handler: handler)
            })
    }

    @Test("Messages go both ways, larger than all buffers, with compression and without")
    func echo() async throws {
        let session = session(protocols: ["chat"]) { socket in
            for await message in socket.messages { socket.send(message) }
        }
        for compression in [WebSocketCompression.deflate, nil] {
            let options = WebSocketOptions {
                $0.compression = compression
                $0.receiveBufferSize = 1_000
                $0.sendBufferSize = 1_000
            }
            let socket = await session.webSocket("ws://example.com/chat", protocols: ["chat"], options: options)
            let sent = (0..<20).map { WebSocketMessage.data(Data(repeating: $0, count: 100_000)) } + [.text("end")]
            async let sending: Void = { for message in sent { try await socket.send(message) } }()
            var received: [WebSocketMessage] = []
            for try await message in socket.messages {
                received.append(message)
                if message == .text("end") { try await socket.close() }
            }
            try await sending
            #expect(received == sent)
            #expect(socket.negotiatedProtocol == "chat")
            #expect(await socket.closed == WebSocketClose(code: .normal, isClean: true, byPeer: false))
        }
    }

    @Test("The end of the handler closes the connection, an error closes it with 1011")
    func handlerEnds() async throws {
        struct Failure: Error {}
        let ended = await session { $0.send("bye") }.webSocket("ws://example.com/")
        var messages: [WebSocketMessage] = []
        for try await message in ended.messages { messages.append(message) }
        #expect(messages == [.text("bye")])
        #expect(await ended.closed == WebSocketClose(code: .normal, isClean: true, byPeer: true))
        let failed = await session { _ in throw Failure() }.webSocket("ws://example.com/")
        #expect(await failed.closed.code == .internalError)
    }

    @Test("A cut is a lost connection, after the messages before it; a reset too", arguments: [true, false])
    func cut(isReset: Bool) async throws {
        let session = session { socket in
            if !isReset { socket.send("one") }
            isReset ? socket.reset() : socket.cut()
            await socket.closed()
        }
        let socket = await session.webSocket("ws://example.com/")
        var received = 0
        let error = await #expect(throws: RequestError.self) {
            for try await _ in socket.messages { received += 1 }
        }
        #expect(error?.code == .connectionLost)
        #expect(received == (isReset ? 0 : 1))
    }

    @Test("A cancelled client ends the connection for the server")
    func cancelled() async throws {
        let ended = Protected(false)
        let session = session { socket in
            await socket.closed()
            ended.withLock { $0 = true }
        }
        let socket = await session.webSocket("ws://example.com/")
        _ = try await socket.opened
        socket.cancel()
        #expect(await socket.closed.code == .abnormal)
        await poll { ended.withLock { $0 } }
    }

    @Test("A server that does not read makes the sender wait")
    func unread() async throws {
        let session = session { socket in
            socket.setReading(false)
            socket.send("ready")
            await socket.closed()
        }
        let options = WebSocketOptions { ($0.sendBufferSize, $0.compression) = (1_000, nil) }
        let socket = await session.webSocket("ws://example.com/", options: options)
        for try await _ in socket.messages(automaticallyClosing: false) { break }
        try await socket.send(Data(count: 2_000))
        let waiting = Task { try await socket.send(Data(count: 2_000)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        socket.cancel()
        _ = await socket.closed
    }

    @Test("An ordinary request to a WebSocket, and a WebSocket with an ordinary answer, are refused")
    func refused() async throws {
        let ordinary = await session { _ in }.request("http://example.com/").serializingString().response
        #expect(ordinary.head?.status == 426)
        let stub = Session(transport: StubTransport { _ in .text("members only", status: 403) })
        let socket = await stub.webSocket("ws://example.com/")
        let error = await #expect(throws: RequestError.self) { try await socket.opened }
        #expect(error?.statusCode == 403)
        #expect(error?.responseData == Data("members only".utf8))
    }
}
