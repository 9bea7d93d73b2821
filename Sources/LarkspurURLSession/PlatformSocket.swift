/// A WebSocket of the platform. It performs the handshake itself and exchanges whole messages.
///
/// Each closure is called once, on any thread.
protocol PlatformSocket: AnyObject, Sendable {
    /// Starts the handshake.
    func resume()

    /// Sends a text or binary message. The closure is called when the system has taken it or the connection has ended.
    func send(_ message: SocketMessage, _ done: @escaping @Sendable ((any Error)?) -> Void)

    /// Waits for the next text or binary message.
    func receive(_ done: @escaping @Sendable (Result<SocketMessage, any Error>) -> Void)

    /// Sends a ping. The closure is called when the pong arrives or the connection has ended.
    func ping(_ done: @escaping @Sendable ((any Error)?) -> Void)

    /// Sends a close and begins to end the connection.
    func close(_ code: UInt16, _ reason: String)

    /// Ends the connection at once.
    func cancel()
}

#if canImport(Darwin)
    extension URLSessionWebSocketTask: PlatformSocket {
        func send(_ message: SocketMessage, _ done: @escaping @Sendable ((any Error)?) -> Void) {
            switch message {
            case .text(let text): send(.string(text), completionHandler: done)
            case .data(let data): send(.data(data), completionHandler: done)
            case .ping, .pong, .close: done(nil)
            }
        }

        func receive(_ done: @escaping @Sendable (Result<SocketMessage, any Error>) -> Void) {
            receive { result in
                done(
                    result.flatMap { message in
                        switch message {
                        case .string(let text): .success(.text(text))
                        case .data(let data): .success(.data(data))
                        @unknown default: .failure(URLError(.cannotParseResponse))
                        }
                    })
            }
        }

        func ping(_ done: @escaping @Sendable ((any Error)?) -> Void) { sendPing(pongReceiveHandler: done) }

        func close(_ code: UInt16, _ reason: String) {
            // The type is that of a C enumeration, which has any number as its value.
            cancel(with: CloseCode(rawValue: Int(code)) ?? .normalClosure, reason: Data(reason.utf8))
        }
    }

    extension URLSessionEvents: URLSessionWebSocketDelegate {
        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
        ) {
            hop(of: webSocketTask)?.didOpen(choosing: `protocol`, webSocketTask.response as? HTTPURLResponse)
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            let reason = reason.map { String(decoding: $0, as: UTF8.self) } ?? ""
            hop(of: webSocketTask)?.didClose(UInt16(clamping: closeCode.rawValue), reason)
        }
    }
#endif
