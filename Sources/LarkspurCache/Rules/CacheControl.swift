/// The directives of the `Cache-Control` fields of a request or a response (RFC 9111, section 5.2).
///
/// If a directive is malformed or contradicts another one, the value is the one with which less is served from the
/// cache.
package struct CacheControl: Sendable, Equatable {
    package var noStore = false
    package var noCache = false
    /// The lower-case names of the fields that `no-cache` and `private` apply to, if they do not apply to the response.
    package var noCacheFields: [String] = []
    package var privateFields: [String] = []
    package var isPrivate = false
    package var isPublic = false
    package var mustRevalidate = false
    package var proxyRevalidate = false
    package var mustUnderstand = false
    package var isImmutable = false
    package var onlyIfCached = false
    // Times are in seconds, and at most `limit`.
    package var maxAge: Double?
    package var sharedMaxAge: Double?
    package var minFresh: Double?
    /// Infinite if the request accepts a response of any staleness.
    package var maxStale: Double?
    package var staleWhileRevalidate: Double?
    package var staleIfError: Double?

    /// The largest time: 68 years. Larger times in a field mean this time (RFC 9111, section 1.2.2).
    static let limit = 2_147_483_648.0

    package init() {}

    /// Parses the values of all `Cache-Control` fields.
    package init(_ values: [String]) {
        for value in values {
            var parser = DirectiveParser(value)
            while let directive = parser.next() {
                apply(directive)
                for word in directive.strays where Self.strict.contains(word) { apply(.init(name: word)) }
            }
            // An unclosed quote may hide any directive, so the strictest one is assumed.
            if parser.isUnclosed { noStore = true }
        }
    }

    /// The directives that count also where the text around them is malformed, as in `max-age=60; no-store`.
    private static let strict: Set<String> = ["no-store", "no-cache", "private", "must-revalidate"]

    private mutating func apply(_ directive: DirectiveParser.Directive) {
        switch directive.name {
        case "no-store": noStore = true
        case "no-cache":
            let fields = directive.fields
            if fields.isEmpty { noCache = true } else { noCacheFields += fields }
        case "private":
            let fields = directive.fields
            if fields.isEmpty { isPrivate = true } else { privateFields += fields }
        case "public": isPublic = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = smaller(maxAge, directive.seconds)
        case "s-maxage": sharedMaxAge = smaller(sharedMaxAge, directive.seconds)
        case "min-fresh": minFresh = max(minFresh ?? 0, directive.seconds ?? Self.limit)
        case "max-stale": maxStale = smaller(maxStale, directive.value == nil ? .infinity : directive.seconds)
        case "stale-while-revalidate": staleWhileRevalidate = smaller(staleWhileRevalidate, directive.seconds)
        case "stale-if-error": staleIfError = smaller(staleIfError, directive.seconds)
        default: break
        }
    }

    /// Returns the smaller time. A time that is not a number counts as zero.
    private func smaller(_ known: Double?, _ new: Double?) -> Double { min(known ?? .infinity, new ?? 0) }
}

/// A parser for a comma-separated list of directives.
struct DirectiveParser {
    struct Directive: Equatable {
        /// The name in lower case.
        var name: String
        /// The value, without quotes; nil without a value.
        var value: String?
        var isQuoted = false
        /// Whether name and value have the form that RFC 9111 gives.
        var isValid = true
        /// The words of a directive that is not valid, in lower case.
        var strays: [String] = []

        /// The value as a number of seconds; nil if it is not one.
        var seconds: Double? {
            guard isValid, let value else { return nil }
            return Int64(digits: value.utf8).map { min(Double($0), CacheControl.limit) }
        }

        /// The value as a list of lower-case field names; empty if it is not a quoted list.
        var fields: [String] {
            guard isValid, isQuoted, let value else { return [] }
            return value.listed.map { $0.lowercased() }
        }
    }

    private var rest: Substring.UTF8View
    /// Whether the text ended inside a quoted value.
    private(set) var isUnclosed = false

    init(_ text: String) { rest = text[...].utf8 }

    mutating func next() -> Directive? {
        rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
        guard !rest.isEmpty else { return nil }
        let start = rest
        var directive = takeDirective()
        if !directive.isValid {
            let words = start[start.startIndex..<rest.startIndex].split { !$0.isNamePart }
            directive.strays = words.map { String(Substring($0)).lowercased() }
        }
        return directive
    }

    private mutating func takeDirective() -> Directive {
        let name = take { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
        var directive = Directive(name: String(Substring(name.trimmed)).lowercased())
        directive.isValid = name.trimmed.allSatisfy(\.isNamePart)
        guard rest.first == UInt8(ascii: "=") else { return directive }
        rest = rest.dropFirst()
        if name.last?.isBlank != false { directive.isValid = false }
        if rest.first == UInt8(ascii: "\"") {
            rest = rest.dropFirst()
            directive.value = takeQuoted()
            directive.isQuoted = true
            let garbage = take { $0 != UInt8(ascii: ",") }
            if !garbage.allSatisfy(\.isBlank) { directive.isValid = false }
        } else {
            let value = take { $0 != UInt8(ascii: ",") }
            // White space before the value stays, because it makes the value invalid.
            directive.value = String(Substring(value.first?.isBlank == true ? value : value.trimmed))
            if value.trimmed.contains(where: { $0.isBlank || $0 == UInt8(ascii: ";") }) { directive.isValid = false }
        }
        return directive
    }

    private mutating func take(while isIncluded: (UInt8) -> Bool) -> Substring.UTF8View {
        let part = rest.prefix(while: isIncluded)
        rest = rest[part.endIndex...]
        return part
    }

    private mutating func takeQuoted() -> String {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        isUnclosed = true
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether the byte may be a part of a directive's name: a letter, a digit, `-` or `_`.
    fileprivate var isNamePart: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
