extension JSONOutput {
    /// Returns the text of all values.
    func data() throws -> Data {
        if state.pointee.children.isEmpty, state.pointee.frames.isEmpty, !state.pointee.isTooDeep {
            return Data(state.pointee.text.buffer)
        }
        var result = JSONText()
        defer { result.free() }
        try finish(into: &result)
        return Data(result.buffer)
    }

    /// Appends a value. Returns false if the value has encoded nothing, for which an empty object is written.
    func write<Value: Encodable>(_ value: Value) throws -> Bool {
        let type = Value.self
        if type == String.self { return string(same(value)) }
        if type == Int.self { return word { $0.appendInteger(same(value) as Int) } }
        if type == Double.self { return try number(same(value) as Double) }
        if type == Bool.self { return word { $0.append(same(value) as Bool) } }
        if type == Float.self { return try number(same(value) as Float) }
        if type == [String].self { return array(same(value) as [String]) { _ = string($0) } }
        if type == [Int].self { return array(same(value) as [Int]) { number in _ = word { $0.appendInteger(number) } } }
        if type == [Double].self { return try array(same(value) as [Double]) { _ = try number($0) } }
        if type == Date.self { return try date(same(value)) }
        if type == Data.self { return try data(same(value)) }
        if type == URL.self { return string((same(value) as URL).absoluteString) }
        if type == Decimal.self { return try decimal(same(value)) }
        if type == JSON.self { return json(same(value)) }
        let keepsKeys = encoding.convertsKeys && type is any JSONStringKeys.Type
        return try encoded(keepsKeys: keepsKeys) { try value.encode(to: $0) }
    }

    /// Returns the value as its own type. A dynamic cast would be slow.
    @inline(__always)
    private func same<Value, Result>(_ value: Value) -> Result { unsafeBitCast(value, to: Result.self) }

    private func encoded(keepsKeys: Bool = false, _ encode: (any Swift.Encoder) throws -> Void) throws -> Bool {
        // Objects that contain each other would otherwise use up the stack, also as values without an array or object.
        guard state.pointee.depth <= Self.maximumDepth, state.pointee.frames.count < 2 * Self.maximumDepth else {
            throw tooDeep()
        }
        try encode(begin(keepsKeys: keepsKeys))
        defer { end() }
        return state.pointee.frames.last?.kind != Frame.Kind.none
    }

    @inline(__always)
    func word(_ append: (inout JSONText) -> Void) -> Bool {
        append(&state.pointee.text)
        return true
    }

    @inline(__always)
    func string(_ text: String) -> Bool {
        state.pointee.text.appendString(text, escapesSlashes: encoding.style.escapesSlashes)
        return true
    }

    func json(_ value: JSON) -> Bool {
        if !state.pointee.text.append(value, encoding.style, depth: state.pointee.depth) {
            state.pointee.isTooDeep = true
        }
        return true
    }

    /// Appends an array whose elements the closure appends. It is a frame, so that errors have an index in their path.
    @inline(__always)
    private func array<Element>(_ elements: [Element], _ append: (Element) throws -> Void) rethrows -> Bool {
        let index = Int(begin().index)
        open(.array, index)
        for element in elements {
            let count = state.pointee.frames[index].count
            state.pointee.text.separate(count, encoding.style, depth: state.pointee.depth)
            try append(element)
            state.pointee.frames[index].count = count &+ 1
        }
        end()
        return true
    }

    func number<Value: BinaryFloatingPoint & CustomStringConvertible & Sendable>(_ value: Value) throws -> Bool {
        if value.isFinite { return word { $0.appendNumber(value) } }
        let strategy = encoding.options.nonConformingFloatEncodingStrategy
        guard case .convertToString(let positive, let negative, let nan) = strategy else {
            throw unrepresentable(value, "\(value)")
        }
        return string(value.isNaN ? nan : value > 0 ? positive : negative)
    }

    @inline(never)
    private func unrepresentable(_ value: Any, _ name: String) -> EncodingError {
        let path = path(to: state.pointee.frames.count)
        return .invalidValue(value, .init(codingPath: path, debugDescription: "JSON cannot represent \(name)"))
    }

    private func decimal(_ value: Decimal) throws -> Bool {
        guard !value.isNaN else { throw unrepresentable(value, "NaN") }
        return word { $0.append(value.description) }
    }

    /// Appends the seconds or milliseconds of a date. The strategy for infinities and NaN is for numbers only, as in
    /// Foundation.
    private func time(_ value: Double) throws -> Bool {
        guard value.isFinite else { throw unrepresentable(value, "the date \(value)") }
        return try number(value)
    }

    private func date(_ date: Date) throws -> Bool {
        switch encoding.options.dateEncodingStrategy {
        case .deferredToDate: return try number(date.timeIntervalSinceReferenceDate)
        case .secondsSince1970: return try time(date.timeIntervalSince1970)
        case .millisecondsSince1970: return try time(1_000 * date.timeIntervalSince1970)
        case .iso8601: return string(date.formatted(.iso8601))
        case .custom(let encode): return try hasEncoded { try encode(date, $0) }
        #if canImport(Darwin)
            default:
                // Foundation on Apple's platforms has further strategies, such as `.formatted`.
                let encoder = JSONEncoder()
                encoder.dateEncodingStrategy = encoding.options.dateEncodingStrategy
                return string(try JSONDecoder().decode([String].self, from: encoder.encode([date])).first ?? "")
        #else
            @unknown default: return try hasEncoded { try date.encode(to: $0) }
        #endif
        }
    }

    private func data(_ data: Data) throws -> Bool {
        switch encoding.options.dataEncodingStrategy {
        case .base64: return string(data.base64EncodedString())
        case .custom(let encode): return try hasEncoded { try encode(data, $0) }
        case .deferredToData: return try hasEncoded { try data.encode(to: $0) }
        @unknown default: return try hasEncoded { try data.encode(to: $0) }
        }
    }

    /// Appends what the closure encodes, or an empty object.
    private func hasEncoded(_ encode: (any Swift.Encoder) throws -> Void) throws -> Bool {
        _ = try encoded(encode)
        return true
    }
}

/// A dictionary with strings as keys.
private protocol JSONStringKeys {}
extension Dictionary: JSONStringKeys where Key == String, Value: Encodable {}
