/// The response of a stream: its head, and its body as it arrives.
public struct DataStreamResponse: Sendable {
    /// The head, which the validators have accepted.
    public let head: ResponseHead
    /// The body, chunk by chunk, with its content codings decoded.
    public let bytes: DataStream

    /// The status of the response.
    public var statusCode: Int { head.status }
    /// The header fields of the response.
    public var headers: HTTPHeaders { head.headers }
}

extension DataStreamRequest {
    /// Starts the request and waits for the head of its response. The body waits until it is read.
    ///
    ///     let response = try await session.streamRequest(url).validate().response()
    ///     print(response.statusCode)
    ///     for try await chunk in response.bytes { … }
    ///
    /// Redirects are followed, and failed attempts are retried before. If the response is released without being read,
    /// the request is cancelled, unless it has another reader.
    ///
    /// - Throws: The ``RequestError`` of a request that fails before its body begins, for example because a validator
    ///   rejects the status. `CancellationError` if the request or the calling task is cancelled.
    public func response() async throws -> DataStreamResponse {
        let bytes = bytes
        handle.core.demand()
        switch await hub.opening.wait() {
        case .success(let head): return DataStreamResponse(head: head, bytes: bytes)
        case .failure(let error) where error.isCancelled: throw CancellationError()
        case .failure(let error): throw error
        }
    }
}
