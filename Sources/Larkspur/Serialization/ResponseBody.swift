/// Changes a response's body before it is serialized; not called for an empty one.
public protocol DataPreprocessor: Sendable {
    /// The body to be serialized in place of this one; what it throws is the serializer's failure.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// `.passthrough` is the same.
    public init() {}
    public func preprocess(_ data: Data) -> Data { data }
}

/// Takes away the line that some servers put in front of JSON so that no page can run it as a script: `)]}',`.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    /// `.googleXSSI` is the same.
    public init() {}

    public func preprocess(_ data: Data) -> Data {
        let guardLine = Data(")]}',\n".utf8)
        return data.starts(with: guardLine) ? data.dropFirst(guardLine.count) : data
    }
}

/// Takes the members that are null away from JSON, at every level, for types to which a missing key means something else.
public struct NullRemovingPreprocessor: DataPreprocessor {
    /// `.removingNulls` is the same.
    public init() {}

    public func preprocess(_ data: Data) throws -> Data { try JSON(data: data).removingNulls().data() }
}

extension DataPreprocessor where Self == NullRemovingPreprocessor {
    /// Takes null members away from JSON.
    public static var removingNulls: Self { NullRemovingPreprocessor() }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Leaves the body as it is.
    public static var passthrough: Self { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Takes the line `)]}',` away.
    public static var googleXSSI: Self { GoogleXSSIPreprocessor() }
}

/// A type that has a value for a response without a body.
public protocol EmptyResponse {
    /// The value for a response without a body.
    static func emptyValue() -> Self
}

/// What is decoded where a response has nothing to say beyond that it went well.
public struct Empty: EmptyResponse, Codable, Hashable, Sendable {
    /// The only value.
    public static let value = Empty()
    public static func emptyValue() -> Empty { value }
    /// The only value, as decoders make it.
    public init() {}
}

extension Optional: EmptyResponse {
    public static func emptyValue() -> Wrapped? { nil }
}

/// How a serializer that needs a body comes by one.
struct ResponseBody: Sendable {
    let preprocessor: any DataPreprocessor
    let emptyResponseCodes: Set<Int>
    let emptyRequestMethods: Set<HTTPMethod>

    /// The body, or nil if there is none and none was to be expected.
    func data(of exchange: CompletedExchange) throws -> Data? {
        if let data = exchange.data, !data.isEmpty { return try preprocessor.preprocess(data) }
        let isExpected =
            exchange.head.map { emptyResponseCodes.contains($0.status) } == true
            || exchange.request.map { emptyRequestMethods.contains($0.method) } == true
        if isExpected { return nil }
        throw RequestError(.emptyBody, "the response has no body to make a value of")
    }
}

extension Set<Int> {
    /// The status codes of responses that have no body: 204 and 205.
    public static let emptyResponseCodes: Set<Int> = [204, 205]
}

extension Set<HTTPMethod> {
    /// The methods whose responses have no body: HEAD.
    public static let emptyRequestMethods: Set<HTTPMethod> = [.head]
}
