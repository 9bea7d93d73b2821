import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Checks of downloaded files", .limited)
struct DownloadValidationTests {
    private struct Unsigned: Error {}

    private let folder: TemporaryFolder
    private let log = TransportLog()

    init() throws { folder = try TemporaryFolder() }

    private func download(_ retrier: (any RequestInterceptor)? = nil) async -> DownloadRequest {
        await log.session(interceptor: retrier) { _, number in .text("file \(number)") }
            .download("http://h/a", to: .file(folder["a"]))
    }

    @Test("A check sees the complete file and the response, before the file is in place")
    func accepted() async throws {
        let journal = Journal()
        let target = folder["a"]
        let request = await download().validateFile { file, exchange in
            let isInPlace = FileManager.default.fileExists(atPath: target.path)
            journal.note("\(try String(contentsOf: file, encoding: .utf8)) \(exchange.head?.status ?? 0) \(isInPlace)")
        }
        #expect(try await request.serializingFile().value == target)
        #expect(journal.lines == ["file 1 200 false"])
    }

    @Test("A refused file is not kept, and the error is that of a validator")
    func refused() async throws {
        let request = await download().validateFile { _, _ in throw Unsigned() }
        let response = await request.serializingFile().response
        let error = try #require(response.error)
        #expect(error.isValidation && error.code == .validationFailed && error.underlying is Unsigned)
        #expect(response.fileURL == nil && response.resumeRecord == nil)
        #expect(try folder.contents.isEmpty)
    }

    @Test("A retrier may ask for the file again, which is then received as a whole")
    func retried() async throws {
        let once = Interceptor(retry: { request, _, error in
            error.isValidation && request.retryCount < 1 ? .retry : .doNotRetry
        })
        let request = await download(once).validateFile { file, _ in
            if try String(contentsOf: file, encoding: .utf8) == "file 1" { throw Unsigned() }
        }
        let file = try await request.serializingFile().value
        #expect(try String(contentsOf: file, encoding: .utf8) == "file 2")
        #expect(log.requests.map { $0["Range"] } == [nil, nil])
    }

    @Test("Checks run in order, and the first that fails is the last")
    func order() async {
        let journal = Journal()
        let request = await download()
        for name in ["a", "b", "c"] {
            request.validateFile { _, _ in
                journal.note(name)
                if name == "b" { throw Unsigned() }
            }
        }
        #expect(await request.serializingFile().response.error?.isValidation == true)
        #expect(journal.lines == ["a", "b"])
    }

    @Test("A download that is cancelled during a check leaves no file")
    func cancelled() async throws {
        let gate = Gate()
        let request = await download().validateFile { _, _ in await gate.pass() }
        let task = Task { await request.serializingFile().response }
        await gate.arrived()
        request.cancel()
        #expect(await task.value.error?.isCancelled == true)
        gate.open()
        try await poll { try folder.contents.isEmpty }
    }
}
