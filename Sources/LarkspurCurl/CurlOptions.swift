internal import CLarkspur

/// The options of an easy handle. Options that all requests share are set once. Most other options are set only when
/// their value changes.
struct CurlOptions {
    let easy: UnsafeMutableRawPointer
    private var target = ""
    private var asksForTrust = false
    var identity = CurlIdentity()
    private var route: CurlRoute?
    private var lookup: CurlLine?
    private var connectTo: CurlLine?
    private var alternative: CurlAlternatives.Endpoint?
    private let noProxyConnection = CurlLine("Proxy-Connection:")
    /// Whether TLS sessions are resumed. In a resumed session, the server sends no certificate and no stapled status.
    private var resumesTLS = true
    private var keyLog: Int32 = -1
    /// Whether libcurl decodes the chunks of a response's body.
    private var undoesChunks = true
    /// Whether libcurl also passes the head's lines to the callback for the body.
    private var showsLines = false
    /// Whether the connections for HTTP/3 are used, apart from the others.
    private var isForHTTP3 = false
    /// The size of libcurl's receive buffer in bytes; 0 before it is set.
    private var bufferSize = 0
    /// The HTTP version for which the options of a GET without a body are currently set; nil if they are not set. For
    /// another such GET with the same version, these options are not set again.
    private var plainVersion: CurlVersion?

    init(easy: UnsafeMutableRawPointer) {
        self.easy = easy
    }

