#if os(Linux)
    import CLarkspur
    import Foundation
    import Testing

    @Suite("Version of libcurl")
    struct LibcurlVersionTests {
        /// The tests run with several versions of libcurl. A run that loads another version than it claims proves
        /// nothing.
        @Test("The loaded libcurl is supported, and has the version that LARKSPUR_LIBCURL names")
        func version() {
            #expect(clarkspur_curl_load() == nil)
            let version = clarkspur_curl_get_version()
            let name = version.text.map { String(cString: $0) } ?? ""
            let oldest: UInt32 = 0x074A00
            #expect(version.number >= oldest)
            let wanted = ProcessInfo.processInfo.environment["LARKSPUR_LIBCURL"].map { $0 + "." } ?? ""
            #expect(name.hasPrefix(wanted))
        }
    }
#endif
