/// A last change to a request before its parameters are encoded; made at each attempt.
public typealias RequestModifier = @Sendable (inout OutgoingRequest) async throws -> Void

/// Where a request comes from; built anew at each attempt.
struct RequestSource: Sendable {
    typealias Encode = @Sendable (inout OutgoingRequest) throws -> Void

    enum Origin: Sendable {
        case parts(any URLConvertible, HTTPMethod, HTTPHeaders)
        case convertible(any URLRequestConvertible)
    }

    private let origin: Origin
    private let modifier: RequestModifier?
    private let encode: Encode?

    init(_ origin: Origin, modifier: RequestModifier? = nil, encode: Encode? = nil) {
        self.origin = origin
        self.modifier = modifier
        self.encode = encode
    }

    /// Whether building runs no code of the user's.
    var isPlain: Bool {
        guard modifier == nil, encode == nil, case .parts(let url, _, _) = origin else { return false }
        return url is String || url is URL || url is RequestURL
    }

    /// Parts or convertible, then the modifier, then the parameters, then the session's fields that are missing.
    func build(in context: SessionContext) async throws(RequestError) -> OutgoingRequest {
        do {
            var request: OutgoingRequest
            switch origin {
            case .parts(let url, let method, let headers):
                request = OutgoingRequest(
                    method: method, url: try url.asRequestURL(), headers: headers,
                    options: context.configuration.options)
            case .convertible(let convertible):
                request = try convertible.asOutgoingRequest()
                request.options.addMissing(from: context.configuration.options)
            }
            try await modifier?(&request)
            try encode?(&request)
            if !context.configuration.headers.isEmpty {
                request.headers.addMissing(from: context.configuration.headers)
            }
            return request
        } catch {
            throw RequestError(wrapping: error, as: .requestCreationFailed, stage: .building)
        }
    }
}
