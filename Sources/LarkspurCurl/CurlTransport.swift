internal import CLarkspur

/// A transport for HTTP over libcurl, the default on Linux: HTTP/1.1, HTTP/2 and, where libcurl has it, HTTP/3.
///
/// libcurl moves the bytes, speaks TLS and keeps connections. The framework above the transport handles redirects,
/// cookies, credentials and decoding.
///
/// The transport has threads of its own, one for each of its event loops (``Configuration/loops``). The first thread
/// starts with the first request, each other thread when its loop gets a request. While a thread sleeps, a thread that
/// starts a request sends that request itself. The transport's threads end when the last reference to the transport is
/// released, or when `invalidate()` is called.
///
/// While the receiver pauses a response's body, the bytes that still arrive fill only buffers of limited size. For an
/// HTTP/1.1 response, these are 1 MiB in the transport and the socket buffers of both machines. A socket buffer can
/// grow to a few MiB. On Linux, the last numbers in `net.ipv4.tcp_rmem` and `tcp_wmem` are its maximum. For an HTTP/2
/// stream, the buffer is libcurl's window, which is 32 MiB in older versions.
public final class CurlTransport: Transport {
    let shared: CurlShared
    let loops: [CurlLoop]
    /// ``TransportPartition/common``, or a unique one if a setting decides which server answers, how its certificates
    /// are judged, or which client it sees.
    public let partition: TransportPartition

    /// Creates a transport with connections of its own. Before the first request, the transport has no thread and no
    /// open descriptor.
    public init(configuration: Configuration = Configuration()) {
        (shared, loops, partition) = Self.parts(configuration, clock: nil)
    }

    /// Creates a transport that measures its time limits with the clock; nil stands for the system's clock.
    package init(configuration: Configuration = Configuration(), clock: EngineClock?) {
        (shared, loops, partition) = Self.parts(configuration, clock: clock)
        // A sleeping loop looks at the clock again, because a deadline may have passed.
        clock?.onAdvance { [weak self] in
            for loop in self?.loops ?? [] { clarkspur_poller_wake(loop.poller) }
        }
    }

    private static func parts(
        _ configuration: Configuration, clock: EngineClock?
    ) -> (shared: CurlShared, loops: [CurlLoop], partition: TransportPartition) {
        if let path = configuration.libraryPath { CurlLibrary.choose(path) }
        let shared = CurlShared(configuration, clock: clock)
        let loops = (0..<shared.loopCount).map { CurlLoop(index: $0, shared) }
        return (shared, loops, configuration.decidesResponses ? .unique() : .common)
    }

