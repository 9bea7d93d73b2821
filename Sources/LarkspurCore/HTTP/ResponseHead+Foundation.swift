#if Foundation || canImport(Darwin)
    extension ResponseHead {
        /// Returns the head as a Foundation value. The values of repeated fields are joined with commas.
        package func httpURLResponse(url: RequestURL) -> HTTPURLResponse? {
            guard let url = URL(string: url.text) else { return nil }
            return HTTPURLResponse(url: url, statusCode: status, httpVersion: version, headerFields: headers.dictionary)
        }
    }

    extension Request {
        /// The last hop's response as a Foundation value, created on each access; nil until the response's head has
        /// arrived.
        public var response: HTTPURLResponse? {
            guard let hop = handle.core.read({ $0.lastHop }), let head = hop.head else { return nil }
            return head.httpURLResponse(url: hop.request.url)
        }
    }

    extension DataResponse {
        /// The response head as `HTTPURLResponse`, created on each access.
        public var response: HTTPURLResponse? {
            guard let head, let request else { return nil }
            return head.httpURLResponse(url: request.url)
        }
    }
#endif
