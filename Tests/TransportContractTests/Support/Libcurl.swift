#if os(Linux)
    import CLarkspur
    import Testing

    /// The libcurl that the tests run with, and the limits of its version.
    enum Libcurl {
        static let version: UInt32 = clarkspur_curl_load() == nil ? clarkspur_curl_get_version().number : 0

        /// Whether it has CURLOPT_PREREQFUNCTION, a callback before it sends a request.
        static let asksBeforeRequests = version >= 0x075000 && usesOpenSSL
        /// Whether it accepts certificate authorities from memory.
        static let takesAuthorities = version >= 0x074D00 && usesOpenSSL
        /// Whether it keeps connections with different client certificates apart.
        static let separatesIdentities = version >= 0x074D00
        static let usesOpenSSL = clarkspur_tls_load()
        /// Whether a response over HTTP/2 can be suspended repeatedly.
        static let holdsStreams = version >= 0x075800
        /// Whether it reports the loss of a reused HTTP/2 connection, instead of sending the requests again by itself.
        static let reportsLostStreams = version >= 0x075000
        /// Whether it reports that it sends a request again by itself.
        static let tellsOfRepetitions = version >= 0x075000
        /// Whether all requests to an origin share one HTTP/2 connection; version 7.74 opens a second one now and then.
        static let sharesConnections = version >= 0x075800
        /// Whether an upload through an `https` proxy with Digest, and an endless answer to CONNECT, always end as
        /// documented.
        static let handlesDigestTunnels = version >= 0x075800
    }

    extension Trait where Self == ConditionTrait {
        static var asksBeforeRequests: Self {
            .enabled(
                if: Libcurl.asksBeforeRequests,
                "libcurl before 7.80, or with another TLS library than OpenSSL, cannot have peers evaluated")
        }

        static var holdsStreams: Self {
            .enabled(
                if: Libcurl.holdsStreams, "libcurl before 7.88 receives responses that can be suspended over HTTP/1.1")
        }

        static var sharesConnections: Self {
            .enabled(if: Libcurl.sharesConnections, "libcurl before 7.88 may open a second HTTP/2 connection")
        }

        static var usesOpenSSL: Self {
            .enabled(if: Libcurl.usesOpenSSL, "libcurl uses another TLS library than OpenSSL")
        }

        static var takesAuthorities: Self {
            .enabled(
                if: Libcurl.takesAuthorities, "libcurl before 7.77 does not accept certificate authorities from memory")
        }
    }
#endif
