/// The change to another protocol that a hop asks the server for, such as the handshake of a WebSocket.
///
/// All values are equal, because options are compared without regard to the bytes of one attempt.
package struct ProtocolUpgrade: Sendable, Hashable {
    /// Adds to the transport's request what the other protocol needs (T26 in `Transport`).
    let apply: @Sendable (inout TransportRequest) -> Void
    /// Returns the URL with an HTTP scheme in place of the other protocol's. A redirect may name the latter.
    package let httpURL: @Sendable (RequestURL) -> RequestURL

    package init(
        httpURL: @escaping @Sendable (RequestURL) -> RequestURL,
        apply: @escaping @Sendable (inout TransportRequest) -> Void
    ) {
        (self.apply, self.httpURL) = (apply, httpURL)
    }

    package static func == (lhs: ProtocolUpgrade, rhs: ProtocolUpgrade) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}
