extension RequestURL {
    /// The rules for a host that is a name or an IPv4 address, after decoding and lower-casing.
    ///
    /// The rules are stricter than RFC 3986, which allows `!$&'()*+,;=` in a name. No DNS name contains these
    /// characters, and shells, proxies and header parsers interpret them.
    enum HostName {
        /// Returns the first fault of a name, or nil. An empty name has no fault: the scheme decides whether it is
        /// allowed.
        static func fault<Bytes: RandomAccessCollection>(
            in host: Bytes
        ) -> (reason: RequestURLError.Reason, offset: Int)? where Bytes.Element == UInt8, Bytes.Index == Int {
            let allowed = ByteSet.hostName
            let (first, end) = (host.startIndex, host.endIndex)
            var labelStart = first
            var lastLabel = first..<first
            for index in first..<end {
                let byte = host[index]
                if byte == UInt8(ascii: ".") {
                    if index == labelStart { return (.hostInvalid, index - first) }
                    if index - labelStart > 63 { return (.hostTooLong, labelStart - first) }
                    lastLabel = labelStart..<index
                    labelStart = index + 1
                } else if !allowed.contains(byte) {
                    return (byte < 128 ? .hostInvalid : .hostNotASCII, index - first)
                }
            }
            // The name may end with one dot, which keeps resolvers from adding a search domain.
            if labelStart < end { lastLabel = labelStart..<end }
            if lastLabel.count > 63 { return (.hostTooLong, lastLabel.lowerBound - first) }
            if lastLabel.upperBound - first > 253 { return (.hostTooLong, 0) }
            if isNumber(host[lastLabel]), IPAddress.quad(host[...]) == nil { return (.ipv4Invalid, 0) }
            return nil
        }

        /// Returns whether `inet_aton` would read the name's last label as a number. No top-level domain is a number,
        /// so this check refuses no valid name.
        private static func isNumber<Bytes: RandomAccessCollection<UInt8>>(_ label: Bytes) -> Bool {
            guard let first = label.first, first.isASCIIDigit else { return false }
            if label.allSatisfy(\.isASCIIDigit) { return true }
            return first == UInt8(ascii: "0") && label.dropFirst().first == UInt8(ascii: "x")
                && label.dropFirst(2).allSatisfy { $0.asciiHexValue != nil }
        }
    }

    enum IPAddress {
        /// Returns the IPv4 address that is written as four decimal numbers; nil for other text. Numbers with leading
        /// zeros are refused, because some programs read them as octal.
        static func quad(_ text: some RandomAccessCollection<UInt8>) -> UInt32? {
            var address: UInt32 = 0
            var part: UInt32?
            var dots = 0
            for byte in text {
                if byte == UInt8(ascii: "."), let value = part, dots < 3 {
                    address = address << 8 | value
                    part = nil
                    dots += 1
                } else if byte.isASCIIDigit, part != 0 {
                    let value = (part ?? 0) * 10 + UInt32(byte &- UInt8(ascii: "0"))
                    guard value < 256 else { return nil }
                    part = value
                } else {
                    return nil
                }
            }
            guard dots == 3, let part else { return nil }
            return address << 8 | part
        }

        /// Returns the eight groups of an IPv6 address without brackets, RFC 4291 section 2.2.
        static func groups<Bytes: RandomAccessCollection>(_ text: Bytes) -> SIMD8<UInt16>?
        where Bytes.Element == UInt8, Bytes.Index == Int {
            let (colon, end) = (UInt8(ascii: ":"), text.endIndex)
            var groups = SIMD8<UInt16>()
            var count = 0
            var gap: Int?
            var index = text.startIndex
            while index < end {
                if text[index] == colon {
                    guard gap == nil, index + 1 < end, text[index + 1] == colon else { return nil }
                    gap = count
                    index += 2
                    continue
                }
                guard count < 8 else { return nil }
                let start = index
                while index < end, index - start < 4, let digit = text[index].asciiHexValue {
                    groups[count] = groups[count] << 4 | UInt16(digit)
                    index += 1
                }
                if index < end, text[index] == UInt8(ascii: ".") {
                    guard count < 7, let quad = quad(text[start..<end]) else { return nil }
                    groups[count] = UInt16(quad >> 16)
                    groups[count + 1] = UInt16(truncatingIfNeeded: quad)
                    count += 2
                    break
                }
                guard index > start else { return nil }
                count += 1
                guard index < end else { break }
                guard text[index] == colon, index + 1 < end else { return nil }
                // If a second colon follows, both are the gap (`::`), and the next iteration reads both.
                if text[index + 1] != colon { index += 1 }
            }
            guard let gap else { return count == 8 ? groups : nil }
            guard count < 8 else { return nil }
            var spread = SIMD8<UInt16>()
            for position in 0..<count { spread[position < gap ? position : position + 8 - count] = groups[position] }
            return spread
        }

        /// Returns the bracketed form of RFC 5952: lower case, the longest run of zeros as `::`, an IPv4-mapped address
        /// with dots.
        static func literal(_ groups: SIMD8<UInt16>) -> String {
            var gap = 0..<0
            var start = 0
            for index in 0..<8 where groups[index] == 0 {
                if index == 0 || groups[index - 1] != 0 { start = index }
                if index + 1 - start > max(gap.count, 1) { gap = start..<(index + 1) }
            }
            var parts = (0..<8).map { String(groups[$0], radix: 16) }
            if gap == 0..<5, groups[5] == 0xFFFF {
                let (high, low) = (groups[6], groups[7])
                parts[6...] = ["\(high >> 8).\(high & 255).\(low >> 8).\(low & 255)"]
            }
            guard !gap.isEmpty else { return "[\(parts.joined(separator: ":"))]" }
            let head = parts[..<gap.lowerBound].joined(separator: ":")
            return "[\(head)::\(parts[gap.upperBound...].joined(separator: ":"))]"
        }
    }
}
