#if Foundation || canImport(Darwin)
    extension RequestError: CustomNSError {
        /// The domain of the `NSError`s that are created from request errors.
        public static var errorDomain: String { "Larkspur.RequestError" }

        /// The number of the error's code, which is the same in all versions of the library. Custom codes have numbers
        /// from 10,000 upwards, computed from their names.
        public var errorCode: Int { Self.numbers[code] ?? Self.number(ofName: code.rawValue) }

        public var errorUserInfo: [String: Any] {
            var info: [String: Any] = [NSLocalizedDescriptionKey: errorDescription ?? description]
            info[NSLocalizedFailureReasonErrorKey] = failureReason
            info[NSLocalizedRecoverySuggestionErrorKey] = recoverySuggestion
            info[NSUnderlyingErrorKey] = underlying.map { $0 as NSError }
            return info
        }

        /// Returns a number computed from the FNV-1a hash of the name. Unlike Swift's `hashValue`, the number is the
        /// same in every process.
        private static func number(ofName name: String) -> Int {
            let hash = name.utf8.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
            return 10_000 + Int(hash & 0x3FFF_FFFF)
        }

        /// The numbers by which crash reporters and Objective-C code identify errors. Never change or reuse a number.
        private static let numbers: [Code: Int] = [
            // Building and adapting
            .invalidURL: 101, .invalidRequest: 102, .bodyInGETRequest: 103, .invalidCredential: 104,
            .invalidCookie: 105,
            .encodingFailed: 106, .requestCreationFailed: 107, .adaptationFailed: 108,
            // Files
            .invalidFileURL: 201, .fileMissing: 202, .fileIsDirectory: 203, .fileNotRegular: 204, .fileUnreadable: 205,
            .fileExists: 206, .fileUnwritable: 207, .diskFull: 208, .fileInUse: 209, .invalidCookieFile: 210,
            .invalidChecksum: 211, .invalidCertificate: 212, .invalidPin: 213,
            .invalidHSTSFile: 214,
            // Sending
            .cancelled: 301, .transportUnavailable: 302, .sessionInvalidated: 303, .nameLookup: 304,
            .connectionRefused: 305, .unreachable: 306, .proxyFailed: 307, .proxyUnauthorized: 308,
            .connectionLost: 309,
            .timedOut: 310, .handshake: 311, .tlsVersion: 312, .invalidIdentity: 313, .protocolViolation: 314,
            .truncated: 315, .bodyFailed: 316, .bodyNotReplayable: 317, .notTLS: 318, Code(.invalidProxy): 319,
            .tooManyOpenFiles: 320, .notCached: 321, .overloaded: 322, .rateLimited: 323, .invalidLimit: 324,
            Code(.other): 399,
            // Trust
            .untrusted: 401, .certificateExpired: 402, .certificateNotYetValid: 403, .unknownIssuer: 404,
            .selfSigned: 405,
            .certificateRevoked: 406, .certificateStatusUnknown: 407, .pinMismatch: 408, .wrongHost: 409,
            .weakCertificateKey: 410, .weakCertificateDigest: 411,
            // Receiving
            .contentTooLarge: 501, .messageTooLarge: 502, .incompleteMessage: 503, .malformedMessage: 504,
            .undecodableContent: 505, .unsupportedCoding: 506, .checksumMismatch: 507, .unexpectedRange: 508,
            .receivingFailed: 509, .alreadyIterated: 510, .alreadyStarted: 511, .webSocketHandshakeFailed: 521,
            .webSocketViolation: 522, .webSocketClosed: 523, .messagesNotSent: 524,
            // Resumable uploads, middleware, redirects
            .fileChanged: 601, .uploadURLRefused: 602, .uploadInconsistent: 603, .uploadStalled: 604, .uploadGone: 605,
            .middlewareFailed: 611, .nextRefused: 612, .circuitOpen: 613, .tooManyRedirects: 621, .redirectLoop: 622,
            .redirectRefused: 623,
            // Background transfers
            .invalidIdentifier: 631, .identifierInUse: 632, .invalidTransferRecord: 633, .unsupportedInBackground: 634,
            // Groups and pages
            .foreignRequest: 641, .dependencyCycle: 642, .dependencyFailed: 643, .pageRefused: 644, .pageLoop: 645,
            .tooManyPages: 646,
            // Validating and serializing
            .unacceptableStatus: 701, .unacceptableContentType: 702, .validationFailed: 703, .emptyBody: 704,
            .invalidText: 705, .invalidJSON: 706, .invalidXML: 707, .invalidImage: 708, .decodingFailed: 709,
            .serializationFailed: 710, .serializerAwaitsItself: 711,
            // Ending
            .retryFailed: 801, .sessionEnded: 802,
        ]
    }
#endif
