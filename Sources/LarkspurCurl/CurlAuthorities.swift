internal import CLarkspur

/// The certificate authorities that the system trusts.
enum CurlAuthorities {
    private static let paths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    /// The contents of the first of these files that can be read; empty if none can.
    static let system =
        paths.lazy.compactMap { FileManager.default.contents(atPath: $0) }.first.map { [UInt8]($0) } ?? []
}

/// The certificates of the trusted authorities, in memory. libcurl does not copy them, so all easy handles share them.
final class CurlCertificates {
    let bytes: UnsafeRawBufferPointer

    /// Copies the certificates that the configuration has in memory. Returns nil if libcurl reads all certificates from
    /// files.
    init?(_ authorities: CurlTransport.Configuration.Authorities) {
        let certificates: [UInt8]
        switch authorities {
        case .system, .file: return nil
        case .pem(let own): certificates = own
        case .systemAnd(let own): certificates = CurlAuthorities.system + [UInt8(ascii: "\n")] + own
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: certificates.count, alignment: 1)
        memory.copyBytes(from: certificates)
        bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { bytes.deallocate() }
}

extension CurlTransport.Configuration {
    /// The error if this libcurl or this system does not support the configuration, otherwise nil. If there is an
    /// error, the transport sends no request.
    var problem: TransportError? {
        let library = CurlLibrary.current
        let isInMemory =
            switch certificateAuthorities {
            case .system, .file: false
            case .pem, .systemAnd: true
            }
        if isInMemory, !library.takesAuthorities {
            return TransportError(
                .unavailable,
                """
                libcurl \(library.name) takes certificate authorities only from a file; since 7.77 also from memory, if \
                it uses OpenSSL
                """)
        }
        if identity != nil, !library.takesIdentity {
            return TransportError(
                .unavailable, "libcurl \(library.name) uses \(library.tls), which takes no client identity from memory")
        }
        if keyLogFile != nil, !clarkspur_tls_load() {
            return TransportError(
                .unavailable, "libcurl \(library.name) does not use OpenSSL; only its keys can be written to a file")
        }
        if requiresStapledStatus, !CurlLibrary.checksStatus {
            return TransportError(
                .unavailable, "libcurl \(library.name) was built with a TLS library that checks no stapled status")
        }
        if case .systemAnd = certificateAuthorities, CurlAuthorities.system.isEmpty {
            return TransportError(.unavailable, "no file of the system's certificate authorities was found")
        }
        return nil
    }
}
