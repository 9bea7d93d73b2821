extension UInt8 {
    /// Whether the byte is white space in a field's value: a space or a tab.
    @inlinable package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// Whether a token of HTTP, such as a method or the name of a field, may contain the byte.
    @inlinable package var isTokenByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true  // digits and letters
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true  // !#$%&'*+-.^_`|~
        default: false
        }
    }
}

extension Substring.UTF8View {
    /// The text without white space at its ends.
    package var trimmed: Substring.UTF8View {
        var text = drop(while: \.isBlank)
        while text.last?.isBlank == true { text.removeLast() }
        return text
    }
}

extension FixedWidthInteger {
    /// Parses a text that consists only of decimal digits; nil for any other text. If the number does not fit, the
    /// value is `max`.
    @inlinable package init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self = digits.reduce(0) { number, digit in
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeNow) = product.addingReportingOverflow(Self(digit - 0x30))
            return isTooLarge || isTooLargeNow || number == .max ? .max : sum
        }
    }
}

/// The bytes with which some programs begin a text in UTF-8.
package enum ByteOrderMark {
    package static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]
}
