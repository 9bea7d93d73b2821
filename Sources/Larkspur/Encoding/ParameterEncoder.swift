/// Puts parameters into a request: its query or its body.
public protocol ParameterEncoder: Sendable {
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters, into request: inout OutgoingRequest) throws
}

/// Parameters as a JSON body.
public struct JSONParameterEncoder: ParameterEncoder {
    private let encoder: JSONEncoder

    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    /// Sets the body, and the content type if the request has none.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        do {
            // A JSON value knows its own digits and order, which no encoder keeps.
            request.body = .data(try (parameters as? JSON)?.data() ?? encoder.encode(parameters))
        } catch {
            throw RequestError(.encodingFailed, "the parameters make no JSON: \(error)", underlying: error)
        }
        if request.headers["Content-Type"] == nil { request.headers["Content-Type"] = "application/json" }
    }
}

/// Parameters as `application/x-www-form-urlencoded`: in the query of GET, HEAD and DELETE, else in the body.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    public init() {}

    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        let form = try URLEncodedFormEncoder().encode(parameters)
        switch request.method {
        case .get, .head, .delete:
            if !form.isEmpty { request.url = try request.url.appendingQuery(form) }
        default:
            request.body = .data(Data(form.utf8))
            if request.headers["Content-Type"] == nil {
                request.headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8"
            }
        }
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    public static var json: Self { JSONParameterEncoder() }
    public static func json(encoder: JSONEncoder) -> Self { JSONParameterEncoder(encoder: encoder) }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    public static var urlEncodedForm: Self { URLEncodedFormParameterEncoder() }
}
