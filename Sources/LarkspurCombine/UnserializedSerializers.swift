/// A serializer that passes the body of a response on, if there is one in memory.
struct UnserializedDataSerializer: ResponseSerializer {
    func serialize(_ exchange: CompletedExchange) -> Data? { exchange.data }
}

/// A serializer that passes the URL of a downloaded file on, if there is one.
struct UnserializedFileSerializer: ResponseSerializer {
    var readsDownloadedFile: Bool { false }

    func serialize(_ exchange: CompletedExchange) -> URL? { exchange.fileURL }
}
