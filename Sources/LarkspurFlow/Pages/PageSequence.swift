extension Session {
    /// The pages of a list, one after another.
    ///
    ///     for try await page in session.pages(of: [Repo].self, from: url, by: .linkHeader) { show(page) }
    ///
    /// Each page is a request of its own, with the session's interceptors, retries, credentials and limits, and its
    /// status is validated. The sequence sends a request when its page is asked for. An error ends it.
    ///
    /// If a page has another origin than the first one, its request has neither `headers` nor secret fields of the
    /// session's headers. A page that was requested before ends the sequence with `.pageLoop`, and one beyond the limit
    /// with `.tooManyPages`.
    ///
    /// - Parameters:
    ///   - type: The type of a page, decoded by the session's decoder.
    ///   - target: The URL of the first page.
    ///   - pagination: The rule that finds the next page.
    ///   - headers: The header fields of each request, in addition to the session's fields.
    ///   - ahead: Whether the next page is requested while the caller handles a page.
    ///   - limit: The maximum number of pages; 1,000 by default. A server could name pages without end.
    ///   - configure: A closure that changes each request before it starts, for example its timeouts.
    public nonisolated func pages<Value: Decodable & Sendable>(
        of type: Value.Type, from target: any URLConvertible, by pagination: Pagination<Value>,
        headers: HTTPHeaders = [:], ahead: Bool = false, limit: Int = 1_000,
        configure: @escaping @Sendable (DataRequest) -> Void = { _ in }
    ) -> PageSequence<Value> {
        PageSequence(
            source: PageSource(
                session: self, target: target, pagination: pagination, headers: headers, limit: limit,
                configure: configure),
            isAhead: ahead)
    }
}

extension Session {
    fileprivate func pageRequest(_ url: RequestURL, _ headers: HTTPHeaders, isElsewhere: Bool) -> DataRequest {
        DataRequest(
            core: makeCore(RequestSource(.parts(url, .get, headers), isElsewhere: isElsewhere), nil, nil))
    }
}

/// The pages of a list; see ``Session/pages(of:from:by:headers:ahead:limit:configure:)``.
///
/// Each iteration starts with the first page.
public struct PageSequence<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let source: PageSource<Value>
    let isAhead: Bool

    /// The pages with their responses.
    public var responses: Responses { Responses(source: source, isAhead: isAhead) }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: responses.makeAsyncIterator()) }

    /// An iterator over the values of the pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: Responses.AsyncIterator

        public mutating func next() async throws -> Value? { try await base.next()?.value }
    }

    /// The responses of the pages, all of them successful.
    public struct Responses: AsyncSequence, Sendable {
        let source: PageSource<Value>
        let isAhead: Bool

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(walk: PageWalk(source), isAhead: isAhead) }

        /// An iterator over the responses of the pages.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var walk: PageWalk<Value>
            fileprivate let isAhead: Bool
            /// The request of the next page.
            private var ahead: PageTask<Value>?

            fileprivate init(walk: PageWalk<Value>, isAhead: Bool) { (self.walk, self.isAhead) = (walk, isAhead) }

            public mutating func next() async throws -> DataResponse<Value>? {
                guard let target = try walk.takeTarget() else { return nil }
                let response: DataResponse<Value>
                if let ahead = ahead.take() {
                    response = await ahead.response
                } else {
                    response = await walk.source.response(of: target, first: walk.first)
                }
                guard try await walk.accept(response) else { return nil }
                if isAhead, let next = walk.target {
                    ahead = PageTask(walk.source, next, first: walk.first)
                }
                return response
            }
        }
    }
}

/// The settings that all pages share.
struct PageSource<Value: Decodable & Sendable>: Sendable {
    let session: Session
    let target: any URLConvertible
    let pagination: Pagination<Value>
    let headers: HTTPHeaders
    let limit: Int
    let configure: @Sendable (DataRequest) -> Void

