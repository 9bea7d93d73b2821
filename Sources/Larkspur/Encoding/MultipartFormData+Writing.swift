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
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw RequestError.system("created", path) }
        do {
            var length: off_t = 0
            try await body.read { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let piece = UnsafeRawBufferPointer(rebasing: rest)
                    let count = pwrite(descriptor, piece.baseAddress, piece.count, length)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { throw RequestError.system("written", path) }
                    length += off_t(count)
                    rest = rest.dropFirst(count)
                }
            }
        } catch {
            close(descriptor)
            unlink(path)
            throw error
        }
        // Where files are written over a network, a full disk may show only now.
        guard close(descriptor) == 0 else {
            let error = RequestError.system("written", path)
            unlink(path)
            throw error
        }
    }
}

extension RequestError {
    /// What the system has just said.
    fileprivate static func system(_ verb: String, _ path: String) -> RequestError {
        let code = errno
        if code == EEXIST { return RequestError(.fileExists, "the file \(path) exists, and is not overwritten") }
        return RequestError(.fileUnwritable, "the file \(path) cannot be \(verb): \(String(cString: strerror(code)))")
    }
}
