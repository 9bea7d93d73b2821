extension HTTPHeaders {
    /// The default fields of every request: `Accept`, `Accept-Encoding`, `User-Agent`, and `Accept-Language` if the
    /// user's languages are known.
    public static let `default` = HTTPHeaders(
        [.accept("*/*"), .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent].compactMap(\.self))
}

extension HTTPHeader {
    /// The content codings that can be decoded on this machine, in order of preference. If all decoding libraries are
    /// installed, the value is `br, zstd;q=0.9, gzip;q=0.8, deflate;q=0.7`. If none of them is installed, the value is
    /// `identity`, because a server may choose any coding if a request has no `Accept-Encoding`.
    ///
    /// Brotli comes first because it compresses text best; zstd compresses nearly as well. A request that asks for a
    /// range, or whose response is not decoded, has `Accept-Encoding: identity` instead.
    public static let defaultAcceptEncoding = HTTPHeader.acceptEncoding(
        ContentCoding.available.isEmpty ? ["identity"] : ContentCoding.available)

    /// The user's first six languages; nil if they are not known, as on most servers.
    public static let defaultAcceptLanguage: HTTPHeader? = {
        let languages = UserLanguages.preferred
        return languages.isEmpty ? nil : .acceptLanguage(Array(languages.prefix(6)))
    }()

    /// The name and version of the program, of Larkspur and of the system: `Notes/1.2 (com.example.notes; build:7; iOS
    /// 18.1.0) Larkspur/0.1.0`. If the program has no bundle, the parts from its bundle are missing.
    public static let defaultUserAgent = HTTPHeader.userAgent(UserAgent.standard)
}

/// Information about the library.
public enum LarkspurInfo {
    /// The version (Semantic Versioning).
    public static let version = "0.1.0"
}

enum UserLanguages {
    static var preferred: [String] {
        #if os(Linux)
            // The environment is read directly, because Foundation would return a guess if the environment names no
            // language.
            named(in: ProcessInfo.processInfo.environment)
        #else
            Locale.preferredLanguages
        #endif
    }

    /// Returns the languages of a POSIX environment as language tags; empty for the C locale.
    static func named(in environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        guard let own = tag(locale) else { return [] }
        var languages = (environment["LANGUAGE"] ?? "").split(separator: ":").compactMap { tag(String($0)) }
        if !languages.contains(own) { languages.append(own) }
        return languages
    }

    /// Converts a locale to a language tag: `de_AT.UTF-8@euro` to `de-AT`.
    private static func tag(_ locale: String) -> String? {
        let tag = String(locale.prefix { $0 != "." && $0 != "@" }).replacing("_", with: "-")
        let isTag = tag.allSatisfy { $0 == "-" || $0.isASCII && ($0.isLetter || $0.isNumber) }
        return isTag && !tag.isEmpty && tag != "C" && tag != "POSIX" ? tag : nil
    }
}
