extension CurlTransport.Configuration.Authorities {
    /// The certificates of a PEM file, instead of the system's.
    public static func file(_ url: URL) -> Self { .file(path: url.path) }

    /// The certificates of a text in PEM format, instead of the system's.
    public static func pem(_ text: String) -> Self { .pem(Array(text.utf8)) }

    /// Certificates in PEM format, instead of the system's.
    public static func pem(_ data: Data) -> Self { .pem(Array(data)) }

    /// The certificates of a text in PEM format, in addition to the system's.
    public static func systemAnd(pem text: String) -> Self { .systemAnd(pem: Array(text.utf8)) }

    /// Certificates in PEM format, in addition to the system's.
    public static func systemAnd(pem data: Data) -> Self { .systemAnd(pem: Array(data)) }

    /// The certificates of a PEM file, in addition to the system's. The file is read now.
    ///
    /// - Throws: The error of the system if the file cannot be read.
    public static func systemAnd(file url: URL) throws -> Self { .systemAnd(pem: Array(try Data(contentsOf: url))) }
}
