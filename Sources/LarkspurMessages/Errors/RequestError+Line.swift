// The parts of an error's line that depend on its code: the part of the exchange that failed, and a remedy.

extension RequestError {
    /// The beginning of the line: the part of the exchange that failed.
    ///
    /// The stage ``Stage/sending`` is the whole exchange. So for many codes "sending failed" would mislead: the request
    /// was not sent at all, or it was sent, and the response could not be received.
    package var opening: String {
        if responseHead?.status == 101 { return "the WebSocket failed" }
        if stage == .sending, let own = Self.openings.first(where: { $0.codes.contains(code) }) { return own.text }
        if let stage { return "\(stage.rawValue) failed" }
        return Self.codesOfBackground.contains(code) ? "the background transfer failed" : "the request failed"
    }

    /// The remedy for the failure, if its message has none; nil if no remedy is known.
    var cure: String? { Self.cures.first { $0.codes.contains(code) }?.text }

    private static let openings: [(codes: Set<Code>, text: String)] = [
        ([.circuitOpen, .notCached, .overloaded, .rateLimited, .invalidLimit], "the request was not sent"),
        ([.tooManyRedirects, .redirectLoop, .redirectRefused], "following a redirect failed"),
        (
            [
                .truncated, .undecodableContent, .unsupportedCoding, .contentTooLarge, .checksumMismatch,
                .unexpectedRange, .receivingFailed, .diskFull, .fileExists, .fileInUse, .fileIsDirectory,
                .fileNotRegular, .fileUnwritable, .incompleteMessage, .malformedMessage, .messageTooLarge,
            ],
            "receiving the response failed"
        ),
    ]

    #if canImport(Darwin)
        private static let trusting = "add the authority's certificate to the keychain of this device"
    #else
        private static let trusting =
            "name the authority's certificate in CurlTransport.Configuration.certificateAuthorities"
    #endif

    private static let cures: [(codes: Set<Code>, text: String)] = [
        ([.unknownIssuer, .selfSigned], "if you trust the authority that issued the certificate, \(trusting)"),
        ([.wrongHost], "use a host name of the certificate in the URL, or a certificate for this host on the server"),
        (
            [.certificateExpired, .certificateNotYetValid],
            "renew the server's certificate, or correct the clock of this machine"
        ),
        ([.diskFull], "free space there, or choose another place"),
        ([.fileExists], "the download option .removePreviousFile replaces it"),
        ([.proxyUnauthorized], "give the proxy's URL a user and a password that the proxy accepts"),
    ]

    private static let codesOfBackground: Set<Code> = [
        .invalidIdentifier, .identifierInUse, .unsupportedInBackground, .invalidTransferRecord,
    ]
}
