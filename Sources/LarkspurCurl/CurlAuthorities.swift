internal import CLarkspur

/// The certificate authorities that the system trusts, read from the first of these files that exists.
enum CurlAuthorities {
    private static let paths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    /// The contents of the file; empty if there is none.
    static let system =
        paths.lazy.compactMap { FileManager.default.contents(atPath: $0) }.first.map { [UInt8]($0) } ?? []
}

/// Certificates of authorities in memory. libcurl reads them in place, so all easy handles share them.
final class CurlCertificates {
    let bytes: UnsafeRawBufferPointer

    /// Copies the certificates. Returns nil if libcurl reads them from files.
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
    /// The error if this libcurl or this system does not support the configuration. Requests are not sent then.
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
                "libcurl \(library.name) takes certificate authorities only from a file; since 7.77 also from memory")
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
