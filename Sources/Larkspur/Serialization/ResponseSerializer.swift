/// Turns a completed exchange into a value.
///
/// Serializers of one request run one after another, on the request's task, in the order they were attached. Their responses
/// are delivered together after the last one has ended. So a serializer must not await a response of its own request: that
/// await fails with `.serializerAwaitsItself`. To use another serializer, call its `serialize(_:)` with the exchange.
public protocol ResponseSerializer<SerializedObject>: Sendable {
    /// What it makes of an exchange.
    associatedtype SerializedObject: Sendable

    /// The value of an exchange that went well. What this throws asks the retriers.
    func serialize(_ exchange: CompletedExchange) async throws -> SerializedObject

    /// Whether a downloaded file is read to become the exchange's `data`. The default is true; a serializer that is content
    /// with `fileURL` says false, and no file is too large for it.
    var readsDownloadedFile: Bool { get }

    /// The value of an exchange that failed: here a serializer may make something of the server's error body.
    ///
    /// The default throws the error again, which is why nobody can forget to.
    func recover(from error: RequestError, _ exchange: CompletedExchange) async throws -> SerializedObject
}

/// A serializer of the library's own that a transport's thread may run: it does not wait, calls nobody's code and is done
/// in no time.
protocol PromptSerializer: ResponseSerializer {
    /// The longest body for which that holds; negative if it does for none.
    var promptLimit: Int { get }
    func serialize(_ exchange: CompletedExchange) throws -> SerializedObject
}

extension ResponseSerializer {
    public var readsDownloadedFile: Bool { true }

    public func recover(from error: RequestError, _ exchange: CompletedExchange) async throws -> SerializedObject {
        throw error
    }
}
