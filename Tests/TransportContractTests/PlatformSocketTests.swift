#if os(Linux)
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    @testable import LarkspurURLSession

    /// WebSockets of a session over `URLSessionTransport`, with a fake in place of the platform's WebSocket.
    @Suite("WebSockets over URLSession", .limited)
    struct PlatformSocketTests {
        private func session(_ network: FakeNetwork) -> Session {
            Session(configuration: SessionConfiguration { $0.headers = [:] }, transport: network.makeTransport())
        }

        /// Reads until the sequence ends. Returns the messages and the error.
        private func readAll(_ socket: WebSocketRequest) async -> ([WebSocketMessage], RequestError?) {
            var messages: [WebSocketMessage] = []
            do {
                for try await message in socket.messages { messages.append(message) }
                return (messages, nil)
            } catch {
                return (messages, error as? RequestError)
            }
        }

        @Test("T26: messages go both ways in order, and the platform gets the request without its own fields")
        func echo() async throws {
            var server = FakeSocket.Server.echo
            server.start = { $0.open("chat.v1", fields: ["Set-Cookie": "a=1", "X-Extra": "yes"]) }
            let network = FakeNetwork(server)
            let socket = await session(network).webSocket(
                "wss://chat.example/room?a=b", protocols: ["chat.v2", "chat.v1"],
                headers: ["Origin": "https://app.example", "Cookie": "c=d"],
                options: .init { $0.maximumMessageSize = 500_000 })
            let sent: [WebSocketMessage] = [
                .text("hello"), .data(Data([0, 255])), .text(""), .data(Data()),
                .text(String(repeating: "ä", count: 40_000)), .data(Data([UInt8].pattern(500_000))), .text("end"),
            ]
            let reader = socket.messages
            for message in sent { try await socket.send(message) }
            let head = try await socket.opened
            var received: [WebSocketMessage] = []
            for try await message in reader {
                received.append(message)
                if received.count == sent.count { try await socket.close(reason: "bye") }
            }
            #expect(received == sent)
            #expect(socket.negotiatedProtocol == "chat.v1")
            #expect(await socket.closed == .init(code: .normal, reason: "bye", isClean: true, byPeer: false))
            #expect(head.status == 101)
            #expect(head["X-Extra"] == "yes")
            let fake = try await network.socket()
            #expect(fake.log.value.faults == [])
            #expect(fake.log.value.closes == [.close(code: 1000, reason: "bye")])
            #expect(fake.request.url?.absoluteString == "wss://chat.example/room?a=b")
            #expect(fake.maximumMessageSize == 500_001)
            #expect(fake.request.value(forHTTPHeaderField: "Origin") == "https://app.example")
            #expect(fake.request.value(forHTTPHeaderField: "Cookie") == "c=d")
            #expect(fake.request.value(forHTTPHeaderField: "Sec-WebSocket-Protocol") == "chat.v2, chat.v1")
            let names = Set((fake.request.allHTTPHeaderFields ?? [:]).keys.map { $0.lowercased() })
            #expect(names.isDisjoint(with: ["upgrade", "connection", "sec-websocket-key", "sec-websocket-version"]))
            #expect(!names.contains("sec-websocket-extensions"))
        }

        @Test("10,000 messages keep their order in both directions")
        func order() async throws {
            let network = FakeNetwork(.echo)
            let socket = await session(network).webSocket("ws://chat.example/")
            let count = 10_000
            async let sent: Void = {
                for number in 0..<count { try await socket.send("\(number)") }
            }()
            var next = 0
            for try await message in socket.messages {
                #expect(message == .text("\(next)"))
                next += 1
                if next == count { break }
            }
            try await sent
            #expect(next == count)
            let log = try await network.socket().log.value
            #expect(log.sent == (0..<count).map { .text("\($0)") })
            #expect(log.faults == [])
        }

        @Test("A ping gets its pong; a missing pong ends the connection")
        func pings() async throws {
            let network = FakeNetwork(.echo)
            let socket = await session(network).webSocket("ws://chat.example/")
            _ = try await socket.ping()
            #expect(try await network.socket().log.value.pings == 1)
            try await socket.close()

            let silent = FakeNetwork(FakeSocket.Server(answersPings: false))
            let dead = await session(silent).webSocket(
                "ws://chat.example/",
                options: .init {
                    $0.pingInterval = .milliseconds(5)
                    $0.pongTimeout = .milliseconds(5)
                })
            let (_, error) = await readAll(dead)
            #expect(error?.code == .connectionLost)
            #expect(try await silent.socket().log.wait { $0.cancels > 0 }.closes == [])
        }

        @Test(
            "A server's close ends the messages, whether the hop learns of it before or after them",
            arguments: [
                (1000, "done", true), (4001, "own code", false), (1005, "", true), (0, "", false),
            ])
        func serverCloses(_ code: UInt16, _ reason: String, _ isEarly: Bool) async throws {
            let network = FakeNetwork(
                FakeSocket.Server(start: { socket in
                    socket.open()
                    for number in 0..<100 { socket.push(.text("\(number)")) }
                    socket.sendClose(code, reason, isEarly: isEarly)
                }))
            let socket = await session(network).webSocket("ws://chat.example/")
            let (messages, error) = await readAll(socket)
            #expect(messages == (0..<100).map { .text("\($0)") })
            #expect(error == nil)
            let expected = code < 1000 || code == 1005 ? WebSocketCloseCode.noStatus : .init(rawValue: code)
            #expect(await socket.closed == .init(code: expected, reason: reason, isClean: true, byPeer: true))
            // The platform has answered the close itself.
            let log = try await network.socket().log.value
            #expect(log.closes == [])
            #expect(log.cancels == 0)
        }

        @Test("A close that the server does not answer is not clean, and the connection ends after closeTimeout")
        func unansweredClose() async throws {
            let network = FakeNetwork(FakeSocket.Server(answersClose: false))
            let clock = ManualClock()
            let configuration = SessionConfiguration { ($0.headers, $0.clock) = ([:], clock) }
            let session = Session(configuration: configuration, transport: network.makeTransport())
            let socket = await session.webSocket(
                "ws://chat.example/", options: .init { $0.closeTimeout = .seconds(2) })
            _ = try await socket.opened
            async let closing: Void = socket.close(.goingAway)
            try await network.socket().log.wait { !$0.closes.isEmpty }
            await clock.waitForSleepers()
            clock.advance(by: .seconds(2))
            try await closing
            #expect(await socket.closed == .init(code: .goingAway, isClean: false, byPeer: false))
            let log = try await network.socket().log.wait { $0.cancels > 0 }
            #expect(log.closes == [.close(code: 1001, reason: "")])
        }

        @Test("A lost connection is an error after its messages; codes that stand for it are no close")
        func loss() async throws {
            for code in [nil, 1006, 1015] as [UInt16?] {
                let network = FakeNetwork(
                    FakeSocket.Server(start: { socket in
                        socket.open()
                        socket.push(.text("last"))
                        if let code { socket.sendClose(code, "") } else { socket.failReceive(POSIXError(.ECONNRESET)) }
                    }))
                let socket = await session(network).webSocket("ws://chat.example/")
                let (messages, error) = await readAll(socket)
                #expect(messages == [.text("last")])
                #expect(error?.code == .connectionLost)
                #expect(await socket.closed == .init(code: .abnormal, isClean: false, byPeer: false))
            }
        }

        @Test("A lost connection is replaced by another one, and redirects and refusals count as everywhere")
        func reconnects() async throws {
            let losing = FakeSocket.Server(start: { socket in
                socket.open()
                socket.push(.text("one"))
                socket.failReceive(POSIXError(.ECONNRESET))
            })
            let busy = FakeSocket.Server(start: { $0.refuse(503, fields: ["Content-Length": "10"]) })
            let redirecting = FakeSocket.Server(start: { $0.redirect(to: "wss://other.example/there") })
            let last = FakeSocket.Server(start: { socket in
                socket.open()
                socket.push(.text("two"))
            })
            let network = FakeNetwork(losing, busy, redirecting, last)
            let socket = await session(network).webSocket(
                "wss://chat.example/",
                options: .init {
                    $0.reconnection = .backoff(limit: 5)
                    $0.reconnection?.backoff = .init(scale: .milliseconds(1))
                })
            var received: [WebSocketMessage] = []
            for try await message in socket.messages {
                received.append(message)
                if received.count == 2 { break }
            }
            #expect(received == [.text("one"), .text("two")])
            let urls = network.sockets.value.map { $0.request.url?.absoluteString }
            #expect(urls == Array(repeating: "wss://chat.example/", count: 3) + ["wss://other.example/there"])
        }

        @Test("A refused handshake has the server's status and fields, and a failed one its cause")
        func refusals() async throws {
            let fields = ["X-Reason": "full", "Content-Length": "12", "Content-Encoding": "zstd"]
            let network = FakeNetwork(FakeSocket.Server(start: { $0.refuse(403, fields: fields) }))
            let socket = await session(network).webSocket("ws://chat.example/")
            let error = await #expect(throws: RequestError.self) { try await socket.opened }
            #expect(error?.code == .unacceptableStatus)
            #expect(error?.statusCode == 403)
            #expect(error?.responseHead?["X-Reason"] == "full")

            let causes: [(URLError.Code, RequestError.Code)] = [
                (.cannotFindHost, .nameLookup), (.cannotConnectToHost, .connectionRefused),
            ]
            for (cause, code) in causes {
                let network = FakeNetwork(FakeSocket.Server(start: { $0.complete(URLError(cause)) }))
                let socket = await session(network).webSocket("ws://chat.example/")
                #expect(await #expect(throws: RequestError.self) { try await socket.opened }?.code == code)
            }
            let odd = FakeNetwork(FakeSocket.Server(start: { $0.refuse(101) }))
            let broken = await session(odd).webSocket("ws://chat.example/")
            #expect(
                await #expect(throws: RequestError.self) { try await broken.opened }?.code == .protocolViolation)
            let foreign = FakeNetwork(FakeSocket.Server(start: { $0.open("not offered") }))
            let other = await session(foreign).webSocket("ws://chat.example/")
            #expect(
                await #expect(throws: RequestError.self) { try await other.opened }?.code == .webSocketHandshakeFailed)
            #expect(try await foreign.socket().log.wait { $0.cancels > 0 }.sent == [])
        }

        @Test("A message of exactly the limit is received, and a larger one closes the connection with 1009")
        func limit() async throws {
            for isFoundByPlatform in [false, true] {
                let network = FakeNetwork(
                    FakeSocket.Server(start: { socket in
                        socket.open()
                        socket.push(.data(Data(count: 1_000)))
                        if isFoundByPlatform {
                            socket.failReceive(FakeSocket.tooLong)
                        } else {
                            socket.push(.data(Data(count: 1_001)))
                        }
                    }))
                let socket = await session(network).webSocket(
                    "ws://chat.example/", options: .init { $0.maximumMessageSize = 1_000 })
                let (messages, error) = await readAll(socket)
                #expect(messages == [.data(Data(count: 1_000))])
                #expect(error?.code == .messageTooLarge)
                #expect(await socket.closed.code == .messageTooBig)
                guard !isFoundByPlatform else { continue }
                let closes = try await network.socket().log.wait { !$0.closes.isEmpty }.closes
                #expect(closes.count == 1)
                guard case .close(code: 1009, _)? = closes.first else {
                    Issue.record("\(closes)")
                    continue
                }
            }
        }

        @Test("A slow reader holds back the server, and a slow server holds back senders")
        func backPressure() async throws {
            let network = FakeNetwork(
                FakeSocket.Server(start: { socket in
                    socket.holdSends(true)
                    socket.open()
                    for _ in 0..<1_000 { socket.push(.data(Data(count: 10_000))) }
                }))
            let socket = await session(network).webSocket(
                "ws://chat.example/",
                options: .init { ($0.receiveBufferSize, $0.sendBufferSize) = (50_000, 50_000) })
            let reader = socket.messages
            _ = try await socket.opened
            let accepted = Observed(0)
            let sender = Task {
                for number in 0..<200 {
                    try await socket.send(Data(repeating: UInt8(number), count: 10_000))
                    accepted.change { $0 += 1 }
                }
            }
            let fake = try await network.socket()
            try await accepted.wait { $0 >= 6 }
            try await fake.log.wait { $0.sent.count == 1 && $0.receives >= 20 }
            for _ in 0..<50 { await Task.yield() }
            #expect(accepted.value <= 12)  // the queue, and one buffer of the hop
            #expect(fake.log.value.receives < 60)  // the buffers of the hop and of the reader
            #expect(fake.log.value.sent.count == 1)
            fake.holdSends(false)
            try await sender.value
            var received = 0
            for try await message in reader {
                #expect(message == .data(Data(count: 10_000)))
                received += 1
                if received == 1_000 { break }
            }
            _ = await socket.closed
            let log = fake.log.value
            #expect(log.sent == (0..<200).map { .data(Data(repeating: UInt8($0), count: 10_000)) })
            #expect(log.faults == [])
        }
    }
#endif
