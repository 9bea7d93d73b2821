/// A link in the `Link` field of a response (RFC 8288).
///
///     let next = response.head?.links.first { $0.relations.contains("next") }
public struct WebLink: Sendable, Hashable {
    /// The target as in the field: an absolute or relative reference.
    public var target: String
    /// The relation types in lower case, such as `next`.
    public var relations: [String]
    /// The parameters by lower-case name, without `rel`. If several parameters have one name, the first counts.
    ///
    /// A parameter with an asterisk, such as `title*`, is decoded (RFC 8187) and replaces the one without: its value is
    /// that of `title`. Invalid values are ignored, as are `rel*`, `rev*`, `anchor*`, `hreflang*`, `media*` and
    /// `type*`.
    public var parameters: [String: String]

    /// The resource that the link is about, if it is not the response's own.
    public var anchor: String? { parameters["anchor"] }
}

extension ResponseHead {
    /// The links of all `Link` fields, in order. Text that is not a valid link is left out.
    public var links: [WebLink] { values(for: "Link").flatMap { LinkParser.links(in: $0) } }
}

/// A parser of the `Link` field, by RFC 8288, appendix B.
private struct LinkParser {
    private var rest: Substring.UTF8View

    static func links(in field: String) -> [WebLink] {
        var parser = LinkParser(rest: Substring(field).utf8)
        var links: [WebLink] = []
        while !parser.rest.isEmpty {
            parser.skipBlanks()
            if let link = parser.link() { links.append(link) }
            parser.skipToComma()
        }
        return links
    }

    private mutating func link() -> WebLink? {
        guard take("<") else { return nil }
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
            rest = rest[rest.endIndex...]
            return nil
        }
        let target = String(Substring(rest[..<end]))
        rest = rest[rest.index(after: end)...]
        var parameters: [String: String] = [:]
        skipBlanks()
        while take(";") {
            skipBlanks()
            let name = token(until: "=;,").lowercased()
            skipBlanks()
            var value = ""
            if take("=") {
                skipBlanks()
                value = take("\"") ? quoted() : token(until: ";,")
                skipBlanks()
            }
            if !name.isEmpty, parameters[name] == nil { parameters[name] = Self.decoded(value, name) }
        }
        for name in parameters.keys where name.hasSuffix("*") {
            parameters[String(name.dropLast())] = parameters.removeValue(forKey: name)
        }
        let relations = (parameters.removeValue(forKey: "rel") ?? "").lowercased().split(separator: " ").map(
            String.init)
        return WebLink(target: target, relations: relations, parameters: parameters)
    }

    /// The parameters that have no extended form, because people do not read their values.
    private static let plainNames: Set = ["", "rel", "rev", "anchor", "hreflang", "media", "type"]

    /// Returns the value of a parameter; nil if its name has an asterisk and the value is not valid.
    private static func decoded(_ value: String, _ name: String) -> String? {
        guard name.hasSuffix("*") else { return value }
        return plainNames.contains(String(name.dropLast())) ? nil : value.extendedValue
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    /// Returns the text up to one of these characters or a blank.
    private mutating func token(until ends: String) -> String {
        let text = rest.prefix { $0 != 0x20 && $0 != 0x09 && !ends.utf8.contains($0) }
        rest = rest.dropFirst(text.count)
        return String(Substring(text))
    }

    private mutating func quoted() -> String {
        var bytes: [UInt8] = []
        while let byte = rest.first {
            rest = rest.dropFirst()
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), let next = rest.first {
                bytes.append(next)
                rest = rest.dropFirst()
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Skips the text up to the next comma outside of quoted strings and of angle brackets, and the comma.
    private mutating func skipToComma() {
        while let byte = rest.first {
            rest = rest.dropFirst()
            switch byte {
            case UInt8(ascii: ","): return
            case UInt8(ascii: "\""): _ = quoted()
            case UInt8(ascii: "<"):
                // Without an end, nothing is left: the rest is not searched again for each further `<`.
                rest = rest.firstIndex(of: UInt8(ascii: ">")).map { rest[rest.index(after: $0)...] } ?? rest.suffix(0)
            default: break
            }
        }
    }
}
