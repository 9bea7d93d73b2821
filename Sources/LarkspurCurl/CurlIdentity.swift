internal import CLarkspur

/// The client identity that an easy handle shows on the connections that it opens from now on.
///
/// libcurl never reuses a connection that was made with another certificate (7.77 or later).
struct CurlIdentity {
    private var current: ClientIdentity?

    mutating func set(_ identity: ClientIdentity?, of easy: UnsafeMutableRawPointer) {
        if Self.areSame(identity, current) { return }
        current = identity
        clarkspur_easy_set_pointer(easy, CURLOPT_SSLCERTTYPE, nil)
        clarkspur_easy_set_pointer(easy, CURLOPT_SSLKEY_BLOB, nil)
        clarkspur_easy_set_pointer(easy, CURLOPT_KEYPASSWD, nil)
        guard let identity else {
            clarkspur_easy_set_pointer(easy, CURLOPT_SSLCERT_BLOB, nil)
            return
        }
        func set(_ option: Int32, _ bytes: [UInt8]) {
            bytes.withUnsafeBytes { _ = clarkspur_easy_set_blob(easy, option, $0.baseAddress, $0.count, true) }
        }
        switch identity.content {
        case .pem(let chain, let key):
            set(CURLOPT_SSLCERT_BLOB, chain)
            set(CURLOPT_SSLKEY_BLOB, key)
        case .pkcs12(let bytes):
            "P12".withCString { _ = clarkspur_easy_set_pointer(easy, CURLOPT_SSLCERTTYPE, $0) }
            set(CURLOPT_SSLCERT_BLOB, bytes)
        }
        // Set even if empty, or else OpenSSL asks at the terminal.
        identity.password.withCString { _ = clarkspur_easy_set_pointer(easy, CURLOPT_KEYPASSWD, $0) }
    }

    private static func areSame(_ first: ClientIdentity?, _ second: ClientIdentity?) -> Bool {
        guard let first, let second else { return first == nil && second == nil }
        guard first.password == second.password else { return false }
        switch (first.content, second.content) {
        case (.pem(let chain, let key), .pem(let otherChain, let otherKey)):
            return chain == otherChain && key == otherKey
        case (.pkcs12(let bytes), .pkcs12(let otherBytes)): return bytes == otherBytes
        default: return false
        }
    }

    /// Returns the error if identities by host are not possible with this libcurl, otherwise nil.
    static var problem: TransportError? {
        let library = CurlLibrary.current
        if !library.takesIdentity {
            return TransportError(
                .unavailable, "libcurl \(library.name) uses \(library.tls), which takes no client identity from memory")
        }
        if library.number < 0x074D00 {
            return TransportError(
                .unavailable,
                "libcurl \(library.name) may reuse a connection that has another client identity; 7.77 or later does not"
            )
        }
        return nil
    }
}

extension CurlTransfer {
    /// Sets the client identity of the hop's connection: that of the host, or that of the transport.
    func chooseIdentity(of hop: CurlHop) {
        let reply = TransportReply<ClientIdentity>()
        if hop.request.asksForIdentity, hop.request.url.isHTTPS {
            let host = hop.request.url.host.map(String.init) ?? ""
            hop.delegate.answer(.clientIdentity(host: host, reply), for: hop.task.id)
        }
        hasOwnIdentity = reply.value != nil
        setIdentity(reply.value ?? loop.configuration.identity)
    }
}
