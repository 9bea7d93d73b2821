internal import CLarkspur

/// An error code of libcurl with the circumstances of the hop, from which the hop's error is made.
struct CurlFailure {
    let code: Int32
    let message: String
    let phase: TransportError.Phase
    let easy: UnsafeMutableRawPointer
    let proxy: Proxy?
    let isConnected: Bool
    let socketError: Int32

    /// Whether the code can mean that the connection was lost.
    var isLoss: Bool {
        [
            CURLE_HTTP2, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2_STREAM,
            CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR,
        ].contains(code)
    }

    /// Whether sending over the connection failed.
    var isOfSending: Bool { code == CURLE_SEND_ERROR }

    /// Whether HTTP/2 or HTTP/3 failed. When such a connection ends, all requests on it fail, and the server may have
    /// processed none of them.
    var isMultiplexed: Bool { [CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR].contains(code) }

    /// Returns whether the code can mean that libcurl could not send the request again after a 417 response: libcurl
    /// found no connection, or a callback prevented the sending. In both cases, at least the head of the 417 response
    /// has arrived.
    static func endsSecondSending(_ code: Int32) -> Bool {
        [
            CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_WRITE_ERROR,
            CURLE_SSL_CONNECT_ERROR, CURLE_ABORTED_BY_CALLBACK, CURLE_SEND_FAIL_REWIND,
        ].contains(code)
    }

    /// Whether libcurl refused to send a body in chunks over a reused connection, because the peer last answered with
    /// HTTP/1.0. libcurl has sent no byte of the request in this case.
    var isForFreshConnection: Bool { code == CURLE_UPLOAD_FAILED && message.contains("HTTP 1.0") }

    /// Whether libcurl gave up because it had met too many stale connections. Some versions count them over the whole
    /// life of an easy handle, and therefore fail at the handle's sixth stale connection.
    var isGivingUp: Bool { code == CURLE_SEND_ERROR && message.hasPrefix("Connection died, tried") }

    /// The error if the process or the system has no file descriptor left, otherwise nil. A failed name lookup does not
    /// report its reason, so this property checks whether a file can be opened now.
    private var shortage: TransportError? {
        var number = socketError
        if code == CURLE_COULDNT_RESOLVE_HOST {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            number = descriptor < 0 ? errno : 0
            if descriptor >= 0 { clarkspur_socket_close(descriptor) }
        }
        return Self.shortage(number, phase: phase)
    }

    /// Returns the error if this `errno` means that the process or the system has no file descriptor left, otherwise
    /// nil.
    static func shortage(_ number: Int32, phase: TransportError.Phase? = nil) -> TransportError? {
        let message: String
        switch number {
        case EMFILE:
            message = """
                the process has as many open files as its limit allows; raise the limit (ulimit -n), or lower \
                maximumConnectionsPerHost
                """
        case ENFILE:
            message = """
                the system has as many open files as its limit allows; close files of other processes, or raise the limit \
                (fs.file-max)
                """
        default: return nil
        }
        return TransportError(.tooManyOpenFiles, message, phase: phase)
    }

    var error: TransportError {
        if [CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT].contains(code), let shortage
        {
            return shortage
        }
        return switch code {
        case CURLE_UNSUPPORTED_PROTOCOL:
            TransportError(kind, "the peer's response is not HTTP (\(message))", phase: phase)
        case CURLE_OUT_OF_MEMORY: TransportError(kind, "the response's head has a line without end", phase: phase)
        case CURLE_SSL_CERTPROBLEM:
            TransportError(kind, "the client's certificate or its key cannot be used: \(message)", phase: phase)
        case CURLE_SSL_INVALIDCERTSTATUS:
            TransportError(kind, "the status of the peer's certificate: \(message)", phase: phase)
        default:
            proxyFault == nil
                ? TransportError(kind, TLSFailure.explained(message, peer: "the server"), phase: phase)
                : TransportError(kind, TLSFailure.explained(message, peer: "the proxy"), phase: .connecting)
        }
    }

    /// The error code if the proxy failed; nil if the host behind the proxy failed.
    private var proxyFault: TransportError.Code? {
        guard let proxy, !isConnected else { return nil }
        let status = clarkspur_easy_long(easy, CURLINFO_HTTP_CONNECTCODE)
        let proxyError = Int32(truncatingIfNeeded: clarkspur_easy_long(easy, CURLINFO_PROXY_ERROR))
        // Some proxies answer a wrong password with 401 instead of 407. The two codes of libcurl are for SOCKS proxies.
        let isDenied =
            [401, 407].contains(status) || [CURLPX_NO_AUTH, CURLPX_USER_REJECTED].contains(proxyError)
        switch code {
        case CURLE_PROXY where proxyError == CURLPX_RESOLVE_HOST: return .nameLookup  // a SOCKS lookup by the client
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
            CURLE_PROXY, CURLE_TOO_LARGE:
            return isDenied ? .proxyUnauthorized : .proxyFailed
        case CURLE_SSL_CONNECT_ERROR, CURLE_OBSOLETE51, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS:
            return proxy.kind == .https && status == 0 ? .proxyFailed : nil
        default: return nil
        }
    }

