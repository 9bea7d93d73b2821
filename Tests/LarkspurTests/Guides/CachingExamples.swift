import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to caching, word for word.

@Suite("The guide to caching", .limited)
struct CachingExamples {
    private let server: MockServer
    private var url: String { server.url + "/news/1" }

    init() throws {
        server = try MockServer()
        server.on("GET", "/news/1") { _ in Self.text("news", maxAge: 60) }
    }

    private static func text(_ text: String, maxAge: Int) -> MockResponse {
        .response(headers: ["Cache-Control": "max-age=\(maxAge)"], chunks: [Data(text.utf8)])
    }

    @Test("A second request is answered from the cache")
    func overview() async {
        let url = url
        let session = Session(
            configuration: SessionConfiguration {
                $0.cache = .inMemory(limit: 64 << 20)
            })
        let response = await session.request(url).serializingData().response
        print(response.cache ?? "no cache")
        #expect(response.cache == .miss)
        let second = await session.request(url).serializingData().response
        guard case .hit(let age)? = second.cache else { return #expect(second.cache == .hit(age: .zero)) }
        #expect(age < .seconds(60))
    }

    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> (Session, HTTPCache) {
        var configuration = SessionConfiguration()
        configuration.cache = .inMemory()
        change(&configuration)
        return (Session(configuration: configuration), configuration.cache ?? .inMemory())
    }

    @Test("A policy is set for a request")
    func policy() async {
        let (session, _) = session()
        let pages = await session.request(url)
            .cachePolicy(.preferCached(maxStale: .seconds(86_400)))
            .serializingData().response
        #expect(pages.cache == .miss)
    }

    @Test("A cache on disk answers in another session")
    func disk() async throws {
        let place = try TemporaryFolder()
        let folder = place.url
        var configuration = SessionConfiguration()
        configuration.cache = .onDisk(at: folder, limit: 200 << 20)
        let first = await Session(configuration: configuration).request(url).serializingData().response
        #expect(first.cache == .miss)
        configuration.cache = .onDisk(at: folder, limit: 200 << 20)
        let session = Session(configuration: configuration)
        let response = await session.request(url)
            .cachePolicy(.onlyCached)
            .serializingData().response
        #expect(response.data == Data("news".utf8))
    }

    @Test("Stored pages are shown without a network, if the server permits it")
    func offlineApp() async throws {
        let place = try TemporaryFolder()
        let folder = place.url
        var configuration = SessionConfiguration()
        configuration.cache = .onDisk(
            at: folder,
            options: HTTPCache.Options {
                $0.staleIfError = .seconds(7 * 86_400)
            })
        server.on("GET", "/plain") { _ in .text("plain") }
        server.on("GET", "/strict") { _ in
            .response(headers: ["Cache-Control": "max-age=0, must-revalidate"], chunks: [Data("strict".utf8)])
        }
        let session = Session(configuration: configuration)
        for path in ["/plain", "/strict"] {
            _ = try await session.request(server.url + path).serializingData().value
        }
        await server.stop()
        let plain = await session.request(server.url + "/plain").serializingString().response
        #expect(plain.value == "plain" && plain.cache == .stale(because: .failed(.connectionRefused)))
        let strict = await session.request(server.url + "/strict").serializingString().response
        #expect(strict.error?.code == .connectionRefused)
        let unknown = await session.request(url).cachePolicy(.onlyCached).serializingString().response
        #expect(unknown.error?.code == .notCached)
    }

    @Test("A cache whose folder is a file reports that once")
    func unusable() async throws {
        let place = try TemporaryFolder()
        let file = try place.write([1])
        let (session, _) = session { $0.cache = .onDisk(at: file) }
        let response = await session.request(url).serializingData().response
        #expect(response.data == Data("news".utf8))
        var reasons: [String] = []
        if case .unavailable(let reason)? = response.cache { print(reason) }
        if case .unavailable(let reason)? = response.cache { reasons.append(reason) }
        #expect(reasons.count == 1)
    }

    @Test("A response is served while the server cannot be reached")
    func offline() async {
        server.on("GET", "/old") { _ in Self.text("old", maxAge: 0) }
        let (session, _) = session { configuration in
            var options = HTTPCache.Options()
            options.staleIfError = .seconds(7 * 86_400)
            options.staleWhileRevalidate = .seconds(60)
            configuration.cache = .inMemory(options: options)
            options.staleWhileRevalidate = nil
            configuration.cache = .inMemory(options: options)
        }
        let url = server.url + "/old"
        #expect(await session.request(url).serializingString().response.value == "old")
        await server.stop()
        let response = await session.request(url).serializingString().response
        if case .stale(because: .failed(let code))? = response.cache {
            print("offline: \(code)")
        }
        #expect(response.cache == .stale(because: .failed(.connectionRefused)))
        #expect(response.value == "old")
    }

    @Test("A handler changes the stored response")
    func handler() async throws {
        server.on("GET", "/plain") { _ in .text("plain") }
        let (session, cache) = session()
        let url = server.url + "/plain"
        let request = await session.request(url)
            .cacheResponse(
                using: .modify { response in
                    let lifetime = HTTPHeader(
                        name: "Cache-Control", value: "max-age=60")
                    let fields = response.head.fields.filter {
                        $0.name != "Cache-Control"
                    }
                    response.head = ResponseHead(
                        status: response.head.status,
                        fields: fields + [lifetime])
                })
        #expect(try await request.serializingString().value == "plain")
        var expirations: [Date] = []
        for try await entry in cache.entries { expirations.append(entry.expires) }
        #expect(expirations.map { $0 > Date() } == [true])
    }

    @Test("Entries are listed and removed")
    func inspection() async throws {
        let (session, cache) = session()
        let url = url
        _ = await session.request(url).serializingData().response
        var count = 0
        for try await _ in cache.entries { count += 1 }
        for try await entry in cache.entries {
            print(entry.url, entry.size, entry.expires)
        }
        print(cache.statistics.hits, cache.statistics.misses)
        cache.remove(url)
        try await cache.remove { $0.url.path.hasPrefix("/news/") }
        cache.removeAll()
        #expect(count == 1)
        #expect(cache.statistics.entryCount == 0 && cache.statistics.misses == 1)
    }
}
