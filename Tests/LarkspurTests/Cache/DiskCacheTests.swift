import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("A session with a cache on disk", .limited)
struct DiskCacheTests {
    private let folder: TemporaryFolder
    private let log = TransportLog()

    init() throws { folder = try TemporaryFolder() }

    /// Returns a session with a new cache, as after a start of the program.
    private func session(
        at url: URL? = nil, interceptor: (any RequestInterceptor)? = nil,
        answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer
    ) -> (Session, HTTPCache) {
        let cache = HTTPCache.onDisk(at: url ?? folder.url, limit: 64 << 20)
        var configuration = SessionConfiguration.bare
        configuration.cache = cache
        return (log.session(configuration, interceptor: interceptor, answering: answer), cache)
    }

    private func get(_ session: Session, _ headers: HTTPHeaders = [:]) async -> DataResponse<Data> {
        await session.request("http://h/", headers: headers).serializingData().response
    }

    private var entry: URL? {
        let root = folder.url.appendingPathComponent("larkspur-cache-1")
        let paths = FileManager.default.subpaths(atPath: root.path) ?? []
        return paths.first { $0.contains("/") }.map { root.appendingPathComponent($0) }
    }

    @Test("Responses outlive the session and its cache, and are kept apart by credentials")
    func restart() async throws {
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 11) })
        for expected in [CacheOutcome.miss, .hit(age: .zero)] {
            let (session, cache) = session { _, _ in
                .response(headers: ["Cache-Control": "max-age=600", "Transfer-Encoding": "chunked"], chunks: [body])
            }
            let response = await get(session, ["Authorization": "Bearer hunter2"])
            #expect(response.value == body)
            guard case .hit? = response.cache else {
                #expect(response.cache == expected)
                continue
            }
            #expect(expected != .miss)
            var entries: [HTTPCache.Entry] = []
            for try await entry in cache.entries { entries.append(entry) }
            #expect(entries.map(\.url.text) == ["http://h/"] && entries.map(\.size) == [300_000])
            #expect(await get(session, ["Authorization": "Bearer hunter3"]).cache == .miss)
            try await cache.remove { $0.url.host == "h" }
            #expect(await get(session, ["Authorization": "Bearer hunter2"]).cache == .miss)
        }
        #expect(log.count == 3)
    }

    @Test("finishStoring waits until the responses are on disk")
    func finishStoring() async throws {
        let body = Data(repeating: 7, count: 3 << 20)
        let (session, cache) = session { _, _ in
            .response(headers: ["Cache-Control": "max-age=600", "Transfer-Encoding": "chunked"], chunks: [body])
        }
        #expect(await get(session).value == body)
        await cache.finishStoring()
        let path = try #require(entry).path
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect((size ?? 0) > body.count)
    }

    @Test("A response that is damaged in the middle ends with an error; a retry fetches it from the server")
    func damaged() async throws {
        let body = Data(repeating: 7, count: 200_000)
        let retrier = Interceptor(retry: { request, _, _ in request.retryCount < 1 ? .retry : .doNotRetry })
        let (session, _) = session(interceptor: retrier) { _, number in
            .response(
                headers: ["Cache-Control": "max-age=600", "Transfer-Encoding": "chunked", "Number": "\(number)"],
                chunks: [body])
        }
        #expect(await get(session).cache == .miss)
        #expect(await get(session).value == body)
        let path = try #require(entry)
        let file = try FileHandle(forUpdating: path)
        try file.seek(toOffset: 150_000)
        try file.write(contentsOf: Data([8]))
        try file.close()
        let request = await session.request("http://h/")
        let response = await request.serializingData().response
        #expect(response.value == body && response.head?["Number"] == "2")
        #expect(request.attempts.first?.error?.code == .truncated && request.attempts.count == 2)
    }

    @Test("If the folder cannot be used, requests go on, and one of them reports it")
    func unavailable() async throws {
        let file = try folder.write("x".utf8)
        let (session, cache) = session(at: file) { _, number in .fresh("\(number)") }
        let first = await get(session)
        guard case .unavailable(let reason)? = first.cache else { return #expect(first.cache == nil) }
        #expect(first.value == Data("1".utf8) && reason.contains(file.path))
        #expect(await get(session).cache == .miss)
        #expect(await get(session).value == Data("3".utf8))
        #expect(cache.statistics.misses == 3 && log.count == 3)
    }
}
