/// A message or a control frame of a WebSocket.
package enum SocketMessage: Sendable, Equatable {
    case text(String)
    case data(Data)
    case ping(Data)
    case pong(Data)
    /// The code is 1005 if the close has none.
    case close(code: UInt16, reason: String)
}

/// A translator between the bytes of a WebSocket and its messages, for a transport whose platform sends and receives
/// whole messages.
///
/// The body of a request with `upgrades` consists of frames for the server, and the body of its response of frames from
/// the server (T26 in `Transport`). Such a transport takes the server's place at the end of these frames.
package protocol SocketTranslator: AnyObject, Sendable {
    /// The maximum size of a received message in bytes.
    var maximumMessageSize: Int { get }

    /// Returns the head of the response that accepts the request.
    ///
    /// - Parameters:
    ///   - name: The protocol that the server has chosen; nil if it has chosen none.
    ///   - fields: The fields of the server's own response.
    func head(choosing name: String?, _ fields: [HTTPHeader]) -> ResponseHead

    /// Parses the next bytes of the request's body.
    func messages(in bytes: UnsafeRawBufferPointer) throws -> [SocketMessage]

    /// Returns the frame of a server's message.
    func frame(of message: SocketMessage) -> Data

    /// The head of a frame for a message that is larger than allowed.
    var headOfTooLargeFrame: Data { get }
}
