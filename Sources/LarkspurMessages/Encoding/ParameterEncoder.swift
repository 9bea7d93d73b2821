/// A type that encodes parameters into a request: into its query or its body.
public protocol ParameterEncoder: Sendable {
    /// Encodes the parameters into the request. A thrown error ends the attempt before anything is sent.
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters, into request: inout OutgoingRequest) throws
}

/// A parameter encoder that calls a closure.
public struct ClosureParameterEncoder: ParameterEncoder {
    /// A closure that encodes the parameters into the request.
    public typealias Body = @Sendable (_ parameters: any Encodable & Sendable, inout OutgoingRequest) throws -> Void

    private let body: Body

    /// Creates an encoder that calls the closure for each attempt.
    public init(_ body: @escaping Body) { self.body = body }

    /// Calls the closure. If the closure throws, its error becomes the underlying error of a ``RequestError``.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters, into request: inout OutgoingRequest
    ) throws {
        do { try body(parameters, &request) } catch { throw RequestError.encoding("a request", error) }
    }
}

extension ParameterEncoder where Self == ClosureParameterEncoder {
    /// Returns an encoder that calls the closure: `.custom { parameters, request in … }`.
    public static func custom(_ body: @escaping ClosureParameterEncoder.Body) -> Self { Self(body) }
}
