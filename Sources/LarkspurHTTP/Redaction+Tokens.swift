extension Redaction {
    /// Returns a text without the secrets that have a known form: JSON web tokens, private keys in PEM, and the token
    /// after the word `Bearer`.
    package func withoutTokens(_ text: String) -> String {
        if isNone { return text }
        var text = text
        let shown = text.withUTF8 { bytes -> String? in
            let ranges = TokenSearch(bytes).ranges
            if ranges.isEmpty { return nil }
            var shown = ""
            var copied = 0
            for range in ranges {
                shown += String(decoding: bytes[copied..<range.lowerBound], as: UTF8.self) + Self.replacement
                copied = range.upperBound
            }
            return shown + String(decoding: bytes[copied...], as: UTF8.self)
        }
        return shown ?? text
    }
}

/// A search for secrets that have a known form, in one pass over the bytes of a text.
struct TokenSearch {
    private let bytes: UnsafeBufferPointer<UInt8>
    /// The places of the secrets, in ascending order.
    private(set) var ranges: [Range<Int>] = []
    /// The number of bytes that were compared.
    private(set) var steps = 0
    /// The position up to which no web token begins, because no period follows.
    private var endOfFailedToken = 0

    /// Searches the bytes. The result must not outlive them.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        var position = 0
        while position < bytes.count {
            steps += 1
            let found: Range<Int>? =
                switch bytes[position] {
                case UInt8(ascii: "e"): webToken(at: position)
                case UInt8(ascii: "B"), UInt8(ascii: "b"): bearer(at: position)
                case UInt8(ascii: "-"): privateKey(at: position)
                default: nil
                }
            if let found { ranges.append(found) }
            position = found?.upperBound ?? position + 1
        }
    }

    /// The minimum length of the first part of a web token.
    private static let minimumLength = 10

    /// Returns the range of a web token, such as `eyJhbGciOiJub25lIn0.e30.`: the first part begins with `{"` in Base64.
    private mutating func webToken(at start: Int) -> Range<Int>? {
        guard start >= endOfFailedToken, matches("eyJ", at: start) else { return nil }
        let end = position(after: start, while: Self.isBase64URL)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "."), end - start >= Self.minimumLength else {
            endOfFailedToken = end
            return nil
        }
        return start..<position(after: end) { Self.isBase64URL($0) || $0 == UInt8(ascii: ".") }
    }

    /// Returns the range of a private key with the lines before and after it. If the last line is missing, the key goes
    /// on up to the end.
    private mutating func privateKey(at start: Int) -> Range<Int>? {
        guard matches("-----BEGIN ", at: start) else { return nil }
        var position = start + 11
        let limit = min(bytes.count, position + 48)
        while position < limit, Self.isOfLabel(bytes[position]), !matches("PRIVATE KEY", at: position) {
            position += 1
        }
        guard position < limit, Self.isOfLabel(bytes[position]) else { return nil }
        while position < bytes.count, !matches("-----END ", at: position) { position += 1 }
        position = min(position + 9, bytes.count)
        let label = self.position(after: position, upTo: position + 48, while: Self.isOfLabel)
        return start..<self.position(after: label, upTo: label + 5) { $0 == UInt8(ascii: "-") }
    }

    /// Returns the range of the text after the word `Bearer`. Nil if it is a word that follows in sentences.
    private mutating func bearer(at start: Int) -> Range<Int>? {
        guard start + 6 < bytes.count, isBearer(at: start) else { return nil }
        var first = start + 6
        while first < bytes.count {
            if Self.isSeparator(bytes[first]) {
                first += 1
            } else if matches("%20", at: first) {
                first += 3
            } else {
                break
            }
        }
        steps += first - start
        // Without this check, a text that repeats the word would be read to its end for each word.
        guard first > start + 6 else { return nil }
        let end = position(after: first, while: Self.isOfToken)
        return end == first || isWord(bytes[first..<end]) ? nil : first..<end
    }

    private mutating func isBearer(at start: Int) -> Bool {
        let word: StaticString = "bearer"
        steps += 6
        return word.withUTF8Buffer { word in (0..<6).allSatisfy { bytes[start + $0] | 0x20 == word[$0] } }
    }

    /// The words that follow `Bearer` in sentences.
    private static let words: Set = [
        "access", "and", "auth", "authentication", "authorization", "challenge", "credential", "credentials", "error",
        "expected", "expired", "failed", "for", "format", "has", "header", "in", "is", "missing", "not", "of", "or",
        "required", "scheme", "the", "to", "token", "tokens", "type", "was", "with",
    ]
    /// The parameters of a challenge.
    private static let parameters: Set = [
        "charset", "error", "error_description", "error_uri", "realm", "resource_metadata", "scope",
    ]

    private func isWord(_ token: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let letters = token.prefix(while: Self.isOfWord)
        guard letters.count <= 20 else { return false }
        let word = String(decoding: letters, as: UTF8.self).lowercased()
        let rest = token[letters.endIndex...]
        if rest.first == UInt8(ascii: "=") { return Self.parameters.contains(word) }
        return Self.words.contains(word)
            && rest.allSatisfy { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }
    }

    // MARK: Bytes

    private mutating func matches(_ text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { text in
            guard bytes.count - start >= text.count else { return false }
            for offset in 0..<text.count {
                steps += 1
                if bytes[start + offset] != text[offset] { return false }
            }
            return true
        }
    }

    private mutating func position(
        after start: Int, upTo limit: Int = .max, while isPart: (UInt8) -> Bool
    ) -> Int {
        var end = start
        while end < bytes.count, end < limit, isPart(bytes[end]) { end += 1 }
        steps += end - start
        return end
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isOfLabel(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, UInt8(ascii: "+"), UInt8(ascii: ":"), UInt8(ascii: "="): true
        default: false
        }
    }

    /// Returns whether a byte can be part of a token. Wrong tokens of other characters are secrets too.
    private static func isOfToken(_ byte: UInt8) -> Bool {
        guard byte > 0x20, byte != 0x7F else { return false }
        let ends: StaticString = "\"'<>,;&()[]{}\\"
        return !ends.withUTF8Buffer { $0.contains(byte) }
    }
}
