/// The policy for what follows a hop: whether its response is final, or another hop is needed, and with which request.
///
/// All rules about hops are in this type. The rules are pure functions of the hops so far.
package enum HopPolicy {
    package enum Verdict: Sendable {
        case deliver
        /// Sends another hop with this request, which is a redirect or a correction (``corrected``) that the client
        /// makes by itself.
        case follow(OutgoingRequest, isRedirect: Bool)
        /// A redirect that must not be followed. A redirect handler may still return another request.
        case refuse(RequestError)
        case fail(RequestError)
    }

    /// Returns the URL to use in place of a redirect's target.
    package typealias Target = (RequestURL) throws(RequestError) -> RequestURL

    /// Returns whether another hop follows a response with this head. If so, the body of the response is discarded.
    package static func isAnswered(_ head: ResponseHead, to request: OutgoingRequest) -> Bool {
        isRedirect(head, options: request.options) || corrected(request, after: head) != nil
    }

    static func isRedirect(_ head: ResponseHead, options: RequestOptions) -> Bool {
        guard case .follow = options.redirects ?? .standard else { return false }
        return [301, 302, 303, 307, 308].contains(head.status) && head["Location"] != nil
    }

    /// Returns the verdict on the last of these hops.
    ///
    /// - Parameters:
    ///   - hops: All hops of the attempt so far.
    ///   - target: Returns the URL to use in place of a redirect's target.
    ///   - adjust: Changes the request that follows a redirect, for example its cookies.
    package static func verdict(
        on hops: [Hop], target: Target = { $0 }, adjust: (inout OutgoingRequest) -> Void = { _ in }
    ) -> Verdict {
        guard let hop = hops.last, let head = hop.head else { return .deliver }
        if let next = corrected(hop.request, after: head) { return .follow(next, isRedirect: false) }
        guard isRedirect(head, options: hop.request.options), let location = head["Location"],
            case .follow(let limit) = hop.request.options.redirects ?? .standard
        else { return .deliver }
        // A hop that repeats a request after a 417 or a 401 does not count as a redirect.
        let redirects = hops.count { $0.head.map { isRedirect($0, options: hop.request.options) } ?? false }
        guard redirects <= limit else {
            return .fail(
                RequestError(
                    .tooManyRedirects, "redirected more than \(limit) times; raise options.redirects if that is right"))
        }
        do {
            var next = try redirected(hop.request, status: head.status, to: location, target)
            adjust(&next)
            guard hops.contains(where: { isSame($0.request, next) }) else { return .follow(next, isRedirect: true) }
            return .refuse(
                RequestError(.redirectLoop, "the server redirects in a circle, back to \(next.url.withoutQuery)"))
        } catch {
            return .refuse(error)
        }
    }

    /// Returns a corrected request after a response that the client can handle by itself; nil for other responses.
    /// After a 417, the corrected request has no `Expect`. After a 401, the corrected request has a credential. If the
    /// server cannot continue the partial file of a download, the corrected request asks for the whole file.
    private static func corrected(_ request: OutgoingRequest, after head: ResponseHead) -> OutgoingRequest? {
        // The server does not support `Expect: 100-continue` (RFC 9110, section 10.1.1).
        if head.status == 417, request.headers["Expect"] != nil, request.body.isReplayable {
            var next = request
            next.headers.remove(name: "Expect")
            next.options.expectsContinueFrom = nil
            return next
        }
        if head.status == 401, let next = request.responder?.answer(to: head, of: request) { return next }
        // The response does not continue the partial file, so the next hop asks for the whole file.
        guard request.options.resumption?.answer(in: head) == .unusable else { return nil }
        var next = request
        next.startOver()
        return next
    }

    /// Returns the request that follows a redirect, by RFC 9110, section 15.4.
    private static func redirected(
        _ request: OutgoingRequest, status: Int, to location: String, _ target: Target
    ) throws(RequestError) -> OutgoingRequest {
        var next = request
        next.url = try Self.url(of: location, from: request, target)
        let becomesGet =
            status == 303 ? request.method != .head : (status == 301 || status == 302) && request.method == .post
        if becomesGet {
            next.method = .get
            next.body = .none
            next.headers = HTTPHeaders(next.headers.filter { !isOfBody($0.name.lowercased()) })
        }
        guard next.body.isReplayable else {
            throw RequestError(
                .bodyNotReplayable,
                "the server redirects with status \(status), but the request's body can be sent only once")
        }
        if next.url.origin != request.url.origin { next.removeFieldsOfOrigin() }
        return next
    }

    /// Returns whether a field with this lower-case name describes the request's body.
    private static func isOfBody(_ name: String) -> Bool {
        let others = ["digest", "expect", "last-modified", "repr-digest", "trailer", "transfer-encoding"]
        return name.hasPrefix("content-") || others.contains(name)
    }

    private static func url(
        of location: String, from request: OutgoingRequest, _ target: Target
    ) throws(RequestError) -> RequestURL {
        let base = request.url
        var url: RequestURL
        do {
            url = try base.resolving(location, idna: PlatformIDNA.ascii).withoutUserInfo
            if let upgrade = request.options.upgrade { url = upgrade.httpURL(url) }
        } catch {
            throw RequestError(
                .redirectRefused, "the Location field of a redirect is not a valid URL", underlying: error)
        }
        guard url.isHTTP, url.host != nil else {
            throw RequestError(.redirectRefused, "a redirect leads to the scheme \(url.scheme), which is not followed")
        }
        url = try target(url)
        guard url.isHTTPS || !base.isHTTPS || request.options.allowsInsecureRedirects == true else {
            throw RequestError(
                .redirectRefused,
                "a redirect leads from https to http, which anyone on the network path can read and change; to allow "
                    + "it, set options.allowsInsecureRedirects to true")
        }
        guard url.fragment == nil, let fragment = base.fragment else { return url }
        return (try? url.resolving("#\(fragment)")) ?? url
    }

    /// Returns the request of a redirect handler, checked and completed as `RedirectAnswer.follow(_:)` describes.
    static func checked(
        _ request: OutgoingRequest, for redirect: Redirect, target: Target = { $0 },
        adjust: (inout OutgoingRequest) -> Void = { _ in }
    ) throws(RequestError) -> OutgoingRequest {
        var next = request
        let url = try target(next.url)
        if url != next.url { next.url = url }
        let shown = (try? redirect.proposal) ?? redirect.request
        next.options.addMissing(from: shown.options)  // the handler may have created a new request
        if next.headers["Range"] == shown.headers["Range"] { next.options.resumption = shown.options.resumption }
        if next.url.origin != shown.url.origin { next.removeFieldsOfOrigin(foundIn: shown.headers) }
        guard next.body.isReplayable || redirect.hops.allSatisfy(\.request.body.isReplayable) else {
            throw RequestError(
                .bodyNotReplayable, "a redirect handler wants a body to be sent again that can be sent only once")
        }
        adjust(&next)
        try next.complete()
        return next
    }

    /// Returns whether two requests have the same target. Cookies are compared, too, because a server may set a cookie
    /// and then redirect to the same URL. That is no redirect loop.
    private static func isSame(_ lhs: OutgoingRequest, _ rhs: OutgoingRequest) -> Bool {
        lhs.method == rhs.method && lhs.url.origin == rhs.url.origin && lhs.url.target == rhs.url.target
            && lhs.headers["Cookie"] == rhs.headers["Cookie"]
    }
}

