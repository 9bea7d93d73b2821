/// The value of a written number in one canonical form: sign, significant digits, power of ten.
///
/// It answers whether two spellings are the same number without rounding either.
struct WrittenDecimal {
    private(set) var isNegative = false
    /// The first nineteen significant digits; no trailing zeros unless `moreDigits` follow.
    private(set) var significand: UInt64 = 0
    /// The digits after those, without trailing zeros; all but always empty.
    private(set) var moreDigits: [UInt8] = []
    /// The power of ten of the last digit.
    private(set) var exponent: Int64 = 0
    /// Whether it was spelled without fraction and exponent; not part of the value.
    private(set) var isPlainInteger = true

    init(_ text: String) {
        var text = text
        self = text.withUTF8 { WrittenDecimal($0) }
    }

    /// Takes the spelling apart, which must be that of a JSON number.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        var digitCount = 0
        var fractionDigits: Int64 = 0
        var position = 0
        scan: while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "-"):
                isNegative = true
            case UInt8(ascii: "."):
                isPlainInteger = false
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                isPlainInteger = false
                break scan
            default:
                if !isPlainInteger { fractionDigits += 1 }
                if digitCount < 19 {
                    significand = significand &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
                    digitCount += significand == 0 ? 0 : 1
                } else {
                    moreDigits.append(byte)
                }
            }
        }
        guard significand != 0 else {
            isNegative = false
            return
        }
        guard let written = Self.exponent(UnsafeBufferPointer(rebasing: bytes[position...])) else {
            moreDigits = Array(bytes)
            exponent = .max
            return
        }
        exponent = written - fractionDigits
        removeTrailingZeros()
    }

    /// The digits after the `e`; nil if there are more than eighteen of them.
    private static func exponent(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var value: Int64 = 0
        for byte in bytes where byte != UInt8(ascii: "-") && byte != UInt8(ascii: "+") {
            guard value < 100_000_000_000_000_000 else { return nil }
            value = value * 10 + Int64(byte &- UInt8(ascii: "0"))
        }
        return bytes.first == UInt8(ascii: "-") ? -value : value
    }

    private mutating func removeTrailingZeros() {
        while moreDigits.last == UInt8(ascii: "0") {
            moreDigits.removeLast()
            exponent += 1
        }
        guard moreDigits.isEmpty else { return }
        while significand % 10 == 0 {
            significand /= 10
            exponent += 1
        }
    }
}

extension WrittenDecimal: Hashable {
    static func == (left: Self, right: Self) -> Bool {
        left.isNegative == right.isNegative && left.significand == right.significand
            && left.exponent == right.exponent && left.moreDigits == right.moreDigits
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(isNegative)
        hasher.combine(significand)
        hasher.combine(exponent)
        hasher.combine(moreDigits)
    }
}

extension WrittenDecimal {
    /// Powers of ten that a `Double` holds exactly.
    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// The nearest `Double`, if one step of arithmetic gives it: both operands are exact, so only the result is rounded.
    var double: Double? {
        guard moreDigits.isEmpty, significand <= 1 << 53 else { return nil }
        let magnitude: Double
        switch exponent {
        case 0...22: magnitude = Double(significand) * Self.powersOfTen[Int(exponent)]
        case -22..<0: magnitude = Double(significand) / Self.powersOfTen[Int(-exponent)]
        default: return nil
        }
        return isNegative ? -magnitude : magnitude
    }

    /// Whether any `Double` of usual size gives these digits back: it is good for fifteen.
    var isShortEnoughForDouble: Bool {
        moreDigits.isEmpty && significand < 1_000_000_000_000_000 && (-290...290).contains(exponent)
    }

    /// Whether there are more digits than any `Double` is written with.
    var isTooLongForDouble: Bool {
        !moreDigits.isEmpty || significand >= 100_000_000_000_000_000
    }

    /// The value as an integer, if it is whole and fits.
    func integer<Integer: FixedWidthInteger>() -> Integer? {
        guard exponent >= 0, exponent < 20 else { return nil }
        var magnitude = significand
        let zeros = repeatElement(UInt8(ascii: "0"), count: Int(exponent))
        for digits in [moreDigits, Array(zeros)] {
            for digit in digits {
                let (product, isTooLarge) = magnitude.multipliedReportingOverflow(by: 10)
                let (sum, isTooLargeAfterAll) = product.addingReportingOverflow(UInt64(digit &- UInt8(ascii: "0")))
                guard !isTooLarge, !isTooLargeAfterAll else { return nil }
                magnitude = sum
            }
        }
        guard isNegative else { return Integer(exactly: magnitude) }
        return magnitude <= 1 << 63 ? Integer(exactly: Int64(bitPattern: 0 &- magnitude)) : nil
    }
}
