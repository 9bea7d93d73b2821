/// A closure that changes a request before its parameters are encoded. The closure is called for each attempt.
public typealias RequestModifier = @Sendable (inout OutgoingRequest) async throws -> Void

/// The source that each attempt builds its request from.
package struct RequestSource: Sendable {
    package enum Origin: Sendable {
        case parts(any URLConvertible, HTTPMethod, HTTPHeaders)
        /// A URL with options, which count more than those of the session. Indirect, so that other requests stay small.
        indirect case endpoint(any URLConvertible, HTTPMethod, HTTPHeaders, RequestOptions)
        /// A complete request, with the method and the header fields that replace those of the request.
        case convertible(any OutgoingRequestConvertible, HTTPMethod? = nil, HTTPHeaders = HTTPHeaders())
    }

    let origin: Origin
    private let modifier: RequestModifier?
    private let content: RequestContent?
    /// Whether the request goes to another origin. Secret header fields of the request and of the session are then
    /// removed.
    private let isElsewhere: Bool
    /// Whether the session's header fields are added already when the request is created. This holds only for a URL
    /// without a modifier and without content.
    private let isDirect: Bool
    /// Whether building the request calls user code, which a convertible, a modifier and most contents are, or takes
    /// long.
    let needsTask: Bool

    package init(
        _ origin: Origin, modifier: RequestModifier? = nil, content: RequestContent? = nil,
        isElsewhere: Bool = false
    ) {
        if modifier == nil, content?.needsTask != true, case .parts(let url, _, _) = origin {
            let type = type(of: url)
            isDirect = !isElsewhere && content == nil
            needsTask = type != String.self && type != URL.self && type != RequestURL.self
        } else {
            (isDirect, needsTask) = (false, true)
        }
        self.origin = origin
        self.modifier = modifier
        self.content = content
        self.isElsewhere = isElsewhere
    }

    /// - Parameter method: If nil, a complete request keeps its method, and a URL gets the default method.
    package init(
        _ target: any RequestTarget, _ method: HTTPMethod?, _ headers: HTTPHeaders,
        default defaultMethod: HTTPMethod = .get, modifier: RequestModifier?, content: RequestContent?
    ) {
        let origin: Origin =
            if let url = Self.url(target) {
                .parts(url, method ?? defaultMethod, headers)
            } else {
                .convertible(target as? any OutgoingRequestConvertible ?? NoTarget(target), method, headers)
            }
        self.init(origin, modifier: modifier, content: content)
    }

    /// Returns the target as a URL; nil for a complete request.
    private static func url(_ target: any RequestTarget) -> (any URLConvertible)? {
        // These casts come first, because the general casts below take several times as long.
        if let text = target as? String { return text }
        if let url = target as? URL { return url }
        if let url = target as? RequestURL { return url }
        return target is any OutgoingRequestConvertible ? nil : target as? any URLConvertible
    }

    /// A target that provides neither a URL nor a complete request. Building a request from this target fails.
    private struct NoTarget: OutgoingRequestConvertible {
        let type: String

        init(_ target: any RequestTarget) { type = "\(Swift.type(of: target))" }

        func asOutgoingRequest() throws -> OutgoingRequest {
            throw RequestError(
                .requestCreationFailed,
                "\(type) conforms to RequestTarget alone; conform to URLConvertible or OutgoingRequestConvertible")
        }
    }

    /// Builds the request in a task. Starts with the URL or the complete request, and applies the timeouts, the
    /// modifier and the content. Then adds those fields of the session that the request does not have.
    func buildWithUserCode(
        in context: SessionContext, within limits: [RequestTimeouts.Limit]
    ) async throws(RequestError) -> OutgoingRequest {
        var request = try begin(context, limits)
        if let modifier {
            do { try await modifier(&request) } catch { throw Self.failure(error, about: request) }
        }
        try finish(&request, context)
        return request
    }

    /// Builds the request without user code.
    package func build(
        in context: SessionContext, within limits: [RequestTimeouts.Limit] = []
    ) throws(RequestError) -> OutgoingRequest {
        var request = try begin(context, limits)
        try finish(&request, context)
        return request
    }

    private func begin(
        _ context: SessionContext, _ limits: [RequestTimeouts.Limit]
    ) throws(RequestError) -> OutgoingRequest {
        var request = try begin(context)
        for limit in limits { limit.apply(to: &request.options.timeouts) }
        return request
    }

    private func begin(_ context: SessionContext) throws(RequestError) -> OutgoingRequest {
        do {
            switch origin {
            case .parts(let url, let method, let headers):
                let url = try context.resolved(url)
                var headers = headers
                // The fields are added before the request is created, because adding them later would copy the request.
                if isDirect { headers.addMissing(from: context.headers.fields) }
                return OutgoingRequest(
                    method: method, url: url, headers: headers, options: context.configuration.options)
            case .endpoint(let path, let method, let headers, var options):
                options.addMissing(from: context.configuration.options)
                return OutgoingRequest(
                    method: method, url: try context.resolved(path), headers: headers, options: options)
            case .convertible(let convertible, let method, let headers):
                var request = try convertible.asOutgoingRequest()
                if let method { request.method = method }
                if !headers.isEmpty { request.headers.replace(with: headers) }
                request.options.addMissing(from: context.configuration.options)
                return request
            }
        } catch {
            throw Self.failure(error)
        }
    }

    private func finish(_ request: inout OutgoingRequest, _ context: SessionContext) throws(RequestError) {
        if isDirect { return }
        do { try content?.write(&request) } catch { throw Self.failure(error, about: request) }
        let fields = context.headers.fields
        if !fields.isEmpty { request.headers.addMissing(from: fields) }
        if isElsewhere { request.removeFieldsOfOrigin() }
    }

    private static func failure(_ error: any Error, about request: OutgoingRequest? = nil) -> RequestError {
        let failure = RequestError(wrapping: error, as: .requestCreationFailed, stage: .building)
        return request.map { failure.adding(about: $0) } ?? failure
    }
}
