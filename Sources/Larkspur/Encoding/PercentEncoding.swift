extension StringProtocol {
    /// The text with every byte escaped except RFC 3986's unreserved characters: letters, digits and `-._~`. So no
    /// character of the result has a special meaning in a URL or a header field.
    var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 { bytes.append(byte, allowing: .unreserved) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    /// The decoded text of a form's key or value. If the text has an invalid percent escape, only `+` is decoded.
    var formDecoded: String {
        let text = replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
    }
}

extension [UInt8] {
    /// Appends the byte unchanged if it is allowed; otherwise appends `%` and two hexadecimal digits.
    mutating func append(_ byte: UInt8, allowing allowed: URLEncodedFormEncoder.AllowedCharacters) {
        if allowed.contains(byte) { append(byte) } else { appendEscaped(byte) }
    }
}
