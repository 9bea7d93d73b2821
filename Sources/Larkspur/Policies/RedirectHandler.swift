/// Is asked about every redirect before it is followed.
///
///     struct WithinOurHosts: RedirectHandler {
///         func answer(to redirect: Redirect) async throws -> RedirectAnswer {
///             try redirect.proposal.url.host?.hasSuffix(".example.com") == true ? .follow : .doNotFollow
///         }
///     }
///
/// It is asked as soon as the response's head is there, on the request's own task. The limits of the attempt and of the
/// request hold meanwhile, and a cancel does not wait for it. What `options.redirects` does not follow, or not any
/// further, it is not asked about.
public protocol RedirectHandler: Sendable {
    /// Says what becomes of a redirect. What it throws is the underlying error of the request's `.redirectRefused`; a
    /// `RequestError` takes its place.
    func answer(to redirect: Redirect) async throws -> RedirectAnswer
}

/// A redirect that somebody is asked about.
public struct Redirect: Sendable {
    /// The head of the response that redirects.
    public let head: ResponseHead
    /// The request that it answers.
    public let request: OutgoingRequest
    /// The hops so far, the redirect's own last: that one is still under way, and has no metrics.
    public let hops: [Hop]
    let next: Result<OutgoingRequest, RequestError>

    /// The request that would be sent next: with the method that the status asks for, and without the fields that are for
    /// another origin.
    ///
    /// Where a redirect is not to be followed, it throws the reason: a `Location` that is no http or https URL, a loop, a
    /// way from https to http, a body that would be sent again and cannot be had again.
    public var proposal: OutgoingRequest {
        get throws(RequestError) { try next.get() }
    }
}

/// What becomes of a redirect.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RedirectAnswer: Sendable {
    /// The proposed request is sent; where there is none, the request fails with the reason.
    case follow
    /// The redirect is the response, its body included.
    case doNotFollow
    /// This request is sent.
    case modify(OutgoingRequest)

    /// This request is sent, checked as any other.
    ///
    /// It is sent as it is, with one exception: if it goes to another origin than the proposal, the fields of the proposal
    /// that are for one origin, and that it has taken over as they were, stay behind.
    public static func follow(_ request: OutgoingRequest) -> RedirectAnswer { .modify(request) }
}

/// A redirect handler of a closure.
///
///     Redirector { redirect in redirect.hops.count > 3 ? .doNotFollow : .follow }
public struct Redirector: RedirectHandler {
    /// Says what becomes of a redirect.
    public typealias Answer = @Sendable (Redirect) async throws -> RedirectAnswer

    private let answer: Answer

    /// A handler that asks the closure.
    public init(_ answer: @escaping Answer) { self.answer = answer }

    public func answer(to redirect: Redirect) async throws -> RedirectAnswer {
        try await answer(redirect)
    }
}

extension RedirectHandler where Self == Redirector {
    /// Follows redirects, as is done without a handler: for a request whose session has one.
    public static var follow: Self { Redirector { _ in .follow } }

    /// Has redirects be the response, wherever they lead.
    public static var doNotFollow: Self { Redirector { _ in .doNotFollow } }

    /// Follows redirects with the proposed request, changed by the closure.
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

extension Request {
    /// Has this handler asked about redirects in place of the session's. Redirects whose heads have come are not its
    /// business any more, so set it before the request starts.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        handle.core.set("redirect handler") { $0.redirectHandler = handler }
        return self
    }
}
