import Larkspur

/// The fields of queries and forms, and the cookies of header fields, as archives list them beside the text.
enum HARFormFields {
    /// Returns the fields of a URL's query.
    static func ofQuery(in url: String) -> [HARArchive.FormField] {
        guard let start = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let query = url[url.utf8.index(after: start)...]
        return pairs(String(query.prefix { $0 != "#" }))
    }

    /// Returns the fields of a body; none if it is not a form.
    static func ofBody(_ bytes: Data, mimeType: String) -> [HARArchive.FormField] {
        let type = mimeType.lowercased()
        if type.hasPrefix("application/x-www-form-urlencoded") { return pairs(String(decoding: bytes, as: UTF8.self)) }
        guard type.hasPrefix("multipart/form-data"), let boundary = parameter("boundary", of: mimeType) else {
            return []
        }
        return parts(Array(bytes), boundary)
    }

    /// Returns the fields as an encoded form.
    static func text(of fields: [HARArchive.FormField]) -> String {
        fields.map { "\(escaped($0.name))=\(escaped($0.value ?? ""))" }.joined(separator: "&")
    }

    // MARK: URL-encoded forms

    private static func pairs(_ text: String) -> [HARArchive.FormField] {
        text.split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(unescaped)
            return HARArchive.FormField(name: sides[0], value: sides.count > 1 ? sides[1] : "")
        }
    }

    /// Returns the text without percent escapes and plus signs; unchanged if the result is not UTF-8.
    private static func unescaped(_ text: Substring) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(text)
        }
        var bytes = Data()
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            switch byte {
            case UInt8(ascii: "%") where digits.count == 2:
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(data: bytes, encoding: .utf8) ?? String(text)
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Multipart forms

    /// The maximum number of parts that are listed.
    private static let partLimit = 1_000

    private static func parts(_ body: [UInt8], _ boundary: String) -> [HARArchive.FormField] {
        let delimiter = Array("--\(boundary)".utf8)
        var fields: [HARArchive.FormField] = []
        var rest = body[...]
        guard let first = rest.firstRange(of: delimiter) else { return [] }
        rest = rest[first.upperBound...]
        while fields.count < partLimit, !rest.starts(with: Array("--".utf8)) {
            let end = rest.firstRange(of: Array("\r\n".utf8) + delimiter)
            if let field = part(rest[..<(end?.lowerBound ?? rest.endIndex)]) { fields.append(field) }
            guard let end else { break }
            rest = rest[end.upperBound...]
        }
        return fields
    }

    /// Returns the field of a part, with the value if it is no file; nil if the part has no name.
    private static func part(_ bytes: ArraySlice<UInt8>) -> HARArchive.FormField? {
        guard let gap = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<gap.lowerBound], as: UTF8.self).split(whereSeparator: \.isNewline)
        func value(of name: String) -> String? {
            lines.first { $0.lowercased().hasPrefix(name + ":") }.map { trimmed($0.dropFirst(name.count + 1)) }
        }
        guard let disposition = value(of: "content-disposition"), let name = parameter("name", of: disposition) else {
            return nil
        }
        let fileName = parameter("filename", of: disposition)
        let text = fileName == nil ? String(decoding: bytes[gap.upperBound...], as: UTF8.self) : nil
        return HARArchive.FormField(name: name, value: text, fileName: fileName, mimeType: value(of: "content-type"))
    }

    /// Returns a parameter of a field such as `form-data; name="a"`. A quoted value ends at the next quote that has no
    /// backslash before it.
    private static func parameter(_ name: String, of field: String) -> String? {
        var rest = Array(field.unicodeScalars)[...]
        while let semicolon = rest.firstIndex(of: ";") {
            rest = rest[(semicolon + 1)...].drop { $0.properties.isWhitespace }
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest[key.endIndex...]
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst()
            let value = rest.first == "\"" ? quoted(&rest) : Array(rest.prefix { $0 != ";" })
            if text(key).lowercased() == name { return text(value) }
        }
        return nil
    }

    private static func quoted(_ rest: inout ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
        rest = rest.dropFirst()
        var value: [Unicode.Scalar] = []
        while let scalar = rest.popFirst(), scalar != "\"" {
            if scalar == "\\", let next = rest.popFirst() { value.append(next) } else { value.append(scalar) }
        }
        return value
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return String(String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed()))
    }

    // MARK: Cookies

    /// Returns the cookies of a field `Cookie`.
    ///
    /// - Parameter hidden: The text that takes the place of each value; nil to keep the values.
    static func cookies(_ field: String, hidden: String?) -> [HARArchive.Cookie] {
        field.split(separator: ";").map { cookie($0, hidden: hidden) }
    }

    /// Returns the cookie of a field `Set-Cookie`.
    static func cookie(settingBy field: String, hidden: String?) -> HARArchive.Cookie {
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        var cookie = cookie(parts[0], hidden: hidden)
        for part in parts.dropFirst() {
            let sides = part.split(separator: "=", maxSplits: 1).map(trimmed)
            switch sides.first?.lowercased() {
            case "path": cookie.path = sides.count > 1 ? sides[1] : nil
            case "domain": cookie.domain = sides.count > 1 ? sides[1] : nil
            case "httponly": cookie.isHTTPOnly = true
            case "secure": cookie.isSecure = true
            default: break
            }
        }
        return cookie
    }

    private static func cookie(_ pair: Substring, hidden: String?) -> HARArchive.Cookie {
        let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
        // A cookie without a name is a value.
        if sides.count < 2 { return HARArchive.Cookie(name: "", value: hidden ?? sides.first ?? "") }
        return HARArchive.Cookie(name: sides[0], value: hidden ?? sides[1])
    }
}
