extension Certificate {
    /// The extensions of the files that ``all(inFolder:)`` reads.
    private static let fileExtensions: Set<String> = ["cer", "crt", "der", "pem"]

    /// Returns the certificates of all files in a folder whose extension is `cer`, `crt`, `der` or `pem`, in upper or
    /// lower case.
    ///
    ///     let trust = ServerTrustManager(evaluators: [
    ///         "api.example.com": .pinnedKeys(of: try Certificate.all(inFolder: folder)),
    ///     ])
    ///
    /// Each file is in PEM or DER. The files are read in the order of their names, and equal certificates are returned
    /// once. Subfolders, other files, and files whose names begin with a dot are ignored.
    ///
    /// - Throws: ``RequestError`` with the code `.fileMissing` if the folder does not exist or has no such file,
    ///   `.fileUnreadable`, `.fileIsDirectory` or `.fileNotRegular` for a file that cannot be read, and
    ///   `.invalidCertificate` for a file that contains no certificate or an invalid one. The message names the file.
    public static func all(inFolder folder: URL) throws(RequestError) -> [Certificate] {
        var (known, found) = (Set<Certificate>(), [Certificate]())
        for file in try files(in: folder) {
            found += try certificates(of: file).filter { known.insert($0).inserted }
        }
        return found
    }

    private static func files(in folder: URL) throws(RequestError) -> [URL] {
        let path = try folder.filePath
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            let isMissing = !FileManager.default.fileExists(atPath: path)
            throw RequestError(
                isMissing ? .fileMissing : .fileUnreadable,
                "the folder \(path) of certificates \(isMissing ? "does not exist" : "cannot be read: \(error)")",
                underlying: error)
        }
        let files = names.filter { !$0.hasPrefix(".") }.sorted().map { folder.appendingPathComponent($0) }
            .filter { fileExtensions.contains($0.pathExtension.lowercased()) }
        guard !files.isEmpty else {
            throw RequestError(
                .fileMissing,
                "the folder \(path) has no certificates; add files with the extension cer, crt, der or pem")
        }
        return files
    }

    private static func certificates(of file: URL) throws(RequestError) -> [Certificate] {
        do { return try all(in: Data(of: file)) } catch {
            guard error.code == .invalidCertificate else { throw error }
            throw RequestError(
                .invalidCertificate, "the file \(file.path) contains no valid certificate in PEM or DER",
                underlying: error)
        }
    }
}
