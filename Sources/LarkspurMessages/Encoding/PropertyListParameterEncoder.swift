#if Foundation || canImport(Darwin)
    /// A parameter encoder for a property list body. Like ``JSONParameterEncoder`` it sets a body even for GET, HEAD
    /// and DELETE.
    public struct PropertyListParameterEncoder: ParameterEncoder {
        private let encoder: PropertyListEncoder

        /// Creates an encoder that uses the given `PropertyListEncoder`. All requests share the given encoder, so do
        /// not change it afterwards.
        public init(encoder: PropertyListEncoder) { self.encoder = encoder }

        /// Creates an encoder for a format: `.xml` or `.binary`. Foundation cannot write other formats.
        public init(format: PropertyListSerialization.PropertyListFormat = .xml) {
            encoder = PropertyListEncoder()
            encoder.outputFormat = format
        }

        /// Sets the body. Also sets the content type, unless the request already has a content type.
        public func encode<Parameters: Encodable & Sendable>(
            _ parameters: Parameters, into request: inout OutgoingRequest
        ) throws {
            do {
                request.setBody(try encoder.encode(parameters), contentType: "application/x-plist")
            } catch {
                throw RequestError.encoding("a property list", error)
            }
        }
    }

    extension ParameterEncoder where Self == PropertyListParameterEncoder {
        /// An encoder for a property list in XML.
        public static var propertyList: Self { Self() }
        /// Returns an encoder for a property list in XML or in binary.
        public static func propertyList(format: PropertyListSerialization.PropertyListFormat) -> Self {
            Self(format: format)
        }
    }
#endif
