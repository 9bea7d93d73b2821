/// Explanations of the error messages of TLS libraries. A message such as `error:0A00010B:SSL routines::wrong version
/// number` alone helps few readers.
enum TLSFailure {
    /// Returns whether the peer answered a TLS handshake with bytes that are not TLS. Usually such a port is for plain
    /// text.
    static func isPlainText(_ message: String) -> Bool { contains(message, oneOf: plainText) }

    static func isVersion(_ message: String) -> Bool { contains(message, oneOf: versions) }

    /// Returns an explanation followed by the library's message, for which users can search. If there is no
    /// explanation, returns only the message.
    ///
    /// - Parameter peer: The end that failed: the server or the proxy.
    static func explained(_ message: String, peer: String) -> String {
        guard contains(message, oneOf: ["SSL", "TLS", "OpenSSL", "gnutls"]),
            let words = meanings.first(where: { contains(message, oneOf: $0.signs) })?.words
        else { return message }
        return "\(words.replacing("PEER", with: peer)) (\(message))"
    }

    private static let plainText = ["wrong version number", "packet length too long", "unexpected TLS packet"]
    private static let versions = ["alert protocol version", "unsupported protocol", "no protocols available"]

    /// The explanations, each with the texts that identify a message. The first entry with a text that occurs in the
    /// message is used.
    private static let meanings: [(signs: [String], words: String)] = [
        (
            plainText,
            "PEER does not speak TLS on this port, it answered in plain text; use the port for TLS, or a URL with http://"
        ),
        (versions, "PEER and this client have no version of TLS in common; check the configuration's versions of TLS"),
        (
            ["alert handshake failure"],
            "PEER refused the TLS handshake: it accepts none of the ciphers offered, or requires a client certificate"
        ),
        (["certificate required"], "PEER requires a client certificate"),
        (
            [
                "alert bad certificate", "alert unsupported certificate", "alert certificate revoked",
                "alert certificate expired", "alert certificate unknown", "alert unknown ca", "alert decrypt error",
            ],
            "PEER refused the client's certificate"
        ),
        (["unrecognized name"], "PEER does not know this host name, and so has no certificate for it"),
        (["no application protocol"], "PEER speaks none of the protocols offered, HTTP/1.1 and HTTP/2 (ALPN)"),
        (["alert access denied"], "PEER refused access in the TLS handshake"),
        (["alert insufficient security"], "PEER requires stronger ciphers than those offered"),
        (["alert internal error"], "PEER failed in the TLS handshake with an error of its own"),
        (["bad record mac"], "TLS data arrived damaged: a device on the way, or PEER, changes it"),
        (
            ["unsafe legacy renegotiation"],
            "PEER supports only the insecure renegotiation of TLS, which is refused; it needs an update"
        ),
        (["unexpected eof"], "PEER closed the connection without the end that TLS requires"),
        (["SSL_ERROR_SYSCALL", "Connection reset by peer"], "PEER closed the connection while TLS was in use"),
    ]

    private static func contains(_ message: String, oneOf signs: [String]) -> Bool {
        signs.contains { message.contains($0) }
    }
}
