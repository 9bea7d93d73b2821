/// Why a text is not a URL we send requests to.
///
/// It carries a position and never the text itself: the text may hold a password, and errors end up in logs.
public struct RequestURLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of fault it is.
    public let reason: Reason
    /// Where in the given text the problem is, in UTF-8 bytes from its start.
    public let offset: Int

    /// What to do next.
    public var message: String { reason.advice }

    public var description: String { "Invalid URL at byte \(offset) (\(reason)): \(message)" }

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// A struct and not an enum, so that a further reason breaks nobody's switch.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        private let name: String
        fileprivate let advice: String

        public var description: String { name }

        /// More bytes than a URL may have.
        public static let tooLong = Reason(
            name: "tooLong", advice: "It is longer than 65535 bytes once escaped; send large values in the body.")
        /// A line break, say.
        public static let controlCharacter = Reason(
            name: "controlCharacter",
            advice: "It holds a control character such as a line break; remove it, or write it percent-encoded.")
        /// A space, or a character that is not ASCII, in a URL that is to stay as it is.
        public static let unescapedCharacter = Reason(
            name: "unescapedCharacter",
            advice:
                "It holds a space or a character that is not ASCII, which a verbatim URL cannot have; percent-encode it before"
                + " the URL is signed, or use RequestURL(_:), which escapes it.")
        /// White space at an end.
        public static let surroundingWhitespace = Reason(
            name: "surroundingWhitespace", advice: "It starts or ends with whitespace; trim it.")
        /// A reference, where a URL has to stand by itself.
        public static let schemeMissing = Reason(
            name: "schemeMissing", advice: "It has no scheme; start it with https:// or resolve it against a base URL.")
        /// What stands before the colon is no scheme.
        public static let schemeInvalid = Reason(
            name: "schemeInvalid",
            advice: "A scheme is a letter followed by letters, digits, +, - and .; correct what is before the colon.")
        /// A backslash before the path.
        public static let backslashInAuthority = Reason(
            name: "backslashInAuthority",
            advice: "Programs disagree about which host a backslash leads to; write / or percent-encode it.")
        /// User or password cannot be decoded.
        public static let userInfoInvalid = Reason(
            name: "userInfoInvalid",
            advice: "User and password must decode to UTF-8 without control characters; send them in a header instead.")
        /// Nothing stands where the host has to.
        public static let hostMissing = Reason(
            name: "hostMissing", advice: "There is no host after the slashes; add one, as in https://example.com/.")
        /// A character that no host has.
        public static let hostInvalid = Reason(
            name: "hostInvalid",
            advice: "A host is made of letters, digits, -, _, ~ and single dots; percent-encoding cannot hide others.")
        /// More bytes than a host may have.
        public static let hostTooLong = Reason(
            name: "hostTooLong", advice: "A host has at most 253 bytes and 63 between its dots; shorten it.")
        /// Characters that DNS does not have.
        public static let hostNotASCII = Reason(
            name: "hostNotASCII",
            advice: "The host has non-ASCII characters; write its xn-- form, or pass an idna function that makes it.")
        /// Numbers that are no IPv4 address.
        public static let ipv4Invalid = Reason(
            name: "ipv4Invalid",
            advice: "A host that ends in a number must be four numbers from 0 to 255 without leading zeros: other forms"
                + " (127.1, 0x7f.1, 2130706433) mean different addresses to different programs.")
        /// Brackets around no IPv6 address.
        public static let ipv6Invalid = Reason(
            name: "ipv6Invalid", advice: "The brackets do not hold an IPv6 address; write it as in [2001:db8::1].")
        /// An address with a zone.
        public static let ipv6Zone = Reason(
            name: "ipv6Zone",
            advice: "A zone such as %25eth0 means something on one machine only; use an address without it.")
        /// An address of a later kind.
        public static let ipFuture = Reason(
            name: "ipFuture", advice: "No address of the form [v1.x] is in use; write an IPv4 or IPv6 address.")
        /// What follows the host's colon is no port.
        public static let portInvalid = Reason(
            name: "portInvalid",
            advice: "A port is a number from 0 to 65535; correct it, or put an IPv6 address into brackets.")
        /// A path that would be read as a host.
        public static let pathAmbiguous = Reason(
            name: "pathAmbiguous",
            advice: "Without an authority a path cannot start with //, it would read as a host; remove a slash.")
    }
}
