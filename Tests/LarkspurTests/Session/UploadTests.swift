import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Uploads", .limited)
struct UploadTests {
    private let server: MockServer
    private let session = Session()

    init() throws {
        server = try MockServer { request in
            .json(
                #"{"method": "\#(request.method)", "type": "\#(request.headers["Content-Type"] ?? "")", "length": \#(request.bodyCount)}"#
            )
        }
    }

    private func file(_ name: String, _ content: Data) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent(name)
        try content.write(to: file)
        return file
    }

    private func router(_ method: HTTPMethod) throws -> OutgoingRequest {
        OutgoingRequest(method: method, url: try RequestURL(server.url), headers: ["X": "own"])
    }

    @Test("Data goes to a URL by POST, and with a request of one's own as that says")
    func data() async throws {
        let bytes = Data("some bytes".utf8)
        let answer = try await session.upload(bytes, to: server.url).serializingJSON().value
        #expect(answer["method"].string == "POST")
        #expect(answer["length"].int == 10)
        _ = try await session.upload(bytes, to: server.url, method: .put, headers: ["X": "1"]).serializingData().value
        _ = try await session.upload(bytes, to: try router(.patch)).serializingData().value
        #expect(server.requests.map(\.method) == ["POST", "PUT", "PATCH"])
        #expect(server.requests.map { $0.headers["X"] } == [nil, "1", "own"])
        #expect(server.requests.allSatisfy { $0.body == bytes })
    }

    @Test("A file goes with the type of its extension, unless a field says another")
    func files() async throws {
        let file = try file("photo.png", Data(repeating: 7, count: 100_000))
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        _ = try await session.upload(file, to: server.url).serializingData().value
        _ = try await session.upload(file, to: server.url, headers: ["content-type": "a/b"]).serializingData().value
        _ = try await session.upload(file, to: try router(.put)).serializingData().value
        #expect(server.requests.map { $0.headers["Content-Type"] } == ["image/png", "a/b", "image/png"])
        #expect(server.requests.allSatisfy { $0.body == Data(repeating: 7, count: 100_000) })
    }

    @Test("A problem with the file is the error of the response, and nothing is sent")
    func missingFile() async throws {
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let response = await session.upload(missing, to: server.url).serializingData().response
        #expect(response.error?.code == .fileMissing)
        #expect(response.error?.stage == .building)
        #expect(server.log.connectionsAccepted == 0)
    }

    @Test("A file that is missing at first can be there for the retry")
    func fileOnRetry() async throws {
        let file = try file("later.txt", Data("late".utf8))
        let hidden = file.appendingPathExtension("hidden")
        try FileManager.default.moveItem(at: file, to: hidden)
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        let request = await session.upload(file, to: server.url).retry(
            using: .retrier { _, _, error in
                #expect(error.code == .fileMissing)
                try? FileManager.default.moveItem(at: hidden, to: file)
                return .retry
            })
        #expect(try await request.serializingJSON().value["length"].int == 4)
    }

    @Test("A form is put together at each attempt, and names its boundary whatever the fields say")
    func forms() async throws {
        let builds = Counter()
        server.on("POST", "/busy", .text("", status: 503), .text("ok"))
        let request = await session.upload(
            multipart: {
                builds.increment()
                $0.append("Ada", name: "author")
            }, to: server.url + "/busy", headers: ["Content-Type": "wrong/type"]
        )
        .validate()
        .retry(using: .retrier { _, _, error in error.statusCode == 503 ? .retry : .doNotRetry })
        #expect(try await request.serializingString().value == "ok")
        #expect(builds.value == 2)
        var form = MultipartFormData(boundary: "b")
        form.append("Ada", name: "author")
        _ = try await session.upload(form, to: server.url).serializingData().value
        _ = try await session.upload(form, to: try router(.put)).serializingData().value
        let expected = "--b\r\nContent-Disposition: form-data; name=\"author\"\r\n\r\nAda\r\n--b--\r\n"
        for request in server.requests.suffix(2) {
            #expect(request.headers.values(for: "Content-Type") == ["multipart/form-data; boundary=b"])
            #expect(String(decoding: request.body, as: UTF8.self) == expected)
        }
        for request in server.requests.prefix(2) {
            let type = try #require(request.headers["Content-Type"])
            #expect(type.hasPrefix("multipart/form-data; boundary=larkspur-"))
            #expect(String(decoding: request.body, as: UTF8.self).hasPrefix("--" + type.dropFirst(30)))
        }
    }

    @Test("Files, forms and bodies of any kind go with a request of one's own")
    func ownRequests() async throws {
        let photo = try file("photo.png", Data("png".utf8))
        let form = MultipartFormData(boundary: "x")
        _ = try await session.upload(photo, to: try router(.put)).serializingData().value
        _ = try await session.upload(.data(Data("any".utf8)), to: try router(.put)).serializingData().value
        _ = try await session.upload(form, to: try router(.put)).serializingData().value
        _ = try await session.upload(multipart: { $0.append("Ada", name: "n") }, to: try router(.put))
            .serializingData().value
        #expect(server.requests.map(\.method) == ["PUT", "PUT", "PUT", "PUT"])
        #expect(server.requests.map { $0.headers["X"] } == ["own", "own", "own", "own"])
        let types = server.requests.map { $0.headers["Content-Type"]?.prefix(19) }
        #expect(types == ["image/png", nil, "multipart/form-data", "multipart/form-data"])
    }

    @Test("A sequence of unknown length goes in chunks, and its progress is told")
    func sequences() async throws {
        let pieces = AsyncStream<Data>.makeStream()
        for _ in 0..<5 { pieces.continuation.yield(Data(count: 1_000)) }
        pieces.continuation.finish()
        let request = await session.upload(.sequence(pieces.stream), to: server.url)
        let task = request.serializingJSON()
        var last: TransferProgress?
        for await progress in request.uploadProgress { last = progress }
        #expect(last == TransferProgress(completed: 5_000, total: nil))
        #expect(try await task.value["length"].int == 5_000)
        #expect(server.requests.first?.headers["Transfer-Encoding"] == "chunked")
    }

    @Test("A server that refuses the head never gets the body of an upload that asks first")
    func refusedAfterExpect() async throws {
        server.on("POST", "/full", reading: .upTo(0), .text("too large", status: 413))
        var options = SessionConfiguration()
        options.options.expectsContinueFrom = 1
        let session = Session(configuration: options)
        let request = await session.upload(Data(count: 50_000_000), to: server.url + "/full").validate()
        let error = try #require(await request.serializingString().response.error)
        #expect(error.statusCode == 413)
        #expect(error.responseData == Data("too large".utf8))
        #expect(server.requests.first?.headers["Expect"] == "100-continue")
        #expect(request.metrics?.requestBodyBytes == 0)
        let accepted = try await session.upload(Data(count: 50_000), to: server.url).serializingJSON().value
        #expect(accepted["length"].int == 50_000)
    }
}
