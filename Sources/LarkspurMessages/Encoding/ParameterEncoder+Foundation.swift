#if Foundation || canImport(Darwin)
    extension ParameterEncoder {
        /// Returns a `URLRequest` with the parameters, for routers that use Foundation. Without parameters, returns the
        /// request unchanged.
        public func encode<Parameters: Encodable & Sendable>(
            _ parameters: Parameters?, into request: URLRequest
        ) throws -> URLRequest {
            guard let parameters else { return request }
            var outgoing = try request.asOutgoingRequest()
            let method = outgoing.method
            try encode(parameters, into: &outgoing)
            if let problem = outgoing.problem { throw problem }
            switch outgoing.body {
            case .none, .data: break
            case .file, .stream:
                throw RequestError(.encodingFailed, "a URLRequest cannot carry a body that is read while it is sent")
            }
            let encoded = outgoing.urlRequest
            var result = request
            (result.url, result.httpBody) = (encoded.url, encoded.httpBody)
            if outgoing.method != method { result.httpMethod = outgoing.method.rawValue }
            result.allHTTPHeaderFields = encoded.allHTTPHeaderFields
            return result
        }
    }
#endif
