/// A conversion of a completed exchange into a value.
///
/// The serializers of a request run one after another, on the request's task, in the order in which they were attached.
/// The request delivers their responses together after the last serializer has ended. So a serializer must not await a
/// response of its own request: such an await fails with `.serializerAwaitsItself`. To use another serializer, call its
/// `serialize(_:)` with the exchange.
public protocol ResponseSerializer<SerializedObject>: Sendable {
    /// The type of the value.
    associatedtype SerializedObject: Sendable

    /// Returns the value of a successful exchange. If this function throws, the retriers decide whether the request is
    /// sent again.
    func serialize(_ exchange: CompletedExchange) async throws -> SerializedObject

    /// Whether a downloaded file is read into the exchange's `data`; true by default. A serializer that uses only
    /// `fileURL` returns false, so that large files are not read into memory.
    var readsDownloadedFile: Bool { get }

    /// Returns a value for a failed exchange, for example from the server's error body, or throws an error.
    ///
    /// The default throws the given error.
    func recover(from error: RequestError, _ exchange: CompletedExchange) async throws -> SerializedObject
}

/// A built-in serializer that never waits. It may run on a transport's thread if it runs no user code and the body is
/// small enough; see `promptLimit`.
protocol PromptSerializer: ResponseSerializer {
    /// The maximum size in bytes of a body that is fast to serialize; negative if the serializer runs user code, such
    /// as a preprocessor.
    var promptLimit: Int { get }
    func serialize(_ exchange: CompletedExchange) throws -> SerializedObject
}

extension ResponseSerializer {
    public var readsDownloadedFile: Bool { true }

    public func recover(from error: RequestError, _ exchange: CompletedExchange) async throws -> SerializedObject {
        throw error
    }
}
