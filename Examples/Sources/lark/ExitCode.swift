import Larkspur

/// The exit codes of lark, by kind of failure.
enum ExitCode: Int32, CaseIterable {
    case success = 0
    case other = 1
    case usage = 2
    case redirected = 3
    case refused = 4
    case serverFailed = 5
    case redirects = 6
    case connection = 7
    case timeout = 8
    case tls = 9
    case invalidResponse = 10
    case file = 11
    case cancelled = 130
    case brokenPipe = 141
    case terminated = 143

    var meaning: String {
        switch self {
        case .success: "The exchange succeeded, whatever the status, unless --check-status is given."
        case .other: "Another failure."
        case .usage: "The command line or the request is not valid."
        case .redirected: "The status was 3xx, with --check-status or --download."
        case .refused: "The status was 4xx, with --check-status or --download."
        case .serverFailed: "The status was 5xx, with --check-status or --download."
        case .redirects: "There were too many redirects, or a redirect is not allowed."
        case .connection: "The server or the proxy was not reached, or the connection was lost."
        case .timeout: "The time of --timeout, or a time limit of the connection, has passed."
        case .tls: "The server is not trusted, or the TLS handshake failed."
        case .invalidResponse: "The response is not valid or not complete."
        case .file: "A file could not be read or written."
        case .cancelled: "Ctrl-C ended the exchange."
        case .brokenPipe: "The reader of the output has ended, as with lark … | head."
        case .terminated: "A SIGTERM ended the exchange."
        }
    }

    init(status: Int) {
        switch status {
        case 300..<400: self = .redirected
        case 400..<500: self = .refused
        case 500...: self = .serverFailed
        default: self = .success
        }
    }

    init(_ error: RequestError) {
        switch error.code {
        case .cancelled: self = .cancelled
        case .timedOut: self = .timeout
        case .tooManyRedirects, .redirectLoop, .redirectRefused: self = .redirects
        case .handshake, .tlsVersion, .notTLS, .pinMismatch, .invalidIdentity: self = .tls
        case _ where error.isTrust: self = .tls
        case .nameLookup, .connectionRefused, .unreachable, .connectionLost, .proxyFailed, .proxyUnauthorized,
            .transportUnavailable, .webSocketHandshakeFailed:
            self = .connection
        case .truncated, .protocolViolation, .malformedMessage, .messageTooLarge, .contentTooLarge, .decodingFailed,
            .undecodableContent, .unsupportedCoding, .unexpectedRange, .webSocketViolation, .receivingFailed:
            self = .invalidResponse
        case .fileExists, .fileInUse, .fileIsDirectory, .fileMissing, .fileNotRegular, .fileUnreadable, .fileUnwritable,
            .diskFull, .fileChanged, .invalidFileURL:
            self = .file
        case .invalidURL, .invalidRequest, .requestCreationFailed, .encodingFailed, .bodyInGETRequest: self = .usage
        case .unacceptableStatus: self = ExitCode(status: error.statusCode ?? 0)
        default: self = .other
        }
    }
}

/// The end of the program with a code, and a line for standard error.
struct Exit: Error {
    let code: ExitCode
    let message: String?

    init(_ code: ExitCode, _ message: String? = nil) {
        self.code = code
        self.message = message
    }

    /// Returns the end that an error means.
    init(_ error: any Error) {
        switch error {
        case let exit as Exit: self = exit
        case let error as UsageError: self.init(.usage, error.message)
        case is CancellationError: self.init(.cancelled)
        case let error as RequestError where error.isCancelled: self.init(.cancelled)
        case let error as RequestError: self.init(ExitCode(error), "\(error)\(Self.hint(for: error))")
        case let error as TransportError: self.init(.usage, "\(error)")
        default: self.init(.other, "\(error)")
        }
    }

    /// Advice about the error, in the terms of the command line.
    private static func hint(for error: RequestError) -> String {
        switch error.code {
        case .connectionRefused: "; is the server running, and the port right?"
        case .nameLookup: "; check the host's name"
        case .timedOut: "; --timeout gives it more time"
        case .unknownIssuer, .selfSigned: "; --verify CA.pem trusts its authority, --verify no trusts any server"
        case .certificateExpired, .wrongHost: "; --verify no connects all the same"
        case .tooManyRedirects: "; --max-redirects follows more"
        case .fileExists: "; name another file with --output"
        default: ""
        }
    }
}
