extension JSON {
    /// A JSON number, with all the digits that were written.
    ///
    /// Identifiers and amounts must survive being read and written again. So an integer is kept as `Int64`, another
    /// number as `Double`, and as the text that stood in the document if those do not carry its digits.
    ///
    /// Integers are compared digit by digit, other numbers as the nearest `Double`, and those too large for one by
    /// their text: `1 == 1.0` and `0.1 == 0.1000000000000000000001`, but `1e30` is not the same integer written out.
    public struct Number: Sendable {
        private enum Storage: Hashable {
            case integer(Int64)
            case double(Double)  // finite
            case text(String)
        }

        private let storage: Storage
    }
}

extension JSON.Number {
    init(_ value: some BinaryInteger) {
        storage = Int64(exactly: value).map(Storage.integer) ?? .text(String(value))
    }

    init(_ value: Double) { storage = .double(value) }

    /// A number whose spelling the parser has checked; `isShort` promises that a normal `Double` gives its digits back.
    init(checked text: String, isInteger: Bool, isShort: Bool) {
        if isInteger {
            storage = Int64(text).map(Storage.integer) ?? .text(text)
        } else if let double = Double(text), isShort && double.isNormal || double.description == text {
            storage = .double(double)
        } else {
            storage = .text(text)
        }
    }

    /// The nearest `Double`: zero for a number too small, nil for one too large.
    public var double: Double? {
        switch storage {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .text(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        }
    }

    /// The same number as an integer type, if it is whole and fits.
    ///
    /// Of numbers written with a fraction or an exponent only those up to 2^53 do: past it a `Double` skips integers.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type) -> Integer? {
        switch storage {
        case .integer(let value): Integer(exactly: value)
        case .double(let value): value.magnitude <= 0x1p53 ? Integer(exactly: value) : nil
        case .text(let text): Integer(text)
        }
    }
}

extension JSON.Number: Hashable, CustomStringConvertible {
    /// The form that all equal numbers have in common.
    private var comparisonForm: Storage {
        switch storage {
        case .text(let text) where !text.utf8.contains { ".eE".utf8.contains($0) }: storage
        case .integer: storage
        case .double, .text: double.map { Int64(exactly: $0).map(Storage.integer) ?? .double($0) } ?? storage
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.comparisonForm == right.comparisonForm }
    public func hash(into hasher: inout Hasher) { hasher.combine(comparisonForm) }

    public var description: String {
        switch storage {
        case .integer(let value): value.description
        case .double(let value): value.description
        case .text(let text): text
        }
    }
}
