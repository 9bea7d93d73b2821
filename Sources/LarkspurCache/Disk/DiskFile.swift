/// An open file of the cache. It is closed on a file thread, because the system may have to free a large file then.
final class DiskFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        let descriptor = descriptor
        if FileThread.isCurrent { close(descriptor) } else { FileThread.all[0].perform { close(descriptor) } }
    }

    var status: stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Reads bytes until the buffer is full. Returns false if the file is too short or cannot be read.
    func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(clamping: position + UInt64(done)))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Returns the bytes; nil if the file is too short or cannot be read.
    func read(at position: UInt64, _ count: Int) -> [UInt8]? {
        var isRead = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            isRead = read(at: position, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = isRead ? count : 0
        }
        return isRead ? bytes : nil
    }

    /// Returns the bytes as `Data`; nil if the file is too short or cannot be read.
    func data(at position: UInt64, _ count: Int) -> Data? {
        guard count > 0, let memory = malloc(count) else { return nil }
        guard read(at: position, into: UnsafeMutableRawBufferPointer(start: memory, count: count)) else {
            free(memory)
            return nil
        }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }

    /// Reads a block of a body and verifies it. Returns nil if it is damaged.
    func block(_ index: UInt64, of count: UInt64, _ id: UInt64) -> Data? {
        let size = DiskFormat.size(ofBlock: index, of: count)
        return data(at: DiskFormat.position(ofBlock: index), size + DiskFormat.checksumSize).flatMap {
            DiskFormat.block($0, at: 0, size, index, id)
        }
    }

    /// Writes all bytes at a position.
    func write(_ bytes: [UInt8], at position: UInt64) throws(DiskFailure) { try write([Data(bytes)], at: position) }

    /// Writes the parts one after the other, usually with a single system call.
    func write(_ parts: [Data], at position: UInt64) throws(DiskFailure) {
        var vectors: [iovec] = []
        vectors.reserveCapacity(parts.count)
        if let failure = gather(parts[...], &vectors, position) { throw failure }
    }

    /// Adds the addresses of the parts, which are valid only within the nested calls, and writes the parts.
    private func gather(_ parts: ArraySlice<Data>, _ vectors: inout [iovec], _ position: UInt64) -> DiskFailure? {
        guard let part = parts.first else { return write(&vectors, at: position) }
        return part.withUnsafeBytes { bytes in
            if !bytes.isEmpty {
                vectors.append(
                    iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
            }
            return gather(parts.dropFirst(), &vectors, position)
        }
    }

    private func write(_ vectors: inout [iovec], at position: UInt64) -> DiskFailure? {
        var (next, position) = (0, position)
        while next < vectors.count {
            let count = vectors[next...].withUnsafeBufferPointer {
                pwritev(descriptor, $0.baseAddress, Int32($0.count), off_t(clamping: position))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return DiskFailure("written") }
            position += UInt64(count)
            var left = count
            while next < vectors.count, left >= vectors[next].iov_len {
                left -= vectors[next].iov_len
                next += 1
            }
            if left > 0 {
                vectors[next].iov_base += left
                vectors[next].iov_len -= left
            }
        }
        return nil
    }

    /// Adds bytes to the end in one step, so that another process cannot add bytes between them.
    func append(_ bytes: [UInt8]) -> Bool {
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        return count == bytes.count
    }

    private func write(_ descriptor: Int32, _ base: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Darwin)
            Darwin.write(descriptor, base, count)
        #elseif canImport(Glibc)
            Glibc.write(descriptor, base, count)
        #else
            Musl.write(descriptor, base, count)
        #endif
    }
}

extension DiskFormat {
    /// The size up to which a block is copied, so that it does not keep the bytes around it in memory.
    private static let copiedSize = 4096

    /// Returns a block that starts at an offset of the bytes and that its checksum follows; nil if it is damaged.
    static func block(_ bytes: Data, at offset: Int, _ size: Int, _ index: UInt64, _ id: UInt64) -> Data? {
        bytes.withUnsafeBytes { all -> Data? in
            guard size >= 0, offset >= 0, all.count - offset >= size + checksumSize, let base = all.baseAddress else {
                return nil
            }
            let block = UnsafeRawBufferPointer(start: base + offset, count: size)
            let sum = all.loadUnaligned(fromByteOffset: offset + size, as: UInt64.self)
            guard UInt64(littleEndian: sum) == checksum(block, index, id) else { return nil }
            if size <= copiedSize { return Data(block) }
            // Receivers expect that the first index is 0, so a slice would not do.
            return Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: base + offset), count: size,
                deallocator: .custom { _, _ in withExtendedLifetime(bytes) {} })
        }
    }

    /// Returns the checksum of a block as it is in the file.
    static func sum(of block: Data, _ index: UInt64, _ id: UInt64) -> Data {
        let sum = block.withUnsafeBytes { checksum($0, index, id) }
        return withUnsafeBytes(of: sum.littleEndian) { Data($0) }
    }
}

/// The reason why the folder of a cache cannot be used.
struct DiskFailure: Error {
    let code: Int32
    let message: String
    /// Whether the failure concerns a single file, because something else is at its place.
    var isLocal = false

    init(code: Int32, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the failure of the last system call.
    init(_ verb: String, _ what: String = "a file of the cache") {
        let code = errno
        self.init(code: code, "\(what) cannot be \(verb): \(String(cString: strerror(code)))")
    }
}

extension stat {
    /// The last modification, in seconds since 1970.
    var modified: Double {
        #if canImport(Darwin)
            Double(st_mtimespec.tv_sec) + Double(st_mtimespec.tv_nsec) / 1e9
        #else
            Double(st_mtim.tv_sec) + Double(st_mtim.tv_nsec) / 1e9
        #endif
    }

    var isRegular: Bool { st_mode & S_IFMT == S_IFREG }

    /// Whether this user alone may write the file.
    var isOwn: Bool { st_uid == geteuid() && st_mode & 0o022 == 0 }

    /// The space that the file takes, in whole pages.
    var space: UInt64 { (UInt64(clamping: st_size) + 4095) / 4096 * 4096 }

    func isSame(as other: stat) -> Bool { st_ino == other.st_ino && st_dev == other.st_dev }
}