    func response(of url: RequestURL, first: RequestURL?) async -> DataResponse<Value> {
        let isElsewhere = first.map { $0.origin != url.origin } ?? false
        var headers = isElsewhere ? [:] : headers
        // A link of the server does not have the user and the password of the first URL.
        if !isElsewhere, url.user == nil, let first, let user = first.user, headers["Authorization"] == nil {
            headers.update(.authorization(username: user, password: first.password ?? ""))
        }
        let request = await session.pageRequest(url, headers, isElsewhere: isElsewhere)
        configure(request.validate())
        return await request.serializingDecodable(Value.self).response
    }
}

/// The state of one iteration.
private struct PageWalk<Value: Decodable & Sendable> {
    let source: PageSource<Value>
    /// The URL of the first page.
    private(set) var first: RequestURL?
    private var seen: Set<String> = []
    private var count = 0
    private var next: Result<RequestURL?, any Error>

    init(_ source: PageSource<Value>) {
        self.source = source
        next = Result {
            try source.pagination.first(try source.session.context.resolved(source.target))
        }
    }

    /// The URL of the next page; nil if there is none, or none that is allowed.
    var target: RequestURL? { (try? next.get()).flatMap { $0 } }

    /// Returns the URL of the next page; nil after the last one. After an error, the iteration is over.
    mutating func takeTarget() throws -> RequestURL? {
        defer { next = .success(nil) }
        guard let url = try next.get() else { return nil }
        if first == nil { first = url }
        seen.insert(url.text)
        return url
    }

    /// Notes the response, and finds the page after it. Returns false if the response is not a page.
    mutating func accept(_ response: DataResponse<Value>) async throws -> Bool {
        let value: Value
        switch response.result {
        case .success(let success): value = success
        case .failure(let error): throw error.isCancelled ? CancellationError() : error
        }
        guard let url = response.request?.url else { return true }
        seen.insert(url.text)
        count += 1
        do {
            switch try await source.pagination.next(response, value, url) {
            case .end: break
            case .endBefore: return false
            case .page(let target): next = .success(try checked(target, after: url))
            }
        } catch {
            // The error concerns the next page; this one is delivered.
            let isInvalid = error is RequestURLError || (error as? RequestError)?.code == .invalidURL
            next = .failure(
                isInvalid
                    ? RequestError(
                        .pageRefused, "the link to the next page is not a valid URL", underlying: error)
                    : RequestError(wrapping: error, as: .pageRefused))
        }
        return true
    }

    private func checked(_ target: any URLConvertible, after url: RequestURL) throws -> RequestURL {
        let next = try source.session.context.resolved(target).withoutUserInfo
        guard next.isHTTP, next.hasAuthority else {
            throw RequestError(.pageRefused, "the link to the next page has the scheme \(next.scheme)")
        }
        guard next.isHTTPS || !url.isHTTPS || source.session.configuration.options.allowsInsecureRedirects == true
        else {
            throw RequestError(
                .pageRefused,
                "the link to the next page leads from https to http, which anyone on the network path can read and "
                    + "change; to allow it, set options.allowsInsecureRedirects to true")
        }
        guard !seen.contains(next.text) else {
            throw RequestError(.pageLoop, "the pages lead in a circle, back to \(next.withoutQuery)")
        }
        guard count < source.limit else {
            throw RequestError(
                .tooManyPages, "the server names a page after the first \(count); raise the parameter limit to read on")
        }
        return next
    }
}

/// A request of a page before the caller asks for the page. It is cancelled when this object is released.
private final class PageTask<Value: Decodable & Sendable>: Sendable {
    private let task: Task<DataResponse<Value>, Never>

    init(_ source: PageSource<Value>, _ url: RequestURL, first: RequestURL?) {
        // The task is unstructured, because it runs between two calls of `next()`.
        task = Task { await source.response(of: url, first: first) }
    }

    deinit { task.cancel() }

    var response: DataResponse<Value> {
        get async {
            let task = task
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }
}
