/// Addresses as people write them.
enum IPAddress {
    /// The 4 or 16 bytes; nil if the text, in brackets or not, is no address.
    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }  // where C would end the text
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let text = isBracketed ? String(text.dropFirst().dropLast()) : String(text)
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] where !(isBracketed && family == AF_INET) {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
