/// The value of a `Strict-Transport-Security` field (RFC 6797, section 6.1).
struct HSTSHeader: Equatable {
    /// The longest time for which a host is kept. Longer times, which the RFC allows, are shortened.
    static let longestLife = 10 * 366 * 86_400

    /// The time in seconds for which the host is kept; zero if it is to be forgotten.
    var maxAge: Int
    var includesSubdomains: Bool

    init(maxAge: Int, includesSubdomains: Bool = false) {
        self.maxAge = maxAge
        self.includesSubdomains = includesSubdomains
    }

    /// Reads the value. Returns nil if it does not follow the syntax of the RFC, so that it is ignored as a whole: a
    /// directive without a name, a directive that occurs twice, or no valid `max-age`.
    init?(_ value: String) {
        var (maxAge, includesSubdomains, names) = (Int?.none, false, Set<String>())
        for directive in value.splitOutsideQuotes(at: ";") {
            let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmingSpaces.lowercased()
            if name.isEmpty, parts.count == 1 { continue }  // RFC 6797 allows empty directives
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte), names.insert(name).inserted else { return nil }
            let text = parts.count == 2 ? Self.unquoted(parts[1].trimmingSpaces) : nil
            switch name {
            case "max-age":
                guard let text, let seconds = Self.seconds(text) else { return nil }
                maxAge = seconds
            case "includesubdomains":
                guard parts.count == 1 else { return nil }
                includesSubdomains = true
            default: continue  // unknown directives are ignored
            }
        }
        guard let maxAge else { return nil }
        self.init(maxAge: maxAge, includesSubdomains: includesSubdomains)
    }

    private static func unquoted(_ text: String) -> Substring {
        text.count >= 2 && text.first == "\"" && text.last == "\"" ? text.dropFirst().dropLast() : text[...]
    }

    private static func seconds(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(text) ?? longestLife, longestLife)
    }
}
