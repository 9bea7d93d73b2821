extension TransportError {
    /// Creates the error for a failure of `URLSession`.
    ///
    /// - Parameter hasHead: Whether the response's head had arrived.
    package init(_ error: any Error, hasHead: Bool) {
        let code = (error as? URLError)?.code
        self.init(
            code.map { Self.code(for: $0, hasHead: hasHead) } ?? .other,
            "URLSession: \((error as NSError).localizedDescription)",
            phase: hasHead ? .receiving : code.flatMap { Self.phases[$0] }, underlying: error)
    }

    private static func code(for code: URLError.Code, hasHead: Bool) -> Code {
        if code == .networkConnectionLost { return hasHead ? .truncated : .connectionLost }
        return codes[code] ?? .other
    }

    private static let codes: [URLError.Code: Code] = [
        .cannotFindHost: .nameLookup, .dnsLookupFailed: .nameLookup,
        .cannotConnectToHost: .connectionRefused,
        .notConnectedToInternet: .unreachable, .internationalRoamingOff: .unreachable,
        .dataNotAllowed: .unreachable, .callIsActive: .unreachable,
        .timedOut: .timedOut,
        // A cancel by the hop's user ends the hop earlier. The system reports this code if several requests wait for
        // one handshake and the server was refused for one of them.
        .cancelled: .connectionLost,
        .secureConnectionFailed: .handshake, .clientCertificateRequired: .handshake,
        .clientCertificateRejected: .handshake,
        .serverCertificateUntrusted: .untrusted, .serverCertificateHasBadDate: .certificateExpired,
        .serverCertificateHasUnknownRoot: .unknownIssuer, .serverCertificateNotYetValid: .certificateNotYetValid,
        .badServerResponse: .protocolViolation, .cannotParseResponse: .protocolViolation,
        .zeroByteResource: .protocolViolation, .cannotDecodeRawData: .protocolViolation,
        .cannotDecodeContentData: .protocolViolation,
        .dataLengthExceedsMaximum: .contentTooLarge,
        .requestBodyStreamExhausted: .bodyNotReplayable,
    ]

    private static let phases: [URLError.Code: Phase] = [
        .cannotFindHost: .nameLookup, .dnsLookupFailed: .nameLookup, .cannotConnectToHost: .connecting,
        .secureConnectionFailed: .securing, .clientCertificateRequired: .securing,
        .clientCertificateRejected: .securing, .serverCertificateUntrusted: .securing,
        .serverCertificateHasBadDate: .securing, .serverCertificateHasUnknownRoot: .securing,
        .serverCertificateNotYetValid: .securing, .requestBodyStreamExhausted: .sending,
        .badServerResponse: .waiting, .cannotParseResponse: .waiting, .networkConnectionLost: .waiting,
        .timedOut: .waiting, .cancelled: .securing,
    ]
}
