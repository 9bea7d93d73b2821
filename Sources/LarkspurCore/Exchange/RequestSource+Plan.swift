extension RequestSource {
    /// The method and the URL of a request that was not built; nil if only the user's code knows the URL.
    func plan(in context: SessionContext) -> (method: HTTPMethod, url: RequestURL)? {
        let (target, method): (any URLConvertible, HTTPMethod)
        switch origin {
        case .parts(let url, let verb, _), .endpoint(let url, let verb, _, _): (target, method) = (url, verb)
        case .convertible: return nil
        }
        let type = type(of: target)
        guard type == String.self || type == URL.self || type == RequestURL.self else { return nil }
        return (try? context.resolved(target)).map { (method, $0.withoutUserInfo) }
    }
}

extension RequestCore {
    /// Returns the error with the method and the URL of this request, if the request was not built.
    func namingUnsent(_ error: RequestError, _ exchange: CompletedExchange) -> RequestError {
        guard exchange.request == nil, let plan = source.plan(in: context) else { return error }
        return error.adding(method: plan.method, url: plan.url)
    }

    /// The method and the URL, for an error about a request that was not sent.
    package var plannedLine: String {
        source.plan(in: context).map { "\($0.method) \($0.url.withoutQuery)" } ?? "the request \(id)"
    }
}
