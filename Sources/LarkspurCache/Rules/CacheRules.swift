/// The rules of RFC 9111 for a cache: what is stored, how long it is fresh, and when it is served.
///
/// All rules are pure functions. The engine around them is `CachingTask`.
package struct CacheRules: Sendable {
    /// Whether the cache serves several users.
    let isShared: Bool
    /// The lifetime of a response without an explicit one, as a fraction of the time since it was last modified.
    let heuristicFraction: Double
    /// The seconds after its expiry for which a response may be served, if it does not say so itself: while it is
    /// validated in the background, and instead of an error.
    let (staleWhileRevalidate, staleIfError): (Double?, Double?)

    /// The decision of the cache about a request.
    package enum Decision: Equatable {
        /// Serves the stored response.
        case serve(CacheOutcome, age: Double)
        /// Asks the server. The stored response, if there is one, may become valid again.
        case ask
        /// Fails the request, which may only be answered from the cache.
        case refuse
    }

    // MARK: Storing

    /// The statuses with a meaning for a cache that this one keeps to.
    private static let understood: Set<Int> = [
        200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413,
        414, 415, 417, 421, 422, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505,
    ]
    /// The statuses whose responses may be stored without an explicit lifetime (RFC 9110, section 15.1).
    private static let heuristic: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// Returns whether the response to a GET may be stored (RFC 9111, section 3).
    ///
    /// - Parameter control: The directives of the response, if they are known already.
    package func mayStore(
        _ head: ResponseHead, control: CacheControl? = nil, to request: TransportRequest, _ wishes: CacheControl
    ) -> Bool {
        let control = control ?? CacheControl(head.values(for: "Cache-Control"))
        guard request.method == "GET", head.status >= 200, head.status != 206, head.status != 304, !wishes.noStore,
            Self.permitsStoring(control, head.status), !head.values(for: "Vary").flatMap(\.listed).contains("*"),
            Self.isDelimited(head)
        else { return false }
        if isShared {
            let isAllowed = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
            guard !control.isPrivate, isAllowed || !request.fields.contains(where: \.isAuthorization) else {
                return false
            }
        }
        return control.isPublic || control.isPrivate || control.maxAge != nil || head["Expires"] != nil
            || isShared && control.sharedMaxAge != nil || Self.heuristic.contains(head.status)
    }

    /// Returns whether `no-store` and `must-understand` permit to store a response with the status.
    private static func permitsStoring(_ control: CacheControl, _ status: Int) -> Bool {
        control.mustUnderstand ? understood.contains(status) : !control.noStore
    }

    /// Returns whether the end of the body can be told from a connection that broke. In HTTP/1, a server can mark the
    /// end by closing the connection, also without `Connection: close`. A part of such a body would be stored as the
    /// whole.
    private static func isDelimited(_ head: ResponseHead) -> Bool {
        if head.status == 204 || head.contentLength != nil || head["Transfer-Encoding"] != nil { return true }
        guard head.version == "HTTP" else { return !head.version.hasPrefix("HTTP/1") }
        // The version is not known. A server that closes the connection after the body says so in HTTP/1.1.
        return !head.values(for: "Connection").flatMap(\.listed).contains { $0.lowercased() == "close" }
    }

    // MARK: Freshness

    /// Returns the time in seconds for which the response is fresh (RFC 9111, section 4.2.1).
    package func lifetime(of stored: StoredHead) -> Double {
        let (head, control) = (stored.head, stored.control)
        if isShared, let age = control.sharedMaxAge { return age }
        if let age = control.maxAge { return age }
        let date = head.date("Date") ?? stored.received
        let expirations = head.values(for: "Expires")
        if !expirations.isEmpty {
            let times = expirations.map { ResponseHead.time($0) ?? 0 }
            return max(0, (times.min() ?? 0) - date)
        }
        guard Self.heuristic.contains(head.status) || control.isPublic, let modified = head.date("Last-Modified")
        else { return 0 }
        // Old servers say with `Pragma` what newer ones say with `Cache-Control`.
        if head.values(for: "Cache-Control").isEmpty, head["Pragma"]?.lowercased().contains("no-cache") == true {
            return 0
        }
        return max(0, (date - modified) * heuristicFraction)
    }

    /// Whether a stored response must never be served stale.
    private func forbidsStale(_ control: CacheControl) -> Bool {
        control.noCache || control.mustRevalidate
            || isShared && (control.proxyRevalidate || control.sharedMaxAge != nil)
    }

    // MARK: Serving

    /// Returns what to do with the stored response of a request (RFC 9111, section 4).
    package func decide(
        _ stored: StoredHead?, _ wishes: CacheControl, _ instructions: CacheInstructions, at now: Double
    ) -> Decision {
        guard let stored, instructions.policy != .reload, now >= stored.received - 1 else {
            return instructions.policy == .onlyCached || wishes.onlyIfCached ? .refuse : .ask
        }
        let age = stored.age(at: now)
        let staleness = age - lifetime(of: stored)
        let (isFresh, control) = (staleness < 0, stored.control)
        let mayBeStale = !forbidsStale(control)
        switch instructions.policy {
        case .onlyCached:
            guard !control.noCache, isFresh || mayBeStale else { return .refuse }
            return .serve(isFresh ? .hit(age: .seconds(age)) : .stale(because: .allowed), age: age)
        // A response that never changes need not be validated while it is fresh (RFC 8246).
        case .revalidate where !isFresh || !control.isImmutable: return .ask
        default: break
        }
        let asks = wishes.noCache || instructions.isRepeated || control.noCache || age > wishes.maxAge ?? .infinity
        if !asks {
            if isFresh, -staleness >= wishes.minFresh ?? 0 { return .serve(.hit(age: .seconds(age)), age: age) }
            // A request that wants a response to be fresh for some time never gets a stale one.
            if !isFresh, mayBeStale, wishes.minFresh == nil {
                var accepted = wishes.maxStale ?? -1
                if case .preferCached(let limit) = instructions.policy { accepted = max(accepted, limit / .seconds(1)) }
                if staleness <= accepted { return .serve(.stale(because: .allowed), age: age) }
                let window = control.staleWhileRevalidate ?? staleWhileRevalidate ?? -1
                // In the background there is no handler that could decide about the newer response.
                if staleness <= window, !wishes.onlyIfCached, instructions.draft == nil {
                    return .serve(.stale(because: .revalidating), age: age)
                }
            }
        }
        return wishes.onlyIfCached ? .refuse : .ask
    }

    /// Returns whether a stored response may replace a failure (RFC 5861, section 4).
    package func mayReplaceFailure(
        _ stored: StoredHead, _ wishes: CacheControl, _ instructions: CacheInstructions, at now: Double
    ) -> Bool {
        guard instructions.policy != .reload, !forbidsStale(stored.control), !wishes.noCache else { return false }
        let window =
            stored.control.staleIfError ?? wishes.staleIfError ?? staleIfError
        return window.map { stored.age(at: now) - lifetime(of: stored) <= $0 } ?? false
    }

    /// Returns whether a status tells of a failure for which a stored response may be served.
    package static func isFailure(_ status: Int) -> Bool { [500, 502, 503, 504].contains(status) }

    /// Returns whether a hop failed because the server could not be reached. Failures of trust, and those of the
    /// request itself, are not among them.
    package static func isFailure(_ code: TransportError.Code) -> Bool {
        let codes: [TransportError.Code] = [
            .nameLookup, .connectionRefused, .unreachable, .connectionLost, .proxyFailed, .timedOut, .truncated,
            .protocolViolation,
        ]
        return codes.contains(code)
    }

    // MARK: Validation

    /// Returns the fields that ask whether the stored response is still valid (RFC 9111, section 4.3.1); empty if it
    /// has no validator.
    package static func conditions(for stored: StoredHead) -> [HTTPHeader] {
        var fields: [HTTPHeader] = []
        if let tag = stored.head["ETag"] { fields.append(HTTPHeader(name: "If-None-Match", value: tag)) }
        if let date = stored.head["Last-Modified"] {
            fields.append(HTTPHeader(name: "If-Modified-Since", value: date))
        }
        return fields
    }

    /// Returns whether a 304 is about the stored response, because it has the same validator or none (RFC 9111,
    /// section 4.3.4).
    package static func validates(_ head: ResponseHead, _ stored: StoredHead) -> Bool {
        let (new, old) = (head["ETag"], stored.head["ETag"])
        if let new, let old { return opaque(new) == opaque(old) }
        guard let date = head["Last-Modified"] else { return new == nil }
        return stored.head["Last-Modified"].map { $0 == date } ?? (new == nil)
    }

    /// Returns an entity tag without the mark of a weak one.
    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    /// Returns whether the stored response may stay in the cache with the fields of a 304, or of a response to a HEAD.
    package func mayKeep(_ updated: StoredHead, after new: ResponseHead, _ wishes: CacheControl) -> Bool {
        let control = CacheControl(new.values(for: "Cache-Control"))
        return !wishes.noStore && Self.permitsStoring(control, updated.head.status)
            && !updated.selection.variesWithEverything && !(isShared && control.isPrivate)
    }

    /// Returns whether a response that is not stored itself makes the validated one obsolete. After other failures the
    /// stored response may still be useful.
    package static func supersedes(_ status: Int) -> Bool { 200..<300 ~= status || status == 404 || status == 410 }

    /// Returns whether the response to a HEAD describes the stored response (RFC 9111, section 4.3.5).
    package static func describes(_ head: ResponseHead, _ stored: StoredHead) -> Bool {
        let hasSameValidators = ["ETag", "Last-Modified", "Content-Length"].allSatisfy { name in
            guard let new = head[name], let old = stored.head[name] else { return true }
            return new == old
        }
        return hasSameValidators && head.status == stored.head.status
    }

    /// Returns the URLs whose stored responses are no longer valid after this response to an unsafe request (RFC 9111,
    /// section 4.4).
    package static func invalidated(by head: ResponseHead, to request: TransportRequest) -> [RequestURL] {
        guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
        let others = ["Location", "Content-Location"].compactMap { name in
            head[name].flatMap { try? request.url.resolving($0) }
        }
        return [request.url] + others.filter { $0.origin == request.url.origin }
    }

    private static let safe: Set<String> = [
        "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH",
    ]

    /// Returns whether a method changes nothing at the server.
    package static func isSafe(_ method: String) -> Bool { safe.contains(method) }
}

extension HTTPHeader {
    var isAuthorization: Bool { HTTPHeaders.areEqual(name, "Authorization") }
}
