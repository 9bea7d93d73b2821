#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes of all bytes to a file: the system's function may write fewer.
public enum WholeWrite {
    /// The system's function `pwrite`, or another function with its rules.
    public typealias Function = @Sendable (Int32, UnsafeRawPointer?, Int, off_t) -> Int

    /// The system's function.
    public static let system: Function = { pwrite($0, $1, $2, $3) }

    /// Writes the bytes at a position of the file. Returns the number of the system's error, or 0.
    public static func write(
        _ bytes: [UInt8], to file: Int32, at position: Int64 = 0, with function: Function = system
    ) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = function(file, rest.baseAddress, rest.count, off_t(position) + off_t(done))
                if count > 0 {
                    done += count
                } else if count == 0 {
                    return EIO
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }
}
