#if Foundation || canImport(Darwin)
    extension DataResponse {
        /// The response head as `HTTPURLResponse`, created on each access.
        public var response: HTTPURLResponse? {
            guard let head, let request else { return nil }
            return head.httpURLResponse(url: request.url)
        }
    }
#endif
