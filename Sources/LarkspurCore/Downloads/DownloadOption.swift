/// An option for how a download handles its file.
///
///     session.download(url, to: .file(archive), options: [.removePreviousFile, .checksum(.sha256, "9f86d0…")])
public struct DownloadOption: Hashable, Sendable {
    enum Kind: Hashable { case createsFolders, replaces, startsOver, checksum(StreamingHash.Algorithm, String) }

    let kind: Kind

    /// Creates missing parent folders of the file.
    public static let createIntermediateDirectories = DownloadOption(kind: .createsFolders)

    /// Replaces an existing file atomically, when the new file is complete.
    ///
    /// The option replaces a regular file, or a symbolic link whose target is a regular file or missing. Directories,
    /// devices, pipes and sockets are never replaced; the request fails with `.fileIsDirectory` or `.fileNotRegular`.
    ///
    /// Without this option an existing file is an error. If the path is known in advance, the request fails before it
    /// is sent.
    public static let removePreviousFile = DownloadOption(kind: .replaces)

    /// Starts from the first byte, even if an earlier request has left a partial file.
    public static let startOver = DownloadOption(kind: .startsOver)

    /// Compares the checksum of the complete file with this checksum. If the two differ, the request fails with
    /// `.checksumMismatch` and keeps none of the received bytes.
    ///
    /// The checksum covers the decoded bytes. It is computed while the file is written.
    public static func checksum(_ algorithm: DigestAlgorithm, _ hexadecimal: String) -> DownloadOption {
        DownloadOption(kind: .checksum(algorithm.hash, hexadecimal.lowercased()))
    }

    /// Compares the MD5 of the complete file with this checksum, like ``checksum(_:_:)``. MD5 detects damage, but not
    /// tampering.
    public static func checksum(md5 hexadecimal: String) -> DownloadOption {
        DownloadOption(kind: .checksum(.md5, hexadecimal.lowercased()))
    }

    /// The option for a checksum that ``checksum(_:_:)`` or ``checksum(md5:)`` has made before.
    package static func checksum(
        _ algorithm: StreamingHash.Algorithm, lowercase hexadecimal: String
    ) -> DownloadOption {
        DownloadOption(kind: .checksum(algorithm, hexadecimal))
    }
}

extension StreamingHash.Algorithm {
    /// Throws `.invalidChecksum` if the text has a wrong length for a checksum of this algorithm, or is not
    /// hexadecimal. The check runs before the request is sent.
    package func check(_ hexadecimal: String) throws(RequestError) {
        let digits =
            switch self {
            case .md5: 32
            case .sha256, .sha512Half: 64
            case .sha512: 128
            }
        guard hexadecimal.utf8.count == digits, hexadecimal.allSatisfy(\.isHexDigit) else {
            throw RequestError(
                .invalidChecksum, "the expected checksum does not have \(digits) hexadecimal digits")
        }
    }
}

extension [DownloadOption] {
    package var checksum: (algorithm: StreamingHash.Algorithm, hexadecimal: String)? {
        for option in self {
            if case .checksum(let algorithm, let hexadecimal) = option.kind { return (algorithm, hexadecimal) }
        }
        return nil
    }

    /// Creates the folder of a download's file, if an option says so, and checks whether the file may be moved there.
    package func prepareFolder(of file: URL, checking: Bool = true) throws(RequestError) {
        let path = try file.filePath
        if contains(.createIntermediateDirectories) {
            let folder = file.deletingLastPathComponent()
            do { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) } catch {
                throw RequestError(
                    .fileUnwritable, "the folder \(folder.path) cannot be created: \(error)", underlying: error)
            }
        }
        if checking { try DestinationRules.check(path, replacing: contains(.removePreviousFile)) }
    }
}
