extension RequestURL {
    /// A set of ASCII bytes, stored in two 64-bit words. A membership test is a shift and needs no bounds check.
    struct ByteSet: Sendable {
        private var low: UInt64 = 0
        private var high: UInt64 = 0

        init(_ characters: String) {
            for byte in characters.utf8 where byte < 64 { low |= 1 &<< UInt64(byte) }
            for byte in characters.utf8 where byte & 0xC0 == 64 { high |= 1 &<< UInt64(byte & 63) }
        }

        @inline(__always)
        func contains(_ byte: UInt8) -> Bool {
            let word = byte < 64 ? low : byte < 128 ? high : 0
            return (word &>> UInt64(byte & 63)) & 1 == 1
        }

        private static let lower = "abcdefghijklmnopqrstuvwxyz0123456789"
        private static let unreservedText = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~"
        private static let userInfoText = unreservedText + "!$&'()*+,;=:"

        static let schemeTail = ByteSet(lower + "+-.")
        static let hostName = ByteSet(lower + "-._~")
        static let unreserved = ByteSet(unreservedText)
        static let userInfo = ByteSet(userInfoText)
        static let path = ByteSet(userInfoText + "@/")
        static let fragment = ByteSet(userInfoText + "@/?")
        /// The bytes that a query keeps unescaped. Brackets are not legal there, but all servers accept `a[]=1`, and
        /// some do not accept `a%5B%5D=1`.
        static let query = ByteSet(userInfoText + "@/?[]")
    }

    /// Percent-encoding, RFC 3986 sections 2.1 and 6.2.2.
    enum Percent {
        /// Appends `bytes` in normal form: triplets in upper case, unreserved characters decoded, all bytes outside
        /// `allowed` escaped.
        ///
        /// A percent sign that starts no triplet stays unchanged, because servers send such URLs and expect clients to
        /// use them unchanged. A triplet directly after such a sign is not decoded if the result would complete another
        /// triplet: `%%341` does not become `%41`.
        static func append(_ bytes: ArraySlice<UInt8>, keeping allowed: ByteSet, to output: inout [UInt8]) {
            var index = bytes.startIndex
            var loosePercent: Int?
            while index < bytes.endIndex {
                if let value = triplet(in: bytes, at: index) {
                    let isBehindLoose = loosePercent.map { output.count - $0 <= 2 } ?? false
                    let isDecoded = ByteSet.unreserved.contains(value) && !(isBehindLoose && value.asciiHexValue != nil)
                    isDecoded ? output.append(value) : output.appendEscaped(value)
                    index += 3
                } else {
                    let byte = bytes[index]
                    let isPercent = byte == UInt8(ascii: "%")
                    if isPercent { loosePercent = output.count }
                    isPercent || allowed.contains(byte) ? output.append(byte) : output.appendEscaped(byte)
                    index += 1
                }
            }
        }

        static func decodedBytes(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var output: [UInt8] = []
            var index = bytes.startIndex
            while index < bytes.endIndex {
                let value = triplet(in: bytes, at: index)
                output.append(value ?? bytes[index])
                index += value == nil ? 1 : 3
            }
            return output
        }

        static func decoded(_ bytes: some Sequence<UInt8>) -> String {
            String(decoding: decodedBytes(Array(bytes)[...]), as: UTF8.self)
        }

        private static func triplet(in bytes: ArraySlice<UInt8>, at index: Int) -> UInt8? {
            guard bytes[index] == UInt8(ascii: "%"), bytes.endIndex - index > 2,
                let high = bytes[index + 1].asciiHexValue, let low = bytes[index + 2].asciiHexValue
            else { return nil }
            return high << 4 | low
        }
    }
}

extension [UInt8] {
    package mutating func appendEscaped(_ byte: UInt8) {
        append(UInt8(ascii: "%"))
        for digit in [byte >> 4, byte & 15] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
        }
    }
}

extension UInt8 {
    var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    var isASCIILetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }
    var asciiLowercased: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }

    var asciiHexValue: UInt8? {
        if isASCIIDigit { return self &- UInt8(ascii: "0") }
        let letter = (self | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }

    /// Whether the byte ends an authority, RFC 3986 section 3.2.
    var endsAuthority: Bool {
        self == UInt8(ascii: "/") || self == UInt8(ascii: "?") || self == UInt8(ascii: "#")
    }
}
