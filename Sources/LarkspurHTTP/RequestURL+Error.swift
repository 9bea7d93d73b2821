/// The reason why the library does not accept a text as a URL.
///
/// The error contains the position of the fault and never the text itself: the text may contain a password, and errors
/// are often logged.
public struct RequestURLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    public let reason: Reason
    /// The position of the fault in the given text, in UTF-8 bytes from its start.
    public let offset: Int

    /// The advice for the caller: what to change.
    public var message: String { reason.advice }

    public var description: String { "Invalid URL at byte \(offset) (\(reason)): \(message)" }

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// A kind of fault. It is a struct and not an enum, so that new reasons do not break a `switch`.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        private let name: String
        fileprivate let advice: String

        public var description: String { name }

        /// The URL has more than 65,535 bytes.
        public static let tooLong = Reason(
            name: "tooLong", advice: "It is longer than 65535 bytes once escaped; send large values in the body.")
        /// The text contains a control character, such as a line break.
        public static let controlCharacter = Reason(
            name: "controlCharacter",
            advice: "It holds a control character such as a line break; remove it, or write it percent-encoded.")
        /// A verbatim URL contains a space or a character that is not ASCII.
        public static let unescapedCharacter = Reason(
            name: "unescapedCharacter",
            advice:
                "It holds a space or a character that is not ASCII, which a verbatim URL cannot have; percent-encode it before"
                + " the URL is signed, or use RequestURL(_:), which escapes it.")
        /// The text starts or ends with white space.
        public static let surroundingWhitespace = Reason(
            name: "surroundingWhitespace", advice: "It starts or ends with whitespace; trim it.")
        /// The text has no scheme; it is a relative reference.
        public static let schemeMissing = Reason(
            name: "schemeMissing", advice: "It has no scheme; start it with https:// or resolve it against a base URL.")
        /// The text before the first colon is not a valid scheme.
        public static let schemeInvalid = Reason(
            name: "schemeInvalid",
            advice: "A scheme is a letter followed by letters, digits, +, - and .; correct what is before the colon.")
        /// The text contains a backslash before the path.
        public static let backslashInAuthority = Reason(
            name: "backslashInAuthority",
            advice: "Programs disagree about which host a backslash leads to; write / or percent-encode it.")
        /// The user or the password cannot be decoded.
        public static let userInfoInvalid = Reason(
            name: "userInfoInvalid",
            advice: "User and password must decode to UTF-8 without control characters; send them in a header instead.")
        /// The URL has no host.
        public static let hostMissing = Reason(
            name: "hostMissing", advice: "There is no host after the slashes; add one, as in https://example.com/.")
        /// The host contains a character that no host may have.
        public static let hostInvalid = Reason(
            name: "hostInvalid",
            advice: "A host is made of letters, digits, -, _, ~ and single dots; percent-encoding cannot hide others.")
        /// The host, or one of its labels, is too long.
        public static let hostTooLong = Reason(
            name: "hostTooLong", advice: "A host has at most 253 bytes and 63 between its dots; shorten it.")
        /// The host contains characters that are not ASCII.
        public static let hostNotASCII = Reason(
            name: "hostNotASCII",
            advice: "The host has non-ASCII characters; write its xn-- form, or pass an idna function that makes it.")
        /// The host ends in a number but is not a valid IPv4 address.
        public static let ipv4Invalid = Reason(
            name: "ipv4Invalid",
            advice: "A host that ends in a number must be four numbers from 0 to 255 without leading zeros: other forms"
                + " (127.1, 0x7f.1, 2130706433) mean different addresses to different programs.")
        /// The brackets do not contain an IPv6 address.
        public static let ipv6Invalid = Reason(
            name: "ipv6Invalid", advice: "The brackets do not hold an IPv6 address; write it as in [2001:db8::1].")
        /// The IPv6 address has a zone.
        public static let ipv6Zone = Reason(
            name: "ipv6Zone",
            advice: "A zone such as %25eth0 means something on one machine only; use an address without it.")
        /// The brackets contain an address of a future version.
        public static let ipFuture = Reason(
            name: "ipFuture", advice: "No address of the form [v1.x] is in use; write an IPv4 or IPv6 address.")
        /// The text after the host's colon is not a port.
        public static let portInvalid = Reason(
            name: "portInvalid",
            advice: "A port is a number from 0 to 65535; correct it, or put an IPv6 address into brackets.")
        /// The URL has no authority, but its path begins with `//`. The path would be read as a host.
        public static let pathAmbiguous = Reason(
            name: "pathAmbiguous",
            advice: "Without an authority a path cannot start with //, it would read as a host; remove a slash.")
    }
}
