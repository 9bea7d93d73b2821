/// What it takes to continue an upload in another run of the program: where it goes, and of which file.
///
///     try JSONEncoder().encode(upload.record).write(to: place)
///
/// It has no header fields, but its URLs let whoever has them write to the upload.
public struct ResumableUploadRecord: Hashable, Sendable, Codable {
    let method: ResumableUploadProtocol
    /// Where another upload begins, should the server have forgotten this one.
    let endpoint: String
    /// Where the bytes go.
    public internal(set) var uploadURL: String
    let metadata: [String: String]
    /// The size of the file in bytes.
    public let length: UInt64
    let modification: TransportFileVersion.Modification
    /// How many bytes the server has said that it has.
    public internal(set) var offset: UInt64
}

/// The file of an upload, as it was when the upload began.
struct ResumableFile {
    let url: URL
    let path: String
    let length: UInt64
    let version: TransportFileVersion

    init(_ url: URL, expecting record: ResumableUploadRecord?) throws(RequestError) {
        self.url = url
        guard case .file(let path, let length, let version?) = try TransportBody.file(url) else {
            throw RequestError(.fileUnreadable, "the file says nothing of its version")
        }
        (self.path, self.length, self.version) = (path, length, version)
        if let record { try expect(length == record.length && version.modification == record.modification) }
    }

    /// Throws if it is another one by now.
    func check() throws(RequestError) {
        let now = try ResumableFile(url, expecting: nil)
        try expect(now.length == length && now.version == version)
    }

    private func expect(_ isSame: Bool) throws(RequestError) {
        guard isSame else {
            throw RequestError(
                .fileChanged, "the file \(path) is not the one that the upload began with; begin another upload")
        }
    }

    func bytes(_ range: Range<UInt64>) -> TransportBody {
        .file(path: path, length: length, version: version, range: range)
    }
}

extension RequestURL {
    init(record text: String) throws(RequestError) {
        // The record's text is normal already, or a verbatim URL's.
        do { self = try RequestURL(verbatim: text) } catch {
            throw RequestError(.invalidURL, "the record of the upload has no URL to begin with", underlying: error)
        }
    }

    /// The URL of an upload that a server names in its answer to a request to this URL, or that a record has.
    ///
    /// A server that is asked over TLS cannot have the file sent without it.
    func upload(at location: String, isSecure: Bool) throws(RequestError) -> RequestURL {
        guard !location.isEmpty, let url = try? resolving(location, idna: PlatformIDNA.ascii).withoutUserInfo,
            url.isHTTP, url.host?.isEmpty == false
        else { throw RequestError(.uploadURLRefused, "there is no http or https URL for the upload") }
        guard url.isHTTPS || !(isSecure || isHTTPS) else {
            throw RequestError(
                .uploadURLRefused, "the upload's URL leaves https, which would have the file sent in clear text")
        }
        return url
    }
}
