internal import CLarkspur

// The numbers of libcurl's options, infos and codes, as its documentation gives them.

enum CurlOption {
    static let proxy: Int32 = 10_004
    static let interface: Int32 = 10_062
    static let proxyAuthentication: Int32 = 111
    static let proxyFields: Int32 = 10_228
    static let proxyUser: Int32 = 10_175
    static let proxyPassword: Int32 = 10_176
    static let lookups: Int32 = 10_203
    static let unixSocket: Int32 = 10_231
    static let proxyAuthorityFile: Int32 = 10_246
    static let proxyAuthorityFolder: Int32 = 10_247
    static let proxyTLSVersion: Int32 = 250
    static let hidesProxyHeads: Int32 = 265
    static let proxyAuthorities: Int32 = 40_310
    static let errorBuffer: Int32 = 10_010
    static let postFields: Int32 = 10_015
    static let fields: Int32 = 10_023
    static let method: Int32 = 10_036
    static let tlsVersion: Int32 = 32
    static let noBody: Int32 = 44
    static let upload: Int32 = 46
    static let verifiesPeer: Int32 = 64
    static let freshConnection: Int32 = 74
    static let forbidsReuse: Int32 = 75
    static let authorityFile: Int32 = 10_065
    static let ciphers: Int32 = 10_083
    static let revocationList: Int32 = 10_169
    static let certificate: Int32 = 40_291
    static let key: Int32 = 40_292
    static let certificateType: Int32 = 10_086
    static let keyPassword: Int32 = 10_026
    static let verifiesStatus: Int32 = 232
    static let authorityFolder: Int32 = 10_097
    static let showsLines: Int32 = 42
    static let get: Int32 = 80
    static let verifiesHost: Int32 = 81
    static let version: Int32 = 84
    static let bufferSize: Int32 = 98
    static let noSignal: Int32 = 99
    static let context: Int32 = 10_103
    static let bodyLength: Int32 = 30_115
    static let noProxyFor: Int32 = 10_177
    static let postLength: Int32 = 30_120
    static let connectTimeout: Int32 = 156
    static let undoesChunks: Int32 = 157
    static let decodesContent: Int32 = 158
    static let protocols: Int32 = 181
    static let resumesTLS: Int32 = 150
    static let keepAlive: Int32 = 213
    static let keepAliveIdle: Int32 = 214
    static let keepAliveInterval: Int32 = 215
    static let pipeWait: Int32 = 237
    static let parsedURL: Int32 = 10_282
    static let target: Int32 = 10_266
    static let uploadBufferSize: Int32 = 280
    static let allowsHTTP09: Int32 = 285
    static let idleLifetime: Int32 = 288
    static let authorities: Int32 = 40_309
    static let lifetime: Int32 = 314
    static let quickExit: Int32 = 322
}

enum CurlMultiOption {
    static let pipelining: Int32 = 3
    static let maximumConnections: Int32 = 6
}

enum CurlInfo {
    static let verifyResult: Int32 = 0x200000 + 13
    static let context: Int32 = 0x100000 + 21
    static let proxyStatus: Int32 = 0x200000 + 22
    static let proxyFault: Int32 = 0x200000 + 59
    static let systemError: Int32 = 0x200000 + 25
    static let connections: Int32 = 0x200000 + 26
    static let remoteAddress: Int32 = 0x100000 + 32
    static let localAddress: Int32 = 0x100000 + 41
    static let remotePort: Int32 = 0x200000 + 40
    static let localPort: Int32 = 0x200000 + 42
    static let nameLookupTime: Int32 = 0x600000 + 51
    static let connectTime: Int32 = 0x600000 + 52
    static let sentBytes: Int32 = 0x600000 + 7
    static let preTransferTime: Int32 = 0x600000 + 53
    static let startTransferTime: Int32 = 0x600000 + 54
    static let appConnectTime: Int32 = 0x600000 + 56
}

