extension JSON {
    /// A JSON number: the decimal that was written, however long.
    ///
    /// Identifiers and amounts must survive being read and written again. So integers of 64 bits are kept as such, other
    /// numbers as a `Double` if that writes the same decimal, and all the rest (`0.1000000000000000000001`, `1e999`, an
    /// integer of thirty digits) as the text that stood in the document.
    ///
    /// Numbers are equal when their decimals are: `1`, `1.0` and `10e-1` are, `9007199254740993` and `9007199254740992.0`
    /// are not. Exponents of more than 18 digits are compared as written.
    public struct Number: Sendable {
        /// The forms are exclusive: `.unsigned` is above `Int64.max`, and `.text` holds what no other form can.
        private enum Storage: Sendable {
            case integer(Int64)
            case unsigned(UInt64)
            case double(Double)
            case text(String)
        }

        private let storage: Storage

        private init(_ storage: Storage) {
            self.storage = storage
        }
    }
}

extension JSON.Number {
    /// An integer of any width.
    public init(_ value: some BinaryInteger) {
        if let integer = Int64(exactly: value) {
            self.init(.integer(integer))
        } else if let unsigned = UInt64(exactly: value) {
            self.init(.unsigned(unsigned))
        } else {
            self.init(.text(String(value)))
        }
    }

    /// A floating-point number; nil for an infinity or a NaN.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        self.init(.double(value))
    }

    /// A number whose spelling the parser has checked.
    init(checked bytes: UnsafeBufferPointer<UInt8>) {
        let decimal = WrittenDecimal(bytes)
        // Most numbers do without.
        var text: String { String(decoding: bytes, as: UTF8.self) }
        if decimal.isPlainInteger, decimal.significand != 0 {
            if let integer = Int64(text) {
                self.init(.integer(integer))
            } else if let unsigned = UInt64(text) {
                self.init(.unsigned(unsigned))
            } else {
                self.init(.text(text))
            }
        } else if !decimal.isTooLongForDouble, let double = decimal.double ?? Double(text), double.isFinite,
            decimal.isShortEnoughForDouble || WrittenDecimal(double.description) == decimal
        {
            self.init(.double(bytes.first == UInt8(ascii: "-") ? -double.magnitude : double))
        } else {
            self.init(.text(text))
        }
    }

    /// The nearest `Double`: zero for one too small, nil for one too large.
    public var double: Double? {
        switch storage {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        case .text(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        }
    }

    /// The same number as an integer type of at most 64 bits, if it is whole and fits.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type) -> Integer? {
        switch storage {
        case .integer(let value): Integer(exactly: value)
        case .unsigned(let value): Integer(exactly: value)
        // Further out a Double no longer equals the decimal it stands for.
        case .double(let value) where value.magnitude < 0x1p53: Integer(exactly: value)
        case .double, .text: WrittenDecimal(description).integer()
        }
    }
}

extension JSON.Number: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        switch (left.storage, right.storage) {
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        default: WrittenDecimal(left.description) == WrittenDecimal(right.description)
        }
    }

    public func hash(into hasher: inout Hasher) {
        let exact: Int64? =
            switch storage {
            case .integer(let value): value
            case .double(let value): Int64(exactly: value)
            case .unsigned, .text: nil
            }
        if let exact, exact.magnitude < 1 << 53 {
            hasher.combine(exact)
        } else {
            hasher.combine(WrittenDecimal(description))
        }
    }
}

extension JSON.Number: LosslessStringConvertible {
    /// The number of that text, which must be a JSON number and nothing else.
    public init?(_ text: String) {
        var text = text
        let number = text.withUTF8 { bytes -> JSON.Number? in
            var parser = JSONParser(bytes, maximumDepth: 0, duplicateKeys: .keepLast)
            guard let number = try? parser.number(), parser.isAtEnd else { return nil }
            return number
        }
        guard let number else { return nil }
        self = number
    }

    /// The number as JSON.
    public var description: String {
        switch storage {
        case .integer(let value): value.description
        case .unsigned(let value): value.description
        case .double(let value): value.description
        case .text(let text): text
        }
    }
}
