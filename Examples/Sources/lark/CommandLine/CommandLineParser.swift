import Larkspur

/// A parser of `lark [OPTIONS] [METHOD] URL [ITEM…]`. Options may stand anywhere; after `--` there are none.
struct CommandLineParser {
    private var settings = Settings()
    private var words: [String] = []
    private let options = Option.table

    static func parse(_ arguments: [String]) throws -> Settings {
        var parser = CommandLineParser()
        try parser.read(arguments)
        try parser.assign()
        try parser.settings.check()
        return parser.settings
    }

    private mutating func read(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                words += rest
                return
            } else if argument.hasPrefix("--") {
                try readLong(argument, &rest)
            } else if argument.hasPrefix("-"), argument.count > 1 {
                try readShort(argument, &rest)
            } else {
                words.append(argument)
            }
        }
    }

    /// Reads `--name`, `--name=value` or `--name value`.
    private mutating func readLong(_ argument: String, _ rest: inout ArraySlice<String>) throws {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let option = try option(named: parts[0])
        switch option.value {
        case .none:
            guard parts.count == 1 else { throw UsageError("\(parts[0]) takes no value") }
            try option.action(&settings, "")
        case .optional:
            try option.action(&settings, parts.count == 2 ? parts[1] : "")
        case .required:
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else { throw missingValue(of: option) }
            try option.action(&settings, value)
        }
    }

    /// Reads short options, which may be joined: `-v`, `-fv`, `-c 8`, `-c8`.
    private mutating func readShort(_ argument: String, _ rest: inout ArraySlice<String>) throws {
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            let option = try option(named: "-\(letter)")
            guard case .required = option.value else {
                try option.action(&settings, "")
                continue
            }
            let own = letters.first == "=" ? letters.dropFirst() : letters
            guard let value = own.isEmpty ? rest.popFirst() : String(own) else { throw missingValue(of: option) }
            return try option.action(&settings, value)
        }
    }

    private func option(named name: String) throws -> Option {
        if let option = options.first(where: { $0.names.contains(name) }) { return option }
        let similar = options.flatMap(\.names).filter { name.count > 3 && Self.isSimilar(name, $0) }
        let hint =
            similar.isEmpty ? "lark --help lists the options" : "did you mean \(similar.joined(separator: ", "))?"
        throw UsageError("there is no option \(name); \(hint)")
    }

    /// Whether one is the beginning of the other, or one letter is missing, added or changed.
    private static func isSimilar(_ typed: String, _ name: String) -> Bool {
        if name.hasPrefix(typed) { return true }
        let start = zip(typed, name).prefix { $0 == $1 }.count
        let end = zip(typed.reversed(), name.reversed()).prefix { $0 == $1 }.count
        return start + end >= max(typed.count, name.count) - 1
    }

    private func missingValue(of option: Option) -> UsageError { UsageError("a value is missing: \(option.usage)") }

    /// Gives the words that are no options their roles.
    private mutating func assign() throws {
        if case .help(nil) = settings.command, let topic = words.first { settings.command = .help(topic: topic) }
        guard settings.command == .exchange else { return }
        if words.first == "help" { return settings.command = .help(topic: words.dropFirst().first) }
        if words.first == "waterfall", words.count > 1 {
            guard words.count <= 3 else { throw UsageError("lark waterfall takes an archive, and the page to write") }
            return settings.command = .waterfall(archive: words[1], page: words.count == 3 ? words[2] : nil)
        }
        if words.count > 1, let method = Self.method(words[0]) {
            settings.method = method
            words.removeFirst()
        }
        guard let url = words.first, Self.method(url) == nil || url != url.uppercased() else {
            throw UsageError("a URL is missing: lark [METHOD] URL [ITEM…]")
        }
        settings.url = url
        settings.items = try words.dropFirst().map(Item.init)
    }

    /// Returns the method if the word is one: `GET`, `PURGE`, or a common method in any case.
    private static func method(_ word: String) -> HTTPMethod? {
        guard word.allSatisfy({ $0.isASCII && $0.isLetter || $0 == "-" }) else { return nil }
        let common = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
        let method = word.uppercased()
        return word == method || common.contains(method) ? HTTPMethod(rawValue: method) : nil
    }
}

extension Settings {
    /// Whether the items have a body.
    var hasData: Bool { rawBody != nil || items.contains { $0.isData } }

    /// Refuses combinations that contradict each other.
    fileprivate func check() throws {
        let files = items.filter { if case .file = $0.value { true } else { false } }
        let hasBodyFile = files.contains { $0.name.isEmpty }
        if rawBody != nil, items.contains(where: \.isData) {
            throw UsageError("--raw and data items exclude each other; use one of them")
        }
        if hasBodyFile, items.count(where: \.isData) > 1 {
            throw UsageError("@FILE is the whole body; other data items need a name: NAME@FILE")
        }
        if bodyKind == .json, !hasBodyFile, let file = files.first {
            throw UsageError("JSON cannot have the file “\(file.name)”; use --form, or :=@ for JSON from a file")
        }
        if bodyKind == .form || bodyKind == .multipart {
            if hasBodyFile { throw UsageError("a form needs a name for each file: NAME@FILE") }
        }
        if continues, !downloads { throw UsageError("--continue needs --download") }
        if continues, output == nil { throw UsageError("--continue needs the file: --output FILE") }
        if downloads, repetitions != nil { throw UsageError("--download and --repeat exclude each other") }
        if key != nil, certificate == nil { throw UsageError("--key needs --cert") }
        if let defaultScheme, !["http", "https", "ws", "wss"].contains(defaultScheme) {
            throw UsageError("--default-scheme needs one of http, https, ws, wss, not “\(defaultScheme)”")
        }
    }
}
