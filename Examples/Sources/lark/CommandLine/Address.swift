import Larkspur

/// The URL that a command line means.
enum Address {
    /// Returns the complete URL of a text that may be shortened.
    ///
    /// - `:8080/path` and `:/path` are on this machine.
    /// - A URL without a scheme gets `default`. Without a default it is `http` on this machine, and `https` elsewhere,
    ///   so that no request to another machine is readable on its way unless the user says so.
    static func complete(_ text: String, default scheme: String?) -> String {
        if let end = text.firstRange(of: "://")?.lowerBound, text[..<end].allSatisfy(isOfScheme) { return text }
        var rest = text[...]
        if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
        if rest.hasPrefix(":") {
            let port = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
            let isAddress = rest.hasPrefix("::")
            if !isAddress {
                let path = rest.dropFirst(1 + port.count)
                rest = "localhost" + (port.isEmpty ? "" : ":\(port)") + path
            }
        }
        return "\(scheme ?? (isLocal(rest) ? "http" : "https"))://\(rest)"
    }

    private static func isOfScheme(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "+-.".contains(character))
    }

    private static func isLocal(_ text: Substring) -> Bool {
        let authority = text.prefix { !"/?#".contains($0) }
        if authority.hasPrefix("[::1]") { return true }
        let host = authority.prefix { $0 != ":" }.lowercased()
        return host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host == "0.0.0.0"
    }
}
