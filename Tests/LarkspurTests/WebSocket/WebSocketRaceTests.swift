import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Random orders of opening, sending, cutting, closing and cancelling. Every request has to end, and every caller has to
/// be answered.
@Suite("WebSockets: races", .limited)
struct WebSocketRaceTests {
    private static let workers = 8

    /// The behaviour of the server.
    private enum Fault: Int, CaseIterable, Sendable { case echo, close, cut, reset, garbage, silence, refuse }

    @Test("No order of opening, sending, cutting, closing and cancelling leaves a caller waiting")
    func races() async throws {
        let server = try MockServer(requestLimit: 10)
        server.on("GET", "/race") { request in
            let fault = Fault(rawValue: Int(request.query ?? "") ?? 0) ?? .echo
            guard fault != .refuse else { return .text("no", status: 503) }
            return .webSocket(answering: request) { socket in await Self.serve(socket, fault) }
        }
        let url = "ws" + server.url.dropFirst(4) + "/race?"
        var configuration = SessionConfiguration.bare
        configuration.retryBudget = nil  // an exhausted budget would make reconnections wait for long
        let session = Session(configuration: configuration)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    var random = SeededRandom(seed: UInt64(worker) + 1)
                    for _ in 0..<(rounds(400, nightly: 20_000) / Self.workers) {
                        await Self.play(session, url, &random)
                    }
                }
            }
        }
        await poll { await session.requests.isEmpty }
        try await server.wait { $0.connectionCount == 0 }
    }

    private static func serve(_ socket: MockWebSocket, _ fault: Fault) async {
        switch fault {
        case .echo: for await message in socket.messages { socket.send(message) }
        case .close:
            socket.send("a useful connection")  // so the client connects again until it closes
            socket.sendClose(.goingAway)
        case .cut: socket.cut()
        case .reset: socket.reset()
        case .garbage: socket.send(raw: Data([0xFF, 0xFF, 0xFF]))
        case .silence:
            socket.setReading(false)
            for _ in 0..<50 { await Task.yield() }
            socket.setReading(true)
        case .refuse: break
        }
        await socket.closed()
    }

    private static func play(_ session: Session, _ url: String, _ random: inout SeededRandom) async {
        let fault = Fault.allCases.randomElement(using: &random) ?? .echo
        let (sends, end, pause) = (
            Int.random(in: 0...4, using: &random), Int.random(in: 0...4, using: &random),
            Int.random(in: 0...30, using: &random)
        )
        let reconnects = Bool.random(using: &random)
        let socket = await session.webSocket(
            url + "\(fault.rawValue)",
            options: .init {
                $0.closeTimeout = .milliseconds(50)
                $0.compression = Bool.random() ? .deflate : nil
                guard reconnects else { return }
                $0.reconnection = .backoff(limit: 2)
                $0.reconnection?.backoff = .init(scale: .milliseconds(1))
                $0.reconnection?.maximumRetryAfter = .zero
            })
        async let read: Void = { do { for try await _ in socket.messages {} } catch {} }()
        async let written: Void = {
            for number in 0..<sends { try? await socket.send(String(repeating: "x", count: number * 100)) }
        }()
        for _ in 0..<pause { await Task.yield() }
        switch end {
        case 0: socket.cancel()
        case 1: try? await socket.close()
        case 2:
            let reader = Task { for try await _ in socket.messages {} }
            reader.cancel()
            _ = await reader.result
            try? await socket.close(.goingAway)
        case 3:
            _ = try? await socket.opened
            socket.cancel()
        default:
            async let closed: Void? = try? socket.close(.normal, reason: "done")
            socket.suspend()
            socket.resume()
            _ = await closed
        }
        _ = await (read, written)
        _ = await socket.closed
    }
}
