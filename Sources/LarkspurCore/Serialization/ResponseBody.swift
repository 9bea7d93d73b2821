/// A change of a response's body before it is serialized. The built-in serializers do not call it for an empty body.
public protocol DataPreprocessor: Sendable {
    /// Returns the changed body, which is then serialized. If this function throws, the serializer fails with the
    /// thrown error.
    func preprocess(_ data: Data) throws -> Data
}

/// A preprocessor that does not change the body.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Creates the preprocessor; `.passthrough` is equivalent.
    public init() {}
    public func preprocess(_ data: Data) -> Data { data }
}

/// A preprocessor that removes the line `)]}',` at the start of the body. Some servers send this line before JSON, so
/// that a web page cannot run the JSON as a script.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    /// Creates the preprocessor; `.googleXSSI` is equivalent.
    public init() {}

    public func preprocess(_ data: Data) -> Data {
        let guardLine = Data(")]}',\n".utf8)
        return data.starts(with: guardLine) ? data.dropFirst(guardLine.count) : data
    }
}

/// A preprocessor that removes members with the value null from JSON objects at all levels. Use it for types that can
/// decode a missing key but not a null.
public struct NullRemovingPreprocessor: DataPreprocessor {
    /// Creates the preprocessor; `.removingNulls` is equivalent.
    public init() {}

    public func preprocess(_ data: Data) throws -> Data { try JSON(data: data).removingNulls().data() }
}

extension DataPreprocessor where Self == NullRemovingPreprocessor {
    /// A preprocessor that removes null members of JSON objects.
    public static var removingNulls: Self { NullRemovingPreprocessor() }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// A preprocessor that does not change the body.
    public static var passthrough: Self { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// A preprocessor that removes the line `)]}',` at the start of the body.
    public static var googleXSSI: Self { GoogleXSSIPreprocessor() }
}

/// A type that has a value for a response without a body.
public protocol EmptyResponse {
    /// Returns the value for a response without a body.
    static func emptyValue() -> Self
}

/// The value of a successful response without content.
public struct Empty: EmptyResponse, Codable, Hashable, Sendable {
    /// The only value.
    public static let value = Empty()
    public static func emptyValue() -> Empty { value }
    /// Creates a value. All values of this type are equal.
    public init() {}
}

extension Optional: EmptyResponse {
    public static func emptyValue() -> Wrapped? { nil }
}

/// The settings of a serializer for its input: the preprocessor, and the cases in which an empty body is allowed.
package struct ResponseBody: Sendable {
    let preprocessor: any DataPreprocessor
    let emptyResponseCodes: Set<Int>
    let emptyRequestMethods: Set<HTTPMethod>
    /// Checks the response before its body is used, for example its content type; nil accepts every response.
    var check: (@Sendable (CompletedExchange) throws -> Void)?

    /// Returns the preprocessed body. For an empty body, returns nil if the status or the method allows an empty body,
    /// and otherwise throws `.emptyBody`.
    func data(of exchange: CompletedExchange) throws -> Data? {
        try check?(exchange)
        if let data = exchange.data, !data.isEmpty { return try preprocessor.preprocess(data) }
        let isExpected =
            exchange.head.map { emptyResponseCodes.contains($0.status) } == true
            || exchange.request.map { emptyRequestMethods.contains($0.method) } == true
        if isExpected { return nil }
        let advice =
            exchange.head.map { "; to accept it, add \($0.status) to the serializer's emptyResponseCodes" } ?? ""
        throw RequestError(.emptyBody, "the response's body is empty, but the serializer needs a body\(advice)")
    }
}

extension Set<Int> {
    /// The statuses of responses that have no body: 204 and 205.
    public static let emptyResponseCodes: Set<Int> = [204, 205]
}

extension Set<HTTPMethod> {
    /// The methods whose responses have no body: HEAD.
    public static let emptyRequestMethods: Set<HTTPMethod> = [.head]
}
