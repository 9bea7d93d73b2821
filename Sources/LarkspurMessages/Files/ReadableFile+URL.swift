extension URL {
    /// The path of a file URL. Throws for other URLs, for an empty path, and for a path with a NUL character, where
    /// system calls would cut the path.
    package var filePath: String {
        get throws(RequestError) {
            guard isFileURL else {
                let problem = scheme.map { "has the scheme \($0.prefix(40).debugDescription)" } ?? "has no scheme"
                throw RequestError(
                    .invalidFileURL,
                    "the URL of a file to read or write \(problem); use a file URL, such as URL(fileURLWithPath: path)")
            }
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw RequestError(
                    .invalidFileURL,
                    "the path of a file to read or write is empty or contains a NUL character; use another path")
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
