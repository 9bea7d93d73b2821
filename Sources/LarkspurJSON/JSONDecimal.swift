/// A number's text, read as decimal digits and an exponent. The text has been checked by the parser.
struct JSONDecimal {
    private let text: UnsafeBufferPointer<UInt8>
    private var isNegative = false
    /// The first 19 significant digits, which fit in 64 bits.
    private var digits: UInt64 = 0
    private var digitCount = 0
    /// The value is `digits` times ten to the power of `exponent`, plus the digits that `digits` lacks.
    private var exponent = 0
    /// Whether a digit other than zero does not fit in `digits`.
    private var isTruncated = false

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        var isInFraction = false
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isInFraction = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if digitCount < 19 {
                    digits = digits * 10 + UInt64(byte - UInt8(ascii: "0"))
                    if digits > 0 { digitCount += 1 }
                    if isInFraction { exponent -= 1 }
                } else {
                    if byte != UInt8(ascii: "0") { isTruncated = true }
                    if !isInFraction { exponent += 1 }
                }
            default:
                exponent += Self.exponent(text, from: index)
                return
            }
        }
    }

    /// Returns the number behind the letter `e`. Numbers beyond any type's range are cut.
    private static func exponent(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var (value, isNegative) = (0, false)
        for byte in text[start...] {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            default: value = min(value * 10 + Int(byte &- UInt8(ascii: "0")), 1 << 40)
            }
        }
        return isNegative ? -value : value
    }

    /// Returns the value as an integer, or nil if it is not whole or does not fit.
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        // The digits decide and not the nearest `Double`, which is whole for many numbers that are not.
        if digits == 0 { return 0 }
        let mantissa = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        var plain = mantissa.filter { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") }
        let fraction = mantissa.firstIndex(of: UInt8(ascii: ".")).map { mantissa.endIndex - $0 - 1 } ?? 0
        var zeros = -fraction
        if mantissa.endIndex < text.endIndex { zeros += Self.exponent(text, from: mantissa.endIndex + 1) }
        while zeros < 0, plain.last == UInt8(ascii: "0") {
            plain.removeLast()
            zeros += 1
        }
        guard (0...40).contains(zeros) else { return nil }
        plain += repeatElement(UInt8(ascii: "0"), count: zeros)
        return Integer((isNegative ? "-" : "") + String(decoding: plain, as: UTF8.self))
    }

    /// The nearest `Double`: zero for a number too close to zero, infinity for one beyond the range.
    var double: Double {
        if digits == 0 { return isNegative ? -0.0 : 0 }
        let value: Double?
        if !isTruncated, digits < 1 << 53, (0...22).contains(exponent.magnitude) {
            // Both are exact as `Double`, so their product or quotient is the nearest `Double` (Clinger).
            var power = 1.0
            for _ in 0..<exponent.magnitude { power *= 10 }
            value = exponent < 0 ? Double(digits) / power : Double(digits) * power
        } else if isTruncated {
            let (low, high) = (JSONPowers.nearest(digits, exponent), JSONPowers.nearest(digits + 1, exponent))
            value = low == high ? low : nil
        } else {
            value = JSONPowers.nearest(digits, exponent)
        }
        if let value { return isNegative ? -value : value }
        return Double(String(decoding: text, as: UTF8.self)) ?? 0
    }
}

/// Powers of five with 128 bits, to find the nearest `Double` of a decimal number (after Eisel and Lemire).
enum JSONPowers {
    /// The power is at least `high` × 2^64 + `low`, and less than one more, all times 2^(`exponent` - 127).
    private struct Power {
        let high, low: UInt64
        let exponent: Int
    }

    private static let least = -342
    private static let greatest = 308
    private static let table: [Power] = {
        var negative: [Power] = []
        // The quotient of 2^1088 and the power. Dividing by five again and again truncates as one division would.
        var limbs = [UInt64](repeating: 0, count: 17) + [1]
        for _ in least..<0 {
            var remainder: UInt64 = 0
            for index in limbs.indices.reversed() {
                (limbs[index], remainder) = (5 as UInt64).dividingFullWidth((remainder, limbs[index]))
            }
            negative.append(normalized(limbs, scale: 1_088))
        }
        var positive: [Power] = []
        limbs = [1] + [UInt64](repeating: 0, count: 15)
        for _ in 0...greatest {
            positive.append(normalized(limbs, scale: 0))
            var carry: UInt64 = 0
            for index in limbs.indices {
                let (high, low) = limbs[index].multipliedFullWidth(by: 5)
                let (sum, overflows) = low.addingReportingOverflow(carry)
                limbs[index] = sum
                carry = high + (overflows ? 1 : 0)
            }
        }
        return negative.reversed() + positive
    }()

    private static func normalized(_ limbs: [UInt64], scale: Int) -> Power {
        let top = limbs.lastIndex { $0 != 0 } ?? 0
        func limb(_ index: Int) -> UInt64 { index >= 0 ? limbs[index] : 0 }
        let shift = UInt64(limbs[top].leadingZeroBitCount)
        let high = limb(top) << shift | limb(top - 1) >> (64 - shift)
        let low = limb(top - 1) << shift | limb(top - 2) >> (64 - shift)
        return Power(high: high, low: low, exponent: 64 * (top + 1) - Int(shift) - 1 - scale)
    }

    /// Returns the `Double` nearest to `digits` × 10^`exponent`; nil if 128 bits do not decide it, or if it is not a
    /// normal number. `digits` must not be 0.
    static func nearest(_ digits: UInt64, _ exponent: Int) -> Double? {
        guard (least...greatest).contains(exponent) else { return nil }
        let power = table[exponent - least]
        let shift = digits.leadingZeroBitCount
        let factor = digits << UInt64(shift)
        let (upper, lower) = factor.multipliedFullWidth(by: power.high)
        let (middle, overflows) = lower.addingReportingOverflow(factor.multipliedFullWidth(by: power.low).high)
        let high = upper + (overflows ? 1 : 0)
        // The exact product is at least `high` × 2^64 + `middle`, and less than two more.
        let isLong = high >> 63 == 1
        let unused: UInt64 = isLong ? 11 : 10
        let mantissa = high >> unused
        let rest = high & (1 << unused - 1)
        let half: UInt64 = 1 << (unused - 1)
        if rest == half && middle == 0 || rest == half - 1 && middle >= UInt64.max - 1 { return nil }
        let binary = (isLong ? 127 : 126) + 64 + power.exponent - 127 - shift + exponent
        guard (-1_022...1_022).contains(binary) else { return nil }
        let rounded = mantissa + (rest >= half ? 1 : 0)
        // If rounding has carried into the 54th bit, the sum carries into the exponent, which is then right.
        return Double(bitPattern: UInt64(binary + 1_023) << 52 + (rounded - 1 << 52))
    }
}
