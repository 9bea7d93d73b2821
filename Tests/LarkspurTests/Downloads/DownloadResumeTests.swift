import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("Resumed downloads", .limited)
struct DownloadResumeTests {
    private let folder: TemporaryFolder
    private let log = TransportLog()
    private let url = "http://h/files/archive.zip"
    private let served = ServedFile()

    init() throws { folder = try TemporaryFolder() }

    private var target: URL { folder["a"] }

    /// A session whose first response is truncated, and whose later responses come from the second file.
    private func session(
        cut: Int = 40_000, then second: ServedFile? = nil, first: ServedFile? = nil, retrying: Bool = true
    ) -> Session {
        var first = first ?? served
        first.cut = cut
        return log.session(interceptor: retrying ? Self.retrier : nil) { [first] request, number in
            number == 1 ? first.answer(to: request) : (second ?? served).answer(to: request)
        }
    }

    private static let retrier: Interceptor = Interceptor(retry: { request, _, _ in
        request.retryCount < 3 ? .retry : .doNotRetry
    })

    private func expectFile(_ served: ServedFile, _ response: DownloadResponse<URL>) throws {
        #expect(response.error == nil)
        #expect(try Data(contentsOf: target) == served.bytes)
        #expect(try folder.contents == ["a"])
    }

    @Test("A retry requests the rest, if the file is the same, and accepts only identity")
    func retry() async throws {
        let response = await session().download(url, to: .file(target)).validate().serializingFile().response
        try expectFile(served, response)
        #expect(log.requests.map { $0["Range"] } == [nil, "bytes=40000-"])
        #expect(log.requests.map { $0["If-Range"] } == [nil, "\"one\""])
        #expect(log.requests[1]["Accept-Encoding"] == "identity")
    }

    @Test("A checksum covers both parts")
    func checksum() async throws {
        var hash = StreamingHash(.sha512)
        served.bytes.withUnsafeBytes { hash.update($0) }
        let options: [DownloadOption] = [.checksum(.sha512, hash.finalize().hexadecimal)]
        let response = await session().download(url, to: .file(target), options: options).serializingFile().response
        try expectFile(served, response)
        #expect(log.count == 2)
    }

    @Test(
        "A changed file is fetched from its start, whether or not the server supports If-Range",
        arguments: [false, true])
    func changed(ignoresIfRange: Bool) async throws {
        var other = served
        other.bytes = Data(served.bytes.reversed().dropLast(3))
        other.fields = ["ETag": "\"two\""]
        other.ignoresIfRange = ignoresIfRange
        let response = await session(then: other).download(url, to: .file(target)).validate().serializingFile().response
        try expectFile(other, response)
        #expect(log.requests.map { $0["Range"] != nil } == (ignoresIfRange ? [false, true, false] : [false, true]))
    }

    @Test(
        "A file without a strong validator is not resumed",
        arguments: [
            [:], ["ETag": "W/\"one\""], ["ETag": "W/\"one\"", "Last-Modified": "Sat, 21 Nov 2026 08:00:00 GMT"],
            ["ETag": "\"one\"", "Accept-Ranges": "none"],
            ["Last-Modified": "Sat, 21 Nov 2026 08:00:00 GMT", "Date": "Sat, 21 Nov 2026 08:00:00 GMT"],
        ] as [HTTPHeaders])
    func weak(_ fields: HTTPHeaders) async throws {
        var weak = served
        weak.fields = fields
        let response = await session(then: weak, first: weak).download(url, to: .file(target)).serializingFile()
            .response
        try expectFile(weak, response)
        #expect(log.requests.map { $0["Range"] } == [nil, nil])
    }

    @Test("A date of an earlier second is enough if there is no tag")
    func date() async throws {
        var dated = served
        dated.fields = ["Last-Modified": "Sat, 21 Nov 2026 08:00:00 GMT", "Date": "Sat, 21 Nov 2026 08:00:01 GMT"]
        let response = await session(then: dated, first: dated).download(url, to: .file(target)).serializingFile()
            .response
        try expectFile(dated, response)
        #expect(log.requests[1]["If-Range"] == "Sat, 21 Nov 2026 08:00:00 GMT")
    }

