internal import CLarkspur

/// The authorities that the system trusts, as the file of them that most systems have.
enum CurlAuthorities {
    private static let paths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    /// Empty if there is none.
    static let system =
        paths.lazy.compactMap { FileManager.default.contents(atPath: $0) }.first.map { [UInt8]($0) } ?? []
}

/// Certificates of authorities in memory that libcurl reads in place, also those that each new handle is given.
final class CurlCertificates {
    let bytes: UnsafeRawBufferPointer

    /// Nil where they are in files.
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
    /// What this libcurl, or this system, cannot do of it; requests are not sent then.
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
                "libcurl \(library.name) takes certificate authorities from a file alone: from memory from 7.77 on")
        }
        if keyLogFile != nil, !clarkspur_tls_load() {
            return TransportError(
                .unavailable, "libcurl \(library.name) has no OpenSSL, whose keys alone can be written to a file")
        }
        if requiresStapledStatus, !CurlLibrary.checksStatus {
            return TransportError(
                .unavailable, "libcurl \(library.name) was built with a TLS library that checks no stapled status")
        }
        if case .systemAnd = certificateAuthorities, CurlAuthorities.system.isEmpty {
            return TransportError(.unavailable, "the file of authorities that the system trusts is nowhere to be found")
        }
        return nil
    }
}