    /// Ends the threads. No task is left, because each task retains the transport.
    deinit { for loop in loops { loop.stop() } }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        CurlTask(id: id, request: request, delegate: delegate, transport: self)
    }

    public func warmingTask(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> (any TransportTask)? {
        var request = request
        (request.method, request.body, request.upgrades, request.isWarming) = ("GET", .none, false, true)
        return CurlTask(id: id, request: request, delegate: delegate, transport: self)
    }

    public func invalidate() {
        // Waiting tasks end before running tasks. Otherwise a waiting task would start whenever a running task ends.
        let waiting = shared.origins.withLock { $0.close() }
        for loop in loops { loop.stop() }
        for task in waiting { task.end(CurlTaskQueue.invalidated, metrics: TransportMetrics()) }
    }

    /// The settings for all requests of a transport.
    public struct Configuration: Sendable {
        /// The certificate authorities that the transport trusts.
        public enum Authorities: Sendable, Hashable {
            /// The authorities that the system's libcurl is configured with.
            case system
            /// The certificates of a PEM file, instead of the system's.
            case file(path: String)
            /// Certificates in PEM format, instead of the system's.
            case pem([UInt8])
            /// Certificates in PEM format, in addition to the system's.
            case systemAnd(pem: [UInt8])
        }

        /// A version of TLS.
        public enum TLSVersion: Int, Sendable, Comparable {
            // The values of libcurl's constants.
            /// TLS 1.0, broken and deprecated since 2021 (RFC 8996).
            case tls1_0 = 4
            /// TLS 1.1, deprecated together with TLS 1.0.
            case tls1_1
            /// TLS 1.2, safe with safe ciphers.
            case tls1_2
            /// TLS 1.3, the latest version.
            case tls1_3

            public static func < (lhs: TLSVersion, rhs: TLSVersion) -> Bool { lhs.rawValue < rhs.rawValue }
        }

        /// The trusted certificate authorities; the system's by default.
        public var certificateAuthorities = Authorities.system
        /// The path of a PEM file of certificate revocation lists; nil means that revocation lists are not checked. The
        /// file must contain the list of every issuer.
        public var revocationList: String?
        /// Whether each peer must staple a recent OCSP response, in which its authority states that the certificate is
        /// not revoked. If a peer sends no such response, the request fails with `.certificateStatusUnknown`. If this
        /// property is true, TLS sessions are not resumed, because a resumed session has no OCSP response.
        public var requiresStapledStatus = false
        /// The oldest version of TLS that is accepted; TLS 1.2 by default.
        public var minimumTLSVersion = TLSVersion.tls1_2
        /// The newest version of TLS that is offered; nil means libcurl's default.
        public var maximumTLSVersion: TLSVersion?
        /// The ciphers for TLS 1.2 and older versions, as OpenSSL's names separated by colons; nil means libcurl's
        /// default.
        public var ciphers: String?
        /// The client identity that is shown to every peer that asks for a client certificate.
        public var identity: ClientIdentity?
        /// The path of a file to which the keys of TLS connections are added, in the NSS key log format. Everyone who
        /// can read this file can decrypt recorded connections. If the file does not exist, the transport creates it,
        /// and only its owner can read it. If the path is nil, no keys are written, even if the environment sets
        /// `SSLKEYLOGFILE`.
        public var keyLogFile: String?
        /// The number of event loops, each with a thread and connections of its own. The default is one loop for each
        /// four processors of the process, at least one and at most eight.
        ///
        /// A loop performs the requests of many connections, but uses only one processor. A second loop helps if one
        /// processor is not fast enough for all requests of the process. The requests to a busy origin are spread over
        /// all loops. All requests to an origin that speaks HTTP/2 share one connection, so one loop performs them. The
        /// limits of connections apply to all loops together. Values below one count as one, values above 64 as 64.
        public var loops = Self.defaultLoops
        /// The maximum number of concurrent requests to an origin; 64 by default. Further requests wait. With HTTP/2,
        /// where all requests to an origin share one connection, the maximum is 100.
        public var maximumConnectionsPerHost = 64
        /// The maximum number of idle connections kept for reuse; 256 by default. The effective maximum is higher:
        /// libcurl also counts connections in use, so the highest number of concurrent requests so far in each loop is
        /// added.
        public var maximumIdleConnections = 256
        /// The time after which an idle connection is not reused, in whole seconds; 60 seconds by default.
        public var idleLifetime = Duration.seconds(60)
        /// The age after which a connection is not reused, in whole seconds; nil means no limit. libcurl before 7.80
        /// does not support this limit.
        public var connectionLifetime: Duration?
        /// The time after which a peer that acknowledges nothing counts as lost; 30 seconds by default. Nil means the
        /// system's own limit, up to a quarter of an hour.
        ///
        /// This timeout detects peers that vanish silently: a machine without power, a broken route, a firewall that
        /// forgot the connection. The request is then sent again if that does no harm, and otherwise ends with
        /// `.connectionLost`. It need not wait for `timeouts.firstByte`.
        ///
        /// On Linux, the timeout sets `TCP_USER_TIMEOUT`, and the first TCP keep-alive is sent after half of this time,
        /// in whole seconds. The timeout also applies to HTTP/2, where libcurl sends no pings.
        ///
        /// The timeout also limits how long a peer may accept no more of an upload, and how long a connection attempt
        /// may take. If you raise `timeouts.connect` or `timeouts.idle` above this timeout, raise this timeout too.
        public var peerTimeout: Duration? = .seconds(30)
        /// The proxies through which connections are made; none by default. Environment variables such as `https_proxy`
        /// are used only if this property is set to `try Proxies.environment()`.
        public var proxies = Proxies.none
        /// The addresses or sockets of hosts, by `name` or `name:port`. Hosts in this dictionary are not looked up by
        /// the system.
        public var hosts: [String: HostPlace] = [:]
        /// The address of this machine, or the name of one of its interfaces, from which connections are made.
        public var localAddress: String?
        /// Whether HTTP/2 is offered to TLS peers; true by default.
        public var negotiatesHTTP2 = true
        /// Whether a server's `Alt-Svc` fields are followed to HTTP/3, if libcurl has it; true by default. If such a
        /// server cannot be reached within ``fallbackDelay``, the request goes to the host itself, and the host's
        /// `Alt-Svc` fields are ignored for five minutes. Without `negotiatesHTTP2`, alternatives are not used either.
        public var followsAlternatives = true
        /// The time after which a request stops waiting for a connection to the server that an `Alt-Svc` field names;
        /// one second by default. Nil, or a longer time, means half of the connect timeout.
        public var fallbackDelay: Duration? = .seconds(1)
        /// The delay after which a connection to a host's next address is tried, while the connection to the first one
        /// is not made yet (RFC 8305), in whole milliseconds; nil means libcurl's default, which is 200 milliseconds.
        public var addressDelay: Duration?
        /// The time between two TCP keep-alives on an idle connection, in whole seconds; nil means that `peerTimeout`
        /// determines it.
        public var keepAliveInterval: Duration?
        /// The path of the libcurl to load. By default it is nil: the transport uses the libcurl that the process has
        /// loaded, and loads the system's if there is none.
        ///
        /// A process loads one libcurl. The first transport that is created with a path determines which one for all
        /// transports, unless a request was sent before. Requests of transports with another path fail with
        /// `.transportUnavailable`; if the library cannot be loaded, so do all requests of the process.
        public var libraryPath: String?

        /// Whether a setting decides which server answers, how its certificates are judged, or which client it sees.
        fileprivate var decidesResponses: Bool {
            certificateAuthorities != .system || revocationList != nil || requiresStapledStatus
                || minimumTLSVersion != .tls1_2 || ciphers != nil || identity != nil || proxies != .none
                || !hosts.isEmpty || localAddress != nil
        }

        var peerTimeoutInMilliseconds: Int32 {
            guard let parts = peerTimeout?.components else { return 0 }
            let milliseconds = min(parts.seconds, 1_000_000) * 1_000 + parts.attoseconds / 1_000_000_000_000_000
            return Int32(max(1, milliseconds))
        }

        static let maximumLoops = 64
        private static let defaultLoops = min(max(1, Int(clarkspur_processor_count()) / 4), 8)

        /// Creates a configuration with the defaults.
        public init() {}

        /// Creates a configuration with the defaults, changed by the closure:
        /// `Configuration { $0.maximumConnectionsPerHost = 6 }`.
        public init(_ change: (inout Configuration) -> Void) {
            self.init()
            change(&self)
        }
    }
}
