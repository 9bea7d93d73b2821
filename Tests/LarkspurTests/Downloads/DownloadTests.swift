import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Downloads", .limited)
struct DownloadTests {
    private let folder: TemporaryFolder
    private let log = TransportLog()
    private let served = ServedFile()
    private let url = "http://h/files/archive.zip"

    init() throws { folder = try TemporaryFolder() }

    private func session(_ served: ServedFile? = nil) -> Session {
        let served = served ?? self.served
        return log.session { request, _ in served.answer(to: request) }
    }

    private func mode(of file: URL) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int)
    }

    @Test("The file is in place, complete, without leftovers, and with the umask's permissions")
    func toFile() async throws {
        let target = folder["a.zip"]
        let file = try await session().download(url, to: .file(target)).serializingFile().value
        #expect(file == target)
        #expect(try Data(contentsOf: target) == served.bytes)
        #expect(try folder.contents == ["a.zip"])
        let other = folder["other"]
        fclose(fopen(other.path, "w"))
        #expect(try mode(of: target) == mode(of: other))
    }

    @Test("A closure receives the file, too")
    func toClosure() async throws {
        let (files, placed) = AsyncStream.makeStream(of: URL?.self)
        let target = folder["a.zip"]
        await session().download(url, to: .file(target)).responseFile { (response: DownloadResponse<URL>) in
            placed.yield(response.value)
            placed.finish()
        }
        #expect(await files.reduce(into: []) { $0.append($1) } == [target])
        #expect(try Data(contentsOf: target) == served.bytes)
    }

    @Test("Without a destination the file is temporary and belongs to the caller")
    func temporary() async throws {
        let response = await session().download(url).serializingFile().response
        let file = try #require(response.fileURL)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(response.value == file)
        #expect(try Data(contentsOf: file) == served.bytes)
        #expect(response.data == nil)
        #expect(!FileManager.default.fileExists(atPath: file.path + ".json"))
        #expect(try mode(of: file) == 0o600)
    }

    @Test(
        "Only the owner can read a file for a closure until it is in place, and a slow closure delays no other download"
    )
    func custom() async throws {
        let modes = Journal()
        let custom = Destination.custom { [folder] temporary, _ in
            modes.note(try String(mode(of: temporary), radix: 8))
            #expect(nameOfThread() != "Larkspur files")
            return folder["a"]
        }
        let file = try await session().download(url, to: custom).serializingFile().value
        #expect(modes.lines == ["600"])
        let other = folder["other"]
        fclose(fopen(other.path, "w"))
        #expect(try mode(of: file) == mode(of: other))
        #expect(try folder.contents == ["a", "other"])
    }

    @Test("The serializers read the file, at once and later, and an empty file is an empty body")
    func serializers() async throws {
        let json = #"{"name": "Ada"}"#
        let request = await session(ServedFile(bytes: Data(json.utf8))).download(url, to: .file(folder["j"]))
        struct User: Decodable, Sendable, Equatable { let name: String }
        #expect(try await request.serializingDecodable(User.self).value == User(name: "Ada"))
        #expect(try await request.serializingJSON().value["name"] == "Ada")
        #expect(try await request.serializingString().value == json)
        #expect(try await request.serializingData().value == Data(json.utf8))
        try FileManager.default.removeItem(at: folder["j"])
        #expect(await request.serializingData().response.error?.code == .fileMissing)
        #expect(log.count == 1)

        let empty = await session(ServedFile(bytes: Data())).download(url, to: .file(folder["e"]))
        #expect(await empty.serializingJSON().response.error?.code == .emptyBody)
        #expect(try await empty.serializingData().value.isEmpty)
        #expect(try await empty.serializingFile().value == folder["e"])
    }

    @Test("An existing file is an error before a byte is fetched; with the option it is replaced")
    func existing() async throws {
        let target = folder["a"]
        try Data("old".utf8).write(to: target)
        let refused = await session().download(url, to: .file(target)).serializingFile().response
        #expect(refused.error?.code == .fileExists)
        #expect(refused.error?.stage == .building)
        #expect(log.count == 0)
        #expect(try Data(contentsOf: target) == Data("old".utf8))
        _ = try await session().download(url, to: .file(target), options: [.removePreviousFile]).serializingFile().value
        #expect(try Data(contentsOf: target) == served.bytes)
        #expect(try folder.contents == ["a"])
    }

    @Test("A file that is created during the download is not overwritten")
    func overtaken() async throws {
        let target = folder["a"]
        let request = await session().download(url, to: .file(target)).onResponseHead { _ in
            FileManager.default.createFile(atPath: target.path, contents: Data("other".utf8)) ? .allow : .cancel
        }
        #expect(await request.serializingFile().response.error?.code == .fileExists)
        #expect(try Data(contentsOf: target) == Data("other".utf8))
    }

    @Test("Missing folders are created with the option, and are an error without it")
    func folders() async throws {
        let target = folder["one"].appendingPathComponent("two/a")
        let refused = await session().download(url, to: .file(target)).serializingFile().response
        #expect(refused.error?.code == .fileUnwritable)
        #expect(log.count == 0)
        let options: [DownloadOption] = [.createIntermediateDirectories]
        _ = try await session().download(url, to: .file(target), options: options).serializingFile().value
        #expect(try Data(contentsOf: target) == served.bytes)
    }

    @Test("A destination that cannot be a file is an error before a byte is fetched")
    func noPlace() async throws {
        let cases: [(URL, RequestError.Code)] = [
            (folder.url, .fileIsDirectory), (try #require(URL(string: "http://h/a")), .invalidFileURL),
        ]
        for (target, code) in cases {
            let response = await session().download(url, to: .file(target)).serializingFile().response
            #expect(response.error?.code == code)
        }
        #expect(log.count == 0)
    }

    @Test("The file has the suggested name in the folder, or the URL of the closure")
    func others() async throws {
        var served = served
        served.fields.add(name: "Content-Disposition", value: "attachment; filename=\"../b c.zip\"")
        let suggested = try await session(served).download(url, to: .suggested(in: folder.url)).serializingFile().value
        #expect(suggested.lastPathComponent == "b c.zip")
        let again = await session(served).download(url, to: .suggested(in: folder.url)).serializingFile().response
        #expect(again.error?.code == .fileExists)
        let custom = Destination.custom { [folder] temporary, head in
            #expect(FileManager.default.fileExists(atPath: temporary.path))
            return folder["status \(head.status)"]
        }
        let file = try await session().download(url, to: custom).serializingFile().value
        #expect(try Data(contentsOf: file) == served.bytes)
        let failing = Destination.custom { _, _ in throw ForeignError() }
        let failed = await session().download(url, to: failing).serializingFile().response
        #expect(failed.error?.underlying as? ForeignError == ForeignError())
        #expect(try folder.contents == ["b c.zip", "status 200"])
    }

    @Test("The second of two downloads to one destination fails, and the first one's file stays")
    func twoAtOnce() async throws {
        let target = folder["a"]
        let gate = Gate()
        let first = await session().download(url, to: .file(target)).onResponseHead { _ in
            await gate.pass()
            return .allow
        }
        let file = first.serializingFile()
        await gate.arrived()
        let second = await session().download(url, to: .file(target)).serializingFile().response
        #expect(second.error?.code == .fileInUse)
        gate.open()
        #expect(try await Data(contentsOf: file.value) == served.bytes)
        #expect(try folder.contents == ["a"])
    }

    @Test(
        "The file of a failed or cancelled download can be used as soon as the failure is known",
        arguments: [true, false])
    func usedAgain(isCancelled: Bool) async throws {
        let target = folder["a"]
        var cut = served
        cut.cut = 10_000
        for _ in 0..<rounds(100, nightly: 300) {
            let request = await session(cut).download(url, to: .file(target)).onResponseHead { _ in
                isCancelled ? .cancel : .allow
            }
            _ = await request.serializingFile().result
            let again = await session().download(url, to: .file(target), options: [.removePreviousFile])
            #expect(try await Data(contentsOf: again.serializingFile().value) == served.bytes)
            try FileManager.default.removeItem(at: target)
        }
    }

    @Test("A matching checksum passes; another one is an error, and the file is removed", arguments: [true, false])
    func checksum(matches: Bool) async throws {
        let sum = StreamingHash.hexadecimal("some text", .sha256)
        let served = ServedFile(bytes: Data((matches ? "some text" : "some tent").utf8))
        let request = await session(served)
            .download(url, to: .file(folder["a"]), options: [.checksum(.sha256, sum.uppercased())])
        let response = await request.serializingFile().response
        #expect(response.error?.code == (matches ? nil : .checksumMismatch))
        _ = await request.file.closed()
        #expect(try folder.contents == (matches ? ["a"] : []))
    }

    @Test("An invalid checksum is an error before a byte is fetched")
    func noChecksum() async throws {
        for text in ["", "12", String(repeating: "g", count: 64)] {
            let response = await session().download(url, options: [.checksum(.sha256, text)]).serializingFile().response
            #expect(response.error?.code == .invalidChecksum)
        }
        #expect(log.count == 0)
    }

    @Test("A coded body is decoded into the file")
    func coded() async throws {
        let session = log.session { _, _ in
            .response(
                headers: ["Content-Encoding": "gzip", "ETag": "\"1\""], chunks: [Data(CodedBody.gzip.bytes)])
        }
        let file = try await session.download(url, to: .file(folder["a"])).serializingFile().value
        #expect(try [UInt8](Data(contentsOf: file)) == CodedBody.text)
    }

    @Test("A refused response creates no file: its body belongs to the error")
    func refused() async throws {
        let session = log.session { _, _ in .text("not here", status: 404) }
        let request = await session.download(url, to: .file(folder["a"])).validate()
        let response = await request.serializingFile().response
        #expect(response.error?.responseData == Data("not here".utf8))
        #expect(response.fileURL == nil)
        _ = await request.file.closed()
        #expect(try folder.contents.isEmpty)
    }

    @Test("Monitors receive the file's URL once the file is in place")
    func placeFile() async throws {
        let recorder = EventRecorder()
        let request = await session().download(url, to: .file(folder["a"])).eventMonitor(recorder)
        _ = try await request.serializingFile().value
        await recorder.wait { $0.last?.name == "finish" }
        #expect(recorder.names(of: request).suffix(4) == ["endHop", "placeFile", "serialize", "finish"])
        #expect(recorder.places == [folder["a"]])
        #expect(recorder.violations.isEmpty)
    }

    @Test("Monitors receive no event for a file that was not moved into place", arguments: [true, false])
    func noPlaceFile(isCut: Bool) async throws {
        let recorder = EventRecorder()
        var served = served
        if isCut { served.cut = 10_000 }
        let request = await session(served).download(url, to: .file(folder["a"])).eventMonitor(recorder)
            .onResponseHead { [folder] _ in
                // Another process creates a file during the download.
                if !isCut { _ = FileManager.default.createFile(atPath: folder["a"].path, contents: nil) }
                return .allow
            }
        #expect(await request.serializingFile().response.error?.code == (isCut ? .connectionLost : .fileExists))
        await recorder.wait { $0.last?.name == "finish" }
        #expect(recorder.places.isEmpty)
    }

    @Test("A request for data has no file")
    func noDownload() async throws {
        let response = await session().request(url).serializingResponse(using: .file).response
        #expect(response.error?.code == .fileMissing)
    }
}

extension EventRecorder {
    /// The URLs of the files that were moved into place.
    fileprivate var places: [URL] {
        events.compactMap { if case .placeFile(let placed) = $0 { placed.url } else { nil } }
    }
}

private func nameOfThread() -> String? { Thread.current.name }
