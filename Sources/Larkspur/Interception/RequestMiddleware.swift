/// Stands around the exchange: inside retries, outside redirects.
///
/// It may change the request before it calls `next`, and the response after that; answer without calling it; call it again;
/// or look at the clock before and after. The first one of the session is the outermost, a request's own are inside.
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
/// Every attempt goes through all of it. It must not sleep: to come again later is a retrier's business. An attempt's time
/// limit ends what `next` is waiting for; code that does not return is left behind by the total limit and by a cancel alone.
public protocol RequestMiddleware: Sendable {
    /// The rest of the way, to be called from the middleware that was given it, one call at a time. Modules that enable
    /// `NonisolatedNonsendingByDefault` need this name to write down its type.
    typealias Next = @concurrent @Sendable (Exchange) async throws -> ExchangeResponse

    /// Gives the response, of `next` or of its own.
    ///
    /// - Parameter next: Sends the request, follows redirects and gives the response, its content codings undone: with a
    ///   live body if the request's is taken as it comes, else with a buffered one. It throws what the request fails with
    ///   unless somebody mends it. Called again, it sends the request again, if its body can be had again, and what is
    ///   left of a live body from before is thrown away.
    func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse
}

/// The exchange that middleware stands around.
public struct Exchange: Sendable {
    /// What will be sent. It is checked again if it was changed: what must not be sent never is.
    public var request: OutgoingRequest
    /// Which request it is, the same for all its attempts.
    public let requestID: RequestID
    /// The session that the request was made by.
    public let session: Session
    /// Which attempt this is, from 1.
    public let attempt: Int
}

/// A response as middleware sees it and makes it.
public struct ExchangeResponse: Sendable {
    /// The body of a response, here already or under way.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Body: Sendable {
        /// All of it.
        case buffered(Data)
        /// As it comes.
        case live(LiveBody)
    }

    /// Status and fields.
    public var head: ResponseHead
    /// The body, never coded: whatever `Content-Encoding` the head names, it was undone, unless the request wanted otherwise.
    public var body: Body
    /// The hop that the response came from; nil for one of the middleware's own.
    let hop: Hop?

    init(of hop: Hop?, head: ResponseHead, body: Body) {
        self.head = head
        self.body = body
        self.hop = hop
    }

    /// A response of your own, which the server is not asked for.
    public init(head: ResponseHead, body: Body = .buffered(Data())) { self.init(of: nil, head: head, body: body) }

    /// A response of your own from its parts.
    public init(status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(head: ResponseHead(status: status, fields: Array(headers)), body: .buffered(body))
    }

    /// The head's fields; set, they take the place of all that were there.
    public var headers: HTTPHeaders {
        get { head.headers }
        set {
            head = ResponseHead(
                status: head.status, version: head.version, fields: Array(newValue), bodyIsDecoded: head.bodyIsDecoded)
        }
    }

    /// The whole body, if it has no more bytes than the limit; it fails with `.contentTooLarge` otherwise.
    ///
    /// That uses a live body up: to hand the response on, set `body` to the data.
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
            throw RequestError(.contentTooLarge, "the body has more than the \(limit) bytes that are to be collected")
        }
        return all
    }
}

/// Middleware of a closure.
///
///     ClosureMiddleware { exchange, next in
///         var response = try await next(exchange)
///         response.headers.update(name: "X-Seen", value: "yes")
///         return response
///     }
public struct ClosureMiddleware: RequestMiddleware {
    /// What middleware does; `next` is the rest of the way.
    public typealias Intercept = @Sendable (Exchange, Next) async throws -> ExchangeResponse

    private let intercept: Intercept

    /// Middleware that calls the closure.
    public init(_ intercept: @escaping Intercept) { self.intercept = intercept }

    public func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        try await intercept(exchange, next)
    }
}

extension Request {
    /// Adds middleware inside the session's and that added before; attempts that begin from now on go through it.
    @discardableResult
    public func middleware(_ middleware: any RequestMiddleware) -> Self {
        handle.core.set("middleware") { $0.middleware.append(middleware) }
        return self
    }
}
