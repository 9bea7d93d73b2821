/// What a transport cannot decide itself: each question carries the reply it waits for.
///
/// An unanswered question is a refusal (T19), so forgetting to answer fails closed.
public enum TransportQuestion: Sendable {
    /// May a request be sent to this peer? Asked of requests that say `asksForTrust` (T25).
    case serverTrust(PeerTrust, TransportReply<TrustDecision>)
    /// The peer wants a client certificate: which one, if any?
    case clientIdentity(host: String, TransportReply<ClientIdentity>)
    /// The streamed request body must be sent again from its first byte after `offset` bytes of it were used up: give
    /// a fresh stream.
    case bodyFromStart(offset: UInt64, TransportReply<any TransportBodyStream>)
}

/// The place for one answer.
///
/// A reply is given before `TransportDelegate.answer` returns; the first one counts.
public struct TransportReply<Value: Sendable>: Sendable {
    private let box = Protected<Value?>(nil)

    /// A reply that was not given.
    public init() {}

    /// Gives the answer.
    public func callAsFunction(_ value: Value) {
        box.withLock { if $0 == nil { $0 = value } }
    }

    /// What was answered; nil is a refusal.
    public var value: Value? { box.withLock { $0 } }
}

/// Who is at the other end of a TLS connection.
public struct PeerTrust: Sendable {
    /// Whom the request is for.
    public let host: String
    /// Where it is for.
    public let port: Int
    /// The chain as the platform's verification has put it together, leaf first, each certificate in DER. Where there is a
    /// `chainError`, nothing is proved by those after the leaf.
    public let certificates: [[UInt8]]
    /// What the platform's verification has against the chain.
    public let chainError: TransportError?
    /// What it has against the host's name.
    public let hostError: TransportError?

    /// A peer, as a transport has found it.
    public init(
        host: String, port: Int, certificates: [[UInt8]], chainError: TransportError? = nil,
        hostError: TransportError? = nil
    ) {
        self.host = host
        self.port = port
        self.certificates = certificates
        self.chainError = chainError
        self.hostError = hostError
    }

    /// What keeps a request from the peer after this answer to `TransportQuestion.serverTrust`.
    package func fault(after answer: TrustDecision?) -> TransportError? {
        switch answer {
        case .trusted: nil
        case .platformDefault: chainError ?? hostError
        case .refused(let reason, let code): TransportError(code, reason, phase: .securing)
        case nil: TransportError(.untrusted, "nobody has said that the peer is trusted", phase: .securing)
        }
    }
}

/// The answer to `TransportQuestion.serverTrust`.
public enum TrustDecision: Sendable, Equatable {
    /// The verdict of the platform's own verification stands.
    case platformDefault
    /// The peer is who it is to be, whatever the platform says.
    case trusted
    /// Nothing is sent; the hop fails with this code.
    case refused(reason: String, code: TransportError.Code = .untrusted)
}

/// A certificate with its private key. No description of it shows either.
public struct ClientIdentity: Sendable {
    /// How the two are kept.
    public enum Content: Sendable {
        /// Two texts; the chain begins with the client's certificate.
        case pem(certificateChain: [UInt8], privateKey: [UInt8])
        /// One file of both, as it ends with `.p12` or `.pfx`.
        case pkcs12([UInt8])
    }

    /// The certificate and its key.
    public let content: Content
    /// What the private key is encrypted with; empty if it is not.
    public let password: String

    /// A certificate chain and a private key as PEM text, the key encrypted or not.
    public init(certificateChain: [UInt8], privateKey: [UInt8], password: String = "") {
        content = .pem(certificateChain: certificateChain, privateKey: privateKey)
        self.password = password
    }

    /// The contents of a PKCS #12 file.
    public init(pkcs12: [UInt8], password: String) {
        content = .pkcs12(pkcs12)
        self.password = password
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "ClientIdentity(REDACTED)" }
    public var debugDescription: String { description }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
