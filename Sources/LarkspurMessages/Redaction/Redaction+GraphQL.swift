extension Redaction {
    /// Returns whether a string in JSON is a GraphQL document. The first word of the string, or the name of its member,
    /// decides.
    func isGraphQL(_ text: String, of name: String?) -> Bool {
        guard text.contains("{") else { return false }
        let start = text.drop { $0.isWhitespace }
        let word = start.prefix { $0.isLetter }
        return ["query", "mutation", "subscription", "fragment"].contains(word)
            || name == "query" && (start.first == "{" || start.first == "#")
    }

    /// Returns a GraphQL document without the values of arguments with secret names.
    func graphQL(_ text: String) -> String {
        if isNone { return text }
        var reader = GraphQLReader(withoutTokens(text), redaction: self)
        return reader.shown()
    }
}

/// A reader of a GraphQL document's tokens. It reads Unicode scalars, because a quote and a combining mark together are
/// one `Character`, which does not equal the quote.
private struct GraphQLReader {
    private typealias Scalars = String.UnicodeScalarView

    private let redaction: Redaction
    private var rest: Substring.UnicodeScalarView
    private var output = Scalars()

    init(_ text: String, redaction: Redaction) {
        self.redaction = redaction
        rest = text[...].unicodeScalars
    }

    mutating func shown() -> String {
        while let scalar = rest.first {
            switch scalar {
            case "#": copyComment()
            case "\"": copyString()
            case "$":
                copy(1)
                let name = word()
                output += name
                if redaction.hides(String(name)) { hideDefault() }
            case _ where scalar.isOfGraphQLName:
                let name = word()
                output += name
                if redaction.hides(String(name)) { hideArgument() }
            default: copy(1)
            }
        }
        return String(output)
    }

    /// Hides the value of an argument whose name was read. Does nothing if no colon follows the name, because the name
    /// is then an enumeration value or a field.
    private mutating func hideArgument() {
        skipBlanks()
        guard rest.first == ":" else { return }
        copy(1)
        skipBlanks()
        hideValue()
    }

    /// Copies the type of a variable whose name was read, and hides its default value.
    private mutating func hideDefault() {
        skipBlanks()
        guard rest.first == ":" else { return }
        while let next = rest.first, next.isOfType { copy(1) }
        guard rest.first == "=" else { return }
        copy(1)
        skipBlanks()
        hideValue()
    }

    private mutating func hideValue() {
        switch rest.first {
        case "\"": _ = string()
        case "[", "{": skipNested()
        case let first? where first == "-" || ("0"..."9").contains(first):
            rest = rest.drop { $0.isOfGraphQLName || "+-.".unicodeScalars.contains($0) }
        default: return
        }
        output += "\"\(Redaction.replacement)\"".unicodeScalars
    }

    private mutating func skipNested() {
        var depth = 0
        repeat {
            switch rest.first {
            case "\"":
                _ = string()
                continue
            case "#":
                _ = comment()
                continue
            case "[", "{": depth += 1
            case "]", "}": depth -= 1
            default: break
            }
            rest = rest.dropFirst()
        } while depth > 0 && !rest.isEmpty
    }

    // MARK: Tokens

    /// Copies a comment to the output. If the comment contains the name of a secret, copies a replacement instead.
    private mutating func copyComment() {
        let text = String(comment())
        output += (redaction.namesSecret(in: text) ? "# \(Redaction.replacement)" : text).unicodeScalars
    }

    /// Copies a string to the output. In a URL, hides the secrets. If the string is not a URL but contains the name of
    /// a secret, copies a replacement instead.
    private mutating func copyString() {
        let text = String(string())
        let quotes = text.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
        let inner = text.dropFirst(quotes.count)
        let isClosed = inner.hasSuffix(quotes)
        let content = String(isClosed ? inner.dropLast(quotes.count) : inner)
        let isURL = content.contains("?") && !content.contains(where: \.isWhitespace)
        let isSecret = !isURL && redaction.namesSecret(in: content)
        let shown = isSecret ? Redaction.replacement : redaction.reference(content)
        output += (quotes + shown + (isClosed ? quotes : "")).unicodeScalars
    }

    private mutating func copy(_ count: Int) {
        output += rest.prefix(count)
        rest = rest.dropFirst(count)
    }

    /// Copies white space, commas and comments to the output. They may occur between any two tokens.
    private mutating func skipBlanks() {
        while let next = rest.first {
            if next == "#" {
                copyComment()
            } else if next.properties.isWhitespace || next == "," || next == "\u{FEFF}" {
                copy(1)
            } else {
                return
            }
        }
    }

    private mutating func word() -> Substring.UnicodeScalarView {
        take(rest.prefix(while: \.isOfGraphQLName))
    }

    private mutating func comment() -> Substring.UnicodeScalarView {
        take(rest.prefix { $0 != "\n" && $0 != "\r" })
    }

    /// Reads a string or a block string with its quotes. An unterminated string ends with the document.
    private mutating func string() -> Substring.UnicodeScalarView {
        let quotes = rest.starts(with: "\"\"\"".unicodeScalars) ? 3 : 1
        let end = String(repeating: "\"", count: quotes).unicodeScalars
        var index = rest.index(rest.startIndex, offsetBy: quotes)
        while index < rest.endIndex, !rest[index...].starts(with: end) {
            let isEscape = rest[index] == "\\"
            index = rest.index(index, offsetBy: isEscape ? 2 : 1, limitedBy: rest.endIndex) ?? rest.endIndex
        }
        index = rest.index(index, offsetBy: quotes, limitedBy: rest.endIndex) ?? rest.endIndex
        return take(rest[..<index])
    }

    private mutating func take(_ text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        rest = rest[text.endIndex...]
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var isOfGraphQLName: Bool {
        ("a"..."z").contains(self) || ("A"..."Z").contains(self) || ("0"..."9").contains(self) || self == "_"
    }

    fileprivate var isOfType: Bool {
        isOfGraphQLName || properties.isWhitespace || ":![]".unicodeScalars.contains(self)
    }
}
