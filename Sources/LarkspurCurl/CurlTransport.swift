/// HTTP/1.1 and HTTP/2 over libcurl, the default on Linux.
///
/// libcurl moves the bytes, speaks TLS and keeps connections; all rules (redirects, cookies, credentials, decoding) are
/// the framework's, above it. One thread of the transport's own does the work, except that while it sleeps who starts a
/// request sends it. It starts with the first request and ends when nobody holds the transport any more, or when
/// `invalidate()` is called.
///
/// While a body is held back, at most the connection's buffers fill up: of a HTTP/1.1 response 1 MiB here, and what
/// the kernels let theirs grow to, some MiB mostly, on Linux up to the last numbers in `net.ipv4.tcp_rmem` and `tcp_wmem`; of a
/// HTTP/2 stream as much as libcurl's window for one, 32 MiB in its older versions.
public final class CurlTransport: Transport {
    let loop: CurlLoop

    /// Makes a transport with connections of its own. It costs next to nothing before the first request.
    public init(configuration: Configuration = Configuration()) {
        loop = CurlLoop(configuration: configuration)
    }

    /// No task is left, because each of them holds the transport.
    deinit { loop.stop() }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        CurlTask(id: id, request: request, delegate: delegate, transport: self)
    }

    public func invalidate() { loop.stop() }

    /// What may be set for all requests of a transport.
    public struct Configuration: Sendable {
        /// Whom to believe that a peer is who it says.
        public enum Authorities: Sendable, Hashable {
            /// Those that the system's libcurl was set up with.
            case system
            /// A file of certificates in PEM, instead of the system's.
            case file(path: String)
            /// Certificates in PEM, instead of the system's.
            case pem([UInt8])
            /// Certificates in PEM, beside the system's.
            case systemAnd(pem: [UInt8])
        }

        /// A version of TLS.
        public enum TLSVersion: Int, Sendable, Comparable {
            // Under libcurl's numbers.
            /// Broken, and given up in 2021 (RFC 8996).
            case tls1_0 = 4
            /// Given up with it.
            case tls1_1
            /// Safe where its ciphers are.
            case tls1_2
            /// The latest.
            case tls1_3

            public static func < (lhs: TLSVersion, rhs: TLSVersion) -> Bool { lhs.rawValue < rhs.rawValue }
        }

        /// The system's by default.
        public var certificateAuthorities = Authorities.system
        /// Certificates that were taken back, a file in PEM: with one, every issuer's list must be in it.
        public var revocationList: String?
        /// Whether each peer must show, with its certificate, its authority's word of late that the certificate was not taken
        /// back (OCSP stapling). Peers without it are refused: `.certificateStatusUnknown`. TLS sessions are not taken up again
        /// then, because nothing is shown with them.
        public var requiresStapledStatus = false
        /// The oldest version of TLS that will do.
        public var minimumTLSVersion = TLSVersion.tls1_2
        /// The newest version of TLS that is offered; nil: as libcurl has it.
        public var maximumTLSVersion: TLSVersion?
        /// Ciphers up to TLS 1.2 as OpenSSL names them, with colons between; nil: as libcurl has it.
        public var ciphers: String?
        /// What is shown to peers that ask who the client is, all of them.
        public var identity: ClientIdentity?
        /// A file that the keys of TLS connections are added to, in the format of NSS, for tools that look into recordings of
        /// them: whoever reads it can read everything that was sent. It is made for its owner alone. Nil writes nothing, whatever
        /// the environment's `SSLKEYLOGFILE` says.
        public var keyLogFile: String?
        /// Further requests to an origin wait their turn; with HTTP/2, where all share one connection, beyond 100.
        public var maximumConnectionsPerHost = 64
        /// How many connections are kept for later, beside as many as were ever in use at once.
        public var maximumIdleConnections = 256
        /// A connection that was idle for so long, in whole seconds, is not used again.
        public var idleLifetime = Duration.seconds(60)
        /// A connection that is older, in whole seconds, is not used again; nil: however old. libcurl before 7.80 cannot
        /// tell.
        public var connectionLifetime: Duration?
        /// The time after which a peer that acknowledges nothing counts as lost; 30 seconds by default, nil: as long as the
        /// system waits, up to a quarter of an hour.
        ///
        /// It finds peers that vanished without a word: a machine without power, a broken route, a firewall that forgot the
        /// connection. The request ends with `.connectionLost` then, and is sent again where that does no harm, instead of
        /// waiting for `timeouts.firstByte`. On Linux it sets `TCP_USER_TIMEOUT`, and the first TCP keep-alive goes out after
        /// half of the time, in whole seconds. It works for HTTP/2 as well, where libcurl sends no pings of its own.
        ///
        /// It also limits how long a peer may refuse to take more of an upload, and how long a connection is tried: raise it
        /// together with `timeouts.connect` and `timeouts.idle`.
        public var peerTimeout: Duration? = .seconds(30)
        /// Through which proxies connections are made: none by default, and none that the environment names unless
        /// they are asked for, by `try Proxies.environment()`.
        public var proxies = Proxies.none
        /// Where hosts are, whatever the system's lookup would say: by `name`, or by `name:port`.
        public var hosts: [String: HostPlace] = [:]
        /// An address of this machine, or the name of one of its interfaces, from which connections are made.
        public var localAddress: String?
        /// Whether TLS peers are offered HTTP/2.
        public var negotiatesHTTP2 = true

        var peerTimeoutInMilliseconds: Int32 {
            guard let parts = peerTimeout?.components else { return 0 }
            let milliseconds = min(parts.seconds, 1_000_000) * 1_000 + parts.attoseconds / 1_000_000_000_000_000
            return Int32(max(1, milliseconds))
        }

        /// The defaults.
        public init() {}

        /// The defaults, changed by the closure: `Configuration { $0.maximumConnectionsPerHost = 6 }`.
        public init(_ change: (inout Configuration) -> Void) {
            self.init()
            change(&self)
        }
    }
}
