import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTransfers

@Suite("Background uploads", .limited)
struct BackgroundUploadTests {
    private let runs: BackgroundRuns
    private let file: URL
    private let url = "https://h/films"

    init() throws {
        runs = try BackgroundRuns()
        file = try runs.folder.write([UInt8].pattern(100_000), to: "film.mp4")
    }

    @Test("An upload sends its file, and its response is kept until it is delivered")
    func success() async throws {
        let first = try runs.begin { _, _ in .text("stored", status: 201) }
        let film = try await first.upload(file: file, to: url, tag: "7")
        #expect(film.kind == .upload)
        guard case .success = await film.result else { throw ForeignError() }
        await first.close()
        let request = try #require(runs.log.requests.first)
        #expect(request.method == "POST" && request["Content-Type"] == "video/mp4")
        #expect(request.body.length == 100_000)
        let second = try runs.begin { _, _ in .stalled }
        let restored = try #require(await second.allRestored.first)
        #expect(restored.tag == "7")
        let response = try await restored.value
        #expect(response.data == Data("stored".utf8) && response.head.status == 201 && response.fileURL == nil)
        #expect(try runs.files == [])
    }

    @Test("An upload without a response is sent again by the next run, to the same URL with the same fields")
    func again() async throws {
        let first = try runs.begin { _, _ in .stalled }
        let film = try await first.upload(file, to: url, method: .put, headers: ["X-Kind": "film"])
        for await progress in film.progress where progress.completed == 100_000 { break }
        await first.close()
        let second = try runs.begin { _, _ in .text("ok") }
        _ = try await #require(await second.allRestored.first).value
        let request = try #require(runs.log.requests.last)
        #expect(request.method == "PUT" && request["X-Kind"] == "film" && request["Content-Type"] == "video/mp4")
        #expect(request.url.text == url && request.body.length == 100_000)
    }

    @Test("An upload of a file that has changed meanwhile fails")
    func changed() async throws {
        let first = try runs.begin { _, _ in .stalled }
        try await first.upload(file: file, to: url)
        await first.close()
        try runs.folder.write("another".utf8, to: "film.mp4")
        let second = try runs.begin { _, _ in .text("ok") }
        let restored = try #require(await second.allRestored.first)
        #expect(await code { _ = try await restored.value } == .fileChanged)
    }

    @Test("A lost connection is retried with every method", arguments: [HTTPMethod.post, .put, .patch])
    func retries(method: HTTPMethod) async throws {
        var configuration = SessionConfiguration.bare
        configuration.clock = LeapingClock()
        let transfers = try runs.begin(.init(), configuration: configuration) { _, number in
            number < 4 ? .failure(.connectionLost) : .text("ok")
        }
        _ = try await transfers.upload(file: file, to: url, method: method).value
        #expect(runs.log.count == 4)
    }

    @Test("A resumable upload is continued by the next run, not created again", arguments: [false, true])
    func resumable(isCreated: Bool) async throws {
        let answer: @Sendable (TransportRequest, Int) -> StubAnswer = { request, number in
            let tus: HTTPHeaders = ["Tus-Resumable": "1.0.0"]
            switch request.method {
            case "POST":
                if !isCreated, number == 1 { return .stalled }
                return .response(201, headers: HTTPHeaders(tus + [HTTPHeader(name: "Location", value: "/up/1")]))
            case "HEAD":
                let fields = ["Upload-Offset": "30000", "Upload-Length": "100000"].map(HTTPHeader.init(name:value:))
                return .response(200, headers: HTTPHeaders(tus + fields))
            default:
                if number == 2, isCreated { return .stalled }
                return .response(204, headers: HTTPHeaders(tus + [HTTPHeader(name: "Upload-Offset", value: "100000")]))
            }
        }
        let first = try runs.begin(answering: answer)
        let film = try await first.upload(file: file, to: url, resumable: .tus, metadata: ["name": "film"])
        if isCreated {
            let text = { try? runs.text }
            await poll { text()?.contains("up\\/1") == true && runs.log.count == 2 }
        } else {
            await poll { runs.log.count == 1 }
        }
        await first.close()
        let second = try runs.begin(answering: answer)
        let restored = try #require(await second.allRestored.first)
        #expect(restored.id == film.id)
        #expect(try await restored.value.head.status == 204)
        let methods = isCreated ? ["POST", "PATCH", "HEAD", "PATCH"] : ["POST", "POST", "PATCH"]
        #expect(runs.log.requests.map(\.method) == methods)
        #expect(runs.log.requests.last?.body.length == (isCreated ? 70_000 : 100_000))
        #expect(runs.log.requests.first?["Upload-Metadata"] == "name ZmlsbQ==")
    }

    @Test("The upload that replaces a lost one is continued by the next run")
    func replaced() async throws {
        let answer: @Sendable (TransportRequest, Int) -> StubAnswer = { request, number in
            var fields: HTTPHeaders = ["Tus-Resumable": "1.0.0"]
            switch request.method {
            case "POST":
                fields["Location"] = number == 1 ? "/up/1" : "/up/2"
                return .response(201, headers: fields)
            case "HEAD":
                if number == 3 { return .response(404) }
                fields["Upload-Offset"] = "30000"
                fields["Upload-Length"] = "100000"
                return .response(200, headers: fields)
            default:
                if number < 7 { return .stalled }
                fields["Upload-Offset"] = "100000"
                return .response(204, headers: fields)
            }
        }
        let text = { try? runs.text }
        let first = try runs.begin(answering: answer)
        try await first.upload(file: file, to: url, resumable: .tus)
        await poll { text()?.contains("up\\/1") == true && runs.log.count == 2 }
        await first.close()
        let second = try runs.begin(answering: answer)
        let again = await second.allRestored
        await poll { text()?.contains("up\\/2") == true && runs.log.count == 5 }
        await second.close()
        #expect(again.count == 1)
        let third = try runs.begin(answering: answer)
        let restored = try #require(await third.allRestored.first)
        #expect(try await restored.value.head.status == 204)
        #expect(runs.log.requests.map(\.method) == ["POST", "PATCH", "HEAD", "POST", "PATCH", "HEAD", "PATCH"])
        #expect(runs.log.requests.last?.url.path == "/up/2")
    }

    @Test("A resumable upload that gets another URL repeats its progress, so that a reader can store the URL")
    func otherURL() async throws {
        let upload = await runs.log.session().resumableUpload(file, to: url, using: .tus)
        let version = try ResumableFile(file, expecting: nil).version
        var record = ResumableUploadRecord(
            method: .tus, uploadURL: "https://h/up/1", length: 100_000, modification: version.modification, offset: 0)
        upload.keep(record)
        upload.feed.advance(to: 7, of: 10)
        var values = upload.feed.observe().makeAsyncIterator()
        #expect(await values.next()?.completed == 7)
        record.uploadURL = "https://h/up/2"
        upload.keep(record)
        upload.cancel()
        #expect(await values.next()?.completed == 7)
    }
}
