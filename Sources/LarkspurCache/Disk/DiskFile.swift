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

    /// Returns the bytes; nil if the file is too short or cannot be read.
    func memory(at position: UInt64, _ count: Int) -> DiskMemory? {
        guard let memory = DiskMemory(count), read(at: position, into: memory.buffer) else { return nil }
        return memory
    }

    /// Reads a block of a body and verifies it. Returns nil if it is damaged.
    func block(_ index: UInt64, of count: UInt64, _ id: UInt64) -> Data? {
        let size = DiskFormat.size(ofBlock: index, of: count)
        let memory = memory(at: DiskFormat.position(ofBlock: index), size + DiskFormat.checksumSize)
        guard let memory, memory.isBlock(at: 0, size, index, id) else { return nil }
        return memory.data(at: 0, size)
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

/// Bytes that were read from a file.
final class DiskMemory {
    /// The size up to which bytes are copied, so that they do not keep those around them in memory.
    private static let copiedSize = 4096

    /// The bytes, as long as this object lives.
    fileprivate let buffer: UnsafeMutableRawBufferPointer

    init?(_ count: Int) {
        guard count > 0, let memory = malloc(count) else { return nil }
        buffer = UnsafeMutableRawBufferPointer(start: memory, count: count)
    }

    deinit { free(buffer.baseAddress) }

    private func end(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer.suffix(count))
    }

    /// The random number at the beginning of a file; nil if the file is of another format.
    var id: UInt64? { DiskFormat.id(in: UnsafeRawBufferPointer(buffer)) }

    /// The length of the record at the end; nil if there is none.
    var lengthOfRecord: Int? { DiskFormat.length(in: end(DiskFormat.trailerSize)) }

    /// Returns the record at the end, which has this size with its trailer; nil if it is damaged.
    func record(_ sealed: Int, _ id: UInt64) -> DiskRecord? {
        DiskFormat.unsealed(end(sealed), id).flatMap(DiskRecord.init)
    }

    /// Returns whether there is an undamaged block at the offset, which its checksum follows.
    func isBlock(at offset: Int, _ size: Int, _ index: UInt64, _ id: UInt64) -> Bool {
        guard size >= 0, offset >= 0, buffer.count - offset >= size + DiskFormat.checksumSize else { return false }
        let sum = buffer.loadUnaligned(fromByteOffset: offset + size, as: UInt64.self)
        let block = UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + size])
        return UInt64(littleEndian: sum) == DiskFormat.checksum(block, index, id)
    }

    /// Returns the verified body of a whole small file, and moves its blocks together for that. Returns nil if one of
    /// them is damaged.
    func body(of count: Int, _ id: UInt64) -> Data? {
        for index in 0..<DiskFormat.blockCount(of: UInt64(count)) {
            let size = DiskFormat.size(ofBlock: index, of: UInt64(count))
            let position = Int(DiskFormat.position(ofBlock: index))
            guard isBlock(at: position, size, index, id), let base = buffer.baseAddress else { return nil }
            let place = DiskFormat.preambleSize + Int(index) * DiskFormat.blockSize
            if place < position { memmove(base + place, base + position, size) }
        }
        return data(at: DiskFormat.preambleSize, count)
    }

    /// Returns some of the bytes. Receivers expect that the first index is 0, so a slice of all would not do.
    func data(at offset: Int, _ count: Int) -> Data {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<offset + count])
        guard count > Self.copiedSize, let base = part.baseAddress else { return Data(part) }
        return Data(
            bytesNoCopy: base, count: count, deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} })
    }
}

extension DiskFormat {
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
