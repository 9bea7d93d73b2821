import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurInsight

@Suite("HAR recorder: an entry for each hop, in a file that is always valid", .limited)
struct HARRecorderTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let har: HARRecorder
    private var archive: ArchiveReader { ArchiveReader(file: file) }

    init() throws {
        folder = try TemporaryFolder()
        file = folder["archive.har"]
        har = HARRecorder(to: file, bodyLimit: 1_000)
    }

    private func session(_ answer: @escaping @Sendable (TransportRequest) -> StubAnswer) -> Session {
        Session(transport: StubTransport(answer: answer), eventMonitors: [har])
    }

    @Test("An archive without requests is valid")
    func empty() async throws {
        #expect(try archive.entries().isEmpty)
        try await har.finish()
        #expect(try archive.entries().isEmpty)
    }

    @Test("A request has its URL, fields, bodies and sizes")
    func plain() async throws {
        let session = session { _ in .text("the answer") }
        let request = await session.request(
            "http://h/path?a=1&b=x%20y+z&c", method: .post, parameters: ["name": "Ada"], encoder: .json)
        _ = try await request.serializingString().value
        try await har.finish()
        let entry = try #require(try archive.entries().first)
        #expect(entry["request"]["method"] == "POST")
        #expect(entry["request"]["url"] == "http://h/path?a=1&b=x%20y+z&c")
        let query: JSON = [
            ["name": "a", "value": "1"], ["name": "b", "value": "x y z"], ["name": "c", "value": ""],
        ]
        #expect(entry["request"]["queryString"] == query)
        #expect(entry["request"]["postData"]["text"] == #"{"name":"Ada"}"#)
        #expect(entry["request"]["postData"]["mimeType"].string?.contains("json") == true)
        #expect(entry["request"]["bodySize"] == 14)
        #expect(entry["response"]["status"] == 200)
        #expect(entry["response"]["content"]["text"] == "the answer")
        #expect(entry["response"]["content"]["size"] == 10)
        #expect(entry["response"]["content"]["mimeType"] == "text/plain")
        #expect(entry["_request"].string == "\(request.id)" && entry["_attempt"] == 1 && entry["_hop"] == 1)
        #expect(entry["_error"].isNull)
    }

    @Test("Redirects and retries are entries of their own, which link to their request")
    func linked() async throws {
        let calls = Counter()
        let transport = StubTransport { request in
            if request.url.path == "/" { return .redirect(to: "/next") }
            return calls.increment() == 1 ? .failure(.connectionLost) : .text("x")
        }
        let session = Session(
            transport: transport, interceptor: .retrier { _, _, _ in .retry }, eventMonitors: [har])
        _ = try await session.request("http://h/").serializingString().value
        try await har.finish()
        let entries = try archive.entries()
        #expect(entries.map { $0["response"]["status"].int } == [302, 0, 302, 200])
        #expect(entries.map { $0["_attempt"].int } == [1, 1, 2, 2])
        #expect(entries.map { $0["_hop"].int } == [1, 2, 3, 4])
        #expect(Set(entries.map { $0["_request"].string }).count == 1)
        #expect(entries[0]["response"]["redirectURL"] == "/next")
        #expect(entries[1]["_error"].string != nil)
    }

    @Test("No secret is in the file: credentials, cookies, query items, JSON, forms, marked fields")
    func secrets() async throws {
        let session = session { _ in
            .response(
                headers: ["Set-Cookie": "sid=hunter2", "Location": "/x?token=hunter2"],
                chunks: [Data(#"{"access_token":"hunter2","name":"Ada"}"#.utf8)])
        }
        var headers: HTTPHeaders = ["Authorization": "Bearer hunter2", "Cookie": "a=hunter2"]
        headers.add(HTTPHeader(name: "X-Mine", value: "hunter2", isSecret: true))
        let request = await session.request(
            "http://ada:hunter2@h/?api_key=hunter2&page=3", method: .post, parameters: ["password": "hunter2"],
            headers: headers)
        _ = await request.serializingData().response
        let cut = Data((#"{"password":""# + String(repeating: "hunter2", count: 1_000)).utf8)
        let upload = await session.upload(cut, to: "http://h/", headers: ["Content-Type": "application/json"])
        _ = await upload.serializingData().response
        try await har.finish()
        #expect(try archive.entries().count == 2)
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(!text.contains("hunter2"))
        #expect(text.contains("page=3") && text.contains("Ada"))
    }

    @Test("Bodies in which not all secrets can be found are left out")
    func leftOut() async throws {
        let pairs = #"{"items":[{"name":"pin","value":"hunter2"}],"more":""#
        let bodies: [(String, [String: String], Data)] = [
            ("cut", ["Content-Type": "application/json"], Data((pairs + String(repeating: "x", count: 2_000)).utf8)),
            ("invalid", [:], Data(pairs.utf8)),
            ("encoded", ["Content-Type": "image/x", "Content-Encoding": "rot13"], Data("hunter2".utf8)),
            ("wide", [:], Data("hunter2".utf16.flatMap { [UInt8($0 & 255), 0] })),
        ]
        let session = session { request in
            let (_, headers, bytes) = bodies.first { request.url.path == "/" + $0.0 } ?? bodies[0]
            return .response(headers: HTTPHeaders(headers), chunks: [bytes])
        }
        for (path, headers, bytes) in bodies {
            let upload = await session.upload(bytes, to: "http://h/\(path)", headers: HTTPHeaders(headers))
            _ = await upload.serializingData().response
        }
        try await har.finish()
        let entries = try archive.entries()
        try #require(entries.count == bodies.count)
        for (entry, body) in zip(entries, bodies) {
            let (sent, received) = (entry["request"]["postData"], entry["response"]["content"])
            #expect(sent["text"].string ?? "" == "" && received["text"].isNull, "\(body.0)")
            // An unknown coding ends the hop when its head has arrived, perhaps before the body.
            let hasArrived = body.0 != "encoded" || received["size"] != 0
            #expect(sent["comment"].string != nil, "\(body.0)")
            #expect((received["comment"].string != nil) == hasArrived, "\(body.0)")
        }
    }

    @Test("A response whose unknown coding ends the hop before its body has a body of no bytes, without a comment")
    func endedByItsHead() async throws {
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Encoding", value: "rot13")])
        let session = session { _ in StubAnswer([.head(head), .stall]) }
        let response = await session.request("http://h/").serializingData().response
        #expect(response.error?.code == .unsupportedCoding)
        try await har.finish()
        let received = try #require(try archive.entries().first)["response"]["content"]
        #expect(received["size"] == 0 && received["comment"].isNull)
    }

    @Test("The body of a response that the transport has decoded is recorded")
    func decodedByTheTransport() async throws {
        let session = session { _ in
            let fields = [HTTPHeader(name: "Content-Encoding", value: "br")]
            let head = ResponseHead(status: 200, fields: fields, bodyIsDecoded: true)
            return StubAnswer([.head(head), .body(Data("the answer".utf8))])
        }
        _ = try await session.request("http://h/").serializingString().value
        try await har.finish()
        #expect(try archive.entries().first?["response"]["content"]["text"] == "the answer")
    }

    @Test("Any number is a limit for bodies", arguments: [Int.min, 0, .max])
    func limits(limit: Int) async throws {
        let file = file.deletingLastPathComponent().appendingPathComponent("\(UUID()).har")
        defer { try? FileManager.default.removeItem(at: file) }
        let har = HARRecorder(to: file, bodyLimit: limit)
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [har])
        _ = try await session.request("http://h/").serializingString().value
        try await har.finish()
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains(#""status":200"#) && text.contains(#""text":"x""#) == (limit == .max))
    }

    @Test("A link is not followed")
    func link() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (target, link) = (folder.appendingPathComponent("target"), folder.appendingPathComponent("link"))
        try Data("kept".utf8).write(to: target)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        let har = HARRecorder(to: link)
        await #expect(throws: RequestError.self) { try await har.finish() }
        #expect(try Data(contentsOf: target) == Data("kept".utf8))
    }

    @Test("The file is valid after each entry, and has the entries of all hops that have ended")
    func afterCrash() async throws {
        let session = session { .text(String($0.url.path)) }
        for number in 1...20 {
            _ = try await session.request("http://h/\(number)").serializingString().value
            await har.receiveAllEvents()
            // The last events of a request may come after its response, but those of the ones before it do not.
            let count = try archive.entries().count
            #expect(count == number || count == number - 1)
        }
    }

    @Test("1,000 concurrent requests are all recorded")
    func concurrent() async throws {
        let session = session { .text(String($0.url.path)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1_000 {
                group.addTask { _ = try await session.request("http://h/\(number)").serializingString().value }
            }
            try await group.waitForAll()
        }
        try await har.finish()
        let entries = try archive.entries()
        #expect(Set(entries.compactMap { $0["request"]["url"].string }).count == 1_000)
        #expect(
            entries.allSatisfy {
                "http://h\($0["response"]["content"]["text"].string ?? "")" == $0["request"]["url"].string
            })
        #expect(har.droppedEvents == 0)
    }

    @Test("Hostile URLs, fields and bodies stay inside their strings")
    func hostile() async throws {
        let text = "\"]}}\n{\u{0}\u{1F}\u{2028}\u{FEFF}é🦊\\"
        let session = session { request in
            request.url.path == "/binary"
                ? .response(
                    headers: ["Content-Type": "application/x-binary"], chunks: [Data([0xFF, 0xFE, 0x00, 0x80])])
                : .response(
                    headers: ["X-A": "\"]}}", "Content-Type": "text/\"]}"],
                    chunks: [Data(text.replacing("\u{0}", with: "").utf8)])
        }
        let url = "http://h/%22%5D%7D%7D?q=%22%5D%7D&%00=%FF&=&&a=b=c"
        _ = await session.request(url, headers: ["X-B": "\"\\\t]}}"]).serializingData().response
        _ = await session.request("http://h/binary").serializingData().response
        try await har.finish()
        let entries = try archive.entries()
        try #require(entries.count == 2)
        #expect(entries[0]["response"]["content"]["text"].string == text.replacing("\u{0}", with: ""))
        #expect(entries[1]["response"]["content"]["encoding"] == "base64")
        #expect(entries[1]["response"]["content"]["text"] == "//4AgA==")
    }

    @Test("Bodies are cut at the limit, not within a character; text that is not UTF-8 is left out")
    func limited() async throws {
        let long = String(repeating: "é", count: 600)
        let session = session { request in
            request.url.path == "/long"
                ? .text("a" + long)
                : .response(headers: ["Content-Type": "text/plain"], chunks: [Data([0x61, 0xFF, 0x62])])
        }
        for path in ["long", "latin"] { _ = await session.request("http://h/\(path)").serializingData().response }
        try await har.finish()
        let contents = try archive.entries().map { $0["response"]["content"] }
        #expect(contents[0]["text"].string == "a" + String(repeating: "é", count: 499))
        #expect(contents[0]["size"] == 1_201 && contents[0]["comment"].string != nil)
        #expect(contents[1]["text"].isNull && contents[1]["comment"].string != nil)
    }

    @Test("A compressed body is recorded as decoded text, with the bytes that compression has saved")
    func compressed() async throws {
        let session = session { _ in
            .response(
                headers: ["Content-Encoding": "gzip", "Content-Type": "text/plain"],
                chunks: [Data(CodedBody.gzip.bytes)])
        }
        _ = try await session.request("http://h/").serializingData().value
        try await har.finish()
        let response = try #require(try archive.entries().first)["response"]
        #expect(response["content"]["text"].string == String(decoding: CodedBody.text, as: UTF8.self))
        #expect(response["content"]["size"].int == CodedBody.text.count)
        #expect(response["bodySize"].int == CodedBody.gzip.bytes.count)
        #expect(response["content"]["compression"].int == CodedBody.text.count - CodedBody.gzip.bytes.count)
    }

    @Test("The outcome of the cache is recorded")
    func cached() async throws {
        let configuration = SessionConfiguration { $0.cache = .inMemory(limit: 1 << 20) }
        let transport = StubTransport { _ in
            .response(
                headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"], chunks: [Data("x".utf8)])
        }
        let session = Session(configuration: configuration, transport: transport, eventMonitors: [har])
        for _ in 0..<2 { _ = try await session.request("http://h/").serializingData().value }
        try await har.finish()
        let outcomes = try archive.entries().map { $0["_cache"].string }
        #expect(outcomes.first == "\(CacheOutcome.miss)")
        #expect(outcomes.last??.contains("hit") == true)
    }

    @Test("A hop in flight at the end has an entry with an error; later requests have none")
    func inFlight() async throws {
        let session = session { _ in StubAnswer([.stall]) }
        let request = await session.request("http://h/")
        let task = request.serializingData()
        await har.receiveAllEvents()
        try await har.finish()
        #expect(try archive.entries().map { $0["_error"].string } == ["the recording has ended before the hop"])
        request.cancel()
        _ = await task.response
        await har.receiveAllEvents()
        #expect(try archive.entries().count == 1)
        try await har.finish()
    }

    @Test("The file belongs to its owner only, also if it replaces another file")
    func permissions() async throws {
        let file = folder["other.har"]
        try Data(repeating: 0x61, count: 10_000).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        let har = HARRecorder(to: file)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try await har.finish()
        #expect(try ArchiveReader(file: file).entries().isEmpty)
    }

    @Test(
        "A file that cannot be created is an error of the end, and disturbs no request", arguments: ["", "missing/x"])
    func unwritable(path: String) async throws {
        let har = HARRecorder(to: folder.url.appendingPathComponent(path))
        let session = Session(transport: StubTransport { _ in .text("x") }, eventMonitors: [har])
        #expect(try await session.request("http://h/").serializingString().value == "x")
        await #expect { try await har.finish() } throws: { ($0 as? RequestError)?.code == .fileUnwritable }
        let web = HARRecorder(to: try #require(URL(string: "http://h/x")))
        await #expect { try await web.finish() } throws: { ($0 as? RequestError)?.code == .invalidFileURL }
    }

    @Test("A full disk keeps the entries before it, in a valid file", arguments: [0, 1, 37])
    func fullDisk(written: Int) async throws {
        let file = folder["full.har"]
        let space = Protected(Int64(3_000 + written))
        // The disk has space up to a position of the file.
        let archive = HARFile(file) { descriptor, bytes, count, position in
            let left = max(0, Int(space.withLock { $0 } - Int64(position)))
            if left == 0 {
                errno = ENOSPC
                return -1
            }
            return pwrite(descriptor, bytes, min(left, count), position)
        }
        for number in 0..<10 {
            archive.append(
                HARArchive.Entry(
                    startedAt: Date(), request: .init(url: "http://h/\(number)"), response: .init(status: 200)))
        }
        await #expect { try await archive.close() } throws: { ($0 as? RequestError)?.code == .diskFull }
        let entries = try JSON(data: Data(contentsOf: file))["log"]["entries"].array ?? []
        #expect(entries.map { $0["request"]["url"].string } == (0..<entries.count).map { "http://h/\($0)" })
        #expect((1..<10).contains(entries.count))
    }

    @Test("A WebSocket has its messages: their times, and their bytes without secrets, up to the limit")
    func webSocket() async throws {
        let server = try MockServer()
        server.webSocket("/") { socket in
            for await message in socket.messages { socket.send(message) }
        }
        let har = HARRecorder(to: folder["socket.har"], bodyLimit: 30)
        let archive = ArchiveReader(file: folder["socket.har"])
        let session = Session(eventMonitors: [har])
        let socket = await session.webSocket("ws://127.0.0.1:\(server.port)/")
        let sent: [WebSocketMessage] = [
            .text("hello"), .data(Data([0, 255])), .text(#"{"token":"s3cret"}"#), .text(""),
            .text(String(repeating: "ä", count: 16)),
        ]
        var echoes = socket.messages.makeAsyncIterator()
        for message in sent {
            try await socket.send(message)
            _ = try await echoes.next()
        }
        try await socket.close()
        _ = await socket.closed
        try await har.finish()
        let entry = try #require(try archive.entries().first)
        #expect(entry["response"]["status"] == 101)
        let messages = entry["_webSocketMessages"].array ?? []
        #expect(messages.count == 10)
        #expect(messages.allSatisfy { ($0["time"].double ?? 0) > 1e9 })
        let shown = ["hello", "AP8=", #"{"token":"REDACTED"}"#, "", String(repeating: "ä", count: 15)]
        let sizes = [nil, nil, 18, nil, 32]
        // An answer may be noted before its question, because the two are noted on different threads.
        for type in ["send", "receive"] {
            for (number, message) in messages.filter({ $0["type"].string == type }).enumerated() {
                #expect(message["data"].string == shown[number])
                #expect(message["opcode"].int == (number == 1 ? 2 : 1))
                #expect(message["_size"].int == sizes[number])
            }
        }
    }
}
