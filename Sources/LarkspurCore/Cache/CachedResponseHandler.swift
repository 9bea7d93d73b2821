/// A type that decides whether the session's cache stores a response, and in which form.
///
///     struct NoErrorPages: CachedResponseHandler {
///         func answer(to response: CacheableResponse) async -> CacheableResponse? {
///             response.head.status == 200 ? response : nil
///         }
///     }
///
/// The handler is called on the request's own task, for each response that the cache has received completely and may
/// store. A request that is cancelled before the handler's answer stores nothing.
public protocol CachedResponseHandler: Sendable {
    /// Returns the response to store, changed or not; nil if it is not to be stored.
    func answer(to response: CacheableResponse) async -> CacheableResponse?
}

/// A response that the cache may store, for a ``CachedResponseHandler``.
public struct CacheableResponse: Sendable {
    /// The request.
    public let request: OutgoingRequest
    /// The head of the response. A field that is changed here is changed in the stored response.
    public var head: ResponseHead
    /// The body as the server sent it, with its content codings; nil if the body is not in memory, as for a download or
    /// a stream. Bytes that are set here are stored in its place.
    public var body: Data?
}

/// A handler of cached responses that calls a closure.
///
///     request.cacheResponse(using: .modify { response in
///         response.head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Cache-Control", value: "max-age=60")])
///     })
public struct ResponseCacher: CachedResponseHandler {
    /// The closure that decides about a response.
    public typealias Answer = @Sendable (CacheableResponse) async -> CacheableResponse?

    private let answer: Answer

    /// Creates a handler that calls the closure.
    public init(_ answer: @escaping Answer) { self.answer = answer }

    public func answer(to response: CacheableResponse) async -> CacheableResponse? { await answer(response) }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// A handler that stores each response as it is, which is the default. Use it for a request whose session has
    /// another handler.
    public static var cache: Self { ResponseCacher { $0 } }

    /// A handler that stores no response.
    public static var doNotCache: Self { ResponseCacher { _ in nil } }

    /// Returns a handler that changes the response by the closure and stores it.
    public static func modify(_ change: @escaping @Sendable (inout CacheableResponse) async -> Void) -> Self {
        ResponseCacher { response in
            var response = response
            await change(&response)
            return response
        }
    }
}

extension HTTPCache {
    /// Removes all entries of a URL. Responses to requests that are in flight are not stored either. Does nothing if
    /// the URL is not valid.
    public func remove(_ url: any URLConvertible) {
        if let url = try? url.asRequestURL() { remove(url) }
    }
}
