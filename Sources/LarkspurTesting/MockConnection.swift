internal import CLarkspur
import Larkspur

/// A connection of a `MockServer`: reads requests and sends responses, one after the other, and never blocks.
///
/// Only the server's thread uses a connection. After every event of the connection, that thread calls `advance()`,
/// which returns the event that the connection needs next.
final class MockConnection {
    enum Need {
        /// Data from the peer, or room to send data; `interest` says which of the two.
        case peer
        /// A call of `play(_:)` with the handler's response to this request.
        case answer(MockRequest, MockHandler)
        /// A call of `proceed()` after this time.
        case time(Duration)
        /// A call of `proceed()` after the closure has returned.
        case signal(@Sendable () async throws -> Void)
        /// A call of the handler with the WebSocket, in a task. The WebSocket's commands arrive through `write` and
        /// `end`.
        case webSocket(MockWebSocket, @Sendable (MockWebSocket) async throws -> Void)
        case close
    }

    private enum Phase {
        case reading
        /// Waiting for the handler, a time or a signal.
        case waiting
        case playing
        case stalled
        /// The bytes of both directions belong to the WebSocket.
        case webSocket
        /// The response is complete, and further bytes of the peer are read and discarded. If they stayed unread, the
        /// system would send a reset, which could arrive before the response.
        case lingering
        case ended
    }

    private static let pieceSize = 64 * 1024

    let descriptor: Int32
    /// The number of the connection in its server, counted from 1.
    let number: Int
    var watched: Int32 = 0
    /// The task that runs the handler or awaits the signal.
    var work: Task<Void, Never>?

    private let route: (MockRequest) -> MockRoute
    private var phase = Phase.reading
    private var parser = MockRequestParser()
    private var request: MockRequest?
    private var requests = 0
    private var handler: MockHandler?
    private var player: MockPlayer?
    /// The player's next action. It is performed when the bytes before it are written.
    private var action: MockPlayer.Action?
    private var pace: (bytes: Int, interval: Duration)?
    private var output: [UInt8] = []
    private var written = 0
    private var isBlocked = false
    private var socket: MockWebSocket?
    /// The receiver of a body that is delivered while the response is sent; nil if there is none, or it has ended.
    private var live: AsyncStream<Data>.Continuation?
    /// Whether the WebSocket reads, and whether the connection ends after the output.
    private var (readsSocket, endsSocket) = (true, false)

    init(descriptor: Int32, number: Int, route: @escaping (MockRequest) -> MockRoute) {
        self.descriptor = descriptor
        self.number = number
        self.route = route
    }

    /// The events that the poller waits for. Reading is also needed while a response is sent, because it detects that
    /// the peer has disconnected.
    var interest: Int32 {
        if phase == .webSocket {
            return Int32(readsSocket ? clarkspur_read : 0) | Int32(isBlocked ? clarkspur_write : 0)
        }
        let reads = phase == .lingering || (parser.buffered < Self.pieceSize && !parser.leavesInputUnread)
        return Int32(reads ? clarkspur_read : 0) | Int32(isBlocked ? clarkspur_write : 0)
    }

    func didBecomeReady(_ what: Int32, _ buffer: UnsafeMutableRawBufferPointer) {
        if what & Int32(clarkspur_write) != 0 { isBlocked = false }
        // A socket that is not watched for reading is ready to read only if the connection has ended.
        if phase == .webSocket, !readsSocket, what & Int32(clarkspur_read) != 0 { phase = .ended }
        guard what & watched & Int32(clarkspur_read) != 0 else { return }
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0, let socket {
            socket.receive(Data(buffer[..<count]))
        } else if count > 0, phase != .lingering {
            parser.append(buffer[..<count])
            readLiveBody()
        }
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { phase = .ended }
    }

    func play(_ response: MockResponse) {
        guard phase == .waiting else { return }
        player = MockPlayer(
            response, method: request?.method ?? "", keepsConnection: request?.keepsConnection ?? false)
        phase = .playing
    }

    // MARK: WebSockets

    func write(_ bytes: Data) { output += bytes }

    func setReading(_ reads: Bool) { readsSocket = reads }

