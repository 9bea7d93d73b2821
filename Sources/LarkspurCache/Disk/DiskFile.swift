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

    /// Reads a block of a body and verifies it. Returns nil if it is damaged.
    func block(_ index: UInt64, of count: UInt64, _ id: UInt64) -> Data? {
        let size = DiskFormat.size(ofBlock: index, of: count)
        guard let memory = malloc(size + DiskFormat.checksumSize) else { return nil }
        let bytes = UnsafeMutableRawBufferPointer(start: memory, count: size + DiskFormat.checksumSize)
        guard read(at: DiskFormat.position(ofBlock: index), into: bytes),
            DiskFormat.block(UnsafeRawBufferPointer(bytes), index, id) != nil
        else {
            free(memory)
            return nil
        }
        return Data(bytesNoCopy: memory, count: size, deallocator: .free)
    }

    /// Writes all bytes at a position.
    func write(_ bytes: [UInt8], at position: UInt64) throws(DiskFailure) {
        if let failure = bytes.withUnsafeBytes({ write($0, at: position) }) { throw failure }
    }

    /// Writes a block of a body with its checksum.
    func write(_ block: Data, _ index: UInt64, _ id: UInt64) throws(DiskFailure) {
        let position = DiskFormat.position(ofBlock: index)
        var sum: [UInt8] = []
        sum.append(integer: block.withUnsafeBytes { DiskFormat.checksum($0, index, id) })
        if let failure = block.withUnsafeBytes({ write($0, at: position) }) { throw failure }
        try write(sum, at: position + UInt64(block.count))
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at position: UInt64) -> DiskFailure? {
        var rest = bytes
        var position = position
        while !rest.isEmpty {
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(clamping: position))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return DiskFailure("written") }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            position += UInt64(count)
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
    /// Returns a block without its checksum; nil if it is damaged.
    static func block(_ bytes: UnsafeRawBufferPointer, _ index: UInt64, _ id: UInt64) -> UnsafeRawBufferPointer? {
        guard bytes.count >= checksumSize else { return nil }
        let block = UnsafeRawBufferPointer(rebasing: bytes.dropLast(checksumSize))
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes.suffix(checksumSize)))
        return reader.integer(UInt64.self) == checksum(block, index, id) ? block : nil
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
