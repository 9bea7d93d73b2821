import Larkspur
import LarkspurTesting

// Downloads a file with a progress bar:
//
//     download https://example.com/archive.zip [file]
//
// After Ctrl-C, a crash or a lost connection the received part stays; the same command fetches the rest. Without
// arguments the example shows that with its own server, which closes the connection halfway.

@main
struct Download {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.first else { return try await demonstrate() }
        let name = arguments.dropFirst().first ?? URL(string: url)?.lastPathComponent ?? "download"
        let file = try await download(url, to: URL(fileURLWithPath: name))
        print(file.path)
    }

    /// Downloads the file. Iterating the progress starts the request; the file is complete when its value returns.
    static func download(_ url: String, to file: URL) async throws -> URL {
        let request = await Session().download(url, to: .file(file)).validate()
        let progress = request.makeDownloadProgress()
        for await current in request.downloadProgress { draw(current, progress) }
        return try await request.serializingFile().value
    }

    /// Draws the progress over the same line of the terminal.
    static func draw(_ current: TransferProgress, _ progress: Progress) {
        let fraction = current.fraction ?? 0
        let bar =
            String(repeating: "█", count: Int(fraction * 30)) + String(repeating: "░", count: 30 - Int(fraction * 30))
        let rate = (progress.userInfo[.throughputKey] as? Int).map { ", \($0 / 1_000) kB/s" } ?? ""
        let left = (progress.userInfo[.estimatedTimeRemainingKey] as? Double).map { ", \(Int($0)) s left" } ?? ""
        FileHandle.standardError.write(Data("\r\u{1B}[K\(bar) \(current)\(rate)\(left)".utf8))
    }

    static func demonstrate() async throws {
        let (size, half): (UInt64, UInt64) = (4 << 20, 2 << 20)
        let server = try MockServer()
        server.on("GET", "/archive.zip") { request in
            guard request.headers["Range"] == "bytes=\(half)-" else {
                return response(200, [:], of: 0..<size).truncated(after: half)
            }
            return response(206, ["Content-Range": "bytes \(half)-\(size - 1)/\(size)"], of: half..<size)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("archive.zip")

        let first = await Session().download(server.url + "/archive.zip", to: .file(file)).serializingFile().response
        print("the server hangs up:", first.error?.code.rawValue ?? "no error")
        print("kept:", first.resumeRecord?.offset ?? 0, "of", first.resumeRecord?.total ?? 0, "bytes")
        print("in its place:", FileManager.default.fileExists(atPath: file.path) ? "something" : "nothing yet")

        _ = try await download(server.url + "/archive.zip", to: file)
        print("asked for:", server.requests.compactMap { $0.headers["Range"] }.joined(separator: ", "))
        let expected = MockResponse.pattern(from: 0, count: Int(size))
        print("the file is correct:", try Data(contentsOf: file) == expected)
        print("and alone:", try FileManager.default.contentsOfDirectory(atPath: folder.path))
        await server.stop()
    }

    /// Returns a response with the validators of the file, so that a client can resume.
    static func response(_ status: Int, _ range: HTTPHeaders, of bytes: Range<UInt64>) -> MockResponse {
        var headers: HTTPHeaders = ["ETag": "\"v1\"", "Content-Type": "application/zip"]
        for field in range { headers.add(field) }
        let body = MockResponse.Step.generated(count: UInt64(bytes.count)) { position in
            let start = bytes.lowerBound + position
            return MockResponse.pattern(from: start, count: Int(min(64 << 10, bytes.upperBound - start)))
        }
        return MockResponse([.head(ResponseHead(status: status, fields: Array(headers))), body])
    }
}
