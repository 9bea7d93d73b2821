extension StringProtocol {
    /// The text with every byte escaped except RFC 3986's unreserved characters: letters, digits and `-._~`. So no
    /// character of the result has a special meaning in a URL or a header field.
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            if byte.isUnreserved { bytes.append(byte) } else { bytes.appendEscaped(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text with all percent escapes decoded; nil if an escape is invalid or the decoded bytes are not UTF-8.
    package var percentDecoded: String? {
        var rest = utf8[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil  // invalid bytes have become replacement characters
    }

    /// The text of an extended value of RFC 8187, such as `UTF-8''na%C3%AFve.txt`; nil if the value is not valid. The
    /// standard allows only UTF-8.
    package var extendedValue: String? {
        let parts = split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return parts[2].percentDecoded
    }
}

extension UInt8 {
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension String {
    /// The decoded text of a form's key or value. If the text has an invalid percent escape, only `+` is decoded.
    package var formDecoded: String {
        let text = replacing("+", with: " ")
        return text.percentDecoded ?? text
    }
}