    fileprivate func set(_ option: Int32, _ value: Int) { clarkspur_easy_set_long(easy, option, value) }
    private func set(_ option: Int32, _ text: String?) {
        guard let text else { return set(option, pointer: nil) }
        text.withCString { _ = clarkspur_easy_set_pointer(easy, option, $0) }
    }
    private func set(_ option: Int32, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = clarkspur_easy_set_blob(easy, option, $0.baseAddress, $0.count, true) }
    }
    private func set(_ option: Int32, pointer: UnsafeRawPointer?) { clarkspur_easy_set_pointer(easy, option, pointer) }

    /// Sets the options that all transfers share.
    ///
    /// - Parameter keyLog: The descriptor of the key log file; negative if there is none.
    mutating func setUp(
        _ configuration: CurlTransport.Configuration, authorities: CurlCertificates?, url: UnsafeRawPointer,
        keyLog: Int32
    ) {
        set(CURLOPT_CURLU, pointer: url)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)  // otherwise, from 7.87 on, a transfer's end waits for its name lookup
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_PROTOCOLS, 3)  // http and https
        set(CURLOPT_PROXY, "")  // if not set, libcurl reads the environment for each transfer
        set(CURLOPT_NOPROXY, "")  // if not set, libcurl reads the environment for this option too
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if let interface = configuration.interface { set(CURLOPT_INTERFACE, interface) }
        if let delay = configuration.addressDelay {
            set(
                CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS,
                Int(min(max(delay, .milliseconds(1)), .seconds(60)) / .milliseconds(1)))
        }
        set(CURLOPT_TCP_KEEPALIVE, 1)
        if let limit = configuration.peerTimeout {
            set(CURLOPT_TCP_KEEPIDLE, seconds(configuration.keepAliveInterval ?? limit / 2))
            set(CURLOPT_TCP_KEEPINTVL, seconds(configuration.keepAliveInterval ?? limit / 6))
        } else if let interval = configuration.keepAliveInterval {
            set(CURLOPT_TCP_KEEPIDLE, seconds(interval))
            set(CURLOPT_TCP_KEEPINTVL, seconds(interval))
        }
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_CONNECTTIMEOUT_MS, 86_400_000)  // the loop measures this timeout
        set(CURLOPT_MAXAGE_CONN, seconds(configuration.idleLifetime))
        if let lifetime = configuration.connectionLifetime { set(CURLOPT_MAXLIFETIME_CONN, seconds(lifetime)) }
        setUpTLS(configuration, authorities)
        self.keyLog = keyLog
        resumesTLS = !configuration.requiresStapledStatus
        setUpConnections()
    }

    /// Sets the TLS options of the connections that this transfer opens from now on. The options are set even if all
    /// have their defaults. Otherwise libcurl would write keys to the file that the environment variable SSLKEYLOGFILE
    /// names.
    private func setUpConnections() {
        if clarkspur_tls_load() { clarkspur_tls_set_up(easy, asksForTrust, keyLog) }
        set(CURLOPT_SSL_SESSIONID_CACHE, resumesTLS && !asksForTrust ? 1 : 0)
    }

    private mutating func setUpTLS(_ configuration: CurlTransport.Configuration, _ authorities: CurlCertificates?) {
        let newest = configuration.maximumTLSVersion?.rawValue ?? 0
        set(CURLOPT_SSLVERSION, configuration.minimumTLSVersion.rawValue | newest << 16)
        set(CURLOPT_PROXY_SSLVERSION, configuration.minimumTLSVersion.rawValue | newest << 16)
        if let ciphers = configuration.ciphers { set(CURLOPT_SSL_CIPHER_LIST, ciphers) }
        if let path = configuration.revocationList { set(CURLOPT_CRLFILE, path) }
        identity.set(configuration.identity, of: easy)
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
        /// The whole body, sent together with the head from memory that lives as long as the transfer.
        case post(UnsafeRawBufferPointer)
        /// A body that libcurl reads piece by piece.
        case upload(length: UInt64?)
    }

    /// Sets whether libcurl decodes the chunks of the response's body.
    ///
    /// From 8.7 on, libcurl fails if the head lists another coding before `chunked`, unless libcurl's decoding is off.
    /// With these versions, decoding is therefore off until the head has arrived.
    mutating func undoChunks(_ isOn: Bool) {
        guard isOn != undoesChunks, CurlLibrary.current.readsFirstCodingOnly else { return }
        undoesChunks = isOn
        set(CURLOPT_HTTP_TRANSFER_DECODING, isOn ? 1 : 0)
    }

    /// Sets whether libcurl also passes each line of the head to the callback for the body, before it stores the line.
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
        // libcurl allocates its receive buffer for each transfer. To allocate a large buffer costs more than to receive
        // a small response. Only a request with a limited allowance has a large buffer, because its receiver expects a
        // long body.
        let bufferSize = request.initialAllowance == .max ? 64 * 1_024 : 512 * 1_024
        // libcurl refuses another size while the handle still has a buffer, for example after a transfer that ended
        // before it was connected.
        if bufferSize != self.bufferSize, clarkspur_easy_set_long(easy, CURLOPT_BUFFERSIZE, bufferSize) == 0 {
            self.bufferSize = bufferSize
        }
        set(CURLOPT_HTTPHEADER, pointer: fields)
        undoChunks(false)
        let asks = request.asksForTrust && request.url.isHTTPS
        if asks != asksForTrust, !asks || CurlTrust.problem == nil {
            // If the request asks for trust, libcurl verifies the chain but accepts every verdict, and does not check
            // the host's name. `CurlTrust` later reads the verdict and checks the name, when it asks the delegate about
            // the peer. TLS sessions are not resumed, because a resumed session has no verdict of its own. libcurl does
            // not reuse a connection that was made with other options, so requests that ask for trust share no
            // connection with requests that do not ask.
            asksForTrust = asks
            setUpConnections()
            set(CURLOPT_SSL_VERIFYHOST, asksForTrust ? 0 : 2)
        }
        var isPlain = false
        if request.method == "GET", case .bodiless = shape { isPlain = true }
        // Without TLS, HTTP/2 has an option of its own.
        if isPlain, !isFresh, plainVersion == version, version != .http2 { return }
        plainVersion = isPlain && !isFresh ? version : nil
        set(CURLOPT_POSTFIELDS, pointer: nil)  // otherwise libcurl before 8.7 cannot rewind an upload
        set(CURLOPT_HTTPGET, 1)  // resets the options of the previous request's body
        set(shape, of: request)
        // With the options of a body, libcurl would send PUT or POST. This option sets the request's own method.
        isPlain ? set(CURLOPT_CUSTOMREQUEST, pointer: nil) : set(CURLOPT_CUSTOMREQUEST, request.method)
        set(CURLOPT_HTTP_VERSION, version.rawValue)
        if version.isHTTP3 != isForHTTP3 {
            // For HTTP/3 or an older version, libcurl would reuse any connection to the host. It does not reuse a
            // connection that was made with other TLS options. This option has a meaning on Windows only.
            isForHTTP3 = version.isHTTP3
            set(CURLOPT_SSL_OPTIONS, isForHTTP3 ? Int(CURLSSLOPT_REVOKE_BEST_EFFORT) : 0)
        }
        // Before 7.80, a request that waits for the connection of another request can wait forever: libcurl does not
        // notice that a proxy has closed this connection after a challenge to CONNECT.
        let closesTunnels = route?.asker != nil && !CurlLibrary.current.tellsOfRequests
        // libcurl would wait for the first response of a connection without TLS, which may never come.
        let waitsInVain =
            version == .http2 && !request.url.isHTTPS && CurlLibrary.current.waitsForFirstResponse
        set(CURLOPT_PIPEWAIT, version == .http1 || closesTunnels || waitsInVain ? 0 : 1)
        set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
    }
}

