/// Hops over a WebSocket of the platform (T26 in `Transport`).
///
/// The platform performs its own handshake and frames its own messages. To the framework, the hop plays the server: it
/// answers the request's handshake, reads the frames of the request's body, and delivers frames with the messages that
/// the platform receives.
extension URLSessionHop {
    /// The fields that the platform sets itself.
    private static let platformFields = [
        "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Extensions",
    ]
    /// The fields about the body of a response, which the platform does not deliver.
    private static let bodyFields: Set<String> = ["content-length", "content-encoding", "transfer-encoding"]
    /// The number of bytes of the request's body that are read at a time.
    private static let pieceSize = 64 << 10

    func startSocket(_ request: URLRequest, _ limit: Int, in session: PlatformSession) {
        // The platform accepts the schemes ws and wss only.
        guard let url = request.url.flatMap({ URL(string: "ws" + $0.absoluteString.dropFirst("http".count)) }) else {
            return end(TransportError(.other, "URLSession cannot send a request to this URL"))
        }
        var request = request
        request.url = url
        #if canImport(Darwin)
            request.assumesHTTP3Capable = false  // URLSession opens WebSockets over TCP
        #endif
        for name in Self.platformFields { request.setValue(nil, forHTTPHeaderField: name) }
        // The platform's limit is larger, so that a message of exactly the limit is received.
        let room = limit == .max ? limit : limit + 1
        guard let socket = transport.socket(for: request, maximumMessageSize: room, in: session, self) else { return }
        guard box.withLock({ $0.didCreate(socket, in: session) }) else { return socket.cancel() }
        socket.resume()
        setTimer()
    }

    // MARK: Facts

    /// Handles the success of the handshake.
    func didOpen(choosing name: String?, _ response: HTTPURLResponse?) {
        guard !hasUnjudgedServer(), let translator, case .stream(let source) = request.body else { return }
        let head = translator.head(choosing: name, response.map { ResponseHead($0).fields } ?? [])
        guard box.withLock({ $0.didOpen(head) }) else { return }
        deliver()
        guard let body = open(source.open(), length: nil) else { return }
        body.whenReady { [weak self] in self?.bodyMayHaveBytes() }
        bodyMayHaveBytes()
    }

    private func bodyMayHaveBytes() {
        box.withLock { $0.socket?.bodyMayHaveBytes() }
        work()
    }

    /// Handles the server's close.
    func didClose(_ code: UInt16, _ reason: String) {
        // These codes stand for a connection that was lost. The end of the task has the error.
        guard code != 1_006, code != 1_015, let translator else { return }
        let frame = translator.frame(of: .close(code: code, reason: reason))
        box.withLock { $0.didClose(frame) }
        deliver()
    }

    private func didReceive(_ result: Result<SocketMessage, any Error>) {
        guard let translator else { return }
        switch result {
        case .success(let message):
            let frame = translator.frame(of: message)
            box.withLock { state in
                state.socket?.didReceive()
                _ = state.didReceive(frame)
            }
        case .failure(let error):
            let head = (error as? POSIXError)?.code == .EMSGSIZE ? translator.headOfTooLargeFrame : Data()
            box.withLock { $0.didReceiveAll(head) }
        }
        deliver()
    }

    /// Handles the end of the platform's task.
    ///
    /// - Parameter response: The server's response to the handshake, if the task has one.
    func socketDidComplete(_ error: (any Error)?, _ response: HTTPURLResponse?) {
        var failure: TransportError?
        if box.withLock({ $0.isOpenSocket }) {
            failure = error.map {
                let message = "the connection was lost: \(($0 as NSError).localizedDescription)"
                return TransportError(.connectionLost, message, phase: .receiving, underlying: $0)
            }
        } else if let response, response.statusCode >= 200 {
            guard !hasUnjudgedServer() else { return }
            refuse(response)
        } else if response?.statusCode == 101 {
            let message = "the server's response to the WebSocket handshake is not valid"
            failure = TransportError(.protocolViolation, message, phase: .waiting, underlying: error)
        } else {
            failure = error.map { TransportError($0, hasHead: false) }
        }
        guard let remains = box.withLock({ $0.socketDidComplete(failure) }) else { return }
        remains.body?.end()
        deliver()
    }

