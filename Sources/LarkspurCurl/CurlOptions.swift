internal import CLarkspur

/// Sets the options of an easy handle: those of all its transfers once, those of a request where they have changed.
struct CurlOptions {
    let easy: UnsafeMutableRawPointer
    private var target = ""
    private var asksForTrust = false
    private var route: CurlRoute?
    private var lookup: CurlLine?
    private let noProxyConnection = CurlLine("Proxy-Connection:")
    /// A session that is taken up again comes without a certificate, and so without its status.
    private var resumesTLS = true
    private var keyLog: Int32 = -1
    /// Whether libcurl undoes chunks.
    private var undoesChunks = true
    /// Whether libcurl passes the head's lines to the body's callback too.
    private var showsLines = false
    /// How much libcurl takes from a socket at once; 0 before it was told.
    private var bufferSize = 0
    /// Under which version a GET without a body was sent last, if nothing else was sent after it.
    private var plainVersion: CurlVersion?

    init(easy: UnsafeMutableRawPointer) {
        self.easy = easy
    }

    private func set(_ option: Int32, _ value: Int) { clarkspur_easy_set_long(easy, option, value) }
    private func set(_ option: Int32, _ text: String?) {
        guard let text else { return set(option, pointer: nil) }
        text.withCString { _ = clarkspur_easy_set_pointer(easy, option, $0) }
    }
    private func set(_ option: Int32, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = clarkspur_easy_set_blob(easy, option, $0.baseAddress, $0.count, true) }
    }
    private func set(_ option: Int32, pointer: UnsafeRawPointer?) { clarkspur_easy_set_pointer(easy, option, pointer) }

    /// What all transfers have in common.
    ///
    /// - Parameter keyLog: The descriptor of the file for keys, negative if there is none.
    mutating func setUp(
        _ configuration: CurlTransport.Configuration, authorities: CurlCertificates?, url: UnsafeRawPointer,
        keyLog: Int32
    ) {
        set(CURLOPT_CURLU, pointer: url)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)  // or the end of a transfer waits for its name lookup, from 7.87 on
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_PROTOCOLS, 3)  // http and https
        set(CURLOPT_PROXY, "")  // and none from the environment,
        set(CURLOPT_NOPROXY, "")  // which libcurl would read for each transfer
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if let interface = configuration.interface { set(CURLOPT_INTERFACE, interface) }
        set(CURLOPT_TCP_KEEPALIVE, 1)
        if let limit = configuration.peerTimeout {
            set(CURLOPT_TCP_KEEPIDLE, seconds(limit / 2))
            set(CURLOPT_TCP_KEEPINTVL, seconds(limit / 6))
        }
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_CONNECTTIMEOUT_MS, 86_400_000)  // the loop keeps the time
        set(CURLOPT_MAXAGE_CONN, seconds(configuration.idleLifetime))
        if let lifetime = configuration.connectionLifetime { set(CURLOPT_MAXLIFETIME_CONN, seconds(lifetime)) }
        setUpTLS(configuration, authorities)
        self.keyLog = keyLog
        resumesTLS = !configuration.requiresStapledStatus
        setUpConnections()
    }

    /// How connections are secured that this transfer makes from now on. It needs saying even where nothing is asked for, or
    /// libcurl writes keys to the file that the environment names.
    private func setUpConnections() {
        if clarkspur_tls_load() { clarkspur_tls_set_up(easy, asksForTrust, keyLog) }
        set(CURLOPT_SSL_SESSIONID_CACHE, resumesTLS && !asksForTrust ? 1 : 0)
    }

    private func setUpTLS(_ configuration: CurlTransport.Configuration, _ authorities: CurlCertificates?) {
        let newest = configuration.maximumTLSVersion?.rawValue ?? 0
        set(CURLOPT_SSLVERSION, configuration.minimumTLSVersion.rawValue | newest << 16)
        set(CURLOPT_PROXY_SSLVERSION, configuration.minimumTLSVersion.rawValue | newest << 16)
        if let ciphers = configuration.ciphers { set(CURLOPT_SSL_CIPHER_LIST, ciphers) }
        if let path = configuration.revocationList { set(CURLOPT_CRLFILE, path) }
        if let identity = configuration.identity {
            switch identity.content {
            case .pem(let chain, let key):
                set(CURLOPT_SSLCERT_BLOB, chain)
                set(CURLOPT_SSLKEY_BLOB, key)
            case .pkcs12(let bytes):
                set(CURLOPT_SSLCERTTYPE, "P12")
                set(CURLOPT_SSLCERT_BLOB, bytes)
            }
            set(CURLOPT_KEYPASSWD, identity.password)  // an empty one too, or OpenSSL asks at the terminal
        }
        if configuration.requiresStapledStatus { set(CURLOPT_SSL_VERIFYSTATUS, 1) }
        switch configuration.certificateAuthorities {
        case .system: break
        case .file(let path):
            leaveOutFolders()
            set(CURLOPT_CAINFO, path)
            set(CURLOPT_PROXY_CAINFO, path)
        case .pem: leaveOutFolders()
        case .systemAnd: break
        }
        if let bytes = authorities?.bytes {
            clarkspur_easy_set_blob(easy, CURLOPT_CAINFO_BLOB, bytes.baseAddress, bytes.count, false)
            clarkspur_easy_set_blob(easy, CURLOPT_PROXY_CAINFO_BLOB, bytes.baseAddress, bytes.count, false)
        }
    }

    private func leaveOutFolders() {
        set(CURLOPT_CAPATH, pointer: nil)
        set(CURLOPT_PROXY_CAPATH, pointer: nil)
    }

    private func seconds(_ duration: Duration) -> Int {
        max(1, Int(min(duration.components.seconds, 1_000_000)))
    }

    enum Shape {
        case bodiless
        /// Whole, together with the head: memory that lives as long as the transfer.
        case post(UnsafeRawBufferPointer)
        /// Pulled piece by piece.
        case upload(length: UInt64?)
    }

    /// Has libcurl undo the chunks of the response whose head has come, or leave them.
    ///
    /// From 8.7 on libcurl fails with a head that begins its codings with another one than `chunked`, unless it is told
    /// to undo nothing. So it is told that until the head has come.
    mutating func undoChunks(_ isOn: Bool) {
        guard isOn != undoesChunks, CurlLibrary.current.readsFirstCodingOnly else { return }
        undoesChunks = isOn
        set(CURLOPT_HTTP_TRANSFER_DECODING, isOn ? 1 : 0)
    }

    /// Makes libcurl pass each line of the head to the body's callback before it stores the line.
    mutating func showLines(_ isOn: Bool) {
        guard isOn != showsLines else { return }
        showsLines = isOn
        set(CURLOPT_HEADER, isOn ? 1 : 0)
    }

    mutating func set(
        _ request: TransportRequest, shape: Shape, version: CurlVersion, fields: UnsafePointer<clarkspur_line>?,
        route: CurlRoute?, isFresh: Bool
    ) {
        if route?.handsOver(request.url) == true {
            target = String(request.url.originText + request.url.target)
            set(CURLOPT_REQUEST_TARGET, target)
        } else if !request.url.hasTarget(target) {
            target = String(request.url.target)
            set(CURLOPT_REQUEST_TARGET, target)
        }
        if route != self.route { set(route) }
        // libcurl asks the allocator for one with each transfer. A large one costs more than a small response; who is handed
        // the body piece by piece expects a long one.
        let bufferSize = request.initialAllowance == .max ? 64 * 1_024 : 512 * 1_024
        // It refuses to while the handle has one still, as from a transfer that has ended before it had a connection.
        if bufferSize != self.bufferSize, clarkspur_easy_set_long(easy, CURLOPT_BUFFERSIZE, bufferSize) == 0 {
            self.bufferSize = bufferSize
        }
        set(CURLOPT_HTTPHEADER, pointer: fields)
        undoChunks(false)
        let asks = request.asksForTrust && request.url.isHTTPS
        if asks != asksForTrust, !asks || CurlTrust.problem == nil {
            // The chain is verified as ever, and the verdict read when the peer is asked about. A session that is taken up
            // again has none of its own. The host is looked at then too: because libcurl does not, no connection is shared
            // with requests that do not ask.
            asksForTrust = asks
            setUpConnections()
            set(CURLOPT_SSL_VERIFYHOST, asksForTrust ? 0 : 2)
        }
        var isPlain = false
        if request.method == "GET", case .bodiless = shape { isPlain = true }
        if isPlain, !isFresh, plainVersion == version { return }
        plainVersion = isPlain && !isFresh ? version : nil
        set(CURLOPT_POSTFIELDS, pointer: nil)  // while it is set, libcurl before 8.7 rewinds no upload
        set(CURLOPT_HTTPGET, 1)  // undoes what the transfer before had
        switch shape {
        case .bodiless:
            if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
        case .post(let bytes):
            clarkspur_easy_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count))
            set(CURLOPT_POSTFIELDS, pointer: bytes.baseAddress)
        case .upload(let length):
            set(CURLOPT_UPLOAD, 1)
            clarkspur_easy_set_offset(easy, CURLOPT_INFILESIZE_LARGE, length.map { Int64(clamping: $0) } ?? -1)
            set(CURLOPT_UPLOAD_BUFFERSIZE, (length ?? .max) > 1 << 20 ? 1 << 20 : 1 << 16)
        }
        // A body has changed the method that libcurl would send.
        isPlain ? set(CURLOPT_CUSTOMREQUEST, pointer: nil) : set(CURLOPT_CUSTOMREQUEST, request.method)
        set(CURLOPT_HTTP_VERSION, version.rawValue)
        // Before 7.80 libcurl waits for ever for the connection that a challenged tunnel has closed.
        let closesTunnels = route?.asker != nil && !CurlLibrary.current.tellsOfRequests
        set(CURLOPT_PIPEWAIT, version == .http1 || closesTunnels ? 0 : 1)
        set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
    }
}

