extension StringProtocol {
    /// The text for a place in a URL or a header field where no character of it may mean anything: of all but letters, digits
    /// and `-._~`, which RFC 3986 calls unreserved, the bytes are escaped.
    var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 { bytes.append(byte, allowing: .unreserved) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    /// What a form says with this text; the text itself, if it is no form's.
    var formDecoded: String {
        let text = replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
    }
}

extension [UInt8] {
    /// Appends the byte as it is, if it is allowed to stay so, or as `%` and two digits.
    mutating func append(_ byte: UInt8, allowing allowed: URLEncodedFormEncoder.AllowedCharacters) {
        if allowed.contains(byte) { append(byte) } else { appendEscaped(byte) }
    }
}