extension OutgoingRequest {
    /// Removes the fields that must not be sent to another origin: credentials, cookies, and all other fields whose
    /// values logs hide.
    ///
    /// This is the one rule about them, for redirects, for links to pages and uploads, and for middleware.
    ///
    /// - Parameter fields: If not nil, only those fields are removed that are also in this collection.
    mutating func removeFieldsOfOrigin(foundIn fields: HTTPHeaders? = nil) {
        // Browsers can send tokens to a WebSocket only among the names of subprotocols.
        let names = ["Host", "Sec-WebSocket-Protocol"] + options.confidentialHeaders
        headers = HTTPHeaders(
            headers.filter { field in
                let isOfOrigin =
                    field.isSecret || Redaction.isCredential(field.name)
                    || names.contains { HTTPHeaders.areEqual($0, field.name) }
                return !isOfOrigin || fields?.contains(field) == false
            })
    }
}

extension RequestOptions.Redirects {
    fileprivate static let standard = Self.follow(limit: 20)
}

extension CompletedExchange {
    /// The redirects that the last attempt followed, in order.
    public var redirects: [Hop] {
        past.last?.hops.dropLast().filter { hop in
            hop.head.map { HopPolicy.isRedirect($0, options: hop.request.options) } ?? false
        } ?? []
    }
}