enum CurlAnswer {
    static let pause = 0x1000_0001
    static let abortUpload = 0x1000_0000
    static let fail = 0
}

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
        set(CurlOption.parsedURL, pointer: url)
        set(CurlOption.noSignal, 1)
        set(CurlOption.quickExit, 1)  // or the end of a transfer waits for its name lookup, from 7.87 on
        set(CurlOption.decodesContent, 0)
        set(CurlOption.allowsHTTP09, 0)
        set(CurlOption.protocols, 3)  // http and https
        set(CurlOption.proxy, "")  // and none from the environment,
        set(CurlOption.noProxyFor, "")  // which libcurl would read for each transfer
        set(CurlOption.hidesProxyHeads, 1)
        if let interface = configuration.interface { set(CurlOption.interface, interface) }
        set(CurlOption.keepAlive, 1)
        if let limit = configuration.peerTimeout {
            set(CurlOption.keepAliveIdle, seconds(limit / 2))
            set(CurlOption.keepAliveInterval, seconds(limit / 6))
        }
        set(CurlOption.verifiesPeer, 1)
        set(CurlOption.verifiesHost, 2)
        set(CurlOption.connectTimeout, 86_400_000)  // the loop keeps the time
        set(CurlOption.idleLifetime, seconds(configuration.idleLifetime))
        if let lifetime = configuration.connectionLifetime { set(CurlOption.lifetime, seconds(lifetime)) }
        setUpTLS(configuration, authorities)
        self.keyLog = keyLog
        resumesTLS = !configuration.requiresStapledStatus
        setUpConnections()
    }

    /// How connections are secured that this transfer makes from now on. It needs saying even where nothing is asked for, or
    /// libcurl writes keys to the file that the environment names.
    private func setUpConnections() {
        if clarkspur_tls_load() { clarkspur_tls_set_up(easy, asksForTrust, keyLog) }
        set(CurlOption.resumesTLS, resumesTLS && !asksForTrust ? 1 : 0)
    }

    private func setUpTLS(_ configuration: CurlTransport.Configuration, _ authorities: CurlCertificates?) {
        let newest = configuration.maximumTLSVersion?.rawValue ?? 0
        set(CurlOption.tlsVersion, configuration.minimumTLSVersion.rawValue | newest << 16)
        set(CurlOption.proxyTLSVersion, configuration.minimumTLSVersion.rawValue | newest << 16)
        if let ciphers = configuration.ciphers { set(CurlOption.ciphers, ciphers) }
        if let path = configuration.revocationList { set(CurlOption.revocationList, path) }
        if let identity = configuration.identity {
            switch identity.content {
            case .pem(let chain, let key):
                set(CurlOption.certificate, chain)
                set(CurlOption.key, key)
            case .pkcs12(let bytes):
                set(CurlOption.certificateType, "P12")
                set(CurlOption.certificate, bytes)
            }
            set(CurlOption.keyPassword, identity.password)  // an empty one too, or OpenSSL asks at the terminal
        }
        if configuration.requiresStapledStatus { set(CurlOption.verifiesStatus, 1) }
        switch configuration.certificateAuthorities {
        case .system: break
        case .file(let path):
            leaveOutFolders()
            set(CurlOption.authorityFile, path)
            set(CurlOption.proxyAuthorityFile, path)
        case .pem: leaveOutFolders()
        case .systemAnd: break
        }
        if let bytes = authorities?.bytes {
            clarkspur_easy_set_blob(easy, CurlOption.authorities, bytes.baseAddress, bytes.count, false)
            clarkspur_easy_set_blob(easy, CurlOption.proxyAuthorities, bytes.baseAddress, bytes.count, false)
        }
    }

    private func leaveOutFolders() {
        set(CurlOption.authorityFolder, pointer: nil)
        set(CurlOption.proxyAuthorityFolder, pointer: nil)
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
        set(CurlOption.undoesChunks, isOn ? 1 : 0)
    }

    /// Makes libcurl pass each line of the head to the body's callback before it stores the line.
    mutating func showLines(_ isOn: Bool) {
        guard isOn != showsLines else { return }
        showsLines = isOn
        set(CurlOption.showsLines, isOn ? 1 : 0)
    }

    mutating func set(
        _ request: TransportRequest, shape: Shape, version: CurlVersion, fields: UnsafePointer<clarkspur_line>?,
        route: CurlRoute?, isFresh: Bool
    ) {
        if route?.handsOver(request.url) == true {
            target = String(request.url.originText + request.url.target)
            set(CurlOption.target, target)
        } else if !request.url.hasTarget(target) {
            target = String(request.url.target)
            set(CurlOption.target, target)
        }
        if route != self.route { set(route) }
        // libcurl asks the allocator for one with each transfer. A large one costs more than a small response; who is handed
        // the body piece by piece expects a long one.
        let bufferSize = request.initialAllowance == .max ? 64 * 1_024 : 512 * 1_024
        // It refuses to while the handle has one still, as from a transfer that has ended before it had a connection.
        if bufferSize != self.bufferSize, clarkspur_easy_set_long(easy, CurlOption.bufferSize, bufferSize) == 0 {
            self.bufferSize = bufferSize
        }
        set(CurlOption.fields, pointer: fields)
        undoChunks(false)
        let asks = request.asksForTrust && request.url.isHTTPS
        if asks != asksForTrust, !asks || CurlTrust.problem == nil {
            // The chain is verified as ever, and the verdict read when the peer is asked about. A session that is taken up
            // again has none of its own. The host is looked at then too: because libcurl does not, no connection is shared
            // with requests that do not ask.
            asksForTrust = asks
            setUpConnections()
            set(CurlOption.verifiesHost, asksForTrust ? 0 : 2)
        }
        var isPlain = false
        if request.method == "GET", case .bodiless = shape { isPlain = true }
        if isPlain, !isFresh, plainVersion == version { return }
        plainVersion = isPlain && !isFresh ? version : nil
        set(CurlOption.postFields, pointer: nil)  // while it is set, libcurl before 8.7 rewinds no upload
        set(CurlOption.get, 1)  // undoes what the transfer before had
        switch shape {
        case .bodiless:
            if request.method == "HEAD" { set(CurlOption.noBody, 1) }
        case .post(let bytes):
            clarkspur_easy_set_offset(easy, CurlOption.postLength, Int64(bytes.count))
            set(CurlOption.postFields, pointer: bytes.baseAddress)
        case .upload(let length):
            set(CurlOption.upload, 1)
            clarkspur_easy_set_offset(easy, CurlOption.bodyLength, length.map { Int64(clamping: $0) } ?? -1)
            set(CurlOption.uploadBufferSize, (length ?? .max) > 1 << 20 ? 1 << 20 : 1 << 16)
        }
        // A body has changed the method that libcurl would send.
        isPlain ? set(CurlOption.method, pointer: nil) : set(CurlOption.method, request.method)
        set(CurlOption.version, version.rawValue)
        // Before 7.80 libcurl waits for ever for the connection that a challenged tunnel has closed.
        let closesTunnels = route?.asker != nil && !CurlLibrary.current.tellsOfRequests
        set(CurlOption.pipeWait, version == .http1 || closesTunnels ? 0 : 1)
        set(CurlOption.freshConnection, isFresh ? 1 : 0)
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
        set(CurlOption.lookups, pointer: lookup?.pointer)
        set(CurlOption.unixSocket, route?.unixSocket)
        // Connections of Unix-domain sockets have no ports to be told apart by, so they cannot be asked whether bytes wait on them.
        set(CurlOption.forbidsReuse, route?.unixSocket != nil && CurlLibrary.current.ignoresWaitingBytes ? 1 : 0)
        let proxy = route?.proxy
        set(CurlOption.proxy, proxy?.text ?? "")
        if !CurlLibrary.current.handsOverTargets {
            set(CurlOption.proxyFields, pointer: proxy == nil ? nil : noProxyConnection.pointer)
        }
        set(CurlOption.proxyUser, proxy?.username)
        set(CurlOption.proxyPassword, proxy?.username.map { _ in proxy?.password ?? "" })
        set(CurlOption.proxyAuthentication, proxy?.authentication == .digest ? Self.digestWhenAsked : 1)
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
        return clarkspur_easy_set_long(easy, CurlOption.verifiesStatus, 1) == 0
    }()

    /// Whether it wants to write to a socket while the window of an HTTP/2 upload is closed: versions 7.87 and 7.88.
    var spinsOverHTTP2: Bool { (0x075700..<0x080000).contains(number) }

    /// Versions before 7.88 take another window from the peer each time that a paused response goes on, and end it when
    /// 64 MiB of it wait: what may be held back goes by HTTP/1.1 there.
    func receivesOverHTTP2(_ request: TransportRequest) -> Bool {
        number >= 0x075800 || request.initialAllowance == .max
    }
}
