/// A peer that shows certificates, before anything was sent to it: what a trust evaluator judges.
public struct ServerTrust: Sendable {
    /// Whom the request is for.
    public let host: String
    /// Where it is for.
    public let port: Int
    /// From the host's own on, as the system's verification has put them together. The host has proved that it has the first
    /// one's private key; those that follow are worth something only where there is no `chainError`.
    public let certificates: [Certificate]
    /// What the system's own verification has against the chain; nil if it leads to an authority that is trusted here.
    public let chainError: TransportError?
    /// What it has against the name; nil if the certificate is for the host.
    public let hostError: TransportError?

    /// A peer of one's own, to test evaluators with.
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

    /// Throws what the system's own verification has against the peer.
    ///
    /// - Parameter host: Whether the name counts.
    public func verify(host: Bool = true) throws(TrustError) {
        if let chainError { throw TrustError(chainError.code, chainError.message) }
        if host, let hostError { throw TrustError(hostError.code, hostError.message) }
    }
}

/// Why a peer is not trusted; the request fails with this code and message.
public struct TrustError: Error, Sendable, CustomStringConvertible {
    /// The code of the request's error.
    public let code: TransportError.Code
    public let description: String

    /// A refusal, told in one line.
    public init(_ code: TransportError.Code = .untrusted, _ description: String) {
        self.code = code
        self.description = description
    }
}

/// Judges peers, before the first byte of a request is sent to them, over connections new and kept.
///
/// The library's own are asked while the connection waits. Others may take their time: the connection is given up, the
/// evaluator is asked once for all requests that meet the peer, and the requests go on over other connections. Its verdict is
/// remembered for ten minutes, for that host and those certificates; ``Session/forgetTrustVerdicts(for:)`` forgets it.
public protocol ServerTrustEvaluating: Sendable {
    /// Throws if nothing is to be sent to the peer.
    ///
    /// A ``TrustError`` is a verdict: it says with which code requests fail, and is remembered. Any other error means that
    /// the peer could not be judged: it becomes the underlying one of an error with the code `.untrusted`, and the next
    /// request is judged again. The task is cancelled when no request waits any more; its result does not count then.
    func evaluate(_ trust: ServerTrust) async throws
}