extension CurlOptions {
    /// Digest, and none before the proxy has asked. Told Digest alone, libcurl sends a request with a body without it
    /// first, to be asked; a proxy that does not ask hands that on.
    private static let digestWhenAsked = Int(truncatingIfNeeded: 0x8000_0002 as UInt32)

    private mutating func set(_ route: CurlRoute?) {
        self.route = route
        plainVersion = nil
        lookup = route?.lookup.map { CurlLine($0) }
        set(CURLOPT_RESOLVE, pointer: lookup?.pointer)
        set(CURLOPT_UNIX_SOCKET_PATH, route?.unixSocket)
        // Connections of Unix-domain sockets have no ports to be told apart by, so they cannot be asked whether bytes wait on them.
        set(CURLOPT_FORBID_REUSE, route?.unixSocket != nil && CurlLibrary.current.ignoresWaitingBytes ? 1 : 0)
        let proxy = route?.proxy
        set(CURLOPT_PROXY, proxy?.text ?? "")
        if !CurlLibrary.current.handsOverTargets {
            set(CURLOPT_PROXYHEADER, pointer: proxy == nil ? nil : noProxyConnection.pointer)
        }
        set(CURLOPT_PROXYUSERNAME, proxy?.username)
        set(CURLOPT_PROXYPASSWORD, proxy?.username.map { _ in proxy?.password ?? "" })
        set(CURLOPT_PROXYAUTH, proxy?.authentication == .digest ? Self.digestWhenAsked : 1)
    }
}

