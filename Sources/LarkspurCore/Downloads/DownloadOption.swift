/// An option for how a download handles its file.
///
///     session.download(url, to: .file(archive), options: [.removePreviousFile, .checksum(.sha256, "9f86d0…")])
public struct DownloadOption: Hashable, Sendable {
    enum Kind: Hashable { case createsFolders, replaces, startsOver, checksum(ChecksumAlgorithm, String) }

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
    public static func checksum(_ algorithm: ChecksumAlgorithm, _ hexadecimal: String) -> DownloadOption {
        DownloadOption(kind: .checksum(algorithm, hexadecimal.lowercased()))
    }
}

/// The hash algorithm of a file's checksum.
public enum ChecksumAlgorithm: Sendable, Hashable {
    /// SHA-256, 64 hexadecimal digits.
    case sha256
    /// SHA-512, 128 hexadecimal digits.
    case sha512
    /// MD5, 32 hexadecimal digits. It detects damage, but not tampering.
    case md5

    package var hash: StreamingHash.Algorithm { kind.hash }

    private var kind: (hash: StreamingHash.Algorithm, digits: Int) {
        switch self {
        case .sha256: (.sha256, 64)
        case .sha512: (.sha512, 128)
        case .md5: (.md5, 32)
        }
    }

    /// Throws `.invalidChecksum` if the text has a wrong length or is not hexadecimal. The check runs before the
    /// request is sent.
    package func check(_ hexadecimal: String) throws(RequestError) {
        let digits = kind.digits
        guard hexadecimal.utf8.count == digits, hexadecimal.allSatisfy(\.isHexDigit) else {
            throw RequestError(
                .invalidChecksum, "the expected checksum does not have \(digits) hexadecimal digits")
        }
    }
}

extension [DownloadOption] {
    package var checksum: (algorithm: ChecksumAlgorithm, hexadecimal: String)? {
        for option in self {
            if case .checksum(let algorithm, let hexadecimal) = option.kind { return (algorithm, hexadecimal) }
        }
        return nil
    }
}
