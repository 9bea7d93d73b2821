/// A type that wraps each attempt of a request. A retry calls the middleware again; a redirect does not.
///
/// Middleware can change the request before it calls `next`, and change the response that `next` returns. It can also
/// return a response without calling `next`, call `next` again, or measure the time. The session's first middleware is
/// the outermost. The session's middleware wraps the request's own middleware.
///
///     struct Stopwatch: RequestMiddleware {
///         func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
///             let start = ContinuousClock.now
///             defer { print(exchange.request, start.duration(to: .now)) }
///             return try await next(exchange)
///         }
///     }
///
/// Middleware must not sleep before another attempt: that delay is the task of a ``RequestRetrier``. When the attempt's
/// timeout passes, `next` throws an error. If the middleware's own code does not return, only the total timeout or a
/// cancel ends the request. Neither of them waits for the middleware.
public protocol RequestMiddleware: Sendable {
    /// A function that sends the request through the remaining middleware and the network.
    ///
    /// Call the function only while the middleware that received it runs, and make one call at a time. In a module that
    /// enables `NonisolatedNonsendingByDefault`, use this name to declare such a parameter: without `@concurrent`, the
    /// same function type means another type there.
    typealias Next = @concurrent @Sendable (Exchange) async throws -> ExchangeResponse

    /// Returns the attempt's response: the response of `next`, possibly changed, or a response that the middleware
    /// creates.
    ///
    /// - Parameter next: Sends the request, follows redirects, decodes content codings and returns the response. The
    ///   response of a stream or a download has a live body; any other response has a buffered body. If `next` throws
    ///   an error and the middleware does not catch it, the attempt fails with that error. A second call sends the
    ///   request again, and discards the unread rest of an earlier live body. It throws if the request's body can be
    ///   sent only once.
    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse
}

/// The request that middleware sends, with its context.
public struct Exchange: Sendable {
    /// The request to send. The library checks a request that middleware has changed, so that an invalid request is
    /// never sent.
    public var request: OutgoingRequest
    /// The identifier of the request, the same in all its attempts.
    public let requestID: RequestID
    /// The session that made the request.
    public let session: Session
    /// The number of the attempt, starting at 1.
    public let attempt: Int
}

/// The response that middleware receives and returns.
public struct ExchangeResponse: Sendable {
    /// The body of a response: complete, or still being received.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Body: Sendable {
        /// The complete body.
        case buffered(Data)
        /// A body that is still being received.
        case live(LiveBody)
    }

    /// The status, the version and the header fields.
    public var head: ResponseHead
    /// The body. Its content codings are decoded, unless the request has disabled decoding.
    public var body: Body
    /// The hop whose response this is; nil if middleware has created the response.
    let hop: Hop?

    init(of hop: Hop?, head: ResponseHead, body: Body) {
        self.head = head
        self.body = body
        self.hop = hop
    }

    /// Creates a response without asking the server.
    public init(head: ResponseHead, body: Body = .buffered(Data())) { self.init(of: nil, head: head, body: body) }

    /// Creates a response from its parts, without asking the server.
    public init(status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(head: ResponseHead(status: status, fields: Array(headers)), body: .buffered(body))
    }

    /// The header fields of the head. Setting the property replaces all fields.
    public var headers: HTTPHeaders {
        get { head.headers }
        set {
            head = ResponseHead(
                status: head.status, version: head.version, fields: Array(newValue), bodyIsDecoded: head.bodyIsDecoded)
        }
    }

    /// Returns the complete body.
    ///
    /// A live body from the network can be read only once. To return the response after this call, set `body` to the
    /// returned data.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Throws: ``RequestError/Code/contentTooLarge`` if the body has more bytes.
    public func data(upTo limit: Int) async throws -> Data {
        var all = Data()
        switch body {
        case .buffered(let data): all = data
        case .live(let chunks):
            for try await chunk in chunks {
                all += chunk
                if all.count > limit { break }
            }
        }
        guard all.count <= limit else {
            throw RequestError(.contentTooLarge, "the body has more bytes than the limit of \(limit)")
        }
        return all
    }
}

/// Middleware that calls a closure.
///
///     ClosureMiddleware { exchange, next in
///         var response = try await next(exchange)
///         response.headers.update(name: "X-Seen", value: "yes")
///         return response
///     }
public struct ClosureMiddleware: RequestMiddleware {
    /// The closure that handles an exchange. Its second argument sends the request.
    public typealias Intercept = @Sendable (Exchange, Next) async throws -> ExchangeResponse

    private let intercept: Intercept

    /// Creates middleware that calls the closure.
    public init(_ intercept: @escaping Intercept) { self.intercept = intercept }

    public func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        try await intercept(exchange, next)
    }
}

extension Request {
    /// Adds middleware that is called inside the session's middleware and inside the middleware that was added earlier.
    /// The added middleware is called from the next attempt on.
    @discardableResult
    public func middleware(_ middleware: any RequestMiddleware) -> Self {
        handle.core.set("middleware") { $0.middleware.append(middleware) }
        return self
    }
}
