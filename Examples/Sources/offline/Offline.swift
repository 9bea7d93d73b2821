import Larkspur
import LarkspurTesting

// A page of results that survives without a network: it is stored on disk, and shown by a later start of the program.

struct Film: Codable {
    let title: String
    let year: Int
}

/// One start of the program. Its session and its cache are new; only the folder is the same.
struct Program {
    let session: Session
    let cache: HTTPCache

    init(_ folder: URL) {
        var options = HTTPCache.Options()
        options.staleIfError = .seconds(7 * 86_400)  // a week without a network
        let cache = HTTPCache.onDisk(at: folder, limit: 50 << 20, options: options)
        session = Session(configuration: SessionConfiguration { $0.cache = cache })
        self.cache = cache
    }

    func show(_ url: String) async {
        let response = await session.request(url).validate().serializingDecodable([Film].self).response
        let titles = response.value?.map { "\($0.title) (\($0.year))" } ?? ["no films"]
        print("\(describe(response)): \(titles.joined(separator: ", "))")
    }

    private func describe(_ response: DataResponse<[Film]>) -> String {
        switch response.cache {
        case .hit?: "stored"
        case .stale(because: .failed)?: "stored, because the server cannot be reached"
        case .unavailable(let reason)?: "without a cache (\(reason))"
        case .revalidated?: "confirmed"
        default: response.error == nil ? "new" : "failed"
        }
    }
}

@main
struct Offline {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("offline-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let films = try JSONEncoder().encode([Film(title: "Playtime", year: 1967), Film(title: "Trafic", year: 1971)])
        let server = try MockServer()
        server.on("GET", "/films") { request in
            let isKnown = request.headers["If-None-Match"] == "\"1\""
            return .response(
                isKnown ? 304 : 200, headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""],
                chunks: isKnown ? [] : [films])
        }
        server.on("GET", "/classics") { _ in .response(headers: ["Cache-Control": "max-age=3600"], chunks: [films]) }

        let first = Program(folder)
        for path in ["/films", "/classics"] { await first.show(server.url + path) }

        let second = Program(folder)
        for path in ["/films", "/classics"] { await second.show(server.url + path) }

        await server.stop()  // from here on there is no network
        let third = Program(folder)
        for path in ["/films", "/classics", "/unknown"] { await third.show(server.url + path) }

        var paths: [String] = []
        for try await entry in third.cache.entries { paths.append("\(entry.url.path), \(entry.size) bytes") }
        for path in paths.sorted() { print("entry:", path) }
    }
}
