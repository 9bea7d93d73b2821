/// IP addresses in text form.
enum IPAddress {
    /// Returns the 4 or 16 bytes of an address; nil if the text, with or without brackets, is not an address.
    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }  // a C string would end there
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let text = isBracketed ? String(text.dropFirst().dropLast()) : String(text)
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] where !(isBracketed && family == AF_INET) {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
