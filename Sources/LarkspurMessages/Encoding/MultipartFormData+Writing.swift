extension MultipartFormData {
    /// Returns the whole body in memory. To send a form, use ``body()``, which needs no copy in memory.
    public func encode() async throws -> Data {
        var data = Data()
        try await body().read { data.append(contentsOf: $0) }
        return data
    }

    /// Writes the whole body to a new file. If writing fails, the file is removed. Throws `.fileExists` if the file
    /// exists, `.fileUnwritable` if the file cannot be written, and the errors of ``body()``.
    public func write(to url: URL) async throws {
        let body = try body()
        let path = try url.filePath
        let file = try WritableFile.create(path)
        do {
            try await body.read { try file.append($0) }
            // On network file systems a full disk may be reported only here.
            try file.flush()
        } catch {
            unlink(path)
            throw error
        }
    }
}
