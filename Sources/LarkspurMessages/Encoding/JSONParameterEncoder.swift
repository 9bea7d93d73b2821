/// A parameter encoder for a JSON body.
///
/// The encoder sets a body even for GET, HEAD and DELETE, because a query cannot express JSON. In contrast,
/// AFNetworking's serializer writes a query for these methods.
///
/// A ``JSON`` value keeps its digits and the order of its members, whichever encoder is used.
public struct JSONParameterEncoder: ParameterEncoder {
    /// An encoder for compact JSON: a ``JSON/Encoder`` with default options.
    public static let `default` = JSONParameterEncoder()
    /// An encoder for readable JSON, with line breaks and indentation.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)
    /// An encoder for JSON with sorted keys, so that equal parameters give equal bodies.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    private let encode: @Sendable (any Encodable & Sendable) throws -> Data
    private let formatting: @Sendable () -> JSONEncoder.OutputFormatting

    /// Creates an encoder that uses a ``JSON/Encoder``; one with default options by default.
    public init(encoder: JSON.Encoder = JSON.Encoder()) {
        encode = { try encoder.encode($0) }
        formatting = { encoder.outputFormatting }
    }

    /// Creates an encoder that uses a `JSONEncoder`. All requests share it, so do not change it afterwards.
    public init(encoder: JSONEncoder) {
        encode = { try encoder.encode($0) }
        formatting = { encoder.outputFormatting }
    }

    private init(formatting: JSONEncoder.OutputFormatting) {
        self.init(encoder: JSON.Encoder { $0.outputFormatting = formatting })
    }

    /// Sets the body. Also sets the content type, unless the request already has a content type.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        do {
            let data = try (parameters as? JSON)?.data(writingOptions) ?? encode(parameters)
            request.setBody(data, contentType: "application/json")
        } catch {
            throw RequestError.encoding("JSON", error)
        }
    }

    private var writingOptions: JSON.WritingOptions {
        var options: JSON.WritingOptions = []
        let formatting = formatting()
        if formatting.contains(.prettyPrinted) { options.insert(.prettyPrinted) }
        if formatting.contains(.sortedKeys) { options.insert(.sortedKeys) }
        return options
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// An encoder for a JSON body.
    public static var json: Self { .default }
    /// Returns an encoder for a JSON body that uses this ``JSON/Encoder``.
    public static func json(encoder: JSON.Encoder) -> Self { Self(encoder: encoder) }
    /// Returns an encoder for a JSON body that uses this `JSONEncoder`.
    public static func json(encoder: JSONEncoder) -> Self { Self(encoder: encoder) }
}