    @Test(
        "A response that does not continue the file is not appended: the file is requested again, once",
        arguments: [
            ["Content-Range": "bytes 39999-99999/100000"], ["Content-Range": "bytes 40000-99999/99999"], [:],
            ["Content-Range": "bytes 40000-99999/100001"], ["Content-Range": "lines 40000-99999/100000"],
            ["Content-Range": "bytes 40000-99999/100000", "Content-Encoding": "gzip"],
            ["Content-Range": "bytes 40000-99999/100000", "ETag": "\"two\""],
        ] as [HTTPHeaders], [206, 416])
    func unusable(_ fields: HTTPHeaders, status: Int) async throws {
        var first = served
        first.cut = 40_000
        let session = log.session(interceptor: Self.retrier) { [first, served] request, number in
            switch number {
            case 1: first.answer(to: request)
            case 2: .response(status, headers: fields, chunks: [Data("wrong".utf8)])
            default: served.answer(to: request)
            }
        }
        let response = await session.download(url, to: .file(target)).validate().serializingFile().response
        try expectFile(served, response)
        #expect(log.requests.map { $0["Range"] } == [nil, "bytes=40000-", nil])
        #expect(response.attempts.count == 2)
    }

    @Test("A part that was not requested is an error")
    func unasked() async throws {
        let session = log.session { _, _ in
            .response(206, headers: ["Content-Range": "bytes 0-3/9"], chunks: [Data("part".utf8)])
        }
        let response = await session.download(url, to: .file(target)).serializingFile().response
        #expect(response.error?.code == .unexpectedRange)
        let own = await session.download(url, headers: ["Range": "bytes=0-3"], to: .file(target))
        #expect(try await own.serializingString().value == "part", "an explicit range request gets its part")
    }

    @Test(
        "A shorter rest is truncated and resumed, and a longer one makes the next attempt start over",
        arguments: [
            (40_000..<50_000, "", "bytes=50000-", .truncated),
            (40_000..<100_000, "more", nil, .unexpectedRange),
        ] as [(Range<Int>, String, String?, RequestError.Code)])
    func wrongRest(_ part: Range<Int>, _ more: String, _ next: String?, _ code: RequestError.Code) async throws {
        var first = served
        first.cut = 40_000
        let session = log.session(interceptor: Self.retrier) { [first, served] request, number in
            switch number {
            case 1: first.answer(to: request)
            case 2:
                .response(
                    206, headers: ["Content-Range": "bytes \(part.lowerBound)-\(part.upperBound - 1)/100000"],
                    chunks: [Data(served.bytes[part]), Data(more.utf8)])
            default: served.answer(to: request)
            }
        }
        let response = await session.download(url, to: .file(target)).serializingFile().response
        try expectFile(served, response)
        #expect(log.requests.map { $0["Range"] } == [nil, "bytes=40000-", next])
        #expect(response.attempts[1].error?.code == code)
        #expect(response.attempts[1].error?.isConnectivity == (code == .truncated))
    }

    @Test("A response of middleware is not appended either if it does not continue the file")
    func unusableFromMiddleware() async throws {
        let head = ResponseHead(status: 206, fields: [HTTPHeader(name: "Content-Range", value: "bytes 5-9/10")])
        let middleware = ClosureMiddleware { exchange, next in
            guard exchange.request.headers["Range"] == nil else {
                return ExchangeResponse(head: head, body: .buffered(Data("wrong".utf8)))
            }
            return try await next(exchange)
        }
        var first = served
        first.cut = 40_000
        var configuration = SessionConfiguration.bare
        configuration.middleware = [middleware]
        let session = log.session(configuration, interceptor: Self.retrier) { [first] request, _ in
            first.answer(to: request)
        }
        let response = await session.download(url, to: .file(target)).serializingFile().response
        #expect(response.error?.code == .unexpectedRange)
        let record = try #require(response.resumeRecord)
        #expect(try Data(contentsOf: record.partialFile) == served.bytes.prefix(40_000), "no byte was appended")
    }

