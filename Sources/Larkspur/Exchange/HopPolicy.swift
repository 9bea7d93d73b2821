/// Decides what follows a hop: whether its response is the answer or another hop is needed, and with which request.
///
/// All rules about hops live here and nowhere else. They are pure: a head and the requests so far in, a verdict out.
package enum HopPolicy {
    package enum Verdict: Sendable {
        case deliver
        /// Another hop: because of a redirect, or of something that is the client's to mend.
        case follow(OutgoingRequest, isRedirect: Bool)
        /// A redirect that must not be followed as it is; whoever is asked about redirects may know better.
        case refuse(RequestError)
        case fail(RequestError)
    }

    /// Whether a response with this head will not be delivered, known before its body comes so that the body can be
    /// kept away from everybody.
    package static func isAnswered(_ head: ResponseHead, to request: OutgoingRequest) -> Bool {
        isRedirect(head, options: request.options) || mended(request, after: head) != nil
    }

    static func isRedirect(_ head: ResponseHead, options: RequestOptions) -> Bool {
        guard case .follow = options.redirects ?? .standard else { return false }
        return [301, 302, 303, 307, 308].contains(head.status) && head["Location"] != nil
    }

    /// The verdict on a hop, given all hops of the attempt with the judged one last, and the jar's field `Cookie` for a URL.
    package static func verdict(on hops: [Hop], cookies: (RequestURL) -> String? = { _ in nil }) -> Verdict {
        guard let hop = hops.last, let head = hop.head else { return .deliver }
        if let next = mended(hop.request, after: head) { return .follow(next, isRedirect: false) }
        guard isRedirect(head, options: hop.request.options), let location = head["Location"],
            case .follow(let limit) = hop.request.options.redirects ?? .standard
        else { return .deliver }
        // Hops that a refused expectation or a challenge caused are none.
        let redirects = hops.count { $0.head.map { isRedirect($0, options: hop.request.options) } ?? false }
        guard redirects <= limit else {
            return .fail(
                RequestError(
                    .tooManyRedirects, "redirected more than \(limit) times; raise options.redirects if that is right"))
        }
        do {
            var next = try redirected(hop.request, status: head.status, to: location)
            next.renewCookies(cookies)
            guard hops.contains(where: { isSame($0.request, next) }) else { return .follow(next, isRedirect: true) }
            return .refuse(
                RequestError(.redirectLoop, "the server redirects in a circle, back to \(next.url.withoutQuery)"))
        } catch {
            return .refuse(error)
        }
    }

    /// The request as the client sends it once more by itself, if the head gives it a reason to.
    private static func mended(_ request: OutgoingRequest, after head: ResponseHead) -> OutgoingRequest? {
        // A server that knows no `Expect: 100-continue` gets the request without it (RFC 9110, section 10.1.1).
        if head.status == 417, request.headers["Expect"] != nil, request.body.isReplayable {
            var next = request
            next.headers.remove(name: "Expect")
            next.options.expectsContinueFrom = nil
            return next
        }
        // A challenge is answered if the request came with a credential that may.
        if head.status == 401, let next = request.options.authentication?.answer(to: head, of: request) { return next }
        // A server that has nothing that a file could be continued with is asked for all of it.
        guard request.options.resumption?.answer(in: head) == .unusable else { return nil }
        var next = request
        next.startOver()
        return next
    }

    /// The redirected request by RFC 9110, section 15.4.
    private static func redirected(
        _ request: OutgoingRequest, status: Int, to location: String
    ) throws(RequestError) -> OutgoingRequest {
        var next = request
        next.url = try target(of: location, from: request)
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

    /// Whether a field, its name in lower case, says something of the request's body.
    private static func isOfBody(_ name: String) -> Bool {
        let others = ["digest", "expect", "last-modified", "repr-digest", "trailer", "transfer-encoding"]
        return name.hasPrefix("content-") || others.contains(name)
    }

    private static func target(of location: String, from request: OutgoingRequest) throws(RequestError) -> RequestURL {
        let base = request.url
        let url: RequestURL
        do {
            url = try base.resolving(location, idna: PlatformIDNA.ascii).withoutUserInfo
        } catch {
            throw RequestError(.redirectRefused, "the Location field of a redirect is no URL", underlying: error)
        }
        guard url.isHTTP, url.host != nil else {
            throw RequestError(.redirectRefused, "a redirect leads to the scheme \(url.scheme), which is not followed")
        }
        guard url.isHTTPS || !base.isHTTPS || request.options.allowsInsecureRedirects == true else {
            throw RequestError(
                .redirectRefused,
                "a redirect leads from https to http, which anybody on the way can read and change; if that is right, "
                    + "set options.allowsInsecureRedirects to true")
        }
        guard url.fragment == nil, let fragment = base.fragment else { return url }
        return (try? url.resolving("#\(fragment)")) ?? url
    }

    /// What somebody has made of a redirect, as it may be sent: see `RedirectAnswer.follow(_:)`.
    static func checked(
        _ request: OutgoingRequest, for redirect: Redirect, cookies: (RequestURL) -> String? = { _ in nil }
    ) throws(RequestError) -> OutgoingRequest {
        var next = request
        let shown = (try? redirect.proposal) ?? redirect.request
        next.options.addMissing(from: shown.options)  // it may have been made anew
        if next.headers["Range"] == shown.headers["Range"] { next.options.resumption = shown.options.resumption }
        if next.url.origin != shown.url.origin { next.removeFieldsOfOrigin(foundIn: shown.headers) }
        guard next.body.isReplayable || redirect.hops.allSatisfy(\.request.body.isReplayable) else {
            throw RequestError(
                .bodyNotReplayable, "a redirect handler wants a body to be sent again that can be sent only once")
        }
        next.renewCookies(cookies)
        try next.complete()
        return next
    }

    /// Cookies count: servers set one and send the client back to where it came from, to see it again.
    private static func isSame(_ lhs: OutgoingRequest, _ rhs: OutgoingRequest) -> Bool {
        lhs.method == rhs.method && lhs.url.origin == rhs.url.origin && lhs.url.target == rhs.url.target
            && lhs.headers["Cookie"] == rhs.headers["Cookie"]
    }
}

extension OutgoingRequest {
    /// Puts what the jar has for this hop in place of what it had for the one before. A `Cookie` field of somebody else's
    /// stands; once another origin has cost it, the jar is asked.
    mutating func renewCookies(_ field: (RequestURL) -> String?) {
        let last = cookiesOfJar
        guard last != nil || headers["Cookie"] == nil else { return }
        let next = options.usesCookieJar == false ? nil : field(url)
        if next != last { cookiesOfJar = next }
    }

    /// Leaves out what is for one origin and never goes to another; of that only what is among these fields, if there
    /// are some.
    mutating func removeFieldsOfOrigin(foundIn fields: HTTPHeaders? = nil) {
        let names = ["Authorization", "Cookie", "Host", "Proxy-Authorization"] + options.confidentialHeaders
        headers = HTTPHeaders(
            headers.filter { field in
                let isOfOrigin = field.isSecret || names.contains { HTTPHeaders.areEqual($0, field.name) }
                return !isOfOrigin || fields?.contains(field) == false
            })
    }
}

extension RequestOptions.Redirects {
    fileprivate static let standard = Self.follow(limit: 20)
}
