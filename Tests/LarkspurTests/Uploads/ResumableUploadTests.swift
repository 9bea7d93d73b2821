import Larkspur
import LarkspurTesting
import TestSupport
import Testing

private let count = 100_000
private let content = [UInt8].pattern(count)

extension ResumableUploadProtocol: CustomTestStringConvertible {
    public var testDescription: String { self == .tus ? "tus" : "IETF" }
}

/// Complete uploads to a small server of either protocol.
@Suite("Resumable uploads", .limited)
struct ResumableUploadTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let clock = LeapingClock()
    private let session: Session

    init() throws {
        folder = try TemporaryFolder()
        file = try folder.write(content, to: "a.txt")
        let clock = clock
        session = Session(
            configuration: SessionConfiguration {
                $0.clock = clock
                $0.random = RandomSource { .max }
            })
    }

    private func progress(of upload: ResumableUpload) async -> [TransferProgress] {
        var values: [TransferProgress] = []
        for await value in upload.progress { values.append(value) }
        return values
    }

    private func failure(of upload: ResumableUpload) async -> RequestError? {
        do {
            let response = try await upload.value
            Issue.record("a success: \(response)")
            return nil
        } catch {
            return error as? RequestError
        }
    }

    static let places: [[Int]] = [
        [], [0], [1], [count / 2], [count - 1], [count], [0, 0, 1, 1, 2, 50_000, 50_000, count - 1, count],
    ]

    @Test(
        "Wherever connections break, what arrives is the file", arguments: [ResumableUploadProtocol.tus, .ietf], places)
    func breakingConnections(method: ResumableUploadProtocol, positions: [Int]) async throws {
        let server = try UploadServer(method, breakingAt: positions)
        let upload = await session.resumableUpload(file, to: server.url, using: method)
        let values = await progress(of: upload)
        let response = try await upload.value
        #expect(server.state.bytes == content)
        #expect(server.state.uploads == 1)
        #expect(server.state.breaks.isEmpty)
        #expect(zip(values, values.dropFirst()).allSatisfy { $0.completed <= $1.completed })
        #expect(values.last == TransferProgress(completed: UInt64(count), total: UInt64(count)))
        if method == .ietf {
            #expect(server.state.isComplete)
            if positions.last != count { #expect(response.value == Data("stored".utf8)) }
        }
        if positions.isEmpty { #expect(server.methods == ["POST", "PATCH"]) }
        #expect(upload.record?.offset == UInt64(count))
    }

    static var brokenAnswers: [MockResponse] {
        [
            MockResponse([.close]), MockResponse([.reset]), .raw("HTTP/1.1 2"),
            .raw("HTTP/1.1 204 No Content\r\nUpload-Off"),
            .text("a long text").truncated(after: 2),
        ]
    }

    @Test("A truncated response does not count: the server is asked for the offset", arguments: 0..<brokenAnswers.count)
    func afterBrokenAnswer(index: Int) async throws {
        let server = try UploadServer(.tus)
        let answer = Self.brokenAnswers[index]
        for method in ["POST", "PATCH"] { server.script(method, answer) }
        // For a HEAD, a response that is truncated in its body is complete.
        if index != 4 { server.script("HEAD", answer) }
        _ = try await session.resumableUpload(file, to: server.url, using: .tus).value
        #expect(server.state.bytes == content)
        #expect(server.state.uploads == 1)
    }

    @Test("If the response to the creating request is lost after a 104, the upload continues at the URL of the 104")
    func announcedURL() async throws {
        let server = try UploadServer(.ietf)
        server.announce()
        _ = try await session.resumableUpload(file, to: server.url, using: .ietf).value
        #expect(server.state.bytes == content)
        #expect(server.state.uploads == 1)
        #expect(server.methods == ["POST", "HEAD", "PATCH"])
    }

    @Test(
        "A response without a URL uses that of the 104; tus has no 104",
        arguments: [ResumableUploadProtocol.tus, .ietf])
    func onlyAnnouncedURL(method: ResumableUploadProtocol) async throws {
        let server = try UploadServer(method)
        server.announce(then: MockResponse.response(201).steps)
        let upload = await session.resumableUpload(file, to: server.url, using: method)
        if method == .ietf {
            _ = try await upload.value
            #expect(server.state.bytes == content)
            #expect(server.methods == ["POST", "PATCH"])
        } else {
            #expect(await failure(of: upload)?.code == .uploadURLRefused)
        }
    }

    @Test("No request is larger than a chunk", arguments: [ResumableUploadProtocol.tus, .ietf])
    func chunks(method: ResumableUploadProtocol) async throws {
        let server = try UploadServer(method, breakingAt: [30_500, 70_000])
        let upload = await session.resumableUpload(file, to: server.url, using: method, chunkSize: 30_000)
        _ = try await upload.value
        #expect(server.state.bytes == content)
        let patches = server.server.requests.filter { $0.method == "PATCH" }
        #expect(patches.allSatisfy { ($0.headers["Content-Length"].flatMap { Int($0) } ?? .max) <= 30_000 })
        #expect(patches.count >= 4)
    }

    @Test("An empty file is uploaded", arguments: [ResumableUploadProtocol.tus, .ietf])
    func empty(method: ResumableUploadProtocol) async throws {
        let server = try UploadServer(method)
        let upload = await session.resumableUpload(try folder.write([], to: "empty"), to: server.url, using: method)
        #expect(await progress(of: upload).last == TransferProgress(completed: 0, total: 0))
        _ = try await upload.value
        #expect(server.methods == (method == .tus ? ["POST"] : ["POST", "PATCH"]))
        #expect(server.state.isComplete == (method == .ietf))
    }

    @Test(
        "A temporary status is followed by an offset request and the rest", arguments: [408, 409, 423, 429, 500, 503])
    func passing(status: Int) async throws {
        let server = try UploadServer(.tus)
        for method in ["HEAD", "PATCH"] { server.script(method, .text("", status: status)) }
        _ = try await session.resumableUpload(file, to: server.url, using: .tus).value
        #expect(server.methods == ["POST", "PATCH", "HEAD", "HEAD", "PATCH"])
        #expect(server.state.bytes == content)
    }

    @Test("A permanent status ends the upload, with the server's response", arguments: [302, 400, 403, 412, 413])
    func final(status: Int) async throws {
        let server = try UploadServer(.tus)
        server.script("PATCH", .text("why", status: status))
        let error = await failure(of: session.resumableUpload(file, to: server.url, using: .tus))
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.statusCode == status)
        #expect(error?.responseData == Data("why".utf8))
        #expect(server.methods == ["POST", "PATCH"])
    }

    @Test("Failures without progress are retried up to the limit, with growing delays", arguments: [0, 3])
    func limit(limit: Int) async throws {
        let server = try UploadServer(.tus)
        for _ in 0...limit { server.script("POST", .text("", status: 503)) }
        let error = await failure(of: session.resumableUpload(file, to: server.url, using: .tus, retryLimit: limit))
        #expect(error?.statusCode == 503)
        #expect(server.methods.count == limit + 1)
        let sleeps = clock.sleeps
        #expect(sleeps.count == limit)
        for (number, sleep) in sleeps.enumerated() {
            let longest = Duration.milliseconds(250 << number)
            #expect(sleep <= longest && sleep > longest / 2, "\(sleep)")
        }
    }

    @Test("A server that accepts requests without storing bytes is not asked for ever")
    func stalled() async throws {
        let server = try UploadServer(.tus)
        for _ in 0..<4 { server.script("PATCH", .response(204, headers: ["Upload-Offset": "0"])) }
        let error = await failure(of: session.resumableUpload(file, to: server.url, using: .tus, retryLimit: 3))
        #expect(error?.code == .uploadStalled)
        #expect(server.methods == ["POST", "PATCH", "HEAD", "PATCH", "HEAD", "PATCH", "HEAD", "PATCH"])
    }

    @Test(
        "An impossible offset is an error, and nothing more is sent",
        arguments: [
            ["Upload-Offset": "100001"], ["Upload-Offset": "49999"], ["Upload-Offset": "-1"], ["Upload-Offset": "x"],
            ["Upload-Offset": "99999999999999999999"], ["Upload-Offset": ""], [:],
            ["Upload-Offset": "50000", "Upload-Length": "99999"],
        ])
    func inconsistent(fields: [String: String]) async throws {
        let server = try UploadServer(.tus)
        server.script("PATCH", .response(204, headers: ["Upload-Offset": "50000"]), .text("", status: 409))
        server.script("HEAD", .response(200, headers: HTTPHeaders(fields)))
        let error = await failure(of: session.resumableUpload(file, to: server.url, using: .tus))
        #expect(error?.code == .uploadInconsistent)
        #expect(server.methods == ["POST", "PATCH", "PATCH", "HEAD"])
    }

    @Test("An offset beyond the sent bytes is an error")
    func tooMuch() async throws {
        let server = try UploadServer(.tus)
        server.script("PATCH", .response(204, headers: ["Upload-Offset": "20001"]))
        let error = await failure(of: session.resumableUpload(file, to: server.url, using: .tus, chunkSize: 20_000))
        #expect(error?.code == .uploadInconsistent)
        #expect(server.methods == ["POST", "PATCH"])
    }

    @Test("An incomplete upload that the server calls complete is an error")
    func partForWhole() async throws {
        let server = try UploadServer(.ietf)
        server.script("PATCH", .response(200, headers: ["Upload-Complete": "?1"]))
        let upload = await session.resumableUpload(file, to: server.url, using: .ietf, chunkSize: 20_000)
        #expect(await failure(of: upload)?.code == .uploadInconsistent)
        #expect(server.methods == ["POST", "PATCH"])
    }

    @Test("An upload that the server has lost starts over once", arguments: [404, 410], ["HEAD", "PATCH"])
    func gone(status: Int, method: String) async throws {
        for times in 1...2 {
            let server = try UploadServer(.tus, breakingAt: [50_000, 50_000])
            for _ in 0..<times { server.script(method, .text("", status: status)) }
            let upload = await session.resumableUpload(file, to: server.url, using: .tus)
            if times == 1 {
                _ = try await upload.value
                #expect(server.state.bytes == content)
            } else {
                #expect(await failure(of: upload)?.code == .uploadGone)
            }
            #expect(server.state.uploads == 2)
        }
    }

    @Test("A file that changes during the upload is an error, and none of its new bytes are sent")
    func changed() async throws {
        let server = try UploadServer(.tus, breakingAt: [50_000])
        let file = file
        let upload = await session.resumableUpload(
            file, to: server.url, using: .tus,
            interceptor: Interceptor(adapt: { request, _ in
                if request.method == .head { try Data(content.reversed()).write(to: file) }
            }))
        #expect(await failure(of: upload)?.code == .fileChanged)
        #expect(server.state.bytes == Array(content[..<50_000]))
    }

    @Test("A missing file is an error, and nothing is sent")
    func missing() async throws {
        let server = try UploadServer(.tus)
        #expect(
            await failure(of: session.resumableUpload(folder["none"], to: server.url, using: .tus))?.code
                == .fileMissing)
        #expect(server.methods.isEmpty)
    }
}
