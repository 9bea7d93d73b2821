#if Foundation || canImport(Darwin)
    extension RequestError {
        /// The code of `URLError` for this failure; nil if it has none, for example for a status that
        /// a validator rejects.
        ///
        ///     if error.urlErrorCode == .notConnectedToInternet || error.isConnectivity { showOffline() }
        ///
        /// For code that compares the codes of `URLError`. ``code-swift.property`` tells more failures apart.
        public var urlErrorCode: URLError.Code? { Self.urlErrorCodes[code] }

        private static let urlErrorCodes: [Code: URLError.Code] = [
            .invalidURL: .badURL, .cancelled: .cancelled, .timedOut: .timedOut, .nameLookup: .cannotFindHost,
            .connectionRefused: .cannotConnectToHost, .proxyFailed: .cannotConnectToHost,
            .unreachable: .notConnectedToInternet, .connectionLost: .networkConnectionLost,
            .proxyUnauthorized: .userAuthenticationRequired, .handshake: .secureConnectionFailed,
            .tlsVersion: .secureConnectionFailed, .notTLS: .secureConnectionFailed,
            .untrusted: .serverCertificateUntrusted, .selfSigned: .serverCertificateUntrusted,
            .wrongHost: .serverCertificateUntrusted, .pinMismatch: .serverCertificateUntrusted,
            .certificateRevoked: .serverCertificateUntrusted, .certificateStatusUnknown: .serverCertificateUntrusted,
            .weakCertificateKey: .serverCertificateUntrusted, .weakCertificateDigest: .serverCertificateUntrusted,
            .unknownIssuer: .serverCertificateHasUnknownRoot, .certificateExpired: .serverCertificateHasBadDate,
            .certificateNotYetValid: .serverCertificateNotYetValid, .invalidIdentity: .clientCertificateRejected,
            .protocolViolation: .badServerResponse, .truncated: .networkConnectionLost,
            .unexpectedRange: .badServerResponse, .webSocketHandshakeFailed: .badServerResponse,
            .undecodableContent: .cannotDecodeContentData, .unsupportedCoding: .cannotDecodeRawData,
            .contentTooLarge: .dataLengthExceedsMaximum, .bodyNotReplayable: .requestBodyStreamExhausted,
            .tooManyRedirects: .httpTooManyRedirects, .redirectLoop: .httpTooManyRedirects,
            .notCached: .resourceUnavailable, .fileMissing: .fileDoesNotExist, .fileIsDirectory: .fileIsDirectory,
            .fileUnreadable: .noPermissionsToReadFile, .fileExists: .cannotCreateFile,
            .fileUnwritable: .cannotWriteToFile, .diskFull: .cannotWriteToFile,
        ]
    }
#endif
