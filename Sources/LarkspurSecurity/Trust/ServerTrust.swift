/// A server's certificates and the system's verdict on them, for a trust evaluator. No byte of the request has been
/// sent yet.
public struct ServerTrust: Sendable {
    /// The host that the request is for.
    public let host: String
    /// The port that the request is for.
    public let port: Int
    /// The certificate chain as the system's verification has built it, beginning with the server's own certificate.
    /// The server has proved that it has the private key of this first certificate. If there is a `chainError`, nothing
    /// proves that the other certificates belong to the first.
    public let certificates: [Certificate]
    /// The system's error about the chain; nil if the chain leads to a trusted authority.
    public let chainError: TransportError?
    /// The system's error about the host name; nil if the certificate is valid for the host.
    public let hostError: TransportError?

    /// Creates a value for tests of evaluators.
    public init(
        host: String, port: Int = 443, certificates: [Certificate], chainError: TransportError? = nil,
        hostError: TransportError? = nil
    ) {
        self.host = host
        self.port = port
        self.certificates = certificates
        self.chainError = chainError
        self.hostError = hostError
    }

    init(_ peer: PeerTrust) throws(RequestError) {
        let certificates = try peer.certificates.map { bytes throws(RequestError) in try Certificate(bytes) }
        self.init(
            host: peer.host, port: peer.port, certificates: certificates, chainError: peer.chainError,
            hostError: peer.hostError)
    }

    /// Throws the system's error about the chain or the host name, if there is one.
    ///
    /// - Parameter host: Whether the error about the host name is thrown too; true by default.
    public func verify(host: Bool = true) throws(TrustError) {
        if let chainError { throw TrustError(chainError.code, chainError.message) }
        if host, let hostError { throw TrustError(hostError.code, hostError.message) }
    }
}

/// The reason why a server is not trusted. The request fails with the code and the message of this error.
public struct TrustError: Error, Sendable, CustomStringConvertible {
    /// The code of the error with which the request fails.
    public let code: TransportError.Code
    public let description: String

    /// Creates an error with a code and a one-line message.
    public init(_ code: TransportError.Code = .untrusted, _ description: String) {
        self.code = code
        self.description = description
    }
}

/// An evaluator that decides whether a server is trusted. It runs before the first byte of a request is sent, on new
/// and on reused connections.
///
/// A built-in evaluator runs while the connection waits. Any other evaluator can take long. The transport therefore
/// closes the connection, and the session calls the evaluator once for all requests that wait for this server. After
/// the verdict, the requests use new connections. The session keeps the verdict for ten minutes, for the same host and
/// the same certificates; ``Session/forgetTrustVerdicts(for:)`` removes the verdict.
public protocol ServerTrustEvaluating: Sendable {
    /// Throws if the server is not trusted, so that nothing is sent to it.
    ///
    /// A ``TrustError`` is a verdict: requests fail with its code, and the session keeps the verdict. Any other error
    /// means that the evaluation itself failed. Requests then fail with the code `.untrusted` and this error as the
    /// underlying error, and the next request starts another evaluation. If no request waits for the evaluation any
    /// longer, the evaluation's task is cancelled and its result is ignored.
    func evaluate(_ trust: ServerTrust) async throws
}
