extension StringProtocol {
    /// The field's value without parameters, in lower case: `text/html` for `Text/HTML; charset=utf-8`.
    package var essence: String { prefix { $0 != ";" }.trimmingSpaces.lowercased() }

    /// The field's parameters by lower-case name (RFC 6266). If several parameters have the same name, the first
    /// counts.
    package var parameters: [String: String] {
        var result: [String: String] = [:]
        var rest = Substring(self).drop { $0 != ";" }.dropFirst()
        while !rest.isEmpty {
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.first == "=" else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let value = rest.takeValue()
            rest = rest.drop { $0 != ";" }.dropFirst()
            let key = name.trimmingSpaces.lowercased()
            result[key] = result[key] ?? value
        }
        return result
    }

    /// Splits the value at a separator outside of quoted strings. Empty parts are kept.
    package func splitOutsideQuotes(at separator: Character) -> [SubSequence] {
        var (isQuoted, isEscaped) = (false, false)
        return split(omittingEmptySubsequences: false) { character in
            if isEscaped {
                isEscaped = false
                return false
            }
            if character == "\\", isQuoted {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            }
            return character == separator && !isQuoted
        }
    }

    /// The non-empty elements of a comma-separated value.
    package var listed: [String] {
        split(separator: ",").map { $0.trimmingSpaces }.filter { !$0.isEmpty }
    }
}

extension ResponseHead {
    /// The charset of the content type, in lower case; nil if the response has no charset.
    public var charset: String? { self["Content-Type"]?.parameters["charset"]?.lowercased() }
}

extension Substring {
    fileprivate mutating func takeValue() -> String {
        guard first == "\"" else {
            let token = prefix { $0 != ";" }
            self = dropFirst(token.count)
            return token.trimmingSpaces
        }
        var value = ""
        self = dropFirst()
        while let character = popFirst(), character != "\"" {
            // A backslash escapes only a quote or a backslash. Any other backslash is a separator in a Windows path.
            if character == "\\", let next = first, next == "\"" || next == "\\" {
                value.append(next)
                self = dropFirst()
            } else {
                value.append(character)
            }
        }
        return value
    }
}

extension StringProtocol {
    /// The text without white space at its ends. The result is the same as of Foundation's `trimmingCharacters(in:
    /// .whitespaces)`, which FoundationEssentials does not have.
    package var trimmingSpaces: String {
        var scalars = Substring(self).unicodeScalars
        while scalars.first?.isSpace == true { scalars.removeFirst() }
        while scalars.last?.isSpace == true { scalars.removeLast() }
        return String(scalars)
    }
}

extension Unicode.Scalar {
    fileprivate var isSpace: Bool {
        // Foundation counts the zero width space, U+200B, as white space.
        if value < 0x80 { return value == 0x20 || value == 0x09 }
        return properties.generalCategory == .spaceSeparator || value == 0x200B
    }
}