    func endSocket(isReset: Bool) {
        endsSocket = true
        guard isReset else { return }
        clarkspur_loopback_reset_on_close(descriptor)
        phase = .ended
    }

    /// Tells the WebSocket that its connection has ended.
    func didEnd() {
        socket?.didEnd()
        live?.finish()
    }

    func proceed() { if phase == .waiting { phase = .playing } }

    func advance() -> Need {
        while true {
            switch phase {
            case .reading: if let need = flush() ?? readRequest() { return need }
            case .playing: if let need = flush() ?? playOn() { return need }
            case .webSocket:
                if let need = flush() { return need }
                return endsSocket ? .close : .peer
            case .waiting, .stalled, .lingering: return .peer
            case .ended: return .close
            }
        }
    }

    private func readRequest() -> Need? {
        switch parser.next() {
        case .nothing: return .peer
        case .head(let head):
            let route = route(head)
            parser.reading = route.reading
            handler = route.handler
            if head.expectsContinue, parser.buffered == 0, !route.reading.isHeadOnly {
                output += "HTTP/1.1 100 Continue\r\n\r\n".utf8
            }
            return route.reading.isLive ? beginLiveBody(of: head) : nil
        case .request(let request): return answer(request)
        case .broken(let reason):
            request = nil
            phase = .waiting
            play(.response(400, headers: ["Connection": "close"], chunks: [Data(reason.utf8)]))
            return nil
        }
    }

    private func answer(_ request: MockRequest) -> Need? {
        requests += 1
        var request = request
        request.connection = number
        request.number = requests
        self.request = request
        phase = .waiting
        return handler.map { .answer(request, $0) }
    }

    private func beginLiveBody(of head: MockRequest) -> Need? {
        var head = head
        (head.pieces, live) = AsyncStream.makeStream(of: Data.self)
        defer { readLiveBody() }
        return answer(head)
    }

    /// Delivers the bytes of a live body that have arrived.
    private func readLiveBody() {
        guard let live else { return }
        let found = parser.next()
        let piece = parser.takeBody()
        if !piece.isEmpty { live.yield(piece) }
        if case .nothing = found { return }
        live.finish()
        self.live = nil
    }

    /// Performs the pending action, because the bytes before it are written. If no action is pending, buffers about as
    /// many bytes of the response as the peer accepts at once.
    private func playOn() -> Need? {
        if let action = action.take() { return perform(action) }
        while output.count < Self.pieceSize, action == nil {
            guard let next = player?.next(&output) else { return nil }
            if case .proceed = next { continue }
            action = next
        }
        return nil
    }

    private func perform(_ action: MockPlayer.Action) -> Need? {
        switch action {
        case .proceed: return nil
        case .wait(let duration): return wait(.time(duration))
        case .pause(let closure): return wait(.signal(closure))
        case .drip(let bytes, let interval): pace = (bytes, interval)
        case .webSocket(let socket, let handler):
            self.socket = socket
            phase = .webSocket
            socket.receive(parser.takeRest())
            return .webSocket(socket, handler)
        case .stall: phase = .stalled
        case .close: phase = .ended
        case .reset:
            clarkspur_loopback_reset_on_close(descriptor)
            phase = .ended
        case .end where parser.leavesInputUnread || live != nil:
            shutdown(descriptor, Int32(SHUT_WR))
            phase = .lingering
        case .end(let keepsConnection):
            (player, pace) = (nil, nil)
            phase = keepsConnection ? .reading : .ended
        }
        return nil
    }

    private func wait(_ need: Need) -> Need {
        phase = .waiting
        return need
    }

    /// Writes the buffered bytes, at the response's pace. Returns nil when all bytes are written.
    private func flush() -> Need? {
        while written < output.count {
            let end = min(output.count, written + (pace?.bytes ?? .max - written))
            let count = output[written..<end].withUnsafeBytes {
                clarkspur_loopback_send(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                isBlocked = true
                return .peer
            }
            guard count >= 0 else { return .close }
            written += count
            if let pace { return wait(.time(pace.interval)) }
        }
        output.removeAll(keepingCapacity: true)
        written = 0
        return nil
    }
}
