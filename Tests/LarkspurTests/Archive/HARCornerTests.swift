import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurInsight
@testable import LarkspurTesting

@Suite("Archives in corner cases", .limited)
struct HARCornerTests {
    @Test("Times that no clock shows are written as numbers", arguments: ["1e300", "-1e300", "-0.5", "1764151328.25"])
    func times(text: String) throws {
        let archive = try HARArchive(
            data: Data(
                """
                {"log": {"entries": [{"startedDateTime": "2026-11-26T10:02:08Z", "request": {"method": "GET",
                "url": "http://h/"}, "_webSocketMessages": [{"type": "send", "time": \(text), "opcode": 1, "data": "x"}]}]}}
                """.utf8))
        let written = try HARArchive(data: archive.data)
        let time = try #require(written.entries.first?.messages.first?.time.timeIntervalSince1970)
        #expect((0...253_402_300_799.999).contains(time))
        #expect(text != "1764151328.25" || time == 1_764_151_328.25)
    }

    @Test("Each byte of a text is escaped where JSON requires it, at each position")
    func escapes() throws {
        for byte in UInt8(0)..<0x80 {
            for position in 0..<18 {
                var bytes = Array("a\u{20}!#[]~^`~\u{20}!äß ".utf8)
                bytes.insert(byte, at: position < bytes.count ? position : 0)
                let text = String(decoding: bytes, as: UTF8.self)
                var entry = HARArchive.Entry(
                    startedAt: Date(timeIntervalSince1970: 1), request: .init(url: "http://h/"),
                    response: .init(status: 200))
                entry.error = text
                let data = HARArchive(entries: [entry]).data
                #expect(!data.dropLast().contains { $0 < 0x20 && $0 != UInt8(ascii: "\n") || $0 == 0x7F })
                #expect(try HARArchive(data: data).entries.first?.error == text)
            }
        }
    }

    @Test("A date that is not a number is written as the first one")
    func noDate() throws {
        let entry = HARArchive.Entry(
            startedAt: Date(timeIntervalSince1970: .nan), request: .init(url: "http://h/"),
            response: .init(status: 200))
        let written = try HARArchive(data: HARArchive(entries: [entry]).data)
        #expect(written.entries.first?.startedAt == Date(timeIntervalSince1970: 0))
    }

    @Test("Equal fields are recorded by the rules of each request")
    func ownRules() async throws {
        let folder = try TemporaryFolder()
        let recorder = HARRecorder(to: folder["a.har"])
        let transport = StubTransport { _ in .response(headers: ["X-Trace": "t7", "Location": "/b?token=s3cret"]) }
        let session = Session(transport: transport, eventMonitors: [recorder])
        for isSecret in [false, true, false, true] {
            _ = await session.request("http://h/", headers: ["X-Trace": "t7", "Cookie": "sid=1"]) {
                if isSecret { $0.options.confidentialHeaders = ["X-Trace"] }
            }.serializingData().response
        }
        try await recorder.finish()
        let entries = try HARArchive(contentsOf: folder["a.har"]).entries
        let shown = ["t7", "REDACTED", "t7", "REDACTED"]
        #expect(entries.map { $0.request.headers["X-Trace"] } == shown)
        #expect(entries.map { $0.response.headers["X-Trace"] } == shown)
        #expect(entries.allSatisfy { $0.response.redirectURL == "/b?token=REDACTED" })
        #expect(entries.allSatisfy { $0.request.cookies.map(\.value) == ["REDACTED"] })
    }

    @Test("Fields that are equal as strings, and not in their bytes, are recorded as they are")
    func equalStrings() throws {
        let memory = HARFieldMemory()
        for text in ["\u{8C48}", "\u{F900}", "K", "\u{212A}", "\u{F900}"] {
            let fields: HTTPHeaders = ["X-Unit": text]
            let head = ResponseHead(status: 200, fields: Array(fields))
            let request = memory.fields(of: fields) { HARFields(request: fields, .standard) }
            let response = memory.fields(of: head) { HARFields(response: head, .standard) }
            for shown in [request.shown, response.shown] {
                #expect(Array((shown["X-Unit"] ?? "").utf8) == Array(text.utf8))
            }
        }
    }

