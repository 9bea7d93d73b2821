/// A question that a transport asks its delegate. Each question carries its reply.
///
/// An unanswered question counts as refused (T19 in `Transport`), so a delegate that forgets to answer fails safely.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum TransportQuestion: Sendable {
    /// Asks whether to trust this peer, before a request is sent to the peer. The transport asks only for requests with
    /// `asksForTrust` (T25 in `Transport`).
    case serverTrust(PeerTrust, TransportReply<TrustDecision>)
    /// Asks for a client certificate: because the peer has requested a certificate, or before a request with
    /// `asksForIdentity` connects (T33 in `Transport`).
    case clientIdentity(host: String, TransportReply<ClientIdentity>)
    /// Asks for a fresh stream, because a streamed request body must be sent again from its first byte. `offset` is the
    /// number of bytes that were read from the previous stream.
    case bodyFromStart(offset: UInt64, TransportReply<any TransportBodyStream>)
}

/// The reply to a question.
///
/// The delegate replies before `TransportDelegate.answer` returns; only the first answer counts.
public struct TransportReply<Value: Sendable>: Sendable {
    private let box = Protected<Value?>(nil)

    /// Creates a reply without an answer.
    public init() {}

    /// Gives the answer.
    public func callAsFunction(_ value: Value) {
        box.withLock { if $0 == nil { $0 = value } }
    }

    /// The answer; nil counts as a refusal.
    public var value: Value? { box.withLock { $0 } }
}

/// The peer of a TLS connection and the platform's verdict on it.
public struct PeerTrust: Sendable {
    /// The host of the request.
    public let host: String
    /// The port of the request.
    public let port: Int
    /// The certificate chain as the platform's verification built it: leaf first, each certificate in DER. If there is
    /// a `chainError`, only the leaf certainly belongs to the peer.
    public let certificates: [[UInt8]]
    /// The error of the platform's chain verification; nil if the chain is valid.
    public let chainError: TransportError?
    /// The error of the platform's host name check; nil if the certificate is for the host.
    public let hostError: TransportError?

    /// Creates a description of a peer.
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

    /// Returns the error with which the request fails after this answer to `TransportQuestion.serverTrust`; nil if the
    /// request may be sent.
    package func fault(after answer: TrustDecision?) -> TransportError? {
        switch answer {
        case .trusted: nil
        case .platformDefault: chainError ?? hostError
        case .refused(let reason, let code): TransportError(code, reason, phase: .securing)
        case nil: TransportError(.untrusted, "the trust evaluation gave no verdict on the peer", phase: .securing)
        }
    }
}

/// The answer to `TransportQuestion.serverTrust`.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum TrustDecision: Sendable, Equatable {
    /// Uses the verdict of the platform's own verification.
    case platformDefault
    /// Trusts the peer, whatever the platform's verdict is.
    case trusted
    /// Sends nothing; the hop fails with this code.
    case refused(reason: String, code: TransportError.Code = .untrusted)
}

/// A client certificate with its private key. Descriptions show neither the certificate nor the key.
public struct ClientIdentity: Sendable {
    /// The format of certificate and key.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Content: Sendable {
        /// Two PEM texts; the chain begins with the client's certificate.
        case pem(certificateChain: [UInt8], privateKey: [UInt8])
        /// One PKCS #12 file, usually `.p12` or `.pfx`, that contains both.
        case pkcs12([UInt8])
    }

    /// The certificate and its key.
    public let content: Content
    /// The password of the private key; empty if the key is not encrypted.
    public let password: String

    /// Creates an identity from a certificate chain and a private key in PEM. The key may be encrypted.
    public init(certificateChain: [UInt8], privateKey: [UInt8], password: String = "") {
        content = .pem(certificateChain: certificateChain, privateKey: privateKey)
        self.password = password
    }

    /// Creates an identity from the contents of a PKCS #12 file.
    public init(pkcs12: [UInt8], password: String) {
        content = .pkcs12(pkcs12)
        self.password = password
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "ClientIdentity(REDACTED)" }
    public var debugDescription: String { description }
    /// Keeps `dump` from showing the certificate, the key and the password, which the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
