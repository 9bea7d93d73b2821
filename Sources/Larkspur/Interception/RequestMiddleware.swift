/// Wraps each attempt of a request: inside retries, outside redirects.
///
/// Middleware can change the request before it calls `next`, and the response afterwards. It can return a response
/// without calling `next`, call it again, or measure the time. The session's first middleware is the outermost; a
/// request's own middleware is inside the session's.
///
///     struct Stopwatch: RequestMiddleware {
///         func intercept(
///             _ exchange: Exchange, next: @Sendable (Exchange) async throws -> ExchangeResponse
///         ) async throws -> ExchangeResponse {
///             let start = ContinuousClock.now
///             defer { print(exchange.request, start.duration(to: .now)) }
///             return try await next(exchange)
///         }
///     }
///
/// Middleware must not sleep: a delay before another attempt is the task of a ``RequestRetrier``. An attempt's timeout
/// ends the work that `next` waits for. Code that does not return is abandoned only by the total timeout or by a
/// cancel.
public protocol RequestMiddleware: Sendable {
    /// Sends the request through the remaining middleware and the network.
    ///
    /// Call it from the middleware that received it, one call at a time. Modules that enable
    /// `NonisolatedNonsendingByDefault` need this name to write its type.
    typealias Next = @concurrent @Sendable (Exchange) async throws -> ExchangeResponse

    /// Returns the response: the response of `next`, changed or not, or a response of the middleware itself.
    ///
    /// - Parameter next: Sends the request, follows redirects, undoes content codings and returns the response. The
    ///   body is live if the request receives its body in parts, else buffered. It throws the error that the request
    ///   fails with if the middleware does not handle it. A second call sends the request again, if its body can be
    ///   sent twice. The rest of an earlier live body is discarded.
    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse
}

/// A request on its way through the middleware, with its context.
public struct Exchange: Sendable {
    /// The request to send. If middleware changes it, it is checked again, so that an invalid request is never sent.
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
    /// The body, with the content codings of the head undone unless the request disabled that.
    public var body: Body
    /// The hop that the response came from; nil if the middleware made the response.
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

    /// The header fields of the head. A new value replaces all of them.
    public var headers: HTTPHeaders {
        get { head.headers }
        set {
            head = ResponseHead(
                status: head.status, version: head.version, fields: Array(newValue), bodyIsDecoded: head.bodyIsDecoded)
        }
    }

    /// Returns the complete body.
    ///
    /// This consumes a live body: to return the response afterwards, set `body` to the data.
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
    /// The closure that handles an exchange; the second argument continues with the request.
    public typealias Intercept = @Sendable (Exchange, Next) async throws -> ExchangeResponse

    private let intercept: Intercept

    /// Creates middleware that calls the closure.
    public init(_ intercept: @escaping Intercept) { self.intercept = intercept }

    public func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        try await intercept(exchange, next)
    }
}

extension Request {
    /// Adds middleware inside the session's middleware and the request's earlier ones. It takes effect with the next
    /// attempt.
    @discardableResult
    public func middleware(_ middleware: any RequestMiddleware) -> Self {
        handle.core.set("middleware") { $0.middleware.append(middleware) }
        return self
    }
}
