/// A serializer that returns the body as it is: nil if the response has no body in memory. It never fails by itself.
struct UnserializedResponseSerializer: ResponseSerializer {
    var readsDownloadedFile: Bool { false }

    func serialize(_ exchange: CompletedExchange) throws -> Data? {
        exchange.data.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension SerializableRequest {
    /// Calls the closure with the response, whose value is the body; nil if the body is empty. The response of a
    /// download has its file in ``DataResponse/fileURL`` instead.
    ///
    ///     request.response { response in print(response.statusCode ?? 0, response.error ?? "") }
    ///
    /// Other serializers also check the body; this one is for code that needs only the status and the error.
    @discardableResult
    public func response(completion: @escaping @Sendable (DataResponse<Data?>) async -> Void) -> Self {
        response(using: UnserializedResponseSerializer(), completion: completion)
    }
}
