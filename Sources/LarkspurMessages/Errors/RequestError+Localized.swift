/// Texts that an app can show to its users. In contrast, ``RequestError/description`` is for logs and developers.
extension RequestError: LocalizedError {
    /// A sentence in English for the user of an app. It says what failed, without codes, stages and URLs. If the
    /// underlying error is a `LocalizedError`, such as the error of a custom validator, its description is used.
    public var errorDescription: String? {
        if let own = underlying as? any LocalizedError, !(own is RequestError), let words = own.errorDescription {
            return words
        }
        switch code {
        case .unacceptableStatus: return Self.sentence(forStatus: statusCode)
        case _ where isTrust: return "The identity of the server could not be verified."
        default: return Self.sentences.first { $0.codes.contains(code) }?.text ?? stageSentence ?? message
        }
    }

    /// The reason in one line: the server's ``APIProblem`` if it was decoded, otherwise ``RequestError/message``.
    public var failureReason: String? { serverProblem ?? (message.isEmpty ? nil : message) }

    /// An action that may help the user; nil if no such action is known.
    public var recoverySuggestion: String? {
        switch code {
        case .unacceptableStatus where [408, 429, 502, 503, 504].contains(statusCode): "Try again later."
        case .unacceptableStatus where statusCode == 401: "Sign in and try again."
        case .proxyUnauthorized: "Check the user and password of the proxy."
        case .certificateExpired, .certificateNotYetValid: "Check the date and the time of this device."
        case .diskFull: "Make room on the disk and try again."
        case .proxyFailed: "Check the network connection and the proxy, and try again."
        case _ where isConnectivity: "Check the network connection and try again."
        case .timedOut, .overloaded, .rateLimited, .circuitOpen: "Try again later."
        default: nil
        }
    }

    private var stageSentence: String? {
        switch stage {
        case .building, .adapting: "The request could not be made."
        case .sending: "The request could not be completed."
        case .validating, .serializing: "The answer of the server could not be used."
        case .retrying: "The request failed."
        case nil: nil
        }
    }

    private static func sentence(forStatus status: Int?) -> String {
        switch status ?? 0 {
        case 401: "The server requires you to sign in."
        case 403: "The server does not allow this."
        case 404, 410: "The server does not have what was requested."
        case 408: "The server did not receive the request in time."
        case 413: "The server does not accept as much data."
        case 429: "The server has received too many requests."
        case 503: "The server is temporarily unavailable."
        case 502, 504: "The server cannot be reached at the moment."
        case 500...: "The server has a problem."
        case 400...: "The server refused the request."
        default: "The server gave an answer that was not expected."
        }
    }

    private static let sentences: [(codes: Set<Code>, text: String)] = [
        ([.cancelled], "The request was cancelled."), ([.timedOut], "The request took too long."),
        ([.nameLookup], "The server could not be found."),
        ([.connectionRefused, .unreachable], "The server could not be reached."),
        ([.proxyFailed], "The proxy could not be reached, or did not connect to the server."),
        ([.proxyUnauthorized], "The proxy requires a user and a password."),
        ([.connectionLost, .truncated, .incompleteMessage], "The connection to the server was lost."),
        ([.handshake, .tlsVersion, .notTLS], "A secure connection to the server could not be made."),
        ([.overloaded, .rateLimited], "Too many requests are waiting."),
        ([.circuitOpen], "The server has a problem."),
        ([.notCached], "There is no stored answer of the server."),
        ([.invalidIdentity], "The certificate of this device cannot be used."),
        ([.protocolViolation, .malformedMessage], "The answer of the server is not valid."),
        ([.contentTooLarge, .messageTooLarge], "The answer of the server is too large."),
        (
            [
                .decodingFailed, .invalidJSON, .invalidXML, .invalidText, .invalidImage, .emptyBody,
                .undecodableContent,
                .unsupportedCoding, .unacceptableContentType,
            ],
            "The answer of the server could not be read."
        ),
        ([.checksumMismatch, .unexpectedRange], "The downloaded file is damaged or is not the expected one."),
        ([.tooManyRedirects, .redirectLoop, .redirectRefused], "The server redirects to a place that cannot be used."),
        ([.invalidURL], "The address of the server is not valid."),
        ([.fileMissing], "The file does not exist."), ([.fileExists], "The file exists already."),
        (
            [.fileUnreadable, .fileIsDirectory, .fileNotRegular, .bodyFailed],
            "The file or data to send cannot be read."
        ),
        ([.fileUnwritable, .fileInUse], "The file cannot be written."), ([.diskFull], "The disk is full."),
        ([.fileChanged], "The file was changed during the upload."),
        (
            [.uploadURLRefused, .uploadInconsistent, .uploadStalled, .uploadGone],
            "The upload could not be completed."
        ),
    ]
}
