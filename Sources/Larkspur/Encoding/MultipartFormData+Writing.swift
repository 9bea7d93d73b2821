import LarkspurTransport

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension MultipartFormData {
    /// The whole body in memory. To send a form, `body()` does without.
    public func encode() async throws -> Data {
        let body = try body()
        var data = Data()
        try await body.read { data.append(contentsOf: $0) }
        return data
    }

    /// Writes the whole body into a new file; one that exists is not touched, and what was written is removed if the
    /// rest fails. Throws `.fileExists` or `.fileUnwritable` beside what `body()` throws.
    public func write(to url: URL) async throws {
        let body = try body()
        let path = url.path
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.invalidFileURL, "a form was to be written to a file, but its URL does not name one")
        }
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
