/// A painter of JSON text. It colours tokens and leaves everything else as it is, so the layout does not matter.
struct JSONPainter {
    let style: Style

    func painted(_ text: String) -> String {
        let safe = escaped(text)
        guard style.colors else { return safe }
        var rest = safe.utf8[...]
        var result = ""
        result.reserveCapacity(safe.utf8.count * 2)
        while let byte = rest.first {
            let (length, color) = token(at: byte, in: rest)
            let end = rest.index(rest.startIndex, offsetBy: length)
            let token = String(rest[..<end]) ?? ""
            result += color.map { style.paint(token, $0) } ?? token
            rest = rest[end...]
        }
        return result
    }

    /// Returns the length of the token, and its colour.
    private func token(at byte: UInt8, in rest: Substring.UTF8View) -> (Int, Style.Color?) {
        switch byte {
        case UInt8(ascii: "\""):
            let length = lengthOfString(rest)
            let next = rest.dropFirst(length).first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
            return (length, next == UInt8(ascii: ":") ? .key : .string)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return (rest.prefix { isOfNumber($0) }.count, .number)
        case UInt8(ascii: "a")...UInt8(ascii: "z"):
            return (rest.prefix { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") }.count, .literal)
        case 0xE2:  // the ellipsis of something folded
            return (rest.prefix { ![0x0A, UInt8(ascii: "]"), UInt8(ascii: "}")].contains($0) }.count, .faint)
        default:
            return (1 + rest.dropFirst().prefix { isBetweenTokens($0) }.count, nil)
        }
    }

    private func lengthOfString(_ rest: Substring.UTF8View) -> Int {
        var length = 1
        var isEscaped = false
        for byte in rest.dropFirst() {
            length += 1
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                break
            }
        }
        return length
    }

    private func isOfNumber(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || "+-.eE".utf8.contains(byte)
    }

    private func isBetweenTokens(_ byte: UInt8) -> Bool { " \n\r\t,:{}[]".utf8.contains(byte) }

    /// Replaces control characters by the escapes of JSON, so that the text stays JSON.
    private func escaped(_ text: String) -> String {
        guard style.escapes, SafeText.mayNeedEscapes(text) else { return text }
        return String.UnicodeScalarView(
            text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                if SafeText.isHarmless(scalar) || scalar == "\r" { return scalar == "\r" ? [] : [scalar] }
                let code = String(scalar.value, radix: 16)
                return Array(("\\u" + String(repeating: "0", count: 4 - code.count) + code).unicodeScalars)
            }
        ).description
    }
}
