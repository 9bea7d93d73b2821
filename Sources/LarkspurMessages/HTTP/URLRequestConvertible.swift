#if Foundation || canImport(Darwin)
    /// A type that can be converted to a complete request through Foundation's `URLRequest`, for example a case of a
    /// router's enumeration, or a prepared `URLRequest`.
    ///
    /// The request gets the method, URL, header fields, body and timeout of the `URLRequest`. A `URLRequest` keeps
    /// neither the order nor the repetition of header fields. Conform to ``OutgoingRequestConvertible`` if these
    /// matter.
    public protocol URLRequestConvertible: OutgoingRequestConvertible {
        /// Returns the request; called for each attempt.
        func asURLRequest() throws -> URLRequest
    }

    extension URLRequestConvertible {
        public func asOutgoingRequest() throws -> OutgoingRequest {
            let request = try asURLRequest()
            var outgoing = OutgoingRequest(url: try request.requestURL())
            outgoing.urlRequest = request
            return outgoing
        }
    }

    extension URLRequest: URLRequestConvertible {
        public func asURLRequest() -> URLRequest { self }

        func requestURL() throws -> RequestURL {
            guard let url else { throw RequestError(.invalidURL, "the URLRequest has no URL") }
            return try url.asRequestURL()
        }
    }
#endif
