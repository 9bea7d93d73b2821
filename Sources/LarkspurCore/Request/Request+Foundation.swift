#if Foundation || canImport(Darwin)
    extension Request {
        /// The last hop's response as a Foundation value, created on each access; nil until the response's head has
        /// arrived.
        public var response: HTTPURLResponse? {
            guard let hop = handle.core.read({ $0.lastHop }), let head = hop.head else { return nil }
            return head.httpURLResponse(url: hop.request.url)
        }
    }
#endif