    @Test("A second recorder does not disturb the first")
    func twoRecorders() async throws {
        let folder = try TemporaryFolder()
        let file = folder["shared.har"]
        let first = HARRecorder(to: file)
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [first])
        _ = try await session.request("http://h/1").serializingString().value
        await first.receiveAllEvents()
        let second = HARRecorder(to: file)
        _ = try await session.request("http://h/2").serializingString().value
        let error = await #expect(throws: RequestError.self) { try await second.finish() }
        #expect(error?.code == .fileUnwritable && error?.message.contains("another recorder") == true)
        try await first.finish()
        #expect(try HARArchive(contentsOf: file).entries.map(\.request.url) == ["http://h/1", "http://h/2"])
        try await HARRecorder(to: file).finish()
        #expect(try HARArchive(contentsOf: file).entries.isEmpty)
    }

    @Test("A file with a second name is replaced, and keeps its content under the other name")
    func linkedFile() async throws {
        let folder = try TemporaryFolder()
        try folder.write("other".utf8, to: "other")
        #expect(chmod(folder["other"].path, 0o644) == 0)
        #expect(link(folder["other"].path, folder["a.har"].path) == 0)
        let recorder = HARRecorder(to: folder["a.har"])
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [recorder])
        _ = try await session.request("http://h/1").serializingString().value
        try await recorder.finish()
        #expect(try String(contentsOf: folder["other"], encoding: .utf8) == "other")
        #expect(try HARArchive(contentsOf: folder["a.har"]).entries.count == 1)
        let modes = try ["other", "a.har"].map {
            try FileManager.default.attributesOfItem(atPath: folder[$0].path)[.posixPermissions] as? Int
        }
        #expect(modes == [0o644, 0o600])
    }

    @Test("Errors of files say in words what is wrong")
    func words() throws {
        let missing = URL(fileURLWithPath: "/nonexistent/a.har")
        let reading = #expect(throws: RequestError.self) { try HARArchive(contentsOf: missing) }
        #expect(reading?.message == "the archive /nonexistent/a.har cannot be read: No such file or directory")
        let writing = #expect(throws: RequestError.self) { try HARArchive().write(to: missing) }
        #expect(
            writing?.message == "the archive /nonexistent/a.har cannot be written: No such file or directory",
            "\(writing?.message ?? "")")
    }

    @Test("Only regular files are read: a pipe is refused, without waiting for its writer")
    func pipe() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder["pipe.har"].path, 0o600) == 0)
        for url in [folder["pipe.har"], folder[""], URL(fileURLWithPath: "/dev/zero")] {
            let error = #expect(throws: RequestError.self) { try HARArchive(contentsOf: url) }
            #expect(error?.code == .fileNotRegular, "\(error?.message ?? "")")
        }
        let server = StubTransport { _ in .text("new") }
        let error = #expect(throws: RequestError.self) {
            try Cassette(har: folder["pipe.har"], unknown: .record(from: server))
        }
        #expect(error?.message == "the archive \(folder["pipe.har"].path) is not a regular file")
        let remote = #expect(throws: RequestError.self) { try HARArchive(contentsOf: URL(string: "http://h/a.har")!) }
        #expect(remote?.code == .invalidFileURL)
    }

    @Test("An archive of any size is read whole", arguments: [0, 1, 65_536, 3 << 20])
    func sizes(padding: Int) throws {
        let folder = try TemporaryFolder()
        let text = HARArchive(entries: [.get("http://h/", "x")]).data + Data(repeating: 0x20, count: padding)
        try text.write(to: folder["a.har"])
        try #require(symlink(folder["a.har"].path, folder["link.har"].path) == 0)
        #expect(try HARArchive(contentsOf: folder["link.har"]).entries.count == 1)
        try (text.dropLast(padding + 1) + Data("]".utf8)).write(to: folder["a.har"])
        #expect(throws: RequestError.self) { try HARArchive(contentsOf: folder["a.har"]) }
    }

    #if os(Linux)
        @Test("The end of a recording wakes all that wait for it")
        func ends() async throws {
            let session = Session(transport: StubTransport { _ in .text("x") })
            let request = await session.request("http://h/")
            _ = try await request.serializingData().value
            let collector = HARCollector(bodyLimit: 0)
            _ = collector.receive(.start, of: request)
            let executor = HeldExecutor()
            let isOver = Protected(false)
            Task(executorPreference: executor) {
                await collector.waitForFinishedRequests()
                isOver.withLock { $0 = true }
            }
            executor.runWhatIsThere()
            #expect(!isOver.withLock { $0 })
            _ = collector.close()
            executor.runWhatIsThere()
            #expect(isOver.withLock { $0 })
            executor.letGo()
        }
    #endif
}