extension CurlOptions {
    /// Sets the server to connect to instead of the URL's host; nil for the host itself.
    mutating func connect(to endpoint: CurlAlternatives.Endpoint?) {
        guard endpoint != alternative else { return }
        alternative = endpoint
        connectTo = endpoint.map { CurlLine($0.connectTo) }
        set(CURLOPT_CONNECT_TO, pointer: connectTo?.pointer)
    }

    private func set(_ shape: Shape, of request: TransportRequest) {
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
    }

    /// Makes libcurl only connect: through a tunnel if there is a proxy, and over a connection of its own, which is
    /// never reused. The handle is not used for another request afterwards.
    func connectOnly() {
        set(CURLOPT_CONNECT_ONLY, 1)
        set(CURLOPT_HTTPPROXYTUNNEL, 1)
        set(CURLOPT_BUFFERSIZE, 1_024)  // libcurl's own buffer is not used
    }

    /// Makes libcurl stop before it sends the request, and keep the connection: with a time condition that it cannot
    /// write, a transfer ends with `CURLE_BAD_FUNCTION_ARGUMENT` after it has connected.
    func stopBeforeRequest(_ isOn: Bool) {
        set(CURLOPT_TIMECONDITION, isOn ? 1 : 0)
        clarkspur_easy_set_offset(easy, CURLOPT_TIMEVALUE_LARGE, isOn ? .max : 0)
    }

    /// Digest authentication, but only after the proxy's challenge (`CURLAUTH_DIGEST` with `CURLAUTH_ONLY`). With
    /// `CURLAUTH_DIGEST` alone, libcurl first sends the request without its body, to get the challenge. A proxy that
    /// sends no challenge would forward this incomplete request.
    private static let digestWhenAsked = Int(truncatingIfNeeded: 0x8000_0002 as UInt32)

