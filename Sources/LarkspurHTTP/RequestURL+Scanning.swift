extension RequestURL {
    /// The fast path of the parser: recognises a text that is already in normal form and finds its parts, in one pass
    /// and without allocations.
    ///
    /// The scanner accepts or rejects a text and gives no reason. `Normaliser` then normalises or refuses the rejected
    /// text. Most URLs are accepted, so they do not have the cost of the second step.
    struct Scanner {
        private let bytes: UnsafeBufferPointer<UInt8>
        private let removesDots: Bool
        private var position = 0
        private var layout = RequestURL.Layout()

        /// Creates a scanner of the bytes. The buffer must outlive the scanner.
        init(_ bytes: UnsafeBufferPointer<UInt8>, removesDots: Bool) {
            self.bytes = bytes
            self.removesDots = removesDots
        }

        mutating func scan() -> RequestURL.Layout? {
            guard bytes.count <= RequestURL.limit, skipScheme() else { return nil }
            layout.hostStart = offset
            layout.hostEnd = offset
            if byte(0) == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "/") {
                position += 2
                guard skipAuthority() else { return nil }
            }
            layout.pathStart = offset
            guard skipPart(.path, dots: removesDots || layout.isHierarchical) else { return nil }
            layout.queryStart = offset
            if byte(0) == UInt8(ascii: "?") {
                position += 1
                guard skipPart(.query, dots: false) else { return nil }
            }
            layout.fragmentStart = offset
            if byte(0) == UInt8(ascii: "#") {
                position += 1
                guard skipPart(.fragment, dots: false) else { return nil }
            }
            return position == bytes.count ? layout : nil
        }

        private var offset: UInt16 { UInt16(truncatingIfNeeded: position) }

        /// Returns the byte at this distance from the position, or zero after the end. No URL contains a zero byte.
        @inline(__always)
        private func byte(_ distance: Int) -> UInt8 {
            position + distance < bytes.count ? bytes[position + distance] : 0
        }

        private mutating func skipScheme() -> Bool {
            guard byte(0).isASCIILetter else { return false }
            let allowed = ByteSet.schemeTail
            var key: UInt64 = 0
            while allowed.contains(byte(0)) {
                key = key << 8 | UInt64(byte(0))
                position += 1
            }
            layout.scheme = RequestURL.Scheme(key: key)
            layout.schemeEnd = offset
            guard byte(0) == UInt8(ascii: ":") else { return false }
            position += 1
            return true
        }

        private mutating func skipAuthority() -> Bool {
            let start = position
            layout.hostStart = offset
            let allowed = ByteSet.hostName
            while allowed.contains(byte(0)) { position += 1 }
            guard HostName.fault(in: bytes[start..<position]) == nil else { return false }
            layout.hostEnd = offset
            guard skipPort() else { return false }
            let isEmpty = position == start
            return layout.scheme == .other
                ? byte(0) == 0 || byte(0).endsAuthority : !isEmpty && byte(0) == UInt8(ascii: "/")
        }

        private mutating func skipPort() -> Bool {
            guard byte(0) == UInt8(ascii: ":") else { return true }
            position += 1
            let start = position
            var port = 0
            while byte(0).isASCIIDigit, position - start < 5 {
                port = port * 10 + Int(byte(0) - UInt8(ascii: "0"))
                position += 1
            }
            let hasLeadingZero = position - start > 1 && bytes[start] == UInt8(ascii: "0")
            guard position > start, !hasLeadingZero, let value = UInt16(exactly: port) else { return false }
            layout.port = value
            return value != layout.scheme.defaultPort && layout.hostEnd > layout.hostStart
        }

        /// Skips the bytes of a part up to the first byte of the next part. Returns false if the part is not in normal
        /// form.
        private mutating func skipPart(_ allowed: ByteSet, dots: Bool) -> Bool {
            let start = position
            while position < bytes.count {
                let byte = bytes[position]
                if allowed.contains(byte) {
                    if dots, byte == UInt8(ascii: "."), position == start || bytes[position - 1] == UInt8(ascii: "/"),
                        isAtDotSegment
                    {
                        return false
                    }
                    position += 1
                } else if byte == UInt8(ascii: "%") {
                    guard isAtNormalTriplet else { return false }
                    position += 3
                } else {
                    return true
                }
            }
            return true
        }

        private var isAtDotSegment: Bool {
            let next = byte(1) == UInt8(ascii: ".") ? byte(2) : byte(1)
            return next == 0 || next.endsAuthority
        }

        private var isAtNormalTriplet: Bool {
            let (first, second) = (byte(1), byte(2))
            guard let high = first.asciiHexValue, let low = second.asciiHexValue else { return false }
            return max(first, second) < UInt8(ascii: "a") && !ByteSet.unreserved.contains(high << 4 | low)
        }
    }
}