    @Test(
        "An error page leaves the partial file unchanged, even without a validator",
        arguments: [404, 503])
    func errorPage(_ status: Int) async throws {
        var first = served
        first.cut = 40_000
        let session = log.session(interceptor: Self.retrier) { [first, served] request, number in
            switch number {
            case 1: first.answer(to: request)
            case 2: .text("an error", status: status)
            default: served.answer(to: request)
            }
        }
        let response = await session.download(url, to: .file(target)).serializingFile().response
        try expectFile(served, response)
        #expect(log.requests.map { $0["Range"] } == [nil, "bytes=40000-", "bytes=40000-"])
        #expect(response.attempts[1].error?.code == .unacceptableStatus)
    }

    @Test("A file that was already complete is moved into place through middleware too, without validators")
    func wholeThroughMiddleware() async throws {
        let failed = await session(cut: 100_000, retrying: false).download(url, to: .file(target))
        #expect(await failed.serializingFile().response.resumeRecord?.offset == 100_000)
        _ = await failed.file.closed()
        var configuration = SessionConfiguration.bare
        configuration.middleware = [ClosureMiddleware { exchange, next in try await next(exchange) }]
        let session = log.session(configuration) { [served] request, _ in served.answer(to: request) }
        let request = await session.download(url, to: .file(target)).validate()
        try expectFile(served, await request.serializingFile().response)
        #expect(request.head?.status == 416)
    }

    @Test("A file that was complete when the process ended is moved into place, also without validators")
    func whole() async throws {
        let failed = await session(cut: 100_000, retrying: false).download(url, to: .file(target))
        #expect(await failed.serializingFile().response.resumeRecord?.offset == 100_000)
        _ = await failed.file.closed()
        let request = await session().download(url, to: .file(target)).validate()
        try expectFile(served, await request.serializingFile().response)
        #expect(request.head?.status == 416)
        var progress = request.downloadProgress.makeAsyncIterator()
        #expect(await progress.next() == TransferProgress(completed: 100_000, total: 100_000))
    }

    @Test(
        "A later request to the same destination resumes a failed download, unless it starts over or its URL differs",
        arguments: [(false, "", true), (true, "", false), (false, "?other", false)])
    func later(startsOver: Bool, query: String, continues: Bool) async throws {
        let failed = await session(retrying: false).download(url, to: .file(target))
        let response = await failed.serializingFile().response
        #expect(response.error?.isConnectivity == true)
        #expect(response.resumeRecord?.offset == 40_000)
        #expect(await failed.file.closed() == response.resumeRecord)
        #expect(try folder.contents == [".a.larkspur", ".a.larkspur.json"])
        let request = await session()
            .download(url + query, to: .file(target), options: startsOver ? [.startOver] : [])
        try expectFile(served, await request.serializingFile().response)
        #expect(log.requests[1]["Range"] == (continues ? "bytes=40000-" : nil))
    }

    @Test("Bytes without their record, or with a damaged record, are not resumed", arguments: [nil, "{\"url\": "])
    func torn(record: String?) async throws {
        try Data(repeating: 1, count: 500).write(to: folder[".a.larkspur"])
        try record.map { try Data($0.utf8).write(to: folder[".a.larkspur.json"]) }
        let session = log.session { [served] request, _ in served.answer(to: request) }
        try expectFile(served, await session.download(url, to: .file(target)).serializingFile().response)
        #expect(log.requests[0]["Range"] == nil)
    }

    @Test("A cancelled download gives a record, with which any session resumes, with its current credentials")
    func explicit() async throws {
        var slow = served
        slow.cut = 40_000
        let cancelling = log.session { [slow] request, _ in
            var answer = slow.answer(to: request)
            answer.steps[answer.steps.count - 1] = .stall
            return answer
        }
        let request = await cancelling.download(url, to: .file(target))
        request.resume()
        await poll { folder[".a.larkspur"].fileSize == 40_000 }
        let record = try #require(await request.cancelProducingResumeRecord())
        #expect(await request.serializingFile().response.error?.isCancelled == true)
        #expect(record.url == url && record.validator == "\"one\"" && record.total == 100_000)
        let stored = try JSONDecoder().decode(DownloadRecord.self, from: JSONEncoder().encode(record))
        let adapter = Interceptor(adapt: { request, _ in request.headers["Authorization"] = "fresh" })
        let resumed = await Session(
            transport: log.transport { [served] request, _ in served.answer(to: request) }, interceptor: adapter
        ).download(resuming: stored, to: .file(target))
        try expectFile(served, await resumed.serializingFile().response)
        #expect(log.requests[1]["Range"] == "bytes=\(record.offset)-")
        #expect(log.requests[1]["Authorization"] == "fresh")
        #expect(!FileManager.default.fileExists(atPath: record.partialFile.path))
    }

