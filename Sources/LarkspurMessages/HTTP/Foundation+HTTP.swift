#if Foundation || canImport(Darwin)
    // Extensions of Foundation's types with the library's types, for routers and adapters that use Foundation.

    extension URLRequest {
        /// Creates a request from its parts. Throws if the URL is not valid.
        public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders = [:]) throws {
            guard let url = URL(string: try url.asRequestURL().text) else {
                throw RequestError(.invalidURL, "Foundation does not accept this URL")
            }
            self.init(url: url)
            self.method = method
            self.headers = headers
        }

        /// The method of the request. Foundation changes some method names to upper case.
        public var method: HTTPMethod {
            get { HTTPMethod(rawValue: httpMethod ?? "GET") }
            set { httpMethod = newValue.rawValue }
        }

        /// The header fields, sorted by name, because Foundation keeps neither their order nor repeated fields.
        public var headers: HTTPHeaders {
            get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
            set { allHTTPHeaderFields = newValue.dictionary }
        }
    }

    extension HTTPURLResponse {
        /// The header fields, sorted by name, because Foundation keeps neither their order nor repeated fields.
        /// ``ResponseHead`` keeps both.
        public var headers: HTTPHeaders {
            HTTPHeaders(
                allHeaderFields.compactMap { name, value in
                    (name as? String).map { HTTPHeader(name: $0, value: "\(value)") }
                }
            ).sorted()
        }
    }
#endif
