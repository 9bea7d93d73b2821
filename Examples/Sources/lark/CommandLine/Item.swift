/// A part of the request that the command line writes as `name`, separator, `value`.
///
/// A backslash takes the meaning from a separator: `a\:b=c` is the field `a:b`.
struct Item {
    enum Value: Equatable {
        case query(String)
        case header(String)
        case removedHeader
        case text(String)
        case json(String)
        case file(path: String, type: String?)
    }

    /// The separators, longest first, so that `:=@` is found before `:=`, `:` and `@`.
    private enum Separator: String, CaseIterable {
        case jsonFile = ":=@"
        case queryFile = "==@"
        case textFile = "=@"
        case headerFile = ":@"
        case json = ":="
        case query = "=="
        case text = "="
        case header = ":"
        case emptyHeader = ";"
        case file = "@"
    }

    let name: String
    let value: Value
    /// Whether the value is the path of a file with the actual value.
    let isInFile: Bool

    init(_ word: String) throws {
        guard let (name, separator, rest) = Self.split(word) else {
            throw UsageError(
                "“\(word)” is no item; items are NAME=VALUE, NAME:=JSON, NAME==QUERY, NAME:HEADER, NAME@FILE")
        }
        self.name = name
        isInFile = [.jsonFile, .queryFile, .textFile, .headerFile].contains(separator)
        switch separator {
        case .query, .queryFile: value = .query(rest)
        case .text, .textFile: value = .text(rest)
        case .json, .jsonFile: value = .json(rest)
        case .header where rest.isEmpty: value = .removedHeader
        case .header, .headerFile: value = .header(rest)
        case .emptyHeader: value = .header("")
        case .file:
            let parts = rest.split(separator: ";", omittingEmptySubsequences: false)
            let type = parts.dropFirst().first { $0.hasPrefix("type=") }?.dropFirst(5)
            value = .file(path: type == nil ? rest : String(parts[0]), type: type.map(String.init))
        }
        if name.isEmpty, separator != .file { throw UsageError("the item “\(word)” has no name") }
        if separator == .emptyHeader, !rest.isEmpty {
            throw UsageError("“\(word)”: NAME; sends an empty header, and takes no value")
        }
    }

    /// Whether the item is part of the body.
    var isData: Bool {
        switch value {
        case .text, .json, .file: true
        case .query, .header, .removedHeader: false
        }
    }

    /// Splits the word at its first separator that no backslash escapes, and removes the backslashes from the name.
    private static func split(_ word: String) -> (name: String, Separator, rest: String)? {
        var name = ""
        var rest = word[...]
        while let character = rest.first {
            if character == "\\", let next = rest.dropFirst().first {
                let isEscape = next == "\\" || Separator.allCases.contains { $0.rawValue.first == next }
                name += isEscape ? String(next) : "\\\(next)"
                rest = rest.dropFirst(2)
                continue
            }
            if let separator = Separator.allCases.first(where: { rest.hasPrefix($0.rawValue) }) {
                return (name, separator, String(rest.dropFirst(separator.rawValue.count)))
            }
            name.append(character)
            rest = rest.dropFirst()
        }
        return nil
    }
}
