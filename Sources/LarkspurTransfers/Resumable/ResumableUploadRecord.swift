/// The data needed to resume an upload in another run of the program: the upload's URL and the version of the local
/// file.
///
///     try JSONEncoder().encode(upload.record).write(to: place)
///
/// The record contains no header fields. A person or program that knows the upload's URL can write to the upload.
public struct ResumableUploadRecord: Hashable, Sendable, Codable {
    let method: ResumableUploadProtocol
    /// The URL to which the bytes are sent.
    public internal(set) var uploadURL: String
    /// The size of the file in bytes.
    public let length: UInt64
    let modification: TransportFileVersion.Modification
    /// The number of bytes that the server has confirmed.
    public internal(set) var offset: UInt64
}

/// The file of an upload, with the version that it had when the run of the upload began.
struct ResumableFile {
    let url: URL
    let path: String
    let length: UInt64
    let version: TransportFileVersion

    init(_ url: URL, expecting record: ResumableUploadRecord?) throws(RequestError) {
        self.url = url
        guard case .file(let path, let length, let version?) = try TransportBody.file(url) else {
            throw RequestError(.fileUnreadable, "the file system does not report the file's version")
        }
        (self.path, self.length, self.version) = (path, length, version)
        if let record { try expect(length == record.length && version.modification == record.modification) }
    }

    /// Throws `.fileChanged` if the file has changed since the run began.
    func check() throws(RequestError) {
        let now = try ResumableFile(url, expecting: nil)
        try expect(now.length == length && now.version == version)
    }

    private func expect(_ isSame: Bool) throws(RequestError) {
        guard isSame else {
            throw RequestError(
                .fileChanged, "the file \(path) differs from the file that the upload began with; start another upload")
        }
    }

    func bytes(_ range: Range<UInt64>) -> TransportBody {
        .file(path: path, length: length, version: version, range: range)
    }
}

extension RequestURL {
    /// Returns the URL of an upload. `location` comes from the server's response to a request to this URL, or from a
    /// record.
    ///
    /// Throws `.uploadURLRefused` if the upload's URL is not valid, or if it is http although this URL is https or
    /// `isSecure` is true.
    func upload(at location: String, isSecure: Bool) throws(RequestError) -> RequestURL {
        guard !location.isEmpty, let url = try? resolving(location, idna: PlatformIDNA.ascii).withoutUserInfo,
            url.isHTTP, url.host?.isEmpty == false
        else { throw RequestError(.uploadURLRefused, "the upload has no valid http or https URL") }
        guard url.isHTTPS || !(isSecure || isHTTPS) else {
            throw RequestError(
                .uploadURLRefused,
                "the upload's URL changes from https to http, which would send the file in clear text")
        }
        return url
    }
}

/// The descriptions omit the URL, because the URL alone is often enough to read or write the upload.
extension ResumableUploadRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "ResumableUploadRecord(\(offset) of \(length) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
