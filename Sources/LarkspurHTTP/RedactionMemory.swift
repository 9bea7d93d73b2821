/// Results that follow from the rules of a `Redaction`: which names are secret, which values of fields contain no
/// secret, and tables to search for fragments.
///
/// The same names come with every request, and the rules for a name take thousands of instructions. A lookup is a hash
/// and a lock instead. Memory is bounded: names come from peers too.
final class RedactionMemory: Sendable {
    enum Verdict: Sendable {
        case visible
        case secret
        /// Secret unless the name of the enclosing object says otherwise, as in `product.code`.
        case code
    }

    private struct State {
        var verdicts: [String: Verdict] = [:]
        var extended: [[String]: Redaction] = [:]
        var harmless: Set<String> = []
    }

    private static let maximumNames = 1_024
    private static let maximumLength = 64
    private static let maximumExtensions = 16
    private static let maximumTexts = 256
    private static let maximumTextLength = 256

    let fragments: FragmentSearch
    private let state = Protected(State())

    init(fragments: FragmentSearch) { self.fragments = fragments }

    /// Returns the verdict on a name. Long names are computed each time, and so are names that are not ASCII: those
    /// can be equal as strings and nevertheless have different parts.
    func verdict(of name: String, or compute: () -> Verdict) -> Verdict {
        guard name.utf8.count <= Self.maximumLength, name.utf8.allSatisfy({ $0 < 0x80 }) else { return compute() }
        if let verdict = state.withLock({ $0.verdicts[name] }) { return verdict }
        let verdict = compute()
        state.withLock { state in
            if state.verdicts.count >= Self.maximumNames { state.verdicts = [:] }
            state.verdicts[name] = verdict
        }
        return verdict
    }

    /// Returns whether the text is known to contain no secret.
    func isHarmless(_ text: String) -> Bool {
        Self.canRemember(text) && state.withLock { $0.harmless.contains(text) }
    }

    /// Remembers that the text contains no secret.
    func addHarmless(_ text: String) {
        guard Self.canRemember(text) else { return }
        state.withLock { state in
            if state.harmless.count >= Self.maximumTexts { state.harmless = [] }
            state.harmless.insert(text)
        }
    }

    /// Texts that are not ASCII can be equal as strings and nevertheless have different delimiters.
    private static func canRemember(_ text: String) -> Bool {
        text.utf8.count <= maximumTextLength && text.utf8.allSatisfy { $0 < 0x80 }
    }

    /// Returns the rules extended by these names.
    func extended(by names: [String], or compute: () -> Redaction) -> Redaction {
        if let redaction = state.withLock({ $0.extended[names] }) { return redaction }
        let redaction = compute()
        guard names.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumNames else { return redaction }
        state.withLock { state in
            if state.extended.count >= Self.maximumExtensions { state.extended = [:] }
            state.extended[names] = redaction
        }
        return redaction
    }
}

/// A search for several fragments in one pass over the bytes of a text.
struct FragmentSearch: Sendable {
    /// The fragments, by a number that their first two bytes have.
    private var buckets: [[[UInt8]]] = Array(repeating: [], count: 256)
    /// Fragments with characters outside of ASCII, and very short fragments. They are compared as strings.
    private var others: [String] = []

    init(_ fragments: Set<String>) {
        for fragment in fragments {
            let bytes = Array(fragment.utf8)
            guard bytes.count > 1, bytes.allSatisfy({ $0 < 0x80 }) else {
                others.append(fragment)
                continue
            }
            buckets[Self.bucket(bytes[0], bytes[1])].append(bytes)
        }
    }

    private static func bucket(_ first: UInt8, _ second: UInt8) -> Int { Int(first &* 31 &+ second) }

    /// Returns whether a fragment occurs in the text.
    func finds(in text: String) -> Bool {
        var copy = text
        return copy.withUTF8 { finds(in: $0) } || others.contains { text.contains($0) }
    }

    /// Returns whether a fragment occurs in the text, without regard to case and the separators `-` and `_`.
    func findsLoosely(in text: String) -> Bool {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        guard isASCII, others.isEmpty else { return finds(in: text.lowercased().filter { $0 != "-" && $0 != "_" }) }
        let bytes = text.utf8.lazy.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        let lowered = bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        return Array(lowered).withUnsafeBufferPointer { finds(in: $0) }
    }

    private func finds(in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count > 1 else { return false }
        return buckets.withUnsafeBufferPointer { buckets in
            for index in 0..<bytes.count - 1 {
                for fragment in buckets[Self.bucket(bytes[index], bytes[index + 1])]
                where bytes.count - index >= fragment.count && bytes[index...].starts(with: fragment) {
                    return true
                }
            }
            return false
        }
    }

    /// Returns whether the text ends with a fragment.
    func findsEnd(of text: String) -> Bool {
        buckets.contains { $0.contains { text.utf8.suffix($0.count).elementsEqual($0) } }
            || others.contains { text.hasSuffix($0) }
    }
}
