import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurWebSocket

/// The session treats a handshake like any other request. Reconnection follows its own rules.
@Suite("WebSockets: handshake and reconnection", .limited)
struct WebSocketSessionTests {
    private let clock = ManualClock()
    private let requests = Protected<[TransportRequest]>([])

    private static let echo: @Sendable (MockWebSocket) async throws -> Void = { socket in
        for await message in socket.messages { socket.send(message) }
    }

    /// A session over a stub. The closure gets each handshake with its number, from 1, and answers it; nil accepts it as
    /// an echo.
    private func session(
        _ interceptor: (any RequestInterceptor)? = nil,
        _ answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer?
    ) -> Session {
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.random = RandomSource { .max }
        }
        let stub = StubTransport { [requests] request in
            let number = requests.withLock { requests in
                requests.append(request)
                return requests.count
            }
            return answer(request, number) ?? .webSocket(answering: request, handler: Self.echo)
        }
        return Session(configuration: configuration, transport: stub, interceptor: interceptor)
    }

    private func exchange(_ socket: WebSocketRequest) async throws {
        try await socket.send("hello")
        for try await message in socket.messages(automaticallyClosing: false) {
            #expect(message == .text("hello"))
            break
        }
    }

    private func fields(_ name: String) -> [String?] {
        requests.withLock { $0.map { HTTPHeaders($0.fields.map { HTTPHeader(name: $0.name, value: $0.value) })[name] } }
    }

    @Test("A token that the server no longer accepts is refreshed, and the handshake is repeated")
    func refreshed() async throws {
        let token = Protected("old")
        let interceptor = Interceptor(
            adapt: { request, _ in request.headers["Authorization"] = "Bearer " + token.withLock { $0 } },
            retry: { _, _, error in
                guard error.statusCode == 401 else { return .doNotRetry }
                token.withLock { $0 = "new" }
                return .retry
            })
        let socket = await session(interceptor) { _, number in number == 1 ? .text("no", status: 401) : nil }
            .webSocket("wss://api.example.com/")
        try await exchange(socket)
        #expect(fields("Authorization") == ["Bearer old", "Bearer new"])
        #expect(Set(fields("Sec-WebSocket-Key")).count == 2, "each handshake has its own key")
        try await socket.close()
    }

    @Test("Cookies of a refused handshake go with the next one, and redirects are followed")
    func cookiesAndRedirects() async throws {
        let session = session { request, number in
            switch number {
            case 1:
                .response(302, headers: ["Location": "wss://example.com/room?a=b", "Set-Cookie": "id=7; Path=/"])
            case 2: nil
            default: .text("unexpected", status: 500)
            }
        }
        let socket = await session.webSocket("wss://example.com/")
        try await exchange(socket)
        #expect(fields("Cookie") == [nil, "id=7"])
        #expect(requests.withLock { $0.last?.url.description } == "https://example.com/room?a=b")
        try await socket.close()
    }

    @Test(
        "The names of subprotocols, which may be tokens, follow a redirect of the handshake only within the origin",
        arguments: [("wss://example.com/b", "chat, token.1"), ("wss://other.example/b", nil)])
    func subprotocols(location: String, expected: String?) async throws {
        let session = session { _, number in
            number == 1 ? .response(302, headers: ["Location": location]) : nil
        }
        let socket = await session.webSocket("wss://example.com/", protocols: ["chat", "token.1"])
        try await exchange(socket)
        #expect(fields("Sec-WebSocket-Protocol") == ["chat, token.1", expected])
        try await socket.close()
    }

    @Test("The total limit ends with the opening")
    func total() async throws {
        let session = session { _, _ in nil }
        let socket = await session.webSocket(
            "wss://example.com/", requestModifier: { $0.options.timeouts.total = .seconds(5) })
        try await exchange(socket)
        clock.advance(by: .seconds(60))
        try await exchange(socket)
        try await socket.close()
        let stalled = await self.session { _, _ in StubAnswer([.stall]) }
            .webSocket("wss://example.com/", requestModifier: { $0.options.timeouts.total = .seconds(5) })
        async let error = #expect(throws: RequestError.self) { try await stalled.opened }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await error?.isTimeout == true)
    }

    @Test("A refused handshake is repeated after its Retry-After")
    func retryAfter() async throws {
        let session = session { _, number in
            number == 1 ? .response(503, headers: ["Retry-After": "7"]) : nil
        }
        let socket = await session.webSocket(
            "wss://example.com/", options: .init { $0.reconnection = .backoff(limit: 3) })
        async let opened = socket.opened
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(6_999))
        #expect(requests.withLock { $0.count } == 1)
        clock.advance(by: .milliseconds(1))
        #expect(try await opened.status == 101)
        try await socket.close()
    }

    @Test(
        "After a close, the request connects again only for codes of the rules",
        arguments: [(WebSocketCloseCode.policyViolation, false), (.serviceRestart, true), (.normal, false)])
    func codes(code: WebSocketCloseCode, reconnects: Bool) async throws {
        let session = session { request, number in
            number > 1 ? nil : .webSocket(answering: request) { await $0.close(code) }
        }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: .init {
                $0.reconnection = .backoff(limit: 3)
                $0.reconnection?.backoff = .init(scale: .zero)
            })
        if reconnects {
            socket.resume()
            await poll { socket.state == .open && requests.withLock { $0.count } == 2 }
            try await exchange(socket)
            try await socket.close()
        } else {
            #expect(await socket.closed.code == code)
        }
        #expect(requests.withLock { $0.count } == (reconnects ? 2 : 1))
    }

    @Test("After a lost connection, the request connects again only if the rules have 1006", arguments: [false, true])
    func lost(reconnects: Bool) async throws {
        let session = session { request, number in
            .webSocket(answering: request) { socket in
                guard number == 1 else { return await socket.close(.normal) }
                for await _ in socket.messages { break }
                socket.cut()
                await socket.closed()
            }
        }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: .init {
                var rules = WebSocketReconnection.backoff(limit: 3)
                rules.backoff = .init(scale: .zero)
                if !reconnects { rules.closeCodes.remove(.abnormal) }
                $0.reconnection = rules
            })
        try await socket.send("now")
        #expect(await socket.closed.code == (reconnects ? .normal : .abnormal))
        #expect(requests.withLock { $0.count } == (reconnects ? 2 : 1))
    }

    @Test("Reconnections in a row have a limit, and the last error ends the request")
    func limit() async throws {
        let session = session { _, _ in .failure(.connectionRefused) }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: .init {
                $0.reconnection = .backoff(limit: 3)
                $0.reconnection?.backoff = .init(scale: .zero)
            })
        let error = await #expect(throws: RequestError.self) { try await socket.opened }
        #expect(error?.code == .connectionRefused)
        #expect(requests.withLock { $0.count } == 4)
    }

    /// Returns a session whose first connection reads nothing, and is cut when the gate opens. Messages of the next
    /// connections go to the closure.
    private func session(
        cutAt gate: Gate, _ receive: @escaping @Sendable (WebSocketMessage) -> Void
    ) -> Session {
        session { request, number in
            .webSocket(answering: request, compression: nil) { socket in
                guard number == 1 else {
                    for await message in socket.messages { receive(message) }
                    return
                }
                socket.setReading(false)
                socket.send("ready")
                await gate.pass()
                socket.cut()
                await socket.closed()
            }
        }
    }

    @Test("A message that waits for room fails with the connection, and later ones are sent over the next one")
    func waitingSender() async throws {
        let (gate, arrivals) = (Gate(), Counter())
        let session = session(cutAt: gate) { _ in arrivals.increment() }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: .init {
                ($0.sendBufferSize, $0.compression) = (1_000, nil)
                $0.reconnection = .backoff(limit: 3)
                $0.reconnection?.backoff = .init(scale: .zero)
                $0.reconnection?.unsentMessages = .fail
            })
        for try await _ in socket.messages(automaticallyClosing: false) { break }
        try await socket.send(Data(count: 2_000))
        let waiting = Task { try await socket.send(Data(count: 2_000)) }
        await poll { !socket.socket.link.withLock { $0.senders.isEmpty } }
        gate.open()
        await #expect(throws: RequestError.self) { try await waiting.value }
        await poll { requests.withLock { $0.count } == 2 && socket.state == .open }
        try await socket.send("third")
        await arrivals.reached(1)
        try await socket.close()
    }

    @Test("Messages that were not sent are told by the next send and by an event, or kept", arguments: [false, true])
    func unsent(keeps: Bool) async throws {
        let (gate, arrivals) = (Gate(), Counter())
        let received = Protected<[WebSocketMessage]>([])
        let recorder = EventRecorder()
        let session = session(cutAt: gate) { message in
            received.withLock { $0.append(message) }
            arrivals.increment()
        }.extending { $0.eventMonitors = [recorder] }
        let socket = await session.webSocket(
            "wss://example.com/",
            options: .init {
                $0.reconnection = .backoff(limit: 3)
                $0.reconnection?.backoff = .init(scale: .zero)
                $0.reconnection?.unsentMessages = keeps ? .keep(upTo: 1_000) : .fail
            })
        for try await _ in socket.messages(automaticallyClosing: false) { break }
        try await socket.send("first")
        gate.open()
        await poll { requests.withLock { $0.count } == 2 && socket.state == .open }
        if !keeps {
            let error = await #expect(throws: RequestError.self) { try await socket.send("second") }
            #expect(error?.code == .messagesNotSent)
        }
        try await socket.send("third")
        await arrivals.reached(keeps ? 2 : 1)
        try await socket.close()
        #expect(received.withLock { $0 } == (keeps ? [.text("first"), .text("third")] : [.text("third")]))
        await recorder.wait { $0.contains { $0.name == "finish" } }
        let drops = recorder.events.filter { if case .webSocket(.dropMessages(1)) = $0 { true } else { false } }
        #expect(drops.count == (keeps ? 0 : 1))
    }
}
