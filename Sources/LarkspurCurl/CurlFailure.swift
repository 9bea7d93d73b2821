internal import CLarkspur

/// The meaning of an error code of libcurl for the hop.
struct CurlFailure {
    let code: Int32
    let message: String
    let phase: TransportError.Phase
    let easy: UnsafeMutableRawPointer
    let proxy: Proxy?
    let isConnected: Bool
    let socketError: Int32

    /// Whether the code can mean the end of a connection.
    var isLoss: Bool {
        [CURLE_HTTP2, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2_STREAM]
            .contains(code)
    }

    /// Whether libcurl could send no more over the connection.
    var isOfSending: Bool { code == CURLE_SEND_ERROR }

    /// Whether HTTP/2 failed. The end of such a connection reaches all its requests, and possibly none of them was
    /// processed.
    var isHTTP2: Bool { code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM }

    /// Returns whether libcurl may end with this code because a second send after a 417 was prevented: libcurl found no
    /// connection, or a callback refused. At least a part of the response has then arrived.
    static func endsSecondSending(_ code: Int32) -> Bool {
        [
            CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_WRITE_ERROR,
            CURLE_SSL_CONNECT_ERROR, CURLE_ABORTED_BY_CALLBACK, CURLE_SEND_FAIL_REWIND,
        ].contains(code)
    }

    /// Whether a body in chunks was to go over a reused connection whose peer last spoke HTTP/1.0. Nothing was sent
    /// then.
    var isForFreshConnection: Bool { code == CURLE_UPLOAD_FAILED && message.contains("HTTP 1.0") }

    /// Whether libcurl gave up because of its count of sends. Some versions never reset this count while a handle
    /// lives, and therefore fail at the handle's sixth stale connection.
    var isGivingUp: Bool { code == CURLE_SEND_ERROR && message.hasPrefix("Connection died, tried") }

    /// The failure if the process or the system has no file descriptor left. A name lookup does not report why it
    /// failed, so this checks whether a file can be opened now.
    private var shortage: TransportError? {
        var number = socketError
        if code == CURLE_COULDNT_RESOLVE_HOST {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            number = descriptor < 0 ? errno : 0
            if descriptor >= 0 { clarkspur_socket_close(descriptor) }
        }
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
        // Some proxies answer 401 to a wrong password. The other codes are libcurl's codes for SOCKS.
        let isDenied =
            [401, 407].contains(status) || [CURLPX_NO_AUTH, CURLPX_USER_REJECTED].contains(proxyError)
        switch code {
        case CURLE_PROXY where proxyError == CURLPX_RESOLVE_HOST: return .nameLookup  // the host's lookup, made here
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
        case CURLE_INTERFACE_FAILED: .unreachable  // from this local address
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
        case CURLE_SSL_CACERT_BADFILE: .unavailable  // the file of authorities
        case CURLE_SEND_FAIL_REWIND: .bodyNotReplayable
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY, CURLE_TOO_LARGE:
            .protocolViolation
        case CURLE_BAD_CONTENT_ENCODING: .unsupportedCoding
        // libcurl fails with this code if the head has a continuation line without a field before it.
        case CURLE_BAD_FUNCTION_ARGUMENT where phase == .waiting: .protocolViolation
        // libcurl has one code for failed reads and for bytes that it cannot parse.
        case CURLE_RECV_ERROR where message.contains("chunk"): .protocolViolation
        // TLS that ends without a close_notify alert.
        case CURLE_RECV_ERROR where phase == .receiving && message.contains("unexpected eof"): .truncated
        case CURLE_HTTP2 where phase != .connecting: .connectionLost
        case CURLE_HTTP2: .protocolViolation
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR: .connectionLost
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

    /// The error code by OpenSSL's verdict. Other TLS libraries, and the check of the host's name, report a reason
    /// only in words.
    private var certificateFault: TransportError.Code {
        if let code = Self.code(ofVerdict: clarkspur_easy_long(easy, CURLINFO_SSL_VERIFYRESULT)) { return code }
        let words = message.lowercased()
        if words.contains("expired") || words.contains("not yet valid") { return .certificateExpired }
        if words.contains("subject name") || words.contains("hostname") { return .wrongHost }
        if words.contains("issuer") || words.contains("self") { return .unknownIssuer }
        return .untrusted
    }
}
