/// The head of a response as it came: status, version, and the field lines' own bytes.
///
/// The lines are kept raw and read when somebody asks: most fields of most responses are never looked at, and a
/// dictionary would lose order, repeats and bytes that are not UTF-8.
public struct ResponseHead: Sendable, Hashable {
    /// From 100 on; final from 200 on.
    public let status: Int
    /// As the peer named it: `HTTP/1.1`, `HTTP/2`.
    public let version: String
    /// The field lines, each with its line end, without status line and closing blank line.
    public let rawFields: [UInt8]
    /// Whether the transport has already undone the content coding of the body.
    public let bodyIsDecoded: Bool

    /// A head with its field lines as they came.
    public init(status: Int, version: String = "HTTP/1.1", rawFields: [UInt8], bodyIsDecoded: Bool = false) {
        self.status = status
        self.version = version
        self.rawFields = rawFields
        self.bodyIsDecoded = bodyIsDecoded
    }

    /// A head of these fields.
    public init(status: Int, version: String = "HTTP/1.1", fields: [HeaderField] = [], bodyIsDecoded: Bool = false) {
        var raw: [UInt8] = []
        raw.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
        for field in fields {
            raw.append(contentsOf: field.name.utf8)
            raw.append(contentsOf: ": ".utf8)
            raw.append(contentsOf: field.value.utf8)
            raw.append(contentsOf: "\r\n".utf8)
        }
        self.init(status: status, version: version, rawFields: raw, bodyIsDecoded: bodyIsDecoded)
    }

    /// Every field in order, repeats included.
    public var fields: [HeaderField] {
        rawFields.withUnsafeBufferPointer { bytes in
            FieldLines(bytes).map { HeaderField(name: FieldLines.text($0.name), value: FieldLines.text($0.value)) }
        }
    }

    /// The first value of a field, whatever the case of its name.
    public subscript(name: String) -> String? {
        first(named: name) { FieldLines.text($0) }
    }

    /// All values of a field, in order.
    public func values(for name: String) -> [String] {
        rawFields.withUnsafeBufferPointer { bytes in
            var values: [String] = []
            var lines = FieldLines(bytes)
            while let value = lines.next(named: name) { values.append(FieldLines.text(value)) }
            return values
        }
    }

    /// The first value of a field in its own bytes.
    public func bytes(for name: String) -> [UInt8]? {
        first(named: name) { Array($0) }
    }

    /// The declared length of the body, if there is one and it is a plain number.
    ///
    /// Declared several times it must be the same number each time, RFC 9110 section 8.6: whoever picks one of two
    /// lengths may see the body end elsewhere than the peer does.
    public var contentLength: UInt64? {
        rawFields.withUnsafeBufferPointer { bytes in
            var length: UInt64?
            var lines = FieldLines(bytes)
            while let value = lines.next(named: "Content-Length") {
                var start = value.startIndex
                while start <= value.endIndex {
                    let end = value[start...].firstIndex(of: UInt8(ascii: ",")) ?? value.endIndex
                    guard let number = FieldLines.number(value[start..<end]), length == nil || length == number
                    else { return nil }
                    (length, start) = (number, end + 1)
                }
            }
            return length
        }
    }

    private func first<Result>(named name: String, _ read: (FieldLines.Bytes) -> Result) -> Result? {
        rawFields.withUnsafeBufferPointer { bytes in
            var lines = FieldLines(bytes)
            return lines.next(named: name).map(read)
        }
    }
}

extension ResponseHead: CustomStringConvertible, CustomReflectable {
    /// The version and the status, without the fields, which may hold secrets: `HTTP/1.1 200`.
    public var description: String { "\(version) \(status)" }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Walks over raw field lines: tolerant of bare LF, folded lines and lines without a colon, which it skips.
private struct FieldLines: Sequence, IteratorProtocol {
    typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private let bytes: UnsafeBufferPointer<UInt8>
    private var start = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func next() -> (name: Bytes, value: Bytes)? {
        while start < bytes.count {
            let line = bytes[start..<takeLine()]
            // A line end before the colon: what follows it continues a line that had no colon.
            guard let colon = line.firstIndex(where: { $0 == UInt8(ascii: ":") || Self.isLineEnd($0) }),
                line[colon] == UInt8(ascii: ":")
            else { continue }
            let name = Self.trimmed(line[..<colon])
            if !name.isEmpty { return (name, Self.trimmed(line[(colon + 1)...])) }
        }
        return nil
    }

    /// The value of the next line of this name. A head is asked for several fields that most heads do not have, so lines
    /// with another first letter, or a name of another length, are passed by unread.
    mutating func next(named name: String) -> Bytes? {
        guard let initial = name.utf8.first?.asciiLowercased else { return nil }
        let length = name.utf8.count
        while start < bytes.count {
            let first = bytes[start].asciiLowercased
            if !Self.isBlank(first), !Self.isLineEnd(first), first != initial || !endsName(start + length) {
                _ = takeLine()
            } else if let line = next(), Self.matches(line.name, name) {
                return line.value
            }
        }
        return nil
    }

    private func endsName(_ index: Int) -> Bool {
        index < bytes.count && (bytes[index] == UInt8(ascii: ":") || Self.isBlank(bytes[index]))
    }

    /// Goes on to the next line, and says where this one ends; one that begins with white space continues the one before.
    private mutating func takeLine() -> Int {
        var end = start
        while true {
            end = lineFeed(from: end)
            guard end + 1 < bytes.count, Self.isBlank(bytes[end + 1]) else { break }
            end += 1
        }
        start = Swift.min(end + 1, bytes.count)
        return end
    }

    /// Where the next line feed is, or else the end.
    private func lineFeed(from start: Int) -> Int {
        guard let base = bytes.baseAddress, let found = memchr(base + start, 0x0A, bytes.count - start) else {
            return bytes.count
        }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Text of bytes that are UTF-8, or else Latin-1, which is what older servers mean by them. Folds become a space.
    static func text(_ bytes: Bytes) -> String {
        var bytes = Array(bytes)
        if let fold = bytes.firstIndex(where: isLineEnd) { bytes = unfolded(bytes, from: fold) }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return String(decoding: bytes, as: UTF8.self)
            case .error: return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            }
        }
    }

    private static func unfolded(_ bytes: [UInt8], from fold: Int) -> [UInt8] {
        var result = Array(bytes[..<fold])
        for byte in bytes[fold...] {
            let byte = isBlank(byte) || isLineEnd(byte) ? 0x20 : byte
            if byte != 0x20 || result.last != 0x20 { result.append(byte) }
        }
        return result
    }

    private static func matches(_ bytes: Bytes, _ name: String) -> Bool {
        guard bytes.count == name.utf8.count else { return false }
        var name = name
        return name.withUTF8 { name in zip(bytes, name).allSatisfy { $0.asciiLowercased == $1.asciiLowercased } }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0D || byte == 0x0A }

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) || isLineEnd(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) || isLineEnd(last) { bytes.removeLast() }
        return bytes
    }

    /// Digits and nothing else but white space around them: `UInt64.init` takes signs, which a length has not.
    static func number(_ bytes: Bytes) -> UInt64? {
        let digits = trimmed(bytes)
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }
}
