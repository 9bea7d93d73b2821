extension URL {
    /// The path of a file's URL; one that a NUL would cut names another file.
    var filePath: String {
        get throws(RequestError) {
            guard isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
                throw RequestError(.invalidFileURL, "what is to be read or written has a URL that does not name a file")
            }
            return path
        }
    }
}

extension ReadableFile {
    static func open(_ url: URL) throws(RequestError) -> ReadableFile {
        let path = try url.filePath
        do { return try ReadableFile(path: path) } catch { throw RequestError(error) }
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
