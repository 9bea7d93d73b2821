/// The head of a response as it came: status, version, and the field lines' own bytes.
///
/// The lines are kept raw and read when somebody asks: most fields of most responses are never looked at, and a
/// dictionary would lose order, repeats and bytes that are not UTF-8.
public struct ResponseHead: Sendable, Hashable {
    public let status: Int
    /// As the peer named it: `HTTP/1.1`, `HTTP/2`.
    public let version: String
    /// The field lines, each with its line end, without status line and closing blank line.
    public let rawFields: [UInt8]
    /// Whether the transport has already undone the content coding of the body.
    public let bodyIsDecoded: Bool

    public init(status: Int, version: String = "HTTP/1.1", rawFields: [UInt8], bodyIsDecoded: Bool = false) {
        self.status = status
        self.version = version
        self.rawFields = rawFields
        self.bodyIsDecoded = bodyIsDecoded
    }

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
        var result: [HeaderField] = []
        rawFields.withUnsafeBufferPointer { bytes in
            var lines = FieldLines(bytes)
            while let line = lines.next() {
                result.append(HeaderField(name: FieldLines.text(line.name), value: FieldLines.text(line.value)))
            }
        }
        return result
    }

    /// The first value of a field, whatever the case of its name.
    public subscript(name: String) -> String? {
        first(named: name) { FieldLines.text($0) }
    }

    /// All values of a field, in order.
    public func values(for name: String) -> [String] {
        fields.filter { FieldLines.matches($0.name.utf8, name.utf8) }.map(\.value)
    }

    /// The first value of a field in its own bytes.
    public func bytes(for name: String) -> [UInt8]? {
        first(named: name) { Array($0) }
    }

    /// The declared length of the body, if there is one and it is a plain number.
    public var contentLength: UInt64? {
        first(named: "Content-Length") { digits in
            guard !digits.isEmpty else { return nil }
            return digits.reduce(0 as UInt64?) { value, byte in
                guard let value, (0x30...0x39).contains(byte), value < UInt64.max / 10 else { return nil }
                return value * 10 + UInt64(byte & 0x0F)
            }
        } ?? nil
    }

    private func first<Result>(named name: String, _ read: (FieldLines.Bytes) -> Result) -> Result? {
        rawFields.withUnsafeBufferPointer { bytes in
            var lines = FieldLines(bytes)
            while let line = lines.next() {
                if FieldLines.matches(line.name, name.utf8) { return read(line.value) }
            }
            return nil
        }
    }
}

/// Walks over raw field lines: tolerant of bare LF, folded lines and lines without a colon, which it skips.
private struct FieldLines {
    typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private var rest: Bytes

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        rest = bytes[...]
    }

    mutating func next() -> (name: Bytes, value: Bytes)? {
        while !rest.isEmpty {
            let line = takeLine()
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
            return (Self.trimmed(line[..<colon]), Self.trimmed(line[line.index(after: colon)...]))
        }
        return nil
    }

    /// Up to the line's end; a following line that begins with white space is its continuation.
    private mutating func takeLine() -> Bytes {
        var end = rest.startIndex
        while end < rest.endIndex {
            let next = end + 1
            if rest[end] == UInt8(ascii: "\n"), next == rest.endIndex || !Self.isBlank(rest[next]) { break }
            end = next
        }
        let line = rest[rest.startIndex..<end]
        rest = rest[min(end + 1, rest.endIndex)...]
        return line
    }

    /// Text of bytes that are UTF-8, or else Latin-1, which is what older servers mean by them. Folds become a space.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        var bytes = Array(bytes)
        if let fold = bytes.firstIndex(where: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
            bytes = unfolded(bytes, from: fold)
        }
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
            let byte = isBlank(byte) || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") ? 0x20 : byte
            if byte != 0x20 || result.last != 0x20 { result.append(byte) }
        }
        return result
    }

    static func matches(_ lhs: some Collection<UInt8>, _ rhs: some Collection<UInt8>) -> Bool {
        lhs.count == rhs.count && zip(lhs, rhs).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) || last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
            bytes.removeLast()
        }
        return bytes
    }
}