    private mutating func set(_ route: CurlRoute?) {
        self.route = route
        plainVersion = nil
        lookup = route?.lookup.map { CurlLine($0) }
        set(CURLOPT_RESOLVE, pointer: lookup?.pointer)
        set(CURLOPT_UNIX_SOCKET_PATH, route?.unixSocket)
        // A connection with unread bytes must not be reused. Old versions of libcurl do not check for unread bytes, so
        // the transport does. It finds a connection's descriptor by its ports. A Unix-domain socket has no ports, so
        // with such a version of libcurl its connection is never reused.
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

/// A version of HTTP to request, with the value of libcurl's constant.
enum CurlVersion: Int {
    case http1 = 2
    case negotiated = 4
    case http2 = 5
    /// HTTP/3, or what the peer speaks over TCP.
    case http3 = 30
    /// HTTP/3 and nothing else.
    case onlyHTTP3 = 31

    var isHTTP3: Bool { self == .http3 || self == .onlyHTTP3 }

    static func fit(for request: TransportRequest, negotiates: Bool, _ libcurl: CurlLibrary) -> CurlVersion {
        switch request.version {
        case .http1: return .http1
        case .http2: return .http2
        case .http3, .negotiated:
            let isFit = negotiates && request.url.isHTTPS && libcurl.hasHTTP2
            // libcurl sends trailers only over HTTP/1.1.
            return isFit && libcurl.receivesOverHTTP2(request) && !request.body.hasTrailers ? .negotiated : .http1
        }
    }
}

struct CurlLibrary: Sendable {
    let number: UInt32
    let name: String
    let tls: String
    let hasHTTP2: Bool
    let hasHTTP3: Bool

    /// The loaded library. This property must be read only after libcurl is loaded.
    static let current = CurlLibrary()

    private init() {
        let version = clarkspur_curl_get_version()
        number = version.number
        name = version.text.map { String(cString: $0) } ?? ""
        tls = version.tls.map { String(cString: $0) } ?? ""
        hasHTTP2 = version.has_http2
        // Older versions treat HTTP/3 as an experiment.
        hasHTTP3 = version.has_http3 && version.number >= 0x080200
    }

    /// Whether libcurl has a callback that it calls before it sends a request (7.80 or later). Only in this callback
    /// can the peer be evaluated before the request is sent.
    var tellsOfRequests: Bool { number >= 0x075000 }

    /// Whether libcurl has the bug that a reused handle reads freed memory if the first line after a status line is a
    /// continuation line (7.83 to 8.1). The transport refuses such a line before libcurl stores it.
    var readsFreedFields: Bool { (0x075300..<0x080200).contains(number) }

    /// Whether libcurl reuses an HTTP/1 connection on which unread bytes wait, and then reads these bytes as the
    /// response (7.79 to 8.1). With 7.79, the transport cannot prevent this, because that version has no callback
    /// before a request.
    var ignoresWaitingBytes: Bool { (0x074F00..<0x080200).contains(number) }

    /// Whether libcurl reuses an HTTP/1 connection for a request that requires HTTP/2 (before 8.14).
    var mixesVersions: Bool { number < 0x080E00 }

    /// Whether libcurl lets requests wait until an HTTP/2 connection without TLS has had a response. They wait for ever
    /// if the first request of the connection has failed (8.11 or later).
    var waitsForFirstResponse: Bool { number >= 0x080B00 }

    /// Whether libcurl begins HTTP/2 again on each reused connection without TLS, which breaks the connection (7.88).
    var breaksPlainHTTP2: Bool { (0x075800..<0x080000).contains(number) }

    /// Whether libcurl either ignores a `Transfer-Encoding` field that begins with another coding than `chunked`, or
    /// fails because of it (8.7 or later).
    var readsFirstCodingOnly: Bool { number >= 0x080700 }

    /// Whether libcurl accepts the certificates of authorities as bytes (7.77 or later).
    var takesAuthorities: Bool { number >= 0x074D00 && Self.acceptsAuthorities }

    /// Whether libcurl's TLS library can use certificates in memory.
    private static let acceptsAuthorities: Bool = {
        guard let easy = clarkspur_easy_open() else { return false }
        defer { clarkspur_easy_close(easy) }
        return "-".utf8.withContiguousStorageIfAvailable { bytes in
            clarkspur_easy_set_blob(easy, CURLOPT_CAINFO_BLOB, bytes.baseAddress, bytes.count, true) == 0
        } ?? false
    }()

    /// Whether libcurl's TLS library can use a client's certificate and key in memory.
    var takesIdentity: Bool { !tls.hasPrefix("GnuTLS") }

    /// Whether libcurl obeys two options for requests that a proxy itself receives: the target in
    /// `CURLOPT_REQUEST_TARGET`, and the fields that `CURLOPT_HTTPHEADER` removes (7.75 or later).
    var handsOverTargets: Bool { number >= 0x074B00 }

    /// Whether libcurl refuses a response's field without a colon (7.83 or later).
    var refusesOddFields: Bool { number >= 0x075300 }

    /// Whether libcurl's TLS library can ask for the stapled status of certificates.
    static let checksStatus: Bool = {
        guard let easy = clarkspur_easy_open() else { return false }
        defer { clarkspur_easy_close(easy) }
        return clarkspur_easy_set_long(easy, CURLOPT_SSL_VERIFYSTATUS, 1) == 0
    }()

    /// Whether libcurl waits to write to a socket while the window of an HTTP/2 upload is closed (7.87 and 7.88). The
    /// socket is writable all the time, so the loop would never sleep.
    var spinsOverHTTP2: Bool { (0x075700..<0x080000).contains(number) }

    /// Returns whether the request may use HTTP/2. Before 7.88, libcurl lets the peer send another window of bytes each
    /// time a paused response continues, and fails when 64 MiB of the response wait. With these versions, a request
    /// whose response may be paused uses HTTP/1.1.
    func receivesOverHTTP2(_ request: TransportRequest) -> Bool {
        number >= 0x075800 || request.initialAllowance == .max
    }
}
