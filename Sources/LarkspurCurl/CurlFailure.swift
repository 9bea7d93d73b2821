internal import CLarkspur

/// What one of libcurl's codes means for the hop.
struct CurlFailure {
    let code: Int32
    let message: String
    let phase: TransportError.Phase
    let easy: UnsafeMutableRawPointer
    let proxy: Proxy?
    let isConnected: Bool
    let socketError: Int32

    /// Codes that a connection's end can show as.
    var isLoss: Bool { [16, 18, 52, 55, 56, 92].contains(code) }

    /// The connection took no more.
    var isOfSending: Bool { code == 55 }

    /// Only HTTP/2 fails so: a whole connection's end reaches all its requests, of which none may have been processed.
    var isHTTP2: Bool { code == 16 || code == 92 }

    /// What comes of keeping libcurl from sending a request once more after a 417: it found no connection, or a callback
    /// refused. The answer is there, if not all of it.
    static func endsSecondSending(_ code: Int32) -> Bool { [5, 6, 7, 23, 35, 42, 65].contains(code) }

    /// A body in chunks was to go over a kept connection whose peer last spoke HTTP/1.0; nothing was sent.
    var isForFreshConnection: Bool { code == 25 && message.contains("HTTP 1.0") }

    /// libcurl would have sent the request again, but for the count of times it did: some versions never set it back
    /// while a handle lives, and so give up on the sixth stale connection that the handle has met.
    var isGivingUp: Bool { code == 55 && message.hasPrefix("Connection died, tried") }

    /// The failure if the process or the system has no descriptor left. A name's lookup does not tell why it failed, so the
    /// system is asked whether there is one now.
    private var shortage: TransportError? {
        var number = socketError
        if code == 6 {
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
        if [5, 6, 7].contains(code), let shortage { return shortage }
        return switch code {
        case 1: TransportError(kind, "what the peer sent is not HTTP (\(message))", phase: phase)
        case 27: TransportError(kind, "the response's head has a line without end", phase: phase)
        case 58: TransportError(kind, "the client's certificate or its key cannot be used: \(message)", phase: phase)
        case 91: TransportError(kind, "the status of the peer's certificate: \(message)", phase: phase)
        default:
            proxyFault == nil
                ? TransportError(kind, TLSFailure.explained(message, peer: "the server"), phase: phase)
                : TransportError(kind, TLSFailure.explained(message, peer: "the proxy"), phase: .connecting)
        }
    }

    /// What is the proxy's doing, and not the host's behind it.
    private var proxyFault: TransportError.Code? {
        guard let proxy, !isConnected else { return nil }
        let status = clarkspur_easy_long(easy, CurlInfo.proxyStatus)
        // 401 is what some answer to a wrong password; the others are libcurl's for SOCKS.
        let isDenied =
            [401, 407].contains(status) || [12, 33].contains(clarkspur_easy_long(easy, CurlInfo.proxyFault))
        switch code {
        case 97 where clarkspur_easy_long(easy, CurlInfo.proxyFault) == 27: return .nameLookup  // the host's, made here
        case 5, 7, 52, 55, 56, 97, 100: return isDenied ? .proxyUnauthorized : .proxyFailed
        case 35, 51, 53, 54, 59, 60, 77, 80, 83, 90, 91:
            return proxy.kind == .https && status == 0 ? .proxyFailed : nil
        default: return nil
        }
    }

    private var kind: TransportError.Code {
        if let proxyFault { return proxyFault }
        return switch code {
        case 5, 6: .nameLookup
        case 7 where clarkspur_easy_long(easy, CurlInfo.systemError) == Int(ECONNREFUSED): .connectionRefused
        case 7: .unreachable
        case 45: .unreachable  // from this local address
        case 18: phase == .receiving ? .truncated : .connectionLost
        case 26, 42: .bodyFailed
        case 28: .timedOut
        case 35 where TLSFailure.isVersion(message): .tlsVersion
        case 35 where TLSFailure.isPlainText(message): .notTLS
        case 35, 53, 54, 59, 66, 80, 83, 98: .handshake
        case 58: .invalidIdentity
        case 51, 60, 82, 90: certificateFault
        case 91: message.contains("revocation reason") ? .certificateRevoked : .certificateStatusUnknown
        case 77: .unavailable  // the file of authorities
        case 65: .bodyNotReplayable
        case 1, 8, 27, 100: .protocolViolation
        case 61: .unsupportedCoding
        // A continued line with nothing before it.
        case 43 where phase == .waiting: .protocolViolation
        // libcurl has one code for what it could not read and for what it could not understand.
        case 56 where message.contains("chunk"): .protocolViolation
        // TLS that ends without saying so.
        case 56 where phase == .receiving && message.contains("unexpected eof"): .truncated
        case 16 where phase != .connecting: .connectionLost
        case 16: .protocolViolation
        case 52, 55, 56: .connectionLost
        case 92: message.contains("PROTOCOL_ERROR") ? .protocolViolation : .connectionLost
        default: .other
        }
    }

    /// By OpenSSL's number for it, X509_V_ERR_…; nil for X509_V_OK and X509_V_ERR_UNSPECIFIED.
    static func code(ofVerdict verdict: Int) -> TransportError.Code? {
        switch verdict {
        case 0, 1: nil
        case 9: .certificateNotYetValid
        case 10: .certificateExpired
        case 18: .selfSigned
        case 2, 19, 20, 21: .unknownIssuer
        case 3, 11, 12, 33: .certificateStatusUnknown  // no list of the issuer's, or one that is not valid now
        case 23: .certificateRevoked
        case 62, 64: .wrongHost
        case 66, 67: .weakCertificateKey
        case 68: .weakCertificateDigest
        default: .untrusted
        }
    }

    /// By the number of OpenSSL's verdict; other TLS libraries, and the host's name, tell in words alone.
    private var certificateFault: TransportError.Code {
        if let code = Self.code(ofVerdict: clarkspur_easy_long(easy, CurlInfo.verifyResult)) { return code }
        let words = message.lowercased()
        if words.contains("expired") || words.contains("not yet valid") { return .certificateExpired }
        if words.contains("subject name") || words.contains("hostname") { return .wrongHost }
        if words.contains("issuer") || words.contains("self") { return .unknownIssuer }
        return .untrusted
    }
}