/// The version of HTTP that libcurl is asked for, under its numbers.
enum CurlVersion: Int {
    case http1 = 2
    case negotiated = 4
    case http2 = 5

    static func fit(for request: TransportRequest, negotiates: Bool, _ libcurl: CurlLibrary) -> CurlVersion {
        switch request.version {
        case .http1: return .http1
        case .http2: return .http2
        case .negotiated:
            let isFit = negotiates && request.url.isHTTPS && libcurl.hasHTTP2
            return isFit && libcurl.receivesOverHTTP2(request) ? .negotiated : .http1
        }
    }
}

struct CurlLibrary: Sendable {
    let number: UInt32
    let name: String
    let hasHTTP2: Bool

    /// Only to be asked for once libcurl is loaded.
    static let current = CurlLibrary()

    private init() {
        let version = clarkspur_curl_get_version()
        number = version.number
        name = version.text.map { String(cString: $0) } ?? ""
        hasHTTP2 = version.has_http2
    }

    /// Whether it says when it is about to send a request, since 7.80, so that the peer can be judged before.
    var tellsOfRequests: Bool { number >= 0x075000 }

    /// Whether a reused handle reads freed memory when the first line after a status line continues a field, as versions
    /// 7.83 to 8.1 do. Such a line is refused before libcurl stores it.
    var readsFreedFields: Bool { (0x075300..<0x080200).contains(number) }

    /// Whether it sends a request over a kept HTTP/1 connection on which bytes wait, which it then takes for the response:
    /// 7.79 to 8.1. It cannot be prevented with 7.79.
    var ignoresWaitingBytes: Bool { (0x074F00..<0x080200).contains(number) }

    /// Whether it ignores a `Transfer-Encoding` field that begins with another coding than `chunked`, or fails with it: since
    /// 8.7.
    var readsFirstCodingOnly: Bool { number >= 0x080700 }

    /// Whether the certificates of authorities can be given as bytes, since 7.77.
    var takesAuthorities: Bool { number >= 0x074D00 }

    /// Whether a proxy is handed the target that was set, and no field that was left out, since 7.75.
    var handsOverTargets: Bool { number >= 0x074B00 }

    /// Whether it refuses a response's field without a colon, since 7.83.
    var refusesOddFields: Bool { number >= 0x075300 }

    /// Whether its TLS can ask for the status of certificates.
    static let checksStatus: Bool = {
        guard let easy = clarkspur_easy_open() else { return false }
        defer { clarkspur_easy_close(easy) }
        return clarkspur_easy_set_long(easy, CURLOPT_SSL_VERIFYSTATUS, 1) == 0
    }()

    /// Whether it wants to write to a socket while the window of an HTTP/2 upload is closed: versions 7.87 and 7.88.
    var spinsOverHTTP2: Bool { (0x075700..<0x080000).contains(number) }

    /// Versions before 7.88 take another window from the peer each time that a paused response goes on, and end it when
    /// 64 MiB of it wait: what may be held back goes by HTTP/1.1 there.
    func receivesOverHTTP2(_ request: TransportRequest) -> Bool {
        number >= 0x075800 || request.initialAllowance == .max
    }
}
