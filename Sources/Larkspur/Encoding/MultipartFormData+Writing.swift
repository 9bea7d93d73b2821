extension MultipartFormData {
    /// The whole body in memory. To send a form, `body()` does without.
    public func encode() async throws -> Data {
        var data = Data()
        try await body().read { data.append(contentsOf: $0) }
        return data
    }

    /// Writes the whole body into a new file; one that exists is not touched, and what was written is removed if the
    /// rest fails. Throws `.fileExists` or `.fileUnwritable` beside what `body()` throws.
    public func write(to url: URL) async throws {
        let body = try body()
        let path = try url.filePath
        let file = try WritableFile.create(path)
        do {
            try await body.read { try file.append($0) }
            // Where files are written over a network, a full disk may show only now.
            try file.flush()
        } catch {
            unlink(path)
            throw error
        }
    }
}