    private var kind: TransportError.Code {
        if let proxyFault { return proxyFault }
        return switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST: .nameLookup
        case CURLE_COULDNT_CONNECT where clarkspur_easy_long(easy, CURLINFO_OS_ERRNO) == Int(ECONNREFUSED):
            .connectionRefused
        case CURLE_COULDNT_CONNECT: .unreachable
        case CURLE_INTERFACE_FAILED: .unreachable  // the configured local address cannot be used
        case CURLE_PARTIAL_FILE: phase == .receiving ? .truncated : .connectionLost
        case CURLE_READ_ERROR, CURLE_ABORTED_BY_CALLBACK: .bodyFailed
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_SSL_CONNECT_ERROR where TLSFailure.isVersion(message): .tlsVersion
        case CURLE_SSL_CONNECT_ERROR where TLSFailure.isPlainText(message): .notTLS
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CIPHER,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CLIENTCERT:
            .handshake
        case CURLE_SSL_CERTPROBLEM: .invalidIdentity
        case CURLE_OBSOLETE51, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            certificateFault
        case CURLE_SSL_INVALIDCERTSTATUS:
            message.contains("revocation reason") ? .certificateRevoked : .certificateStatusUnknown
        case CURLE_SSL_CACERT_BADFILE: .unavailable  // the file of certificate authorities cannot be read
        case CURLE_SEND_FAIL_REWIND: .bodyNotReplayable
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY, CURLE_TOO_LARGE:
            .protocolViolation
        case CURLE_BAD_CONTENT_ENCODING: .unsupportedCoding
        // libcurl fails with this code if it cannot parse a line of the response's head or trailers, such as a
        // continuation line without a field before it, or a line with a NUL byte.
        case CURLE_BAD_FUNCTION_ARGUMENT where phase == .waiting || phase == .receiving: .protocolViolation
        // libcurl has the same code for a failed read and for chunks that it cannot parse.
        case CURLE_RECV_ERROR where message.contains("chunk"): .protocolViolation
        // The peer closed the connection without the close_notify alert of TLS.
        case CURLE_RECV_ERROR where phase == .receiving && message.contains("unexpected eof"): .truncated
        case CURLE_HTTP2 where phase != .connecting: .connectionLost
        case CURLE_HTTP2: .protocolViolation
        case CURLE_QUIC_CONNECT_ERROR: phase == .connecting || phase == .securing ? .unreachable : .connectionLost
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP3: .connectionLost
        case CURLE_HTTP2_STREAM: message.contains("PROTOCOL_ERROR") ? .protocolViolation : .connectionLost
        default: .other
        }
    }

    /// Returns the error code for OpenSSL's verdict, X509_V_ERR_…; nil for X509_V_OK and X509_V_ERR_UNSPECIFIED.
    static func code(ofVerdict verdict: Int) -> TransportError.Code? {
        switch Int32(truncatingIfNeeded: verdict) {
        case X509_V_OK, X509_V_ERR_UNSPECIFIED: nil
        case X509_V_ERR_CERT_NOT_YET_VALID: .certificateNotYetValid
        case X509_V_ERR_CERT_HAS_EXPIRED: .certificateExpired
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            .unknownIssuer
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_HAS_EXPIRED,
            X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
            .certificateStatusUnknown  // the issuer's revocation list is missing, or not valid now
        case X509_V_ERR_CERT_REVOKED: .certificateRevoked
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .wrongHost
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL: .weakCertificateKey
        case X509_V_ERR_CA_MD_TOO_WEAK: .weakCertificateDigest
        default: .untrusted
        }
    }

    /// The error code for a refused certificate, by OpenSSL's verdict. If there is no verdict, libcurl's message is
    /// searched: other TLS libraries, and the check of the host's name, report the reason only there.
    private var certificateFault: TransportError.Code {
        if let code = Self.code(ofVerdict: clarkspur_easy_long(easy, CURLINFO_SSL_VERIFYRESULT)) { return code }
        let words = message.lowercased()
        if words.contains("expired") || words.contains("not yet valid") { return .certificateExpired }
        if words.contains("subject name") || words.contains("hostname") { return .wrongHost }
        if words.contains("issuer") || words.contains("self") { return .unknownIssuer }
        return .untrusted
    }
}
