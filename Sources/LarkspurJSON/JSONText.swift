/// JSON text that is being written, in memory that grows. The creator of a text calls `free()`.
///
/// It is raw memory and not an array, because an array would be checked for other owners at each byte.
struct JSONText {
    private(set) var count = 0
    private(set) var bytes: UnsafeMutablePointer<UInt8>
    private var capacity = 256

    init() { bytes = .allocate(capacity: capacity) }

    func free() { bytes.deallocate() }

    var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }

    /// Makes room for more bytes.
    @inline(__always)
    mutating func reserve(_ more: Int) { if capacity &- count < more { grow(more) } }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let larger = max(2 * capacity, count + more)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        memory.update(from: bytes, count: count)
        bytes.deallocate()
        (bytes, capacity) = (memory, larger)
    }

    /// Removes all bytes behind the first ones.
    mutating func truncate(to count: Int) { self.count = min(self.count, count) }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        bytes[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ source: UnsafeBufferPointer<UInt8>) {
        guard let start = source.baseAddress else { return }
        reserve(source.count)
        (bytes + count).update(from: start, count: source.count)
        count &+= source.count
    }

    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// Begins a line, indented by two spaces for each level.
    mutating func appendLine(depth: Int) {
        append(0x0A)
        for _ in 0..<depth { append("  ") }
    }

    mutating func append(_ value: Bool) { if value { append("true") } else { append("false") } }

    /// Appends an integer in decimal. Not named `append`, because a `UInt8` would then be appended as a byte.
    mutating func appendInteger(_ value: some FixedWidthInteger) {
        guard let small = Int64(exactly: value) else { return append(value.description) }
        if small < 0 { append(UInt8(ascii: "-")) }
        var rest = small.magnitude
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var first = digits.count
            repeat {
                first &-= 1
                digits[first] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    /// Appends a finite number, without the `.0` of a whole one, as `JSONEncoder` writes it.
    mutating func appendNumber(_ value: some BinaryFloatingPoint & CustomStringConvertible) {
        var text = value.description
        text.withUTF8 { utf8 in
            let isWhole =
                utf8.count > 2 && utf8[utf8.count - 1] == UInt8(ascii: "0")
                && utf8[utf8.count - 2] == UInt8(ascii: ".")
            append(UnsafeBufferPointer(rebasing: utf8.dropLast(isWhole ? 2 : 0)))
        }
    }
}

extension JSONText {
    /// Appends a string in quotation marks, with only the necessary escapes and those of slashes, if wanted.
    @inline(__always)
    mutating func appendString(_ text: String, escapesSlashes: Bool = false) {
        var text = text
        text.withUTF8 { appendString($0, escapesSlashes) }
    }

    mutating func appendString(_ utf8: UnsafeBufferPointer<UInt8>, _ escapesSlashes: Bool) {
        append(UInt8(ascii: "\""))
        var (pending, index) = (0, 0)
        while true {
            index = Self.nextEscape(utf8, from: index, escapesSlashes)
            append(UnsafeBufferPointer(rebasing: utf8[pending..<index]))
            guard index < utf8.count else { break }
            appendEscape(of: utf8[index])
            index += 1
            pending = index
        }
        append(UInt8(ascii: "\""))
    }

    /// Returns the index of the next byte that is escaped, or the count.
    @inline(__always)
    private static func nextEscape(
        _ utf8: UnsafeBufferPointer<UInt8>, from start: Int, _ escapesSlashes: Bool
    ) -> Int {
        var index = start
        // Tests eight bytes at a time, as `portable_plain_end` in `json_search.h` does.
        let ones: UInt64 = 0x0101_0101_0101_0101
        let slash: UInt64 = escapesSlashes ? 0x2F : 0x22
        while utf8.count &- index >= 8, let start = utf8.baseAddress {
            let word = UInt64(littleEndian: UnsafeRawPointer(start + index).loadUnaligned(as: UInt64.self))
            let (quotes, backslashes, slashes) = (word ^ ones &* 0x22, word ^ ones &* 0x5C, word ^ ones &* slash)
            let found =
                (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (slashes &- ones) & ~slashes
                | (word &- ones &* 0x20) & ~word
            let stops = found & (ones &* 0x80)
            if stops != 0 { return index &+ stops.trailingZeroBitCount >> 3 }
            index &+= 8
        }
        while index < utf8.count, case let byte = utf8[index], byte >= 0x20, byte != 0x22, byte != 0x5C,
            byte != 0x2F || !escapesSlashes
        {
            index &+= 1
        }
        return index
    }

    @inline(never)
    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        case 0x20...:
            append(UInt8(ascii: "\\"))
            append(byte)
        default: append("\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))")
        }
    }
}
