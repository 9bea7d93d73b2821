extension Redaction {
    /// The maximum number of multipart bodies inside each other that are parsed.
    private static let multipartLimit = 3

    /// Returns a multipart body (RFC 2046, RFC 7578) without the content of parts with secret names, and without
    /// secrets in the other parts.
    ///
    /// Servers parse more than the standards allow, and each in its own way. So bytes outside of the parts are hidden,
    /// and so is each part whose header is not clear.
    func multipart(_ data: Data, type: String, depth: Int = 0) -> Data {
        guard depth < Self.multipartLimit, let boundary = type.parameters["boundary"], !boundary.isEmpty else {
            return Self.size(of: data)
        }
        let lines = MultipartLines(of: data, boundary: boundary)
        guard !lines.delimiters.isEmpty else { return Self.size(of: data) }
        let isForm = type.essence == "multipart/form-data"
        var shown = Data()
        var start = data.startIndex
        var isPart = false
        for delimiter in lines.delimiters {
            let content = data[start..<lines.endOfContent(before: delimiter.lowerBound, from: start)]
            shown += isPart ? part(content, isForm: isForm, depth: depth) : Self.outside(content)
            shown += data[content.endIndex..<delimiter.lowerBound]
            let ending = lines.ending(of: delimiter)
            shown +=
                ending == .unclear
                ? lines.delimiter + Data("\(Self.replacement)\r\n".utf8) : data[delimiter]
            isPart = ending != .last
            start = delimiter.upperBound
        }
        let rest = data[start...]
        return shown + (isPart ? part(rest, isForm: isForm, depth: depth) : Self.outside(rest))
    }

    /// Returns what is shown of the bytes before the first part or after the last.
    private static func outside(_ data: Data) -> Data {
        data.allSatisfy { $0 == 0x0D || $0 == 0x0A || $0 == 0x20 } ? data : Data(replacement.utf8)
    }

    private func part(_ data: Data, isForm: Bool, depth: Int) -> Data {
        if data.isEmpty { return data }
        guard let header = PartHeader(of: data) else { return Data(Self.replacement.utf8) }
        var shown = Data()
        for field in header.fields {
            let value = self.value(of: HTTPHeader(name: field.name, value: field.value))
            shown += value == field.value ? field.bytes : Data("\(field.name): \(value)\r\n".utf8)
        }
        shown += data[header.end..<header.content]
        let content = data[header.content...]
        guard !content.isEmpty else { return shown }
        guard let names = header.names(isForm: isForm), !names.contains(where: { hides($0) }), !header.isEncoded
        else {
            return shown + Data(Self.replacement.utf8)
        }
        guard let type = header.type else { return shown + body(Data(content), type: nil) }
        let isMultipart = type.essence.hasPrefix("multipart/")
        return shown
            + (isMultipart
                ? multipart(content, type: type, depth: depth + 1) : body(Data(content), type: type))
    }
}

/// The lines of a multipart body that begin with its delimiter.
private struct MultipartLines {
    enum Ending { case next, last, unclear }

    private let data: Data
    let delimiter: Data
    /// The lines with their ends.
    private(set) var delimiters: [Range<Data.Index>] = []

    /// Finds the lines. A bare line feed ends a line too, because many servers accept it.
    init(of data: Data, boundary: String) {
        self.data = data
        delimiter = Data("--\(boundary)".utf8)
        var start = data.startIndex
        while start < data.endIndex {
            let end = data[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? data.endIndex
            // A line that goes on after the boundary counts too, because some servers do not look further.
            if data[start..<end].starts(with: delimiter) { delimiters.append(start..<end) }
            start = end
        }
    }

    /// Returns the end of the content before a delimiter: the line break before it is part of the delimiter.
    func endOfContent(before delimiter: Data.Index, from start: Data.Index) -> Data.Index {
        var end = delimiter
        for byte in [0x0A, 0x0D] as [UInt8] where end > start && data[end - 1] == byte { end -= 1 }
        return end
    }

    func ending(of line: Range<Data.Index>) -> Ending {
        let tail = data[line].dropFirst(delimiter.count)
        let isLast = tail.starts(with: "--".utf8)
        let rest = isLast ? tail.dropFirst(2) : tail
        let isBlank = rest.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
        return !isBlank ? .unclear : isLast ? .last : .next
    }
}

/// The header of a part.
private struct PartHeader {
    struct Field {
        var name: String
        var value: String
        var bytes: Data
    }

    private(set) var fields: [Field] = []
    /// The end of the last field.
    private(set) var end: Data.Index
    /// The start of the content.
    private(set) var content: Data.Index

    private static let sizeLimit = 16 << 10