    @Test("A record is not used if its bytes are gone or belong to another file", arguments: [true, false])
    func staleRecord(isGone: Bool) async throws {
        let failed = await session(retrying: false).download(url, to: .file(target))
        let record = try #require(await failed.serializingFile().response.resumeRecord)
        _ = await failed.file.closed()
        if isGone {
            try FileManager.default.removeItem(at: record.partialFile)
        } else {
            var other = served
            other.fields = ["ETag": "\"two\""]
            other.cut = 30_000
            let second = await session(then: other, retrying: false).download(url, to: .file(target))
            #expect(await second.serializingFile().response.resumeRecord?.validator == "\"two\"")
            _ = await second.file.closed()
        }
        let request = await session().download(resuming: record, to: .file(target))
        try expectFile(served, await request.serializingFile().response)
    }

    @Test("The limit on a body's size applies to the file's size", arguments: [99_999, 100_000])
    func limit(bytes: UInt64) async throws {
        let failed = await session(retrying: false).download(url, to: .file(target))
        _ = await failed.serializingFile().response
        _ = await failed.file.closed()
        let request = await session().download(
            url, to: .file(target), requestModifier: { $0.options.maximumBodySize = bytes })
        let response = await request.serializingFile().response
        #expect(log.requests[1]["Range"] == "bytes=40000-")
        #expect(response.error?.code == (bytes < 100_000 ? .contentTooLarge : nil))
        _ = await request.file.closed()
        #expect(try folder.contents == (bytes < 100_000 ? [] : ["a"]))
    }

    @Test("A retry after a wrong checksum starts from the first byte")
    func wrongSum() async throws {
        var damaged = served
        damaged.bytes[7] ^= 1
        let session = log.session(interceptor: Self.retrier) { [served, damaged] request, number in
            (number == 1 ? damaged : served).answer(to: request)
        }
        var hash = StreamingHash(.md5)
        served.bytes.withUnsafeBytes { hash.update($0) }
        let options: [DownloadOption] = [.checksum(md5: hash.finalize().hexadecimal)]
        let response = await session.download(url, to: .file(target), options: options).serializingFile().response
        try expectFile(served, response)
        #expect(log.requests.map { $0["Range"] } == [nil, nil])
    }

    @Test("A retry after a serializer's failure starts over, and leaves one file")
    func serializerRetry() async throws {
        let text = log.session(interceptor: Self.retrier) { _, number in .text(number == 1 ? "no JSON" : "[1]") }
        let request = await text.download(url, to: .file(target))
        #expect(try await request.serializingJSON().value[0] == 1)
        #expect(try folder.contents == ["a"])
    }
}

@Suite("Content ranges", .limited)
struct ResumptionTests {
    @Test(
        "A valid range of bytes is parsed",
        arguments: [
            ("bytes 5-9/10", 5, 10), ("bytes 5-9/*", 5, nil), ("bytes */10", nil, 10), ("Bytes 0-0/1", 0, 1),
        ] as [(String, UInt64?, UInt64?)])
    func ranges(text: String, first: UInt64?, total: UInt64?) throws {
        let range = try #require(ContentRange(text))
        #expect(range.first == first)
        #expect(range.total == total)
    }

    @Test(
        "An invalid range is rejected",
        arguments: [
            "", "bytes", "bytes ", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes +5-9/10", "bytes -9/10",
            "bytes 5-/10", "bytes 5-9/", "bytes 5-9/10/11", "lines 5-9/10", "bytes=5-9/10", "bytes 5-9/-10",
            "bytes 99999999999999999999-99999999999999999999/*", "bytes 5-9-10/10",
        ])
    func noRanges(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
