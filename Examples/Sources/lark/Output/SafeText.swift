/// Text of servers, made harmless for terminals.
///
/// Control characters can move the cursor, change the title or the clipboard, or make text look like another one. They
/// are shown as `\u{1B}`, and so are characters that reverse the direction of writing.
enum SafeText {
    /// Replaces control characters. Line feeds and tabs stay, and so does a carriage return before a line feed, as a
    /// plain line end.
    static func escaped(_ text: String) -> String {
        guard mayNeedEscapes(text) else { return text }
        var result = String.UnicodeScalarView()
        var scalars = text.unicodeScalars[...]
        while let scalar = scalars.popFirst() {
            if scalar == "\r", scalars.first == "\n" { continue }
            if isHarmless(scalar) {
                result.append(scalar)
            } else {
                result.append(contentsOf: code(of: scalar).unicodeScalars)
            }
        }
        return String(result)
    }

    /// Replaces control characters and line ends, for a text that must be one line.
    static func line(_ text: String) -> String {
        escaped(text).replacing("\n", with: "\\n").replacing("\t", with: " ")
    }

    static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: true
        case 0x00..<0x20, 0x7F..<0xA0: false
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFFF9...0xFFFB: false
        default: true
        }
    }

    static func code(of scalar: Unicode.Scalar) -> String { "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" }

    /// Whether a byte may belong to such a character. Most texts have none, and are not copied.
    static func mayNeedEscapes(_ text: String) -> Bool {
        text.utf8.contains { byte in
            byte < 0x20 && byte != 0x09 && byte != 0x0A || byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2
                || byte == 0xEF
        }
    }
}
