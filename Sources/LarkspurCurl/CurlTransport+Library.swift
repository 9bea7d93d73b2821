internal import CLarkspur

extension CurlTransport {
    /// The libcurl of a transport, which is found when the program runs.
    public struct Library: Sendable, Hashable, CustomStringConvertible {
        /// The version, such as `7.88.1`.
        public let version: String
        /// The TLS library and its version, such as `OpenSSL/3.0.17`; empty if libcurl has none.
        public let tls: String
        /// Whether libcurl speaks HTTP/2.
        public let hasHTTP2: Bool
        /// Whether libcurl speaks HTTP/3.
        public let hasHTTP3: Bool
        /// Whether trust evaluators can judge servers: libcurl 7.80 or later over OpenSSL.
        public let evaluatesTrust: Bool

        public var description: String {
            let protocols = ["HTTP/1.1"] + (hasHTTP2 ? ["HTTP/2"] : []) + (hasHTTP3 ? ["HTTP/3"] : [])
            return (["libcurl \(version)", tls] + protocols).filter { !$0.isEmpty }.joined(separator: ", ")
        }
    }

    /// The libcurl that this transport uses; nil if libcurl cannot be loaded. Loads libcurl if necessary.
    public var library: Library? {
        guard CurlLibrary.load(from: shared.configuration.libraryPath) == nil else { return nil }
        let library = CurlLibrary.current
        return Library(
            version: library.name, tls: library.tls, hasHTTP2: library.hasHTTP2, hasHTTP3: library.hasHTTP3,
            evaluatesTrust: CurlTrust.problem == nil)
    }
}

extension CurlLibrary {
    /// Returns whether the process loads, or has loaded, the libcurl with this path.
    @discardableResult
    static func choose(_ path: String) -> Bool { path.withCString { clarkspur_curl_choose($0) } }

    /// Loads libcurl, unless the process has loaded it. Returns an error if that is not possible, or if the loaded one
    /// has another path.
    static func load(from path: String?) -> TransportError? {
        guard path.map(choose) != false else {
            return TransportError(
                .unavailable,
                """
                the process uses another libcurl already, or the path is too long; give all transports the same \
                libraryPath, before the first request
                """)
        }
        return clarkspur_curl_load().map { TransportError(.unavailable, String(cString: $0)) }
    }
}
