/// Parameters as a JSON body.
///
/// That of GET, HEAD and DELETE, too, where AFNetworking's serializer makes a query instead: no query can say what JSON
/// does. A `JSON` value keeps its digits and the order of its members, which no encoder does.
public struct JSONParameterEncoder: ParameterEncoder {
    /// On one line, as `JSONEncoder` does by itself.
    public static let `default` = JSONParameterEncoder()
    /// On many lines, for people.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)
    /// With the keys of objects sorted, so that equal parameters make equal bodies.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    private let encoder: JSONEncoder

    /// The encoder is shared by all requests: do not change it afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) { self.encoder = encoder }

    private init(formatting: JSONEncoder.OutputFormatting) {
        encoder = JSONEncoder()
        encoder.outputFormatting = formatting
    }

    /// Sets the body, and the content type if the request has none.
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
    /// A JSON body.
    public static var json: Self { .default }
    /// A JSON body by an encoder of your own.
    public static func json(encoder: JSONEncoder) -> Self { Self(encoder: encoder) }
}
