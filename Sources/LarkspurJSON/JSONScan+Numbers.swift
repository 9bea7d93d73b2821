extension JSONScan {
    @inline(__always)
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, at index: Int) throws -> Integer {
        let node = nodes[index]
        if node.kind == .integer, let value = Integer(exactly: Int64(bitPattern: node.extra)) { return value }
        return try otherInteger(type, index)
    }

    /// Returns the value of a number that is not a short integer, but may be whole: `1e3`, `1.0` or one with 19 digits.
    @inline(never)
    private func otherInteger<Integer: FixedWidthInteger>(_ type: Integer.Type, _ index: Int) throws -> Integer {
        let node = nodes[index]
        guard node.kind.isNumber else { throw mismatch(type, index) }
        if node.kind == .double, case let value = Double(bitPattern: node.extra) {
            guard let whole = Integer(exactly: value) else { throw unrepresentable(type, index) }
            return whole
        }
        let decimal = JSONDecimal(tape.digits(index))
        guard let whole = decimal.integer(type) else { throw unrepresentable(type, index) }
        return whole
    }

    @inline(__always)
    func double(at index: Int) throws -> Double {
        let node = nodes[index]
        if node.kind == .double { return Double(bitPattern: node.extra) }
        return try otherDouble(index, Double.self)
    }

    func float(at index: Int) throws -> Float {
        let double = try otherDouble(index, Float.self)
        // The nearest `Float` to the nearest `Double` is the nearest to the number, unless that `Double` is halfway
        // between two of type `Float`. `Float` has 29 bits less than `Double`, or fewer bits if it is tiny.
        let isHalfway = double.bitPattern & 0x0FFF_FFFF == 0 || double.magnitude < 0x1p-125
        var float = Float(double)
        if isHalfway, kind(index).isNumber, kind(index) != .integer {
            float = Float(String(decoding: tape.digits(index), as: UTF8.self)) ?? float
        } else if kind(index) == .integer {
            float = Float(Int64(bitPattern: nodes[index].extra))
        }
        guard float.isFinite || !double.isFinite else { throw unrepresentable(Float.self, index) }
        return float
    }

    @inline(never)
    private func otherDouble(_ index: Int, _ type: Any.Type) throws -> Double {
        let node = nodes[index]
        switch node.kind {
        case .integer: return Double(Int64(bitPattern: node.extra))
        case .double: return Double(bitPattern: node.extra)
        case .number:
            let value = JSONDecimal(tape.digits(index)).double
            guard value.isFinite else { throw unrepresentable(type, index) }
            return value
        case .plain, .unicode, .escaped:
            if case .convertFromString(let positive, let negative, let nan) = options.nonConformingFloatDecodingStrategy
            {
                let text = tape.string(index)
                if text == positive { return .infinity }
                if text == negative { return -.infinity }
                if text == nan { return .nan }
            }
            throw mismatch(type, index)
        default: throw mismatch(type, index)
        }
    }

    func decimal(at index: Int) throws -> Decimal {
        guard kind(index).isNumber else { throw mismatch(Decimal.self, index) }
        if kind(index) == .integer { return Decimal(Int64(bitPattern: nodes[index].extra)) }
        let text = String(decoding: tape.digits(index), as: UTF8.self)
        guard let value = Decimal(string: text, locale: nil), !value.isNaN else {
            throw unrepresentable(Decimal.self, index)
        }
        return value
    }
}
