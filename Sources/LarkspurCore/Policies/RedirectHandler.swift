/// A type that decides about each redirect before it is followed.
///
///     struct WithinOurHosts: RedirectHandler {
///         func answer(to redirect: Redirect) async throws -> RedirectAnswer {
///             try redirect.proposal.url.host?.hasSuffix(".example.com") == true ? .follow : .doNotFollow
///         }
///     }
///
/// The handler is called when the response's head has arrived, on the request's own task. Meanwhile the timeouts of the
/// attempt and the request continue, and a cancel does not wait for the handler. The handler is not called for a
/// redirect that `options.redirects` does not allow, or that exceeds the limit in `options.redirects`.
public protocol RedirectHandler: Sendable {
    /// Returns whether the redirect is followed, and with which request.
    ///
    /// - Throws: An error, which fails the request. A ``RequestError`` becomes the request's error. Any other error
    ///   becomes the underlying error of ``RequestError/Code/redirectRefused``.
    func answer(to redirect: Redirect) async throws -> RedirectAnswer
}

/// A redirect, for a ``RedirectHandler``.
public struct Redirect: Sendable {
    /// The head of the redirect response.
    public let head: ResponseHead
    /// The request that was redirected.
    public let request: OutgoingRequest
    /// The hops so far. The last hop is the redirect. This hop has no metrics yet, because it is still in flight.
    public let hops: [Hop]
    let next: Result<OutgoingRequest, RequestError>

    /// The request to send next, with the method that the status requires. If its origin differs from the previous
    /// origin, fields that are only for the previous origin are removed, such as credentials and cookies.
    ///
    /// - Throws: The reason why the redirect cannot be followed: a `Location` that is not an http or https URL, a loop,
    ///   a redirect from https to http, or a body that would have to be sent twice but cannot be.
    public var proposal: OutgoingRequest {
        get throws(RequestError) { try next.get() }
    }
}

/// The decision of a ``RedirectHandler``.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RedirectAnswer: Sendable {
    /// Sends the proposed request. If there is no proposed request, the request fails with the error of
    /// ``Redirect/proposal``.
    case follow
    /// Returns the redirect as the final response, including its body.
    case doNotFollow
    /// Sends this request; see ``follow(_:)``.
    case modify(OutgoingRequest)

    /// Returns the decision to send this request, after the usual checks of a request.
    ///
    /// The request is sent unchanged, with one exception. If its origin differs from the proposal's origin, fields that
    /// are only for the proposal's origin are removed, if they were copied unchanged from the proposal.
    public static func follow(_ request: OutgoingRequest) -> RedirectAnswer { .modify(request) }
}

/// A redirect handler that calls a closure.
///
///     Redirector { redirect in redirect.hops.count > 3 ? .doNotFollow : .follow }
public struct Redirector: RedirectHandler {
    /// The closure that decides about a redirect.
    public typealias Answer = @Sendable (Redirect) async throws -> RedirectAnswer

    private let answer: Answer

    /// Creates a handler that calls the closure.
    public init(_ answer: @escaping Answer) { self.answer = answer }

    public func answer(to redirect: Redirect) async throws -> RedirectAnswer {
        try await answer(redirect)
    }
}

extension RedirectHandler where Self == Redirector {
    /// A handler that follows redirects, which is the default. Use it for a request whose session has another handler.
    public static var follow: Self { Redirector { _ in .follow } }

    /// A handler that returns each redirect as the final response.
    public static var doNotFollow: Self { Redirector { _ in .doNotFollow } }

    /// Returns a handler that changes the proposed request by the closure and sends it.
    ///
    ///     request.redirect(using: .modify { request, _ in request.headers["X-Redirected"] = "yes" })
    public static func modify(
        _ change: @escaping @Sendable (inout OutgoingRequest, Redirect) async throws -> Void
    ) -> Self {
        Redirector { redirect in
            var request = try redirect.proposal
            try await change(&request, redirect)
            return .follow(request)
        }
    }
}
