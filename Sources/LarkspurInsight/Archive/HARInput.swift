import Larkspur

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads the bytes of an archive's file.
enum HARInput {
    /// The number of bytes by which the memory grows if the file grows while it is read.
    private static let growth = 1 << 20

    /// Returns the content of a regular file. Opening a pipe would wait for its writer, and a device may have no end.
    static func bytes(of url: URL) throws(RequestError) -> Data {
        guard url.isFileURL else {
            throw RequestError(.invalidFileURL, "the URL of the archive is not a file URL")
        }
        let path = url.path
        var status = stat()
        guard stat(path, &status) == 0 else { throw error(path, errno) }
        try check(status, path)
        // A pipe may have replaced the file since the check.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw error(path, errno) }
        defer { close(descriptor) }
        guard fstat(descriptor, &status) == 0 else { throw error(path, errno) }
        try check(status, path)
        return try bytes(of: descriptor, size: Int(status.st_size), path)
    }

    private static func check(_ status: stat, _ path: String) throws(RequestError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw RequestError(.fileNotRegular, "the archive \(path) is not a regular file")
        }
    }

    private static func bytes(of descriptor: Int32, size: Int, _ path: String) throws(RequestError) -> Data {
        // One byte more, so that the end of the file is seen without further memory.
        var data = Data(count: size + 1)
        var count = 0
        while true {
            if count == data.count { data.append(Data(count: growth)) }
            let result = data.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count)
            }
            if result == 0 { break }
            if result > 0 {
                count += result
            } else if errno != EINTR {
                throw error(path, errno)
            }
        }
        return data.prefix(count)
    }

    private static func error(_ path: String, _ number: Int32) -> RequestError {
        RequestError(.fileUnreadable, "the archive \(path) cannot be read: \(String(cString: strerror(number)))")
    }
}
