import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurWebSocket

@Suite("Readers of a WebSocket", .limited)
struct WebSocketReadersTests {
    let server: MockServer
    let session = Session()

    init() throws {
        server = try MockServer()
        server.webSocket("/count") { socket in
            for number in 0..<100 { socket.send("\(number)") }
            await socket.closed()
        }
    }

    private func socket(_ path: String, _ options: WebSocketOptions = WebSocketOptions()) async -> WebSocketRequest {
        await session.webSocket("ws" + server.url.dropFirst(4) + path, options: options)
    }

    @Test("A connection that stays open loses no message between two readers", arguments: [1 << 20, 1])
    func oneAfterTheOther(bufferSize: Int) async throws {
        let socket = await socket("/count", .init { $0.receiveBufferSize = bufferSize })
        var received: [WebSocketMessage] = []
        while received.count < 100 {
            for try await message in socket.messages(automaticallyClosing: false) {
                received.append(message)
                if received.count % 7 == 0 || received.count == 100 { break }
            }
        }
        #expect(received == (0..<100).map { .text("\($0)") })
        #expect(socket.state == .open)
        try await socket.close()
    }

    @Test("Readers each get all messages; the slowest holds up the server")
    func several() async throws {
        let socket = await socket("/count", .init { $0.receiveBufferSize = 200 })
        let readers = (0..<4).map { _ in socket.messages }
        let all = try await withThrowingTaskGroup(of: [WebSocketMessage].self) { group in
            for (index, messages) in readers.enumerated() {
                group.addTask {
                    var received: [WebSocketMessage] = []
                    for try await message in messages {
                        received.append(message)
                        for _ in 0..<index { await Task.yield() }
                        if received.count == 100 { break }
                    }
                    return received
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(all == Array(repeating: (0..<100).map { .text("\($0)") }, count: 4))
        #expect(await socket.closed.code == .goingAway, "the last reader has left")
    }

    @Test("Unread messages do not delay the end")
    func unread() async throws {
        server.webSocket("/much") { socket in
            for _ in 0..<100 { socket.send(Data(count: 50_000)) }
            await socket.close(.goingAway)
        }
        let socket = await socket("/much", .init { $0.receiveBufferSize = 1_000 })
        #expect(await socket.closed == WebSocketClose(code: .goingAway, isClean: true, byPeer: true))
    }

    @Test("A message before a violation can still be answered, and the violation then ends the connection")
    func answeredBeforeViolation() async throws {
        let answers = Protected<[WebSocketMessage]>([])
        server.webSocket("/odd", compression: nil) { socket in
            socket.send(raw: Data([0x81, 2] + Array("hi".utf8) + [0x83, 0, 0x81, 1, 65]))
            for await message in socket.messages { answers.withLock { $0.append(message) } }
        }
        let socket = await socket("/odd", .init { $0.closeTimeout = .seconds(50) })
        let error = await #expect(throws: RequestError.self) {
            for try await message in socket.messages {
                await Task.yield()
                try await socket.send(message)
            }
        }
        #expect(error?.code == .webSocketViolation)
        let line = error?.description ?? ""
        #expect(line.hasPrefix("the WebSocket failed: the server violated the WebSocket protocol: "))
        #expect(line.hasSuffix(" [ws\(server.url.dropFirst(4))/odd]"))
        #expect(await socket.closed.code == .protocolError)
        try await server.wait { $0.connectionCount == 0 }
        await poll { answers.withLock { !$0.isEmpty } }  // the server's handler reads on after the connection's end
        #expect(answers.withLock { $0 } == [.text("hi")])
    }

    @Test("A reader that does not come back delays the end after a violation by the limit of a close")
    func busyReader() async throws {
        server.webSocket("/odd", compression: nil) { socket in
            socket.send(raw: Data([0x81, 2] + Array("hi".utf8) + [0x83, 0]))
            await socket.closed()
        }
        let clock = ManualClock()
        let own = Session(configuration: SessionConfiguration { $0.clock = clock })
        let socket = await own.webSocket(
            "ws" + server.url.dropFirst(4) + "/odd", options: .init { $0.closeTimeout = .seconds(50) })
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("hi"))
        await clock.waitForSleepers()
        #expect(socket.state == .open)
        clock.advance(by: .seconds(50))
        #expect(await socket.closed.code == .protocolError)
        await #expect(throws: RequestError.self) { try await messages.next() }
    }

    @Test("Pings in a row are all answered in order")
    func manyPings() async throws {
        let (pongs, counted) = (Protected(0), Gate())
        server.on("GET", "/pings") { request in
            .webSocket(answering: request, compression: nil) { socket in
                socket.send(raw: Data((0..<10).flatMap { [0x89, 1, $0] as [UInt8] }))
                for _ in 0..<10 { socket.ping() }
                socket.send("sent")
                await socket.closed()
                pongs.withLock { $0 = socket.pongs.count }
                #expect(socket.pongs.prefix(10) == (0..<10).map { Data([$0]) }[...])
                counted.open()
            }
        }
        let socket = await socket("/pings")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("sent"))  // the pings before it have arrived
        try await socket.close()
        await counted.pass()
        #expect(pongs.withLock { $0 } == 20)
    }