    /// Adds the head of a response that does not switch protocols. URLSession does not deliver its body.
    private func refuse(_ response: HTTPURLResponse) {
        let head = ResponseHead(response)
        let fields = head.fields.filter { !Self.bodyFields.contains($0.name.lowercased()) }
        _ = box.withLock { $0.didReceive(ResponseHead(status: head.status, fields: fields)) }
    }

    // MARK: Work

    /// Calls functions of the platform until a fact has to come first. One thread at a time does this, so that messages
    /// keep their order.
    func work() {
        guard box.withLock({ $0.beginWork() }) else { return }
        transport.commands.async { [self] in
            while let (command, socket) = box.withLock({ $0.nextCommand() }) { perform(command, socket) }
        }
    }

    private func perform(_ command: SocketState.Command, _ socket: any PlatformSocket) {
        switch command {
        case .receive: socket.receive { [weak self] in self?.didReceive($0) }
        case .read: read()
        case .send(let message):
            socket.send(message) { [weak self] error in
                self?.box.withLock { $0.socket?.didSend(error) }
                self?.work()
            }
        case .ping(let payload):
            socket.ping { [weak self] error in if error == nil { self?.didReceivePong(payload) } }
        case .close(let code, let reason): socket.close(code, reason)
        case .end: endBody()
        }
    }

    private func didReceivePong(_ payload: Data) {
        guard let frame = translator?.frame(of: .pong(payload)), box.withLock({ $0.didReceive(frame) }) else { return }
        deliver()
    }

    private func read() {
        guard let body = box.withLock({ $0.body }), let translator else { return }
        withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 16) { buffer in
            switch body.read(into: buffer) {
            case .count(let count):
                do {
                    let messages = try translator.messages(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    box.withLock { $0.didRead(count, messages) }
                } catch {
                    end(.bodyFailed("the bytes to send are no frames of a WebSocket", error))
                }
            case .end: box.withLock { $0.socket?.bodyDidEnd() }
            case .pending, .failed: break
            }
        }
    }

    private func endBody() {
        guard let (remains, isClosing) = box.withLock({ $0.endBody() }) else { return }
        // After a close, the system ends the connection. A cancel might overtake the close.
        if isClosing { remains.body?.end() } else { drop(remains) }
        deliver()
    }
}

extension HopState {
    var isOpenSocket: Bool { socket?.isOpen == true }

    mutating func didCreate(_ platform: any PlatformSocket, in session: PlatformSession) -> Bool {
        guard isOpen else { return false }
        self.session = session
        socket?.didCreate(platform)
        return true
    }

    mutating func didOpen(_ head: ResponseHead) -> Bool {
        guard isOpen, socket?.didOpen() == true else { return false }
        return didReceive(head)
    }

    mutating func didClose(_ frame: Data) {
        socket?.didClose(frame)
        addClose()
    }

    /// Notes that no further message can be received.
    ///
    /// - Parameter rest: The last bytes to deliver, if any.
    mutating func didReceiveAll(_ rest: Data) {
        guard socket?.hasReceivedAll == false else { return }
        socket?.didReceiveAll()
        _ = didReceive(rest)
        addClose()
    }

    private mutating func addClose() {
        if let frame = socket?.takeClose() { _ = didReceive(frame) }
    }

    mutating func socketDidComplete(_ error: TransportError?) -> Remains? {
        didReceiveAll(Data())
        return didComplete(socket?.hasClosed == true ? nil : error)
    }

    mutating func didRead(_ count: Int, _ messages: [SocketMessage]) {
        socket?.didRead(messages)
        addSent(UInt64(count))
    }

    /// Ends the hop at the end of the request's body. Returns nil if it has ended, else whether a close was exchanged.
    mutating func endBody() -> (Remains, isClosing: Bool)? {
        let isClosing = socket?.isClosing == true
        return end(nil).map { ($0, isClosing) }
    }

    // MARK: Work

    /// Returns whether the caller carries out commands.
    mutating func beginWork() -> Bool {
        guard isOpenSocket, isOpen, !isSuspended, socket?.isWorking == false else { return false }
        socket?.isWorking = true
        return true
    }

    /// Returns the next command; nil ends the work.
    mutating func nextCommand() -> (SocketState.Command, any PlatformSocket)? {
        let mayReceive = mayReceive
        guard isOpen, !isSuspended, let platform = socket?.platform,
            let command = socket?.next(mayReceive: mayReceive)
        else {
            socket?.isWorking = false
            return nil
        }
        return (command, platform)
    }
}
