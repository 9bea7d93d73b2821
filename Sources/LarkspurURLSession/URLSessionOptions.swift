extension URLSessionTransport {
    /// Settings of the network. On Linux they have no effect, besides ``identity``.
    public struct Options: Sendable {
        /// A version of TLS.
        public enum TLSVersion: Sendable, Hashable {
            /// TLS 1.2.
            case tls1_2
            /// TLS 1.3.
            case tls1_3
        }

        /// Whether HTTP/3 is tried at once, instead of only after the server has offered it; false by default.
        public var assumesHTTP3 = false
        /// Whether a request waits until there is a network, instead of failing with `.unreachable`; false by default.
        /// The first-byte timeout does not run while the request waits.
        public var waitsForConnectivity = false
        /// Whether cellular networks may be used; true by default.
        public var allowsCellularAccess = true
        /// Whether networks may be used that the system considers expensive; true by default.
        public var allowsExpensiveNetworks = true
        /// Whether networks may be used for which the user has chosen to save data; true by default.
        public var allowsConstrainedNetworks = true
        /// The kind of traffic, by which the system sets priorities.
        public var serviceType = URLRequest.NetworkServiceType.default
        /// The oldest version of TLS that is accepted; nil means the configuration's.
        public var minimumTLSVersion: TLSVersion?
        /// The newest version of TLS that is offered; nil means the configuration's.
        public var maximumTLSVersion: TLSVersion?
        /// The maximum number of connections to a host for HTTP/1.1; nil means the configuration's.
        public var maximumConnectionsPerHost: Int?

        /// The client identity that is shown to every peer that asks for a client certificate, in PKCS #12 format. An
        /// identity that cannot be used fails requests to `https` URLs with `.invalidIdentity` before they are sent. On
        /// Linux, `URLSession` has no client identities, and these requests fail with `.transportUnavailable`. Before
        /// macOS 15, the system adds the key and the certificate to the keychain.
        public var identity: ClientIdentity?

        /// Creates the default options.
        public init() {}
    }
}

/// The configuration from which a transport makes its sessions.
struct SessionTemplate: Sendable {
    private let configuration: URLSessionConfiguration
    private let options: URLSessionTransport.Options
    private let ownsTimeouts: Bool
    let identity: PlatformIdentity?
    /// A configuration may hold fields, proxies and protocol classes, which cannot be compared.
    let partition: TransportPartition

    /// - Parameter ownsTimeouts: Whether only the timeouts of requests apply, and not those of the configuration.
    init(configuration: URLSessionConfiguration, options: URLSessionTransport.Options, ownsTimeouts: Bool) {
        // The caller may change the configuration later.
        self.configuration = configuration.copy() as? URLSessionConfiguration ?? configuration
        self.options = options
        self.ownsTimeouts = ownsTimeouts
        identity = options.identity.map(PlatformIdentity.init)
        partition = ownsTimeouts && identity == nil ? .common : .unique()
        let own = self.configuration
        own.httpCookieStorage = nil
        own.httpShouldSetCookies = false
        own.httpCookieAcceptPolicy = .never
        own.urlCache = nil
        own.urlCredentialStorage = nil
        own.requestCachePolicy = .reloadIgnoringLocalCacheData
        if let count = options.maximumConnectionsPerHost { own.httpMaximumConnectionsPerHost = count }
        if ownsTimeouts { own.timeoutIntervalForRequest = Self.noTimeout }
        #if canImport(Darwin)
            own.waitsForConnectivity = options.waitsForConnectivity || own.waitsForConnectivity
            own.allowsCellularAccess = options.allowsCellularAccess && own.allowsCellularAccess
            own.allowsExpensiveNetworkAccess = options.allowsExpensiveNetworks && own.allowsExpensiveNetworkAccess
            own.allowsConstrainedNetworkAccess =
                options.allowsConstrainedNetworks && own.allowsConstrainedNetworkAccess
            if let version = options.minimumTLSVersion { own.tlsMinimumSupportedProtocolVersion = version.platform }
            if let version = options.maximumTLSVersion { own.tlsMaximumSupportedProtocolVersion = version.platform }
            if options.serviceType != .default { own.networkServiceType = options.serviceType }
        #endif
    }

    /// A time that no request reaches: the timeouts of requests are the transport's own.
    private static let noTimeout: TimeInterval = 7 * 86_400

    /// The reason why the configuration cannot be used.
    var problem: String? {
        configuration.identifier.map { _ in
            "a background configuration is for whole files; use BackgroundTransfers, or another configuration"
        }
    }

    func makeSession(_ delegate: URLSessionEvents) -> URLSession {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.name = "Larkspur URLSession"
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    /// Applies the settings that belong to a request.
    func prepare(_ request: inout URLRequest) {
        request.httpShouldHandleCookies = false
        request.cachePolicy = .reloadIgnoringLocalCacheData
        request.timeoutInterval = ownsTimeouts ? Self.noTimeout : configuration.timeoutIntervalForRequest
        #if canImport(Darwin)
            if options.assumesHTTP3 { request.assumesHTTP3Capable = true }
        #endif
    }
}

#if canImport(Darwin)
    internal import Security

    extension URLSessionTransport.Options.TLSVersion {
        fileprivate var platform: tls_protocol_version_t {
            switch self {
            case .tls1_2: .TLSv12
            case .tls1_3: .TLSv13
            }
        }
    }
#endif
