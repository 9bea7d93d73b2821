import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTransfers

/// The files of background transfers, and the states in which a killed process can leave them.
@Suite("Records of background transfers", .limited)
struct BackgroundRecordTests {
    private let runs: BackgroundRuns
    private let folder: BackgroundFolder
    private let served = ServedFile()
    private let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "ETag", value: "\"one\"")])

    init() throws {
        runs = try BackgroundRuns()
        folder = try BackgroundFolder(creating: runs.records)
    }

    private var place: URL { runs.folder["film"] }

    private func record(_ phase: BackgroundRecord.Phase = .transferring) throws -> BackgroundRecord {
        let rules = try BackgroundRecord.Download(.file(place), [])
        var record = try BackgroundRecord(OutgoingRequest("https://h/7"), kind: .download(rules), tag: "7")
        record.phase = phase
        return record
    }

    private func arrival(of record: BackgroundRecord) -> URL { SessionEngine().arrival(of: record, in: folder) }

    private func next() throws -> BackgroundTransfers {
        try runs.begin { request, _ in served.answer(to: request) }
    }

    private func expectFile(_ bytes: Data, _ transfers: BackgroundTransfers, requests: Int) async throws {
        let restored = try #require(await transfers.allRestored.first)
        let response = try await restored.value
        #expect(response.fileURL == place && response.head["ETag"] == "\"one\"")
        #expect(try Data(contentsOf: place) == bytes)
        #expect(try runs.downloads == ["film"] && runs.files == [])
        #expect(runs.log.count == requests)
    }

    @Test("A folder that other users may use is made private")
    func openFolder() throws {
        #expect(chmod(runs.records.path, 0o777) == 0)
        _ = try BackgroundFolder(creating: runs.records)
        let mode = try FileManager.default.attributesOfItem(atPath: runs.records.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test("A folder of another user is refused", .enabled(if: geteuid() == 0))
    func foreignFolder() throws {
        #expect(chmod(runs.records.path, 0o777) == 0 && chown(runs.records.path, 12_345, 12_345) == 0)
        let error = #expect(throws: RequestError.self) { try BackgroundFolder(creating: runs.records) }
        #expect(error?.code == .fileUnwritable)
        #expect(chown(runs.records.path, 0, 0) == 0)
    }

    @Test("Killed before the first request: the transfer starts")
    func untouched() async throws {
        try folder.write(record())
        try await expectFile(served.bytes, next(), requests: 1)
    }

    @Test("Killed when the file was complete: it is placed without another request")
    func complete() async throws {
        let record = try record()
        try folder.write(record)
        try folder.write(head, of: record.id)
        try Data("whole".utf8).write(to: arrival(of: record))
        try await expectFile(Data("whole".utf8), next(), requests: 0)
    }

    @Test("A complete file without the head of its response is not believed", arguments: [nil, 500, 206])
    func withoutHead(status: Int?) async throws {
        let record = try record()
        try folder.write(record)
        if let status { try folder.write(ResponseHead(status: status, fields: head.fields), of: record.id) }
        try Data("whole".utf8).write(to: arrival(of: record))
        let isBelieved = status == 206  // the end of a resumed download
        try await expectFile(isBelieved ? Data("whole".utf8) : served.bytes, next(), requests: isBelieved ? 0 : 1)
    }

    @Test("Killed while the file was moved: before, between its two names, and after", arguments: 0...2)
    func placing(step: Int) async throws {
        let record = try record(.placing(BackgroundRecord.Head(head)))
        try folder.write(record)
        let arrival = arrival(of: record)
        if step < 2 { try Data("whole".utf8).write(to: arrival) } else { try Data("whole".utf8).write(to: place) }
        if step == 1 { try FileManager.default.linkItem(at: arrival, to: place) }
        try await expectFile(Data("whole".utf8), next(), requests: 0)
    }

    @Test("A complete file that another program has removed is fetched again")
    func removed() async throws {
        try folder.write(record(.placing(BackgroundRecord.Head(head))))
        try await expectFile(served.bytes, next(), requests: 1)
    }

    @Test("A destination that another program has taken meanwhile is not overwritten")
    func taken() async throws {
        try folder.write(record())
        try Data("other".utf8).write(to: place)
        let restored = try #require(await next().allRestored.first)
        #expect(await code { _ = try await restored.value } == .fileExists)
        #expect(try Data(contentsOf: place) == Data("other".utf8))
        #expect(try runs.downloads == ["film"])
    }

    @Test(
        "A damaged record is reported and set aside, and the others continue",
        arguments: ["", "{", "null", "[]", #"{"version":1}"#, #"{"version":"x"}"#, "\u{0}\u{1}"])
    func damaged(text: String) async throws {
        let id = UUID()
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(.record, of: id)))
        try folder.write(record())
        let transfers = try next()
        #expect(transfers.problems.map(\.code) == [.invalidTransferRecord])
        #expect(await transfers.allRestored.count == 1)
        #expect(try runs.files.contains("\(id).json.damaged"))
        await transfers.close()
        let again = try next()
        #expect(again.problems.isEmpty)
    }

    @Test("A record that was cut anywhere, or whose bytes were changed, never crashes")
    func cut() throws {
        var record = try record()
        record.phase = .finished(.failure(code: "timedOut", message: "", BackgroundRecord.Head(head)))
        try folder.write(record)
        let place = URL(fileURLWithPath: folder.path(.record, of: record.id))
        let bytes = try Data(contentsOf: place)
        var random = SeededRandom(seed: 7)
        for length in stride(from: 0, to: bytes.count, by: 7) {
            try bytes.prefix(length).write(to: place)
            #expect(try folder.read().records.isEmpty)
            var changed = bytes
            changed[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            try changed.write(to: place)
            let (records, problems) = try folder.read()
            #expect(records.count + problems.count == 1)
        }
    }

    @Test("A record of a later version stays for that version")
    func later() async throws {
        let id = UUID()
        let text = #"{"version":2,"id":"\#(id)"}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(.record, of: id)))
        let transfers = try next()
        #expect(transfers.problems.map(\.code) == [.invalidTransferRecord])
        #expect(try runs.text == text)
    }

    @Test("Files of other programs stay, and leftovers of records are removed")
    func leftovers() throws {
        let record = try record()
        try folder.write(record)
        let names = ["notes.json", "a.txt", "\(UUID()).head", "\(UUID()).body", "\(record.id).json.new"]
        for name in names { try Data("text".utf8).write(to: runs.records.appendingPathComponent(name)) }
        #expect(try folder.read().records.map(\.id) == [record.id])
        #expect(try runs.files == ["\(record.id).json", "a.txt", "notes.json"].sorted())
    }

    @Test("Transfers are restored in the order in which they were created")
    func order() throws {
        let rules = try BackgroundRecord.Download(.file(place), [])
        let request = try OutgoingRequest("https://h/")
        let records = (0..<5).map { number in
            BackgroundRecord(
                request, kind: .download(rules), tag: "\(number)", at: Date(timeIntervalSince1970: Double(number)))
        }
        for record in records.shuffled() { try folder.write(record) }
        #expect(try folder.read().records.map(\.tag) == ["0", "1", "2", "3", "4"])
    }

    @Test("A record keeps everything that the next run needs")
    func content() throws {
        let options: [DownloadOption] = [
            .createIntermediateDirectories, .removePreviousFile, .checksum(md5: String(repeating: "a", count: 32)),
        ]
        let request = try OutgoingRequest(
            "https://h/a?b=c#d", method: "REPORT", headers: HTTPHeaders([HTTPHeader(name: "A", value: "1")]))
        let rules = try BackgroundRecord.Download(.suggested(in: runs.folder.url), options)
        let record = BackgroundRecord(request, kind: .download(rules), tag: nil)
        try folder.write(record)
        let read = try #require(try folder.read().records.first)
        #expect(read.id == record.id && read.created == record.created && read.tag == nil)
        #expect(try read.request.url.text == request.url.text && read.request.method == "REPORT")
        #expect(try read.request.headers == request.headers)
        #expect(Set(read.downloadOptions) == Set(options))
        #expect(read.download?.folder.path == runs.folder.url.path)
    }

    @Test("A path in the home folder is stored relative to it, where the home folder may move")
    func paths() {
        for (path, home, stored) in [
            ("/users/a/b", "/users/a", "~/b"), ("/users/ab", "/users/a", "/users/ab"), ("/x", "/users/a", "/x"),
        ] {
            #expect(StoredPath.stored(path, home: home) == stored)
            #expect(StoredPath.resolved(stored, home: home) == path)
            #expect(StoredPath.stored(path, home: nil) == path)
        }
        #expect(StoredPath.resolved("~/b", home: "/new") == "/new/b")
    }

    @Test("A file of the system is kept with its head, and data to resume replaces earlier data")
    func system() throws {
        let record = try record()
        try folder.write(record)
        let id = record.id
        for text in ["one", "two"] {
            let location = try runs.folder.write(text.utf8, to: "location")
            try folder.keep(location, of: id, head)
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path(.body, of: id))) == Data(text.utf8))
        }
        #expect(folder.arrival(of: id, at: folder.path(.body, of: id)) == head)
        #expect(folder.hasRecord(of: id) && !folder.hasRecord(of: UUID()))
        #expect(folder.resumption(of: id) == nil)
        folder.keep(resumption: Data("bytes".utf8), of: id)
        #expect(folder.resumption(of: id) == Data("bytes".utf8))
        folder.keep(resumption: nil, of: id)
        #expect(folder.resumption(of: id) == nil)
        let lost = #expect(throws: RequestError.self) { try folder.keep(runs.folder["none"], of: id, head) }
        #expect(lost?.code == .fileUnwritable)
        folder.remove(id)
        #expect(try runs.files == [])
    }
}
