/// Why a hop failed below the framework: what kind of failure, and one line that says what happened.
///
/// Codes are values, not cases: more may come without breaking a switch anywhere.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; further kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// `cancel()` was called.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The transport itself has ended.
        public static let invalidated = Code(rawValue: "invalidated")
        /// There is no transport on this platform, or one of its parts is missing.
        public static let unavailable = Code(rawValue: "unavailable")
        /// The host's name has no address.
        public static let nameLookup = Code(rawValue: "nameLookup")
        /// Nobody listens at the host's port.
        public static let connectionRefused = Code(rawValue: "connectionRefused")
        /// There is no way to the host.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The process or the system has no file descriptor left for a connection.
        public static let tooManyOpenFiles = Code(rawValue: "tooManyOpenFiles")
        /// What is to be a proxy, or an exception from one, is none.
        public static let invalidProxy = Code(rawValue: "invalidProxy")
        /// The proxy cannot be reached, or has made no connection to the host.
        public static let proxyFailed = Code(rawValue: "proxyFailed")
        /// The proxy wants to know who asks, or has refused who does.
        public static let proxyUnauthorized = Code(rawValue: "proxyUnauthorized")
        /// The peer ended the connection in the middle.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// One of the hop's timeouts has passed; the phase says where it stood.
        public static let timedOut = Code(rawValue: "timedOut")
        /// No secure connection came about, for another reason than the peer's certificate.
        public static let handshake = Code(rawValue: "handshake")
        /// The two ends have no version of TLS in common.
        public static let tlsVersion = Code(rawValue: "tlsVersion")
        /// The peer answered the TLS handshake in plain text: the port is not one for TLS. Another try does not change that.
        public static let notTLS = Code(rawValue: "notTLS")
        /// The client's own certificate, or its private key, cannot be used: a wrong password, for one.
        public static let invalidIdentity = Code(rawValue: "invalidIdentity")
        /// The peer's certificate was refused, for another reason than the following.
        public static let untrusted = Code(rawValue: "untrusted")
        /// The certificate is no longer valid.
        public static let certificateExpired = Code(rawValue: "certificateExpired")
        /// The certificate is not valid yet; this machine's clock may be slow.
        public static let certificateNotYetValid = Code(rawValue: "certificateNotYetValid")
        /// No authority that is trusted here vouches for the certificate.
        public static let unknownIssuer = Code(rawValue: "unknownIssuer")
        /// Nobody but the certificate itself vouches for it.
        public static let selfSigned = Code(rawValue: "selfSigned")
        /// Its issuer has taken the certificate back.
        public static let certificateRevoked = Code(rawValue: "certificateRevoked")
        /// Whether its issuer has taken the certificate back is not known, though it must be.
        public static let certificateStatusUnknown = Code(rawValue: "certificateStatusUnknown")
        /// A public key in the chain is too short for the security level that is required here.
        public static let weakCertificateKey = Code(rawValue: "weakCertificateKey")
        /// A certificate in the chain is signed with a digest that is no longer secure, such as SHA-1.
        public static let weakCertificateDigest = Code(rawValue: "weakCertificateDigest")
        /// The certificates are good, and none of them is pinned.
        public static let pinMismatch = Code(rawValue: "pinMismatch")
        /// The certificate is for another host.
        public static let wrongHost = Code(rawValue: "wrongHost")
        /// What the peer sent is not HTTP.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The body has a transfer coding that cannot be undone.
        public static let unsupportedCoding = Code(rawValue: "unsupportedCoding")
        /// The body ended before its declared length.
        public static let truncated = Code(rawValue: "truncated")
        /// The body is larger than the request allows.
        public static let contentTooLarge = Code(rawValue: "contentTooLarge")
        /// The request's body could not be read.
        public static let bodyFailed = Code(rawValue: "bodyFailed")
        /// The request's body was needed a second time and cannot be had.
        public static let bodyNotReplayable = Code(rawValue: "bodyNotReplayable")
        /// Something else; the message says what.
        public static let other = Code(rawValue: "other")
    }

    /// The stage of a hop, to tell which of its timeouts passed or where it broke.
    public enum Phase: String, Sendable, CustomStringConvertible {
        /// Asking for the host's addresses.
        case nameLookup
        /// Connecting to one of them, or to the proxy.
        case connecting
        /// The TLS handshake.
        case securing
        /// The request, its body included.
        case sending
        /// Until the response's head.
        case waiting
        /// The response's body.
        case receiving

        /// As it goes after "while".
        public var description: String {
            switch self {
            case .nameLookup: "looking up the host"
            case .waiting: "waiting for the response"
            case .connecting, .securing, .sending, .receiving: rawValue
            }
        }
    }

    /// What kind of failure it is.
    public var code: Code
    /// One line for a person, without secrets.
    public var message: String
    /// Where the hop stood, if that says something.
    public var phase: Phase?
    /// What another library said, if one did.
    public var underlying: (any Error)?

    /// A failure, told in one line.
    public init(_ code: Code, _ message: String = "", phase: Phase? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.phase = phase
        self.underlying = underlying
    }

    /// The end of a hop that was cancelled.
    public static let cancelled = TransportError(.cancelled, "the request was cancelled")

    /// The end of a hop whose body cannot be had whole (T24).
    package static func bodyFailed(_ message: String, _ underlying: (any Error)? = nil) -> TransportError {
        TransportError(.bodyFailed, message, phase: .sending, underlying: underlying)
    }

    public var description: String {
        let place = phase.map { " while \($0)" } ?? ""
        return message.isEmpty ? code.rawValue + place : "\(message) (\(code.rawValue)\(place))"
    }
}
