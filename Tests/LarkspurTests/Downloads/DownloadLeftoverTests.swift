import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Files that downloads leave behind", .limited)
struct DownloadLeftoverTests {
    enum Ending: String, CaseIterable, Sendable {
        case success, lost, lostWithoutTag, neverConnected, refused, undecodable, tooLarge, cancelled
        case cancelledWithRecord, cancelledUnstarted, gateCloses, invalidated, neverStarted, serializerFails

        var leaves: [String] {
            switch self {
            case .success, .serializerFails: ["a"]
            case .lost, .cancelledWithRecord, .invalidated: [".a.larkspur", ".a.larkspur.json"]
            case .lostWithoutTag, .neverConnected, .refused, .undecodable, .tooLarge, .cancelled, .cancelledUnstarted,
                .gateCloses, .neverStarted:
                []
            }
        }

        var answer: StubAnswer {
            let bytes = Data("some bytes".utf8)
            let tag: HTTPHeaders = ["ETag": "\"1\""]
            let lost = StubAnswer.Step.fail(TransportError(.connectionLost))
            let stalled = StubAnswer(StubAnswer.response(headers: tag, chunks: [bytes]).steps + [.stall])
            return switch self {
            case .success, .gateCloses, .neverStarted, .cancelledUnstarted, .serializerFails, .tooLarge:
                .response(headers: tag, chunks: [bytes])
            case .lost: StubAnswer(StubAnswer.response(headers: tag, chunks: [bytes]).steps + [lost])
            case .lostWithoutTag: StubAnswer(StubAnswer.response(chunks: [bytes]).steps + [lost])
            case .neverConnected: .failure(.connectionRefused)
            case .refused: .text("no", status: 500)
            case .undecodable: .response(headers: ["Content-Encoding": "gzip"], chunks: [bytes])
            case .cancelled, .cancelledWithRecord, .invalidated: stalled
            }
        }
    }

    @Test("A folder contains the file, or a resumable partial file, or nothing", arguments: Ending.allCases)
    func endings(ending: Ending) async throws {
        let folder = try TemporaryFolder()
        let session = Session(transport: StubTransport { _ in ending.answer })
        let request = await session.download(
            "http://h/", to: .file(folder["a"]),
            requestModifier: { if ending == .tooLarge { $0.options.maximumBodySize = 5 } }
        ).validate()
        switch ending {
        case .success, .lost, .lostWithoutTag, .neverConnected, .refused, .undecodable, .tooLarge:
            _ = await request.serializingFile().response
        case .serializerFails: _ = await request.serializingJSON().response
        case .gateCloses: _ = await request.onResponseHead { _ in .cancel }.serializingFile().response
        case .neverStarted: break
        case .cancelledUnstarted: request.cancel()
        case .cancelled, .cancelledWithRecord, .invalidated:
            request.resume()
            let partial = folder[".a.larkspur"]
            await poll { partial.fileSize == 10 }
            switch ending {
            case .cancelled: request.cancel()
            case .cancelledWithRecord: #expect(await request.cancelProducingResumeRecord()?.offset == 10)
            default: await session.invalidate()
            }
        }
        if ending != .neverStarted { _ = await request.file.closed() }
        #expect(try folder.contents == ending.leaves)
    }

    @Test("A temporary file is removed if its request is cancelled after the file was complete")
    func cancelledWhenWhole() async throws {
        let gate = Gate()
        let place = Protected<URL?>(nil)
        struct Held: ResponseSerializer {
            let gate: Gate
            let place: Protected<URL?>
            var readsDownloadedFile: Bool { false }
            func serialize(_ exchange: CompletedExchange) async throws -> Bool {
                place.withLock { $0 = exchange.fileURL }
                await gate.pass()
                return true
            }
        }
        let request = await Session(transport: StubTransport { _ in .text("text") }).download("http://h/")
        let task = request.serializingResponse(using: Held(gate: gate, place: place))
        await gate.arrived()
        let file = try #require(place.withLock { $0 })
        #expect(FileManager.default.fileExists(atPath: file.path))
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)
        _ = await request.file.closed()
        #expect(!FileManager.default.fileExists(atPath: file.path))
        gate.open()
    }

    @Test("A cancelled download is not retried")
    func cancelledIsOver() async throws {
        let retriers = Counter()
        let session = Session(
            transport: StubTransport { _ in StubAnswer(StubAnswer.text("a").steps + [.stall]) },
            interceptor: Interceptor(retry: { _, _, _ in
                retriers.increment()
                return .retry
            }))
        let request = await session.download("http://h/")
        var heads = request.heads.makeAsyncIterator()
        _ = await heads.next()
        #expect(await request.cancelProducingResumeRecord() == nil)
        #expect(request.retryCount == 0)
        #expect(retriers.value == 0)
    }

    @Test(
        "A destination on another volume gets a complete copy of the file, without leftovers",
        .enabled(if: FileManager.default.isWritableFile(atPath: TemporaryFolder.otherVolume.path)),
        arguments: [false, true])
    func acrossVolumes(replacing: Bool) async throws {
        let folder = TemporaryFolder.otherVolume.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appendingPathComponent("a")
        let temporaries = Protected<[URL]>([])
        let destination = Destination.custom { temporary, _ in
            temporaries.withLock { $0.append(temporary) }
            return target
        }
        if replacing { try Data("old".utf8).write(to: target) }
        // An earlier download to this file has broken off.
        try Data("old".utf8).write(to: folder.appendingPathComponent(".a.larkspur"))
        try Data("{}".utf8).write(to: folder.appendingPathComponent(".a.larkspur.json"))
        let served = ServedFile()
        let request = await Session(transport: StubTransport { served.answer(to: $0) })
            .download("http://h/", to: destination, options: replacing ? [.removePreviousFile] : [])
        #expect(try await request.serializingFile().value == target)
        #expect(try Data(contentsOf: target) == served.bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
        let left = temporaries.withLock { $0 }.filter { FileManager.default.fileExists(atPath: $0.path) }
        #expect(left.isEmpty)
    }

    @Test("A full disk has its own error code")
    func diskFull() throws {
        errno = ENOSPC
        #expect(RequestError.system("written", "f").code == .diskFull)
        errno = EACCES
        #expect(RequestError.system("written", "f").code == .fileUnwritable)
        errno = EEXIST
        #expect(RequestError.system("created", "f").code == .fileExists)
    }

    @Test("A partial file with two names is replaced and not written to: the other name may be the finished file")
    func twoNames() throws {
        let folder = try TemporaryFolder()
        try Data("whole".utf8).write(to: folder["a"])
        try FileManager.default.linkItem(at: folder["a"], to: folder["b"])
        let claimed = try WritableFile.claim(folder["b"].path)
        #expect(claimed.length == 0)
        try claimed.append(Data("other".utf8))
        #expect(try Data(contentsOf: folder["a"]) == Data("whole".utf8))
    }
}
