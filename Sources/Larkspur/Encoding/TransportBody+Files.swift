import LarkspurTransport

extension TransportBody {
    /// A body of a file, read from disk while it is sent.
    ///
    /// Length and version of the file are noted now. If it is another one when it is sent (grown, cut, written to,
    /// replaced), the request fails with `.bodyFailed`. Throws `.invalidFileURL`, `.fileMissing`, `.fileIsDirectory`,
    /// `.fileNotRegular` or `.fileUnreadable`.
    public static func file(_ url: URL) throws(RequestError) -> TransportBody {
        try ReadableFile.open(url).body()
    }
}

extension ReadableFile {
    static func open(_ url: URL) throws(RequestError) -> ReadableFile {
        let path = url.path
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.invalidFileURL, "a body was to be made of a file, but its URL does not name one")
        }
        do {
            return try ReadableFile(path: path)
        } catch {
            throw RequestError(error)
        }
    }

    func body() throws(RequestError) -> TransportBody {
        do {
            let (length, version) = try status()
            return .file(path: path, length: length, version: version)
        } catch {
            throw RequestError(error)
        }
    }
}

extension RequestError {
    fileprivate init(_ failure: ReadableFile.Failure) {
        let code: Code =
            switch failure.kind {
            case .missing: .fileMissing
            case .directory: .fileIsDirectory
            case .irregular: .fileNotRegular
            case .unreadable: .fileUnreadable
            }
        self.init(code, failure.message, underlying: failure)
    }
}
