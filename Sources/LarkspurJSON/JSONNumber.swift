extension JSON {
    /// A JSON number with all its digits.
    ///
    /// An integer is stored as `Int64`, and any other number as `Double`. If that type would lose digits, the number is
    /// stored as its text in the document. So identifiers and amounts do not change when they are read and written
    /// again.
    ///
    /// Integers are compared digit by digit, other numbers as the nearest `Double`. Numbers beyond the range of
    /// `Double` are compared by their text. So `1 == 1.0` and `0.1 == 0.1000000000000000000001`, but `1e30` differs
    /// from the same integer written with all its 31 digits.
    public struct Number: Sendable {
        private enum Storage: Hashable {
            case integer(Int64)
            case double(Double)  // always finite
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

    /// Creates a number from text that the parser has checked.
    ///
    /// - Parameter isShort: Whether the number has so few digits that any normal `Double` keeps all of them.
    init(checked text: String, isInteger: Bool, isShort: Bool) {
        if isInteger {
            storage = Int64(text).map(Storage.integer) ?? .text(text)
        } else if let double = Double(text), isShort && double.isNormal || double.description == text {
            storage = .double(double)
        } else {
            storage = .text(text)
        }
    }

    /// The nearest `Double`: zero for a number too close to zero, nil for a number beyond the range of `Double`.
    public var double: Double? {
        switch storage {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .text(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        }
    }

    /// Returns the number as an integer of the type, or nil if it is not whole or does not fit.
    ///
    /// A number with a fraction or an exponent is converted only up to 2^53, because beyond that `Double` cannot
    /// represent every integer.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type) -> Integer? {
        switch storage {
        case .integer(let value): Integer(exactly: value)
        case .double(let value): value.magnitude <= 0x1p53 ? Integer(exactly: value) : nil
        case .text(let text): Integer(text)
        }
    }
}

extension JSON.Number: Hashable, CustomStringConvertible {
    /// The form by which numbers are compared. Equal numbers have equal forms.
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
