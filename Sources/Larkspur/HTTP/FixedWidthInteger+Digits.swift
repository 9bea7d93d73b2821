extension UInt8 {
    /// Whether the byte is white space of a field's value: a space or a tab.
    var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension Substring.UTF8View {
    /// The text without white space at its ends.
    var trimmed: Substring.UTF8View {
        var text = drop(while: \.isBlank)
        while text.last?.isBlank == true { text.removeLast() }
        return text
    }
}

extension FixedWidthInteger {
    /// Parses decimal digits only, without sign or white space; nil for other text. A number that does not fit gives
    /// `max`.
    init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self = digits.reduce(0) { number, digit in
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeNow) = product.addingReportingOverflow(Self(digit - 0x30))
            return isTooLarge || isTooLargeNow || number == .max ? .max : sum
        }
    }
}
