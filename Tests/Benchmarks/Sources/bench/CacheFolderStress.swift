import Larkspur
import LarkspurTesting

/// Uses a cache on disk that other processes use too, and checks each body. `.ci/steps/killed-cache.py` kills some of them.
///
/// The stub answers with bodies that follow from the URL and a number, which is in their first bytes. So each body proves
/// that it is whole and belongs to its URL.
struct CacheFolderStress {
    let folder: URL
    let seconds: Double

    private static let urlCount: UInt64 = 40

    /// Returns false if a body was wrong.
    func run() async throws -> Bool {
        let cache = HTTPCache.onDisk(at: folder, limit: 4 << 20)
        let transport = StubTransport { Self.answer($0) }
        let session = Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport)
        let end = ContinuousClock.now + .seconds(seconds)
        let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var wrong = 0
                    while ContinuousClock.now < end { wrong += try await Self.step(session, cache) ? 0 : 1 }
                    return wrong
                }
            }
            return try await group.reduce(0, +)
        }
        let statistics = cache.statistics
        print(
            "hits=\(statistics.hits + statistics.staleHits) misses=\(statistics.misses)",
            "revalidations=\(statistics.revalidations) wrong=\(wrong)")
        return wrong == 0
    }

    /// Sends one request, or removes entries. Returns false if the body is wrong.
    private static func step(_ session: Session, _ cache: HTTPCache) async throws -> Bool {
        let number = UInt64.random(in: 0..<urlCount)
        let url = "http://stub/\(number)"
        switch Int.random(in: 0..<400) {
        case 0: cache.removeAll()
        case 1: try await cache.remove { _ in Bool.random() }
        case 2...8: cache.remove(url)
        case 9...20:
            let stream = await session.streamRequest(url)
            stream.cancel()
        default: break
        }
        let bytes = try await session.request(url).serializingData().value
        let own = bytes.withUnsafeBytes { $0.count < 16 ? 0 : $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
        if bytes == body(number, own) { return true }
        print("a body of \(bytes.count) bytes for \(url) is wrong")
        return false
    }

    private static func answer(_ request: TransportRequest) -> StubAnswer {
        let number = UInt64(request.url.path.dropFirst()) ?? 0
        // Some responses are stale at once, and confirmed by the next request.
        let headers: HTTPHeaders = [
            "Cache-Control": Bool.random() ? "max-age=60" : "max-age=0", "ETag": "\"\(number)\"",
            "Transfer-Encoding": "chunked", "X-Padding": String(repeating: "x", count: Int.random(in: 0..<200)),
        ]
        let isKnown = request.fields.contains { $0.name == "If-None-Match" } && Int.random(in: 0..<4) > 0
        if isKnown { return .response(304, headers: headers) }
        return .response(headers: headers, chunks: [body(number, .random(in: .min ... .max))])
    }

    /// Returns the body of a URL that has this number.
    private static func body(_ url: UInt64, _ number: UInt64) -> Data {
        // Most bodies are small; some have several blocks.
        let count = number % 8 == 0 ? (number >> 8) % 40_000 : (number >> 8) % 2_000
        var words = [url, number]
        words.reserveCapacity(Int(count) + 2)
        var word = url ^ number
        for _ in 0..<count {
            word = word &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            words.append(word)
        }
        return words.withUnsafeBytes { Data($0) }
    }
}
