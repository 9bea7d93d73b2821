enum UserAgent {
    static let standard = text(
        program: program, version: bundle("CFBundleShortVersionString"), identifier: bundle("CFBundleIdentifier"),
        build: bundle("CFBundleVersion"), system: system)

    static func text(program: String, version: String?, identifier: String?, build: String?, system: String) -> String {
        let product = version.map { "\(token(program))/\(token($0))" } ?? token(program)
        let facts = [identifier.map(comment), build.map { "build:\(comment($0))" }, system].compactMap(\.self)
        return "\(product) (\(facts.joined(separator: "; "))) Larkspur/\(LarkspurInfo.version)"
    }

    private static var program: String {
        bundle("CFBundleExecutable") ?? CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
            ?? "Unknown"
    }

    /// Returns a value of the program's bundle. On other platforms than Apple's, programs have no bundle.
    private static func bundle(_ key: String) -> String? {
        #if canImport(Darwin)
            Bundle.main.infoDictionary?[key] as? String
        #else
            nil
        #endif
    }

    private static var system: String {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return "\(name) \(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    }

    private static var name: String {
        #if targetEnvironment(macCatalyst)
            "macOS(Catalyst)"
        #elseif os(macOS)
            "macOS"
        #elseif os(iOS)
            "iOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(visionOS)
            "visionOS"
        #elseif os(Linux)
            "Linux"
        #else
            "Unknown"
        #endif
    }

    /// Returns the text in Latin letters, with `_` for characters that cannot be part of a product name.
    private static func token(_ text: String) -> String {
        String(
            latin(text).map { $0.isASCII && ($0.isLetter || $0.isNumber || "!#$%&'*+-.^_`|~".contains($0)) ? $0 : "_" })
    }

    /// Returns the text in Latin letters, with `_` for characters that cannot be part of a comment.
    private static func comment(_ text: String) -> String {
        String(latin(text).map { (" "..."~").contains($0) && !"()\\;".contains($0) ? $0 : "_" })
    }

    /// Transliterates the text to Latin letters. ASCII text is returned directly, because Foundation's tables for other
    /// text take megabytes of memory. Without Foundation, other text is returned unchanged.
    private static func latin(_ text: String) -> String {
        #if Foundation || canImport(Darwin)
            if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
            return text.applyingTransform(StringTransform("Any-Latin; Latin-ASCII"), reverse: false) ?? text
        #else
            return text
        #endif
    }
}
