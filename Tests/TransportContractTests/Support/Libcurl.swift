#if os(Linux)
    import CLarkspur
    import Testing

    /// The libcurl that the tests run over, and what its version cannot do.
    enum Libcurl {
        static let version: UInt32 = clarkspur_curl_load() == nil ? clarkspur_curl_get_version().number : 0

        /// Whether it asks before it sends a request.
        static let asksBeforeRequests = version >= 0x075000
        /// Whether it takes the certificates of authorities from memory.
        static let takesAuthorities = version >= 0x074D00
        /// Whether a response over HTTP/2 may be held back again and again.
        static let holdsStreams = version >= 0x075800
        /// Whether it reports a reused HTTP/2 connection that closes, instead of sending its requests again by itself.
        static let reportsLostStreams = version >= 0x075000
    }

    extension Trait where Self == ConditionTrait {
        static var asksBeforeRequests: Self {
            .enabled(if: Libcurl.asksBeforeRequests, "libcurl before 7.80 does not ask before it sends a request")
        }

        static var holdsStreams: Self {
            .enabled(if: Libcurl.holdsStreams, "libcurl before 7.88 gets responses that are held back by HTTP/1.1")
        }

        static var takesAuthorities: Self {
            .enabled(if: Libcurl.takesAuthorities, "libcurl before 7.77 takes no certificate authorities from memory")
        }
    }
#endif
