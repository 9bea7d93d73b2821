/// The head of a response: status, version and the raw bytes of the field lines.
///
/// The lines are stored raw and parsed on access. Most fields of most responses are never read, and a dictionary would
/// lose order, repeats and bytes that are not UTF-8.
public struct ResponseHead: Sendable, Hashable {
    /// The status code, at least 100. A response with a status of at least 200 is final.
    public let status: Int
    /// The version as the peer sent it: `HTTP/1.1`, `HTTP/2`. It is `HTTP` if the transport does not know it.
    public let version: String
    /// The field lines, each with its line end, without the status line and the closing blank line.
    public let rawFields: [UInt8]
    /// Whether the transport has already undone the content coding of the body.
    public let bodyIsDecoded: Bool

    /// Creates a head from raw field lines.
    public init(status: Int, version: String = "HTTP/1.1", rawFields: [UInt8], bodyIsDecoded: Bool = false) {
        self.status = status
        self.version = version
        self.rawFields = rawFields
        self.bodyIsDecoded = bodyIsDecoded
    }

    /// Creates a head from fields.
    public init(status: Int, version: String = "HTTP/1.1", fields: [HTTPHeader] = [], bodyIsDecoded: Bool = false) {
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

    /// All fields in order, repeats included.
    public var fields: [HTTPHeader] {
        rawFields.withUnsafeBufferPointer { bytes in
            FieldLines(bytes).map { HTTPHeader(name: FieldLines.text($0.name), value: FieldLines.text($0.value)) }
        }
    }

    /// Returns the first value of a field. The name's case does not matter.
    public subscript(name: String) -> String? {
        first(named: name) { FieldLines.text($0) }
    }

    /// Returns all values of a field, in order.
    public func values(for name: String) -> [String] {
        rawFields.withUnsafeBufferPointer { bytes in
            var values: [String] = []
            var lines = FieldLines(bytes)
            while let value = lines.next(named: name) { values.append(FieldLines.text(value)) }
            return values
        }
    }

    /// Returns the raw bytes of a field's first value.
    public func bytes(for name: String) -> [UInt8]? {
        first(named: name) { Array($0) }
    }

    /// The declared length of the body; nil if no length is declared, or if a declared length is not a plain number.
    ///
    /// The length is also nil if two declared lengths differ (RFC 9110 section 8.6). A recipient that used one of them
    /// might end the body at another position than the peer.
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
    /// Keeps `dump` from showing the fields, which the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// An iterator over raw field lines. It accepts bare LF and folded lines, and skips lines without a colon.
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
            // If a line end comes before the colon, the line has no colon, and the colon is in a continuation line.
            guard let colon = line.firstIndex(where: { $0 == UInt8(ascii: ":") || Self.isLineEnd($0) }),
                line[colon] == UInt8(ascii: ":")
            else { continue }
            let name = Self.trimmed(line[..<colon])
            if !name.isEmpty { return (name, Self.trimmed(line[(colon + 1)...])) }
        }
        return nil
    }

    /// Returns the value of the next line with this name. Most lines have another name. To save time, a line whose name
    /// has another first letter or another length is skipped without parsing.
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

    /// Moves to the next line and returns the end of the current line. A line that begins with white space continues
    /// the previous line.
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

    /// Returns the index of the next line feed, or the end.
    private func lineFeed(from start: Int) -> Int {
        guard let base = bytes.baseAddress, let found = memchr(base + start, 0x0A, bytes.count - start) else {
            return bytes.count
        }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Returns the bytes as text. They are read as UTF-8, or as Latin-1 if they are not valid UTF-8, because older
    /// servers send Latin-1. Each line fold becomes a space.
    static func text(_ bytes: Bytes) -> String {
        let isPlain = bytes.allSatisfy { $0 < 0x80 && $0 != 0x0D && $0 != 0x0A }
        if isPlain { return String(decoding: bytes, as: UTF8.self) }
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
        return name.withUTF8 { name in
            // Most names are spelled alike, so the case is looked at only where two bytes differ.
            zip(bytes, name).allSatisfy { $0 == $1 || $0.asciiLowercased == $1.asciiLowercased }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0D || byte == 0x0A }

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) || isLineEnd(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) || isLineEnd(last) { bytes.removeLast() }
        return bytes
    }

    /// Returns the number if the bytes are digits, with or without white space around them; nil otherwise, and if the
    /// number does not fit. A length must not have a sign.
    static func number(_ bytes: Bytes) -> UInt64? {
        let digits = trimmed(bytes)
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard digit.isASCIIDigit else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeNow) = product.addingReportingOverflow(UInt64(digit & 0x0F))
            guard !isTooLarge, !isTooLargeNow else { return nil }
            number = sum
        }
        return number
    }
}
