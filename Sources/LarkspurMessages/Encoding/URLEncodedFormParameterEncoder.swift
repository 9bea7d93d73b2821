/// A parameter encoder for `application/x-www-form-urlencoded`, in the query or in the body.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// The part of a request that contains the form.
    public enum Destination: Sendable, Hashable {
        /// The query for GET, HEAD and DELETE, whose bodies many servers ignore; the body for all other methods.
        case methodDependent
        /// The query, for any method.
        case queryString
        /// The body, for any method.
        case httpBody
    }

    /// An encoder with the default options and destination.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// The encoder that writes the form.
    public let encoder: URLEncodedFormEncoder
    /// The part of the request that contains the form.
    public let destination: Destination

    /// Creates an encoder with the form's options and its destination.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent
    ) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Appends the form to the URL's query, or sets the body. An encoder that sets the body also sets the content type,
    /// unless the request already has a content type.
    ///
    /// A form without pairs leaves the URL unchanged.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        if isForQuery(of: request.method) {
            // A modifier may have set an invalid URL. `problem` contains the error, which setting the URL would clear.
            if let problem = request.problem { throw problem }
            request.url = try request.url.appendingQuery(encoder.encode(parameters))
        } else {
            request.setBody(
                try encoder.encode(parameters), contentType: "application/x-www-form-urlencoded; charset=utf-8")
        }
    }

    private func isForQuery(of method: HTTPMethod) -> Bool {
        switch destination {
        case .methodDependent: [.get, .head, .delete].contains(method)
        case .queryString: true
        case .httpBody: false
        }
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// An encoder that writes a form to the query for GET, HEAD and DELETE, and to the body for other methods.
    public static var urlEncodedForm: Self { .default }
    /// Returns an encoder with the form's options and its destination.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Self.Destination = .methodDependent
    ) -> Self {
        Self(encoder: encoder, destination: destination)
    }
}
