internal import CLarkspur

/// The form of an entry's file.
///
///     16 bytes   the mark of the format, and a random number
///     blocks     64 KiB of the body each, the last one shorter, and each followed by its checksum
///     heads      at least one record with everything that is needed to judge the entry
///
/// Each record ends with its length and its checksum, so a reader begins at the end of the file: the last record
/// counts. A validation appends a record, whatever the size of the body. All checksums begin with the random number of
/// the file and the position, so no part can stand for another part, or for a part of another file.
enum DiskFormat {
    static let preambleSize = 16
    static let blockSize = 64 << 10
    static let checksumSize = 8
    /// The size of the length, the mark and the checksum at the end of a record.
    static let trailerSize = 16
    /// The maximum size of a record. Larger heads are not stored.
    static let maximumRecordSize = 1 << 20

    private static let mark: UInt64 = 0x3230_4548_4341_434C  // "LCACHE02"
    private static let trailerMark: UInt32 = 0x4441_4548  // "HEAD"

    static func preamble(_ id: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: mark)
        bytes.append(integer: id)
        return bytes
    }

    /// Returns the random number of a file; nil if the file is of another format.
    static func id(in preamble: UnsafeRawBufferPointer) -> UInt64? {
        var reader = ByteReader(preamble)
        guard reader.integer(UInt64.self) == mark else { return nil }
        return reader.integer(UInt64.self)
    }

    /// Returns the position in the file at which a block starts.
    static func position(ofBlock index: UInt64) -> UInt64 {
        UInt64(preambleSize) + index * UInt64(blockSize + checksumSize)
    }

    /// Returns the position at which the blocks of a body end; nil if there can be no such file.
    static func end(ofBody count: UInt64) -> UInt64? {
        guard count < 1 << 60 else { return nil }
        return UInt64(preambleSize) + count + blockCount(of: count) * UInt64(checksumSize)
    }

    /// Returns the number of blocks of a body.
    static func blockCount(of count: UInt64) -> UInt64 { (count + UInt64(blockSize) - 1) / UInt64(blockSize) }

    /// Returns the number of the body's bytes in a block.
    static func size(ofBlock index: UInt64, of count: UInt64) -> Int {
        Int(min(UInt64(blockSize), count - index * UInt64(blockSize)))
    }

    static func checksum(_ block: UnsafeRawBufferPointer, _ index: UInt64, _ id: UInt64) -> UInt64 {
        clarkspur_checksum(id &+ index &* 2, block.baseAddress, block.count)
    }

    /// Returns a record with its trailer.
    static func sealed(_ record: [UInt8], _ id: UInt64) -> [UInt8] {
        var bytes = record
        bytes.append(integer: UInt32(record.count))
        bytes.append(integer: trailerMark)
        bytes.append(integer: bytes.withUnsafeBytes { checksum(ofRecord: $0, id) })
        return bytes
    }

    /// Returns the length of the record before a trailer; nil if the bytes are no trailer.
    static func length(in trailer: UnsafeRawBufferPointer) -> Int? {
        var reader = ByteReader(trailer)
        guard let length = reader.integer(UInt32.self), reader.integer(UInt32.self) == trailerMark,
            length <= maximumRecordSize
        else { return nil }
        return Int(length)
    }

    /// Returns the record without its trailer; nil if it is damaged.
    static func unsealed(_ bytes: UnsafeRawBufferPointer, _ id: UInt64) -> UnsafeRawBufferPointer? {
        guard bytes.count >= trailerSize else { return nil }
        let sum = UnsafeRawBufferPointer(rebasing: bytes.dropLast(checksumSize))
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes.suffix(checksumSize)))
        guard reader.integer(UInt64.self) == checksum(ofRecord: sum, id) else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes.dropLast(trailerSize))
    }

    private static func checksum(ofRecord bytes: UnsafeRawBufferPointer, _ id: UInt64) -> UInt64 {
        clarkspur_checksum(id &+ 1, bytes.baseAddress, bytes.count)
    }
}

/// A reader of numbers and texts. Every read fails instead of passing the end.
struct ByteReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard rest.count >= size else { return nil }
        let value = UnsafeRawBufferPointer(rebasing: rest.prefix(size)).loadUnaligned(as: Value.self)
        rest = rest.dropFirst(size)
        return Value(littleEndian: value)
    }

    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard count >= 0, rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Returns bytes whose number precedes them.
    mutating func bytes() -> [UInt8]? { integer(UInt32.self).flatMap { bytes(Int($0)) } }

    mutating func text() -> String? { bytes().flatMap { String(bytes: $0, encoding: .utf8) } }

    /// Returns a time or an age in seconds; nil if it is not in a range in which calculations are safe.
    mutating func seconds() -> Double? {
        guard let bits = integer(UInt64.self) else { return nil }
        let value = Double(bitPattern: bits)
        return abs(value) < 1e12 ? value : nil
    }
}

extension [UInt8] {
    mutating func append<Value: FixedWidthInteger>(integer: Value) {
        Swift.withUnsafeBytes(of: integer.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(counted bytes: some Collection<UInt8>) {
        append(integer: UInt32(bytes.count))
        append(contentsOf: bytes)
    }

    mutating func append(seconds: Double) { append(integer: seconds.bitPattern) }
}
