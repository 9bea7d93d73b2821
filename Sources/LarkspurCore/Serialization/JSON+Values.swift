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

    /// Creates a value of Foundation's types: a `[String: Any]`, a `[Any]`, an `NSDictionary`, an `NSArray`, or a
    /// single value that these can contain. Examples are the result of `JSONSerialization` and parameters for
    /// AFNetworking.
    ///
    ///     let fields: [String: Any] = ["name": name, "tags": tags]
    ///     let saved = try await session.request(url, parameters: JSON(foundation: fields))
    ///
    /// - Throws: `RequestError` with the code `.encodingFailed` for a value that JSON cannot represent, such as a
    ///   `Date`, or a dictionary with keys that are not strings. The message has the path of the value.
    public init(foundation value: Any) throws(RequestError) {
        var reader = ValueReader()
        self = try reader.root(value)
    }
}

/// Converts values whose types are known only at run time.
private struct ValueReader {
    /// The path of the current value, for error messages.
    private var path: [String] = []

    mutating func root(_ value: Any) throws(RequestError) -> JSON { try converted(value) }

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
        return try converted(value)
    }

    private mutating func converted(_ value: Any) throws(RequestError) -> JSON {
        guard path.count < JSON.maximumDepth else { throw refused("is nested deeper than JSON.maximumDepth") }
        let value = (value as? any Wrapping)?.content ?? value
        if let scalar = try scalar(value) { return scalar }
        if let elements = value as? [Any] { return try array(elements) }
        if let members = value as? [String: Any] { return try object(members) }
        if let elements = FoundationValue.elements(of: value) { return try array(elements) }
        if let members = FoundationValue.members(of: value) {
            guard let named = members as? [String: Any] else {
                throw refused("is a dictionary with keys that are not strings")
            }
            return try object(named)
        }
        if value is any AnyDictionary { throw refused("is a dictionary with keys that are not strings") }
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
        default: return FoundationValue.isNull(value) ? .null : FoundationValue.text(of: value).map(JSON.string)
        }
    }

    private func number(_ value: Double) throws(RequestError) -> JSON {
        guard value.isFinite else { throw unrepresentable }
        return JSON(value)
    }

    private var unrepresentable: RequestError { refused("is a number that JSON cannot represent") }

    private func refused(_ reason: String) -> RequestError {
        let place = path.isEmpty ? "" : " at \(path.joined(separator: "."))"
        return RequestError(.encodingFailed, "the value\(place) \(reason)")
    }
}

/// A `Dictionary` whose types are known only at run time.
private protocol AnyDictionary {}

extension Dictionary: AnyDictionary {}

/// An `Optional` whose type is known only at run time.
private protocol Wrapping {
    var content: Any { get }
}

extension Optional: Wrapping {
    fileprivate var content: Any { map { ($0 as? any Wrapping)?.content ?? $0 } ?? JSON.null }
}
