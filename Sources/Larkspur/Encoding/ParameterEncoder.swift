/// Puts parameters into a request: its query or its body.
public protocol ParameterEncoder: Sendable {
    /// Changes the request; what it throws ends the attempt, and nothing is sent.
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters, into request: inout OutgoingRequest) throws
}

extension ParameterEncoder {
    /// The same for a `URLRequest`, as routers use it; nil parameters leave it as it is.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: URLRequest
    ) throws -> URLRequest {
        guard let parameters else { return request }
        var outgoing = try request.asOutgoingRequest()
        let method = outgoing.method
        try encode(parameters, into: &outgoing)
        if let problem = outgoing.problem { throw problem }
        switch outgoing.body {
        case .none, .data: break
        case .file, .stream:
            throw RequestError(.encodingFailed, "a URLRequest cannot carry a body that is read while it is sent")
        }
        let encoded = outgoing.urlRequest
        var result = request
        (result.url, result.httpBody) = (encoded.url, encoded.httpBody)
        if outgoing.method != method { result.httpMethod = outgoing.method.rawValue }
        result.allHTTPHeaderFields = encoded.allHTTPHeaderFields
        return result
    }
}

/// A parameter encoder made of a closure, for a service with rules of its own.
public struct ClosureParameterEncoder: ParameterEncoder {
    /// What is to be done with the parameters.
    public typealias Body = @Sendable (_ parameters: any Encodable & Sendable, inout OutgoingRequest) throws -> Void

    private let body: Body

    /// An encoder that calls the closure for each attempt.
    public init(_ body: @escaping Body) { self.body = body }

    /// Calls the closure; an error of its own becomes the cause of a typed one.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        do { try body(parameters, &request) } catch { throw RequestError.encoding("request", error) }
    }
}

extension ParameterEncoder where Self == ClosureParameterEncoder {
    /// Whatever the closure does: `.custom { parameters, request in … }`.
    public static func custom(_ body: @escaping ClosureParameterEncoder.Body) -> Self { Self(body) }
}

extension RequestError {
    /// What an encoder threw, in words that name the place of the value and not the value: it may be a secret.
    static func encoding(_ result: String, _ error: any Error, at path: [any CodingKey] = []) -> RequestError {
        if let error = error as? RequestError { return error }
        var path = path
        let words: String
        if case EncodingError.invalidValue(_, let context) = error {
            // The property list encoder wraps whatever is thrown.
            if let cause = context.underlyingError { return encoding(result, cause, at: context.codingPath) }
            if path.isEmpty { path = context.codingPath }
            words = context.debugDescription
        } else {
            words = "\(error)"
        }
        return RequestError(
            .encodingFailed, "the parameters make no \(result)\(path.place): \(words)", underlying: error)
    }
}

extension [any CodingKey] {
    /// For messages: ` at outer.0.inner`, nothing for the outermost value.
    var place: String { isEmpty ? "" : " at \(map(\.stringValue).joined(separator: "."))" }
}

extension OutgoingRequest {
    /// Sets the body, and the content type if the request has none.
    mutating func setBody(_ data: Data, contentType: String) {
        body = .data(data)
        if headers["Content-Type"] == nil { headers["Content-Type"] = contentType }
    }
}
