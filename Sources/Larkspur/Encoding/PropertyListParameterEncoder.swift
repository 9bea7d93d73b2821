/// Parameters as a property list body, for GET, HEAD and DELETE, too, as with ``JSONParameterEncoder``.
public struct PropertyListParameterEncoder: ParameterEncoder {
    private let encoder: PropertyListEncoder

    /// The encoder, whose format counts, is shared by all requests: do not change it afterwards.
    public init(encoder: PropertyListEncoder) { self.encoder = encoder }

    /// An encoder for a format: `.xml` or `.binary`; no other can be written.
    public init(format: PropertyListSerialization.PropertyListFormat = .xml) {
        encoder = PropertyListEncoder()
        encoder.outputFormat = format
    }

    /// Sets the body, and the content type if the request has none.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        do {
            request.setBody(try encoder.encode(parameters), contentType: "application/x-plist")
        } catch {
            throw RequestError.encoding("property list", error)
        }
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// A property list in XML.
    public static var propertyList: Self { Self() }
    /// A property list in XML or in binary.
    public static func propertyList(format: PropertyListSerialization.PropertyListFormat) -> Self {
        Self(format: format)
    }
}
