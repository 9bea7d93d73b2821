/// Parameters as `application/x-www-form-urlencoded`, in the query or in the body.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// Where the form goes.
    public enum Destination: Sendable, Hashable {
        /// The query of GET, HEAD and DELETE, whose bodies many servers ignore; the body of every other method.
        case methodDependent
        /// The query, whatever the method.
        case queryString
        /// The body, whatever the method.
        case httpBody
    }

    /// The default options and destination.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// What writes the form.
    public let encoder: URLEncodedFormEncoder
    /// Where the form goes.
    public let destination: Destination

    /// Parameters as a form, in the place that the destination names.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent
    ) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Appends the form to the query there is, or sets the body, and the content type if the request has none.
    ///
    /// A form without pairs leaves the URL as it is.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        if isForQuery(of: request.method) {
            // Setting the URL would forgive one that a modifier set and that was refused.
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
    /// A form in the query of GET, HEAD and DELETE, else in the body.
    public static var urlEncodedForm: Self { .default }
    /// A form by an encoder and at a place of your choice.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Self.Destination = .methodDependent
    ) -> Self {
        Self(encoder: encoder, destination: destination)
    }
}
