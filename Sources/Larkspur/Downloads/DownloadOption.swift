/// How a download deals with its file.
///
///     session.download(url, to: .file(archive), options: [.removePreviousFile, .checksum(.sha256, "9f86d0…")])
public struct DownloadOption: Hashable, Sendable {
    enum Kind: Hashable { case createsFolders, replaces, startsOver, checksum(ChecksumAlgorithm, String) }

    let kind: Kind

    /// Creates the folders that are missing on the way to the file.
    public static let createIntermediateDirectories = DownloadOption(kind: .createsFolders)

    /// Replaces a regular file, or a symbolic link to one or to nothing, in one step, when the new file is whole. Directories,
    /// devices, pipes and sockets are never replaced: `.fileIsDirectory`, `.fileNotRegular`.
    ///
    /// Without this option a file that exists is an error, and not a byte is fetched where its name is known before.
    public static let removePreviousFile = DownloadOption(kind: .replaces)

    /// Does not go on with what an earlier request to the same place has left.
    public static let startOver = DownloadOption(kind: .startsOver)

    /// Fails with `.checksumMismatch`, and keeps nothing, if the file's bytes are not those of this checksum.
    ///
    /// It is computed while the file is written, over the decoded bytes.
    public static func checksum(_ algorithm: ChecksumAlgorithm, _ hexadecimal: String) -> DownloadOption {
        DownloadOption(kind: .checksum(algorithm, hexadecimal.lowercased()))
    }
}

/// What a file's checksum is computed by.
public enum ChecksumAlgorithm: Sendable, Hashable {
    /// 64 hexadecimal digits.
    case sha256
    /// 128 hexadecimal digits.
    case sha512
    /// Tells of damage, not of malice.
    case md5

    var hash: StreamingHash.Algorithm { kind.hash }

    private var kind: (hash: StreamingHash.Algorithm, digits: Int) {
        switch self {
        case .sha256: (.sha256, 64)
        case .sha512: (.sha512, 128)
        case .md5: (.md5, 32)
        }
    }

    /// Before anything is fetched: what can never match is a mistake of the caller's.
    func check(_ hexadecimal: String) throws(RequestError) {
        let digits = kind.digits
        guard hexadecimal.utf8.count == digits, hexadecimal.allSatisfy(\.isHexDigit) else {
            throw RequestError(
                .invalidChecksum, "the checksum to compare with does not have \(digits) hexadecimal digits")
        }
    }
}

extension [DownloadOption] {
    var checksum: (algorithm: ChecksumAlgorithm, hexadecimal: String)? {
        for option in self {
            if case .checksum(let algorithm, let hexadecimal) = option.kind { return (algorithm, hexadecimal) }
        }
        return nil
    }
}
