extension JSON {
    /// Creates an object from a dictionary. Its members are sorted by key, because a dictionary has no order.
    ///
    /// The values can be Booleans, strings, numbers of all types, `NSNumber`, `NSNull`, ``JSON``, optionals of these
    /// types, and arrays and dictionaries of these types. Other values fail with `.encodingFailed`. Dates fail too,
    /// because services differ in their date formats.
    public init(_ members: [String: any Sendable]) throws(RequestError) {
        var reader = ValueReader()
        self = try reader.object(members)
    }

    /// Creates an array. Its elements can have the types that the initializer for dictionaries accepts as values.
    public init(_ elements: [any Sendable]) throws(RequestError) {
        var reader = ValueReader()
        self = try reader.array(elements)
    }
}

/// Converts values whose types are known only at run time.
private struct ValueReader {
    /// The path of the current value, for error messages.
    private var path: [String] = []

    mutating func array(_ elements: [Any]) throws(RequestError) -> JSON {
        var result: [JSON] = []
        for (index, element) in elements.enumerated() { result.append(try value(element, at: index.description)) }
        return .array(result)
    }

    mutating func object(_ members: [String: Any]) throws(RequestError) -> JSON {
        var result: JSON.Object = [:]
        for (key, member) in members.sorted(by: { $0.key < $1.key }) {
            result[adding: key] = try value(member, at: key)
        }
        return .object(result)
    }

    private mutating func value(_ value: Any, at key: String) throws(RequestError) -> JSON {
        path.append(key)
        defer { path.removeLast() }
        guard path.count < JSON.maximumDepth else { throw refused("is nested deeper than JSON.maximumDepth") }
        let value = (value as? any Wrapping)?.content ?? value
        if let scalar = try scalar(value) { return scalar }
        if let elements = value as? [Any] { return try array(elements) }
        if let members = value as? [String: Any] { return try object(members) }
        throw refused("is a \(type(of: value)), which JSON does not support; convert it to a string or a number")
    }

    private func scalar(_ value: Any) throws(RequestError) -> JSON? {
        // Foundation's types come before `Bool`, because any `NSNumber` of 0 or 1 can be cast to `Bool`.
        if FoundationValue.isNumber(value) {
            guard let number = FoundationValue.json(ofNumber: value) else { throw unrepresentable }
            return number
        }
        switch value {
        case let value as JSON: return value
        case let value as Bool: return .bool(value)
        case let value as String: return .string(value)
        case let value as any StringProtocol: return .string(String(value))
        case let value as any BinaryInteger: return JSON(value)
        // The value is converted to text and then to `Double`. A direct conversion would turn the `Float` 0.1 into the
        // `Double` 0.10000000149011612.
        case let value as any BinaryFloatingPoint: return try number(Double("\(value)") ?? .nan)
        case let value as Decimal: return value.isNaN ? try number(.nan) : try? JSON(text: "\(value)")
        default: return FoundationValue.isNull(value) ? .null : nil
        }
    }

    private func number(_ value: Double) throws(RequestError) -> JSON {
        guard value.isFinite else { throw unrepresentable }
        return JSON(value)
    }

    private var unrepresentable: RequestError { refused("is a number that JSON cannot represent") }

    private func refused(_ reason: String) -> RequestError {
        RequestError(.encodingFailed, "the value at \(path.joined(separator: ".")) \(reason)")
    }
}

/// An `Optional` whose type is known only at run time.
private protocol Wrapping {
    var content: Any { get }
}

extension Optional: Wrapping {
    fileprivate var content: Any { map { ($0 as? any Wrapping)?.content ?? $0 } ?? JSON.null }
}
