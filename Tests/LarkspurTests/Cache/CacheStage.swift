import Larkspur
import LarkspurTesting

/// A cache with a clock of its own, and a server that counts.
struct CacheStage {
    let log = TransportLog()
    let time = Protected(1_767_225_600.0)
    let cache: HTTPCache
    let session: Session

    init(
        _ options: HTTPCache.Options = HTTPCache.Options(), interceptor: (any RequestInterceptor)? = nil,
        _ configure: (inout SessionConfiguration) -> Void = { _ in },
        answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) {
        let time = time
        let cache = HTTPCache(
            MemoryStore(limit: 1 << 20, maximumEntrySize: 1 << 20), options: options, now: { time.withLock { $0 } })
        self.cache = cache
        var configuration = SessionConfiguration.bare
        configuration.cache = cache
        configuration.retryBudget = nil
        configure(&configuration)
        session = log.session(configuration, interceptor: interceptor, answering: answer)
    }

    func wait(_ seconds: Double) { time.withLock { $0 += seconds } }

    func get(
        _ url: String = "http://h/", _ headers: HTTPHeaders = [:], policy: CachePolicy? = nil
    ) async -> DataResponse<String> {
        let request = await session.request(url, headers: headers)
        if let policy { request.cachePolicy(policy) }
        return await request.serializingString().response
    }
}

extension StubAnswer {
    /// A text that is fresh for a minute.
    static func fresh(_ text: String, _ fields: HTTPHeaders = [:]) -> StubAnswer {
        var headers = fields
        if headers["Cache-Control"] == nil { headers.add(name: "Cache-Control", value: "max-age=60") }
        if headers["Content-Length"] == nil { headers.add(name: "Transfer-Encoding", value: "chunked") }
        return .response(headers: headers, chunks: [Data(text.utf8)])
    }
}