    @Test("A ping is answered before the messages after it are delivered, so its pong precedes their answers")
    func pongBeforeAnswers() {
        let core = WebSocketCore(WebSocketOptions(), protocols: [])
        core.parser.withLock {
            $0.reader = WebSocketReader(role: .client, maximumMessageSize: 100, deflate: nil)
        }
        core.link.withLock { link in
            link.open(ResponseHead(status: 101, fields: []), age: { .zero })
            link.phase = .open
        }
        let stream = WebSocketStream(core, attempt: 0)
        let (limit, delivered) = (core.readers.withLock { $0.limit }, Protected<[Int]>([]))
        stream.begin {
            let room = core.readers.withLock { $0.room {} }
            delivered.withLock { $0.append(limit - room) }
        }
        var buffer = [UInt8](repeating: 0, count: 64)
        func read() -> TransportBodyRead { buffer.withUnsafeMutableBytes { stream.read(into: $0) } }
        guard case .pending = read() else {
            Issue.record("no frame is due before the first ping")
            return
        }
        #expect(core.consume(Data([0x89, 1, 7, 0x81, 2] + Array("hi".utf8))) {})
        #expect(delivered.withLock { $0 } == [0])

        // A reader answers the message before the transport has read the pong.
        core.link.withLock { link in
            #expect(throws: Never.self) { try link.encode(.text("hello")) }
        }
        guard case .bytes(let count) = read() else {
            Issue.record("a pong and a text are due")
            return
        }
        #expect(count == 7 + 11)
        #expect([buffer[0], buffer[7]] == [0x8A, 0x81])
    }

    @Test("A pong that waits for other bytes is sent before a close, after which the peer reads nothing")
    func pongBeforeClose() {
        let core = WebSocketCore(WebSocketOptions(), protocols: [])
        let stream = WebSocketStream(core, attempt: 0)
        core.link.withLock { link in
            link.open(ResponseHead(status: 101, fields: []), age: { .zero })
            link.phase = .open
            #expect(throws: Never.self) { try link.encode(.text("hello")) }
            link.answer([Data([7])])
            link.sendClose(.normal, "")
        }
        var buffer = [UInt8](repeating: 0, count: 64)
        guard case .bytes(let count) = buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) else {
            Issue.record("three frames are due")
            return
        }
        #expect(count == 11 + 7 + 8)
        #expect([buffer[0], buffer[11], buffer[18]] == [0x81, 0x8A, 0x88])
    }

    @Test(
        "A pong that waits for other bytes is sent before the next message, wherever that was encoded",
        arguments: [true, false])
    func pongBeforeMessage(isEncodedUnderLock: Bool) throws {
        var link = WebSocketLink(sendLimit: 1_000)
        link.open(ResponseHead(status: 101, fields: []), age: { .zero })
        link.phase = .open
        try link.encode(.text("hello"))
        link.answer([Data([7]), Data([8])])
        if isEncodedUnderLock {
            try link.encode(.text("world"))
        } else {
            let isAdded = link.add(.text("world"), Data([0x81, 0]), of: link.attempt, isOfHook: false)
            #expect(isAdded)
        }
        var buffer = [UInt8](repeating: 0, count: 64)
        guard case (.bytes(let count), _) = buffer.withUnsafeMutableBytes({ link.read(into: $0) }) else {
            Issue.record("four frames are due")
            return
        }
        #expect(count == 11 + 7 + 7 + (isEncodedUnderLock ? 11 : 2))
        #expect([buffer[0], buffer[11], buffer[18], buffer[25]] == [0x81, 0x8A, 0x8A, 0x81])
    }

    @Test("A cancel of the request while a reader waits is no close with 1001", arguments: [false, true])
    func cancelledRequest(byInvalidation: Bool) async throws {
        let own = Session()
        let socket = await own.webSocket("ws" + server.url.dropFirst(4) + "/count")
        var messages = socket.messages.makeAsyncIterator()
        for number in 0..<100 { #expect(try await messages.next() == .text("\(number)")) }
        let reader = Task { [messages] in
            var messages = messages
            return try await messages.next()
        }
        await poll { socket.socket.readers.withLock { $0.areWaiting {} } }
        if byInvalidation { await own.invalidate() } else { socket.cancel() }
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(await socket.closed == WebSocketClose(code: .abnormal, isClean: false, byPeer: false))
        #expect(socket.error != nil)
    }

    @Test("A second reader of an ended connection ends at once")
    func late() async throws {
        let socket = await socket("/count")
        for try await _ in socket.messages { break }
        _ = await socket.closed
        for try await message in socket.messages { Issue.record("\(message)") }
    }
}
