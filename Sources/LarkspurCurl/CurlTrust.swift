internal import CLarkspur

/// The peer of a connection over which libcurl is about to send a request.
struct CurlTrust {
    private let easy: UnsafeMutableRawPointer
    private let host: String
    private let port: Int

    init(_ easy: UnsafeMutableRawPointer, of url: RequestURL) {
        self.easy = easy
        host = url.host.map(String.init) ?? ""
        port = url.port ?? 443
    }

    /// The error if peers cannot be evaluated with this libcurl, otherwise nil. If there is an error, the transport
    /// does not send requests that ask for an evaluation.
    static let problem: TransportError? = {
        let libcurl = CurlLibrary.current
        if !libcurl.tellsOfRequests {
            return TransportError(
                .unavailable,
                "libcurl \(libcurl.name) cannot have peers evaluated before it sends a request; 7.80 or later can"
            )
        }
        guard clarkspur_tls_load() else {
            return TransportError(
                .unavailable, "libcurl \(libcurl.name) does not use OpenSSL, and peers can be evaluated only with it")
        }
        return nil
    }()

    /// Asks the delegate for a decision on the peer. Returns nil if the request may be sent to the peer, otherwise the
    /// error.
    func fault(_ ask: (TransportQuestion) -> Void) -> TransportError? {
        var certificates: [[UInt8]] = []
        let isWhole = withUnsafeMutablePointer(to: &certificates) { certificates in
            clarkspur_tls_peer(
                easy,
                { context, bytes, count in
                    let certificates = context?.assumingMemoryBound(to: [[UInt8]].self)
                    certificates?.pointee.append(Array(UnsafeBufferPointer(start: bytes, count: count)))
                }, certificates)
        }
        guard isWhole else {
            return TransportError(.untrusted, "the peer's certificates cannot be read", phase: .securing)
        }
        let peer = PeerTrust(
            host: host, port: port, certificates: certificates, chainError: chainError, hostError: hostError)
        let reply = TransportReply<TrustDecision>()
        ask(.serverTrust(peer, reply))
        return peer.fault(after: reply.value)
    }

    private var chainError: TransportError? {
        let verdict = clarkspur_tls_verdict(easy)
        guard verdict != 0 else { return nil }
        let text = clarkspur_tls_verdict_text(verdict).map { String(cString: $0) } ?? "no verdict"
        return TransportError(
            CurlFailure.code(ofVerdict: verdict) ?? .untrusted, "the peer's certificate: \(text)", phase: .securing)
    }

    private var hostError: TransportError? {
        guard !clarkspur_tls_is_for(easy, host) else { return nil }
        return TransportError(
            .wrongHost, "none of the certificate's alternative names is for \(host)", phase: .securing)
    }
}
