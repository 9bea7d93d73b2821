/// The bytes of a file, with reads that fail at the end instead of trapping.
struct ImageBytes {
    enum Failure: Error {
        /// The bytes end before the offset.
        case end
        /// The bytes are not of the format.
        case damaged
    }

    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var count: Int { bytes.count }

    subscript(offset: Int) -> UInt8 {
        get throws(Failure) {
            guard offset >= 0 else { throw .damaged }
            guard offset < bytes.count else { throw .end }
            return bytes[offset]
        }
    }

    /// Returns the bytes of the range that exist.
    func part(_ range: Range<Int>) -> ImageBytes {
        ImageBytes(UnsafeRawBufferPointer(rebasing: bytes[range.clamped(to: 0..<bytes.count)]))
    }

    func big16(_ offset: Int) throws(Failure) -> Int { Int(try self[offset]) << 8 | Int(try self[offset + 1]) }

    func big32(_ offset: Int) throws(Failure) -> Int { try big16(offset) << 16 | big16(offset + 2) }

    func little(_ offset: Int, count: Int) throws(Failure) -> Int {
        var value = 0
        for index in 0..<count { value |= Int(try self[offset + index]) << (8 * index) }
        return value
    }

    /// Returns four characters.
    func tag(_ offset: Int) throws(Failure) -> String {
        var text = ""
        for index in offset..<offset + 4 { text.unicodeScalars.append(Unicode.Scalar(try self[index])) }
        return text
    }

    /// Returns whether the bytes at the offset match, or nil if they end before a mismatch. A nil in `pattern` stands
    /// for any byte.
    func matches(_ pattern: [UInt8?], at offset: Int) -> Bool? {
        for (index, expected) in pattern.enumerated() {
            guard offset + index < bytes.count else { return nil }
            guard expected == nil || bytes[offset + index] == expected else { return false }
        }
        return true
    }
}