    /// Reads the fields up to an empty line. Returns nil if a line is not clear, or none is empty.
    init?(of data: Data) {
        (end, content) = (data.startIndex, data.startIndex)
        while true {
            guard let feed = data[end...].prefix(Self.sizeLimit).firstIndex(of: 0x0A),
                feed - data.startIndex < Self.sizeLimit
            else { return nil }
            var line = data[end..<feed]
            if line.last == 0x0D { line = line.dropLast() }
            if line.isEmpty {
                content = feed + 1
                return
            }
            guard !line.contains(0x0D), !line.contains(0) else { return nil }
            let text = String(decoding: line, as: UTF8.self)
            if line.first == 0x20 || line.first == 0x09 {
                guard let last = fields.indices.last else { return nil }
                fields[last].value += " " + text.trimmingSpaces
                fields[last].bytes += data[end...feed]
            } else {
                let sides = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                guard sides.count == 2 else { return nil }
                let (name, value) = (sides[0].trimmingSpaces, sides[1].trimmingSpaces)
                fields.append(Field(name: name, value: value, bytes: data[end...feed]))
            }
            end = feed + 1
        }
    }

    private func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    var type: String? { values("content-type").first }

    /// Whether the content is encoded, so that its secrets cannot be found, or its type is not clear.
    var isEncoded: Bool {
        values("content-type").count > 1
            || !values("content-transfer-encoding").allSatisfy {
                ["7bit", "8bit", "binary"].contains($0.lowercased())
            }
    }

    /// Returns the names that a server may read from the header; nil if they are not clear.
    func names(isForm: Bool) -> [String]? {
        let dispositions = values("content-disposition")
        if dispositions.isEmpty, !isForm { return [] }
        guard dispositions.count == 1, var reader = DispositionReader(dispositions[0]), let names = reader.names(),
            !names.isEmpty || !isForm
        else { return nil }
        return names
    }
}

/// A reader of `Content-Disposition` (RFC 6266, RFC 7578, RFC 8187 and RFC 2231).
private struct DispositionReader {
    private var rest: Substring.UTF8View

    /// Returns nil if the value does not begin with a type.
    init?(_ value: String) {
        // Some servers decode encoded words (RFC 2047).
        guard !value.has("=?") else { return nil }
        rest = value[...].utf8
        let type = Self.trimmed(take { $0 != UInt8(ascii: ";") })
        guard !type.isEmpty, type.utf8.allSatisfy(\.isTokenByte) else { return nil }
    }

    /// Returns all readings of the parameter `name`; nil if a parameter is not clear.
    mutating func names() -> [String]? {
        var names: [String] = []
        var pieces: [(number: Int, text: String)] = []
        while rest.popFirst() != nil {
            let name = Self.trimmed(take { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }).lowercased()
            guard rest.first == UInt8(ascii: "=") else {
                if name.isEmpty { continue }
                return nil
            }
            rest.removeFirst()
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte), let value = value() else {
                return nil
            }
            let key = name.split(separator: "*", omittingEmptySubsequences: false)
            guard key[0] == "name" else { continue }
            let isExtended = key.count > 1
            guard !value.text.isEmpty, let decoded = isExtended ? Self.extended(value.text) : Self.plain(value.text)
            else { return nil }
            names += [value.literal, value.text, decoded]
            if isExtended { pieces.append((Int(key[1]) ?? 0, decoded)) }
        }
        let joined = pieces.sorted { $0.number < $1.number }.map(\.text).joined()
        return pieces.isEmpty ? names : names + [joined]
    }

    /// Reads a value. Returns it as written and without the backslashes of escapes; nil if it is not clear.
    private mutating func value() -> (literal: String, text: String)? {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
        guard rest.first == UInt8(ascii: "\"") else {
            let text = Self.trimmed(take { $0 != UInt8(ascii: ";") })
            return text.has(anyOf: "\"") ? nil : (literal: text, text: text)
        }
        rest.removeFirst()
        var (literal, text) = ([UInt8](), [UInt8]())
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") {
                let isOver = Self.trimmed(take { $0 != UInt8(ascii: ";") }).isEmpty
                guard isOver else { return nil }
                return (String(decoding: literal, as: UTF8.self), String(decoding: text, as: UTF8.self))
            }
            literal.append(byte)
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                text.append(byte)
                continue
            }
            literal.append(escaped)
            text.append(escaped)
        }
        return nil
    }

    /// Decodes escapes, as some servers do in any value.
    private static func plain(_ value: String) -> String? { value.percentDecoded ?? value }

    /// Decodes an extended value, such as `UTF-8''p%69n`, or a piece of one. Returns nil if its character set does not
    /// extend ASCII.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return plain(value) }
        guard ["utf-8", "us-ascii", "iso-8859-1"].contains(parts[0].lowercased()) else { return nil }
        return String(parts[2]).percentDecoded
    }

    private mutating func take(while isPart: (UInt8) -> Bool) -> Substring.UTF8View {
        let text = rest.prefix(while: isPart)
        rest = rest[text.endIndex...]
        return text
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        String(decoding: text, as: UTF8.self).trimmingSpaces
    }
}
