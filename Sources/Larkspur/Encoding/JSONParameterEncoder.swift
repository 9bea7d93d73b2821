/// A parameter encoder for a JSON body.
///
/// The encoder sets a body even for GET, HEAD and DELETE, because a query cannot express JSON. In contrast,
/// AFNetworking's serializer writes a query for these methods.
///
/// A ``JSON`` value keeps its digits and the order of its members. `JSONEncoder` would not keep them.
public struct JSONParameterEncoder: ParameterEncoder {
    /// An encoder for compact JSON, the default format of `JSONEncoder`.
    public static let `default` = JSONParameterEncoder()
    /// An encoder for readable JSON, with line breaks and indentation.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)
    /// An encoder for JSON with sorted keys, so that equal parameters give equal bodies.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    private let encoder: JSONEncoder

    /// Creates an encoder. All requests share the given `JSONEncoder`, so do not change it afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) { self.encoder = encoder }

    private init(formatting: JSONEncoder.OutputFormatting) {
        encoder = JSONEncoder()
        encoder.outputFormatting = formatting
    }

    /// Sets the body. Also sets the content type, unless the request already has a content type.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        do {
            let data = try (parameters as? JSON)?.data(writingOptions) ?? encoder.encode(parameters)
            request.setBody(data, contentType: "application/json")
        } catch {
            throw RequestError.encoding("JSON", error)
        }
    }

    private var writingOptions: JSON.WritingOptions {
        var options: JSON.WritingOptions = []
        if encoder.outputFormatting.contains(.prettyPrinted) { options.insert(.prettyPrinted) }
        if encoder.outputFormatting.contains(.sortedKeys) { options.insert(.sortedKeys) }
        return options
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// An encoder for a JSON body.
    public static var json: Self { .default }
    /// Returns an encoder for a JSON body that uses this `JSONEncoder`.
    public static func json(encoder: JSONEncoder) -> Self { Self(encoder: encoder) }
}
