import Larkspur
import LarkspurTesting
import TestSupport
import Testing

private let content = [UInt8].pattern(10_000)

/// URLs and credentials of uploads, their records and their ends.
@Suite("The rules of resumable uploads", .limited)
struct ResumableUploadRulesTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let log = TransportLog()
    private let session = Session(configuration: SessionConfiguration { $0.clock = LeapingClock() })

    init() throws {
        folder = try TemporaryFolder()
        file = try folder.write(content, to: "a.txt")
    }

    private func failure(of upload: ResumableUpload) async -> RequestError? {
        do {
            _ = try await upload.value
            return nil
        } catch {
            return error as? RequestError
        }
    }

    /// A session whose server creates uploads at this URL, and stores every byte.
    private func session(_ location: String?, headers: HTTPHeaders = [:]) -> Session {
        var answer: HTTPHeaders = [:]
        answer["Location"] = location
        let created = StubAnswer.response(201, headers: answer)
        let taken = StubAnswer.response(204, headers: ["Upload-Offset": "\(content.count)"])
        return log.session(SessionConfiguration { $0.headers = headers }) { request, _ in
            request.method == "POST" ? created : taken
        }
    }

    @Test("A record has the URL of the upload, and no change that adapters make to the requested URL")
    func recordWithoutKeys() async throws {
        let upload = await session("/u/1").resumableUpload(
            file, to: "https://h/files", using: .tus, interceptor: .apiKey("hunter2", in: .query("key")))
        _ = try await upload.value
        #expect(log.requests.first?.url.query == "key=hunter2")
        let record = String(decoding: try JSONEncoder().encode(upload.record), as: UTF8.self)
        #expect(record.contains("1") && !record.contains("files") && !record.contains("hunter2"))
    }

    // MARK: Retries

    /// A session on this clock whose server refuses a number of requests with these fields.
    private func refusing(
        _ count: Int, _ headers: HTTPHeaders = [:], on clock: any Clock<Duration>, budget: RetryBudget? = nil
    ) -> Session {
        let configuration = SessionConfiguration {
            ($0.clock, $0.headers, $0.retryBudget) = (clock, [:], budget)
            $0.random = RandomSource { .max }
        }
        return log.session(configuration) { request, number in
            if number <= count { return .response(429, headers: headers) }
            return request.method == "POST"
                ? .response(201, headers: ["Location": "/u/1"])
                : .response(204, headers: ["Upload-Offset": "\(content.count)"])
        }
    }

    @Test("A `Retry-After` replaces the delay, on the session's clock")
    func retryAfter() async throws {
        let clock = ManualClock()
        let session = refusing(1, ["Retry-After": "30"], on: clock)
        let upload = await session.resumableUpload(file, to: "https://h/files", using: .tus)
        async let response = upload.value
        await clock.waitForSleepers()
        clock.advance(by: .seconds(29))
        #expect(clock.sleepers == 1 && log.count == 1)
        clock.advance(by: .seconds(1))
        _ = try await response
        #expect(log.requests.map(\.method) == ["POST", "POST", "PATCH"])
    }

    @Test("A `Retry-After` longer than the maximum ends the upload, and the error says so")
    func longRetryAfter() async {
        let session = refusing(1, ["Retry-After": "31"], on: ManualClock())
        let error = await failure(
            of: session.resumableUpload(
                file, to: "https://h/files", using: .tus, maximumRetryAfter: .seconds(30)))
        #expect(error?.statusCode == 429)
        #expect(error?.retryRefusal?.contains("31") == true)
        #expect(log.count == 1)
    }

    @Test(
        "Retries need the session's budget, and each first attempt makes its deposit",
        arguments: [(0.0, 1), (1.0, 2), (2.0, 3)])
    func budget(ratio: Double, requests: Int) async {
        let budget = RetryBudget(ratio: ratio, minimumPerSecond: 0)
        let session = refusing(.max, on: LeapingClock(), budget: budget)
        let error = await failure(of: session.resumableUpload(file, to: "https://h/files", using: .tus))
        #expect(error?.statusCode == 429)
        #expect(error?.retryRefusal?.contains("budget") == true)
        #expect(log.count == requests)
    }

    // MARK: URLs

    @Test(
        "The upload's URL is resolved against the requested URL",
        arguments: [
            ("/u/1", "https://h/u/1"), ("1", "https://h/files/1"), ("https://other/1", "https://other/1"),
            ("//other:8443/1?k=v", "https://other:8443/1?k=v"), ("https://a:b@h/1", "https://h/1"),
        ])
    func location(location: String, expected: String) async throws {
        let upload = await session(location).resumableUpload(file, to: "https://h/files/", using: .tus)
        _ = try await upload.value
        #expect(log.requests.map { "\($0.method) \($0.url.text)" } == ["POST https://h/files/", "PATCH \(expected)"])
        #expect(log.requests.allSatisfy { $0.url.user == nil })
        #expect(upload.record?.uploadURL == expected)
    }

    @Test(
        "No bytes are sent to an upload's URL that is invalid or leaves https",
        arguments: [nil, "http://h/1", "ftp://h/1", "file:///1", "https:1", "https://h:x/", "\u{1}"])
    func refusedLocation(location: String?) async throws {
        let error = await failure(of: session(location).resumableUpload(file, to: "https://h/files", using: .tus))
        #expect(error?.code == .uploadURLRefused)
        #expect(log.count == 1)
    }

    @Test("If the first URL is http, the upload's URL may be http or https", arguments: ["http://h/1", "https://h/1"])
    func plainLocation(location: String) async throws {
        _ = try await session(location).resumableUpload(file, to: "http://h/files", using: .tus).value
        #expect(log.requests.last?.url.text == location)
    }

    @Test(
        "Credentials for the first origin are not sent to an upload at another origin; an adapter's fields are",
        arguments: [("/1", true), ("https://h:443/1", true), ("https://other/1", false), ("https://h:444/1", false)])
    func credentials(location: String, isSame: Bool) async throws {
        let session = session(location, headers: ["Cookie": "c", "X-API-Key": "k", "X-Plain": "1"])
        let headers: HTTPHeaders = ["Authorization": "secret", "X-Auth-Token": "t", "X-Own": "2"]
        _ = try await session.resumableUpload(file, to: "https://h/files", using: .tus, headers: headers).value
        let patch = try #require(log.requests.last)
        #expect(patch["Authorization"] == (isSame ? "secret" : nil))
        #expect(patch["Cookie"] == (isSame ? "c" : nil))
        #expect(patch["X-API-Key"] == (isSame ? "k" : nil))
        #expect(patch["X-Auth-Token"] == (isSame ? "t" : nil))
        #expect(patch["X-Own"] == "2" && patch["X-Plain"] == "1")
        let tokens = Counter()
        let fresh = Interceptor(adapt: { request, _ in request.headers["Authorization"] = "\(tokens.increment())" })
        _ = try await session.resumableUpload(
            file, to: "https://h/files", using: .tus, headers: headers, interceptor: fresh
        ).value
        #expect(log.requests.suffix(2).map { $0["Authorization"] } == ["1", "2"])
    }

    @Test("A 401 asks the retriers, and the upload continues with their new credential")
    func freshToken() async throws {
        let server = try UploadServer(.tus)
        server.script("PATCH", .text("", status: 401))
        let token = Counter()
        let interceptor = Interceptor(
            adapt: { request, _ in request.headers["Authorization"] = "\(token.value)" },
            retry: { _, _, error in
                guard error.statusCode == 401 else { return .doNotRetry }
                token.increment()
                return .retry
            })
        _ = try await session.resumableUpload(file, to: server.url, using: .tus, interceptor: interceptor).value
        #expect(server.methods == ["POST", "PATCH", "PATCH"])
        #expect(server.server.requests.map { $0.headers["Authorization"] } == ["0", "0", "1"])
        #expect(server.state.bytes == content)
    }

    // MARK: Header fields

    @Test("With tus the request has the length, and the metadata in order and in Base64")
    func metadata() async throws {
        let metadata = ["name": "größe.txt", "empty": "", "a": "1"]
        _ = try await session("/1").resumableUpload(
            file, to: "https://h/", using: .tus, metadata: metadata
        ).value
        let post = try #require(log.requests.first)
        #expect(post["Upload-Metadata"] == "a MQ==,empty,name Z3LDtsOfZS50eHQ=")
        #expect(post["Upload-Length"] == "10000")
        #expect(post["Content-Type"] == nil && post.body.length == 0)
        #expect(log.requests.allSatisfy { $0["Tus-Resumable"] == "1.0.0" })
    }

    @Test("With the draft the request has the version, the file's type, and says that more bytes follow")
    func draft() async throws {
        let server = try UploadServer(.ietf, breakingAt: [1])
        let headers: HTTPHeaders = ["Content-Disposition": "inline"]
        _ = try await session.resumableUpload(
            file, to: server.url, using: .ietf, headers: headers, chunkSize: 5_000
        ).value
        let requests = server.server.requests
        let completeness = requests.filter { $0.method != "HEAD" }.map { $0.headers["Upload-Complete"] }
        #expect(completeness.last == "?1" && completeness.dropLast().allSatisfy { $0 == "?0" })
        #expect(completeness.count >= 4)
        #expect(requests.allSatisfy { $0.headers["Upload-Draft-Interop-Version"] == "8" })
        #expect(requests.first?.headers["Content-Type"] == "text/plain")
        #expect(requests.first?.headers["Upload-Length"] == "10000")
    }

    @Test(
        "Metadata that cannot be encoded is refused before anything is sent", arguments: ["", "a b", "a,b", "ü", "a\n"])
    func invalidMetadata(key: String) async throws {
        let tus = await session("/1").resumableUpload(file, to: "https://h/", using: .tus, metadata: [key: "v"])
        #expect(await failure(of: tus)?.code == .invalidRequest)
        let draft = await session("/1").resumableUpload(file, to: "https://h/", using: .ietf, metadata: ["a": "v"])
        #expect(await failure(of: draft)?.code == .invalidRequest)
        #expect(log.count == 0)
    }

    @Test("The target's response to the whole file is final, and is not requested again", arguments: [422, 500])
    func targetRefuses(status: Int) async throws {
        let server = try UploadServer(.ietf)
        let refusal = MockResponse.response(
            status, headers: ["Upload-Complete": "?1"], chunks: [Data("no such format".utf8)])
        server.script("PATCH", refusal)
        let error = await failure(of: session.resumableUpload(file, to: server.url, using: .ietf))
        #expect(error?.statusCode == status)
        #expect(error?.responseData == Data("no such format".utf8))
        #expect(server.methods == ["POST", "PATCH"])
    }

    // MARK: Records

    @Test(
        "Another session resumes with the record, from the server's offset",
        arguments: [ResumableUploadProtocol.tus, .ietf])
    func record(method: ResumableUploadProtocol) async throws {
        let server = try UploadServer(method, breakingAt: [4_000])
        server.script("HEAD", .stall)
        let upload = await session.resumableUpload(file, to: server.url, using: method)
        #expect(upload.record == nil)
        upload.resume()
        try await server.server.wait { $0.requests.contains { $0.method == "HEAD" } }
        upload.cancel()
        let saved = try JSONEncoder().encode(upload.record)
        let record = try JSONDecoder().decode(ResumableUploadRecord.self, from: saved)
        #expect(record.uploadURL == server.url + "/1" && record.length == 10_000)
        let moved = folder["moved.txt"]
        try FileManager.default.moveItem(at: file, to: moved)
        let next = await Session().resumableUpload(moved, to: server.url, using: method, resuming: record)
        _ = try await next.value
        #expect(server.methods.suffix(2) == ["HEAD", "PATCH"])
        #expect(server.state.bytes == content && server.state.uploads == 1)
    }

    @Test("A record is not used with another file, nor with a URL that is not valid for it")
    func otherFile() async throws {
        let upload = await session("/1").resumableUpload(file, to: "https://h/", using: .tus)
        _ = try await upload.value
        let record = try #require(upload.record)
        let count = log.count
        let other = try folder.write(content, to: "other.txt")
        // Files that are written in quick succession may have the same modification time.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -9)], ofItemAtPath: other.path)
        let shorter = try folder.write(content.dropLast(), to: "shorter.txt")
        for file in [other, shorter] {
            #expect(
                await failure(
                    of: session("/1").resumableUpload(file, to: "https://h/", using: .tus, resuming: record))?.code
                    == .fileChanged)
        }
        let saved = String(decoding: try JSONEncoder().encode(record), as: UTF8.self)
        let forged = Data(saved.replacing(#"https:\/\/h\/1"#, with: #"http:\/\/h\/1"#).utf8)
        let downgraded = try JSONDecoder().decode(ResumableUploadRecord.self, from: forged)
        #expect(downgraded != record)
        #expect(
            await failure(
                of: session("/1").resumableUpload(file, to: "https://h/", using: .tus, resuming: downgraded))?.code
                == .uploadURLRefused)
        let otherProtocol = await session("/1").resumableUpload(file, to: "https://h/", using: .ietf, resuming: record)
        #expect(await failure(of: otherProtocol)?.code == .invalidRequest)
        #expect(log.count == count)
    }

    @Test("A server's offset below the record's is an error")
    func lessThanRecorded() async throws {
        let server = try UploadServer(.tus)
        server.script(
            "HEAD", .response(200, headers: ["Upload-Offset": "4000"]),
            .response(200, headers: ["Upload-Offset": "3999"]))
        server.script("PATCH", .text("", status: 409), .text("", status: 403))
        let upload = await session.resumableUpload(file, to: server.url, using: .tus)
        #expect(await failure(of: upload)?.statusCode == 403)
        let record = try #require(upload.record)
        #expect(record.offset == 4_000)
        let next = await session.resumableUpload(file, to: server.url, using: .tus, resuming: record)
        #expect(await failure(of: next)?.code == .uploadInconsistent)
    }

    // MARK: Ends

    @Test("A cancellation resumes every awaiter at once, and ends the request under way and the progress (R4)")
    func cancel() async throws {
        let server = try UploadServer(.tus)
        server.script("PATCH", .stall)
        let upload = await session.resumableUpload(file, to: server.url, using: .tus)
        let awaiters = (0..<2).map { _ in Task { try await upload.value } }
        try await server.server.wait { $0.requests.contains { $0.method == "PATCH" } }
        upload.cancel()
        for awaiter in awaiters { await #expect(throws: CancellationError.self) { try await awaiter.value } }
        for await _ in upload.progress {}
        await #expect(throws: CancellationError.self) { try await upload.value }
        try await server.server.wait { $0.connectionCount == 0 }
        #expect(server.methods == ["POST", "PATCH"])
    }

    @Test("A cancelled awaiter cancels the upload only if it is the last")
    func awaiters() async throws {
        let server = try UploadServer(.tus)
        let gate = Gate()
        server.script("PATCH", MockResponse([.pause { await gate.pass() }, .close]))
        let upload = await session.resumableUpload(file, to: server.url, using: .tus)
        let other = Task { try await upload.value }
        await gate.arrived()
        let one = Task { try await upload.value }
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        gate.open()
        _ = try await other.value
        #expect(server.state.bytes == content)
        let alone = await session.resumableUpload(file, to: server.url, using: .tus)
        server.script("POST", .stall)
        let last = Task { try await alone.value }
        try await server.server.wait { $0.requests.count { $0.method == "POST" } == 2 }
        last.cancel()
        await #expect(throws: CancellationError.self) { try await last.value }
        await #expect(throws: CancellationError.self) { try await alone.value }
    }

    @Test("An upload that has ended, or has never begun, is released with its session")
    func lifetime() async throws {
        weak var gone: ResumableUpload?
        weak var unstarted: ResumableUpload?
        weak var sessionGone: Session?
        do {
            let session = Session()
            sessionGone = session
            let server = try UploadServer(.tus)
            let upload = await session.resumableUpload(file, to: server.url, using: .tus)
            _ = try await upload.value
            let other = await session.resumableUpload(file, to: server.url, using: .tus)
            (gone, unstarted) = (upload, other)
            #expect(gone != nil && unstarted != nil)
        }
        await poll { gone == nil && unstarted == nil && sessionGone == nil }
    }
}
