/// The failure of a hop below the framework: a code and one line that says what happened.
///
/// Codes are values, not cases, so that new codes do not break a `switch`.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. Later versions may add kinds.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// `cancel()` was called.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The transport was invalidated.
        public static let invalidated = Code(rawValue: "invalidated")
        /// The transport cannot be used, because of the platform, a missing library or feature, or the configuration.
        public static let unavailable = Code(rawValue: "unavailable")
        /// The host's name has no address.
        public static let nameLookup = Code(rawValue: "nameLookup")
        /// The host refused the connection: no server listens at the port.
        public static let connectionRefused = Code(rawValue: "connectionRefused")
        /// The network has no route to the host.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The process or the system has no file descriptor left for a connection.
        public static let tooManyOpenFiles = Code(rawValue: "tooManyOpenFiles")
        /// The URL of a proxy, or an exception for hosts without a proxy, is not valid.
        public static let invalidProxy = Code(rawValue: "invalidProxy")
        /// The proxy cannot be reached, or did not connect to the host.
        public static let proxyFailed = Code(rawValue: "proxyFailed")
        /// The proxy requires credentials, or has refused the given ones.
        public static let proxyUnauthorized = Code(rawValue: "proxyUnauthorized")
        /// The peer closed the connection before the exchange was complete.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// One of the hop's timeouts has passed. `phase` is the stage that the hop had reached.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The TLS handshake failed, for another reason than the peer's certificate.
        public static let handshake = Code(rawValue: "handshake")
        /// Client and server have no TLS version in common.
        public static let tlsVersion = Code(rawValue: "tlsVersion")
        /// The peer answered the TLS handshake in plain text: the port does not speak TLS. A retry does not help.
        public static let notTLS = Code(rawValue: "notTLS")
        /// The client certificate or its private key cannot be used, because of a wrong password for instance.
        public static let invalidIdentity = Code(rawValue: "invalidIdentity")
        /// The peer's certificate was refused, for a reason that has no code below.
        public static let untrusted = Code(rawValue: "untrusted")
        /// The certificate has expired.
        public static let certificateExpired = Code(rawValue: "certificateExpired")
        /// The certificate is not valid yet; this machine's clock may be slow.
        public static let certificateNotYetValid = Code(rawValue: "certificateNotYetValid")
        /// The certificate's chain leads to no trusted authority.
        public static let unknownIssuer = Code(rawValue: "unknownIssuer")
        /// The certificate is self-signed.
        public static let selfSigned = Code(rawValue: "selfSigned")
        /// The issuer has revoked the certificate.
        public static let certificateRevoked = Code(rawValue: "certificateRevoked")
        /// The revocation status of the certificate is unknown, but the configuration requires it.
        public static let certificateStatusUnknown = Code(rawValue: "certificateStatusUnknown")
        /// A public key in the chain is too short for the security level that is required here.
        public static let weakCertificateKey = Code(rawValue: "weakCertificateKey")
        /// A certificate in the chain is signed with a digest that is no longer secure, such as SHA-1.
        public static let weakCertificateDigest = Code(rawValue: "weakCertificateDigest")
        /// The certificates are valid, but none of them is pinned.
        public static let pinMismatch = Code(rawValue: "pinMismatch")
        /// The certificate is for another host.
        public static let wrongHost = Code(rawValue: "wrongHost")
        /// The peer's response is not valid HTTP.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The body has a transfer coding that is not supported.
        public static let unsupportedCoding = Code(rawValue: "unsupportedCoding")
        /// The body ended before its declared length.
        public static let truncated = Code(rawValue: "truncated")
        /// The body is larger than the request allows.
        public static let contentTooLarge = Code(rawValue: "contentTooLarge")
        /// The request's body could not be read.
        public static let bodyFailed = Code(rawValue: "bodyFailed")
        /// The request's body was needed a second time and cannot be read again.
        public static let bodyNotReplayable = Code(rawValue: "bodyNotReplayable")
        /// The request may only be answered from the cache, and the cache has no response for it.
        public static let notCached = Code(rawValue: "notCached")
        /// Too many requests wait for a limit.
        public static let overloaded = Code(rawValue: "overloaded")
        /// The rate limit does not allow the request in time.
        public static let rateLimited = Code(rawValue: "rateLimited")
        /// A limit of the configuration is not valid, such as a limit of zero requests.
        public static let invalidLimit = Code(rawValue: "invalidLimit")
        /// Another failure; the message describes it.
        public static let other = Code(rawValue: "other")
    }

    /// The stage of a hop in which a timeout passed or the hop failed.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Phase: String, Sendable, CustomStringConvertible {
        /// Looking up the host's addresses.
        case nameLookup
        /// Connecting to the host or to the proxy.
        case connecting
        /// The TLS handshake.
        case securing
        /// Sending the request, its body included.
        case sending
        /// Waiting for the response's head.
        case waiting
        /// Receiving the response's body.
        case receiving

        /// The stage in words that can follow "while", as in "while looking up the host".
        public var description: String {
            switch self {
            case .nameLookup: "looking up the host"
            case .waiting: "waiting for the response"
            case .connecting, .securing, .sending, .receiving: rawValue
            }
        }
    }

    /// The kind of failure.
    public var code: Code
    /// One line that describes the failure, without secrets.
    public var message: String
    /// The stage that the hop had reached, if it matters.
    public var phase: Phase?
    /// The error of another library that caused this error, if any.
    public var underlying: (any Error)?

    /// Creates a failure.
    public init(_ code: Code, _ message: String = "", phase: Phase? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.phase = phase
        self.underlying = underlying
    }

    /// The error of a cancelled hop.
    public static let cancelled = TransportError(.cancelled, "the request was cancelled")

    /// Returns the error of a hop whose body cannot be read completely (T24 in `Transport`).
    package static func bodyFailed(_ message: String, _ underlying: (any Error)? = nil) -> TransportError {
        TransportError(.bodyFailed, message, phase: .sending, underlying: underlying)
    }

    public var description: String {
        let place = phase.map { " while \($0)" } ?? ""
        return message.isEmpty ? code.rawValue + place : "\(message) (\(code.rawValue)\(place))"
    }
}
