import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The log: its levels, its destinations, and its secrets", .limited)
struct LogMonitorTests {
    private let journal = Journal()
    private let url = "http://example.com/a"

    private var sink: LogSink { LogSink { [journal] in journal.note($0) } }

    /// Sends requests and waits until the monitor has received their ends.
    private func log(
        _ monitor: LogMonitor, count: Int = 1, _ send: (Session) async -> Void, answer: StubAnswer = .text("x")
    ) async -> String {
        let recorder = EventRecorder()
        let both = CompositeEventMonitor([monitor, recorder])
        let session = Session(transport: StubTransport { _ in answer }, eventMonitors: [both])
        await send(session)
        await recorder.wait { $0.count { $0.name == "finish" } == count }
        return journal.lines.joined()
    }

    @Test("A monitor has the settings of its initializer")
    func design() {
        let session = Session(
            interceptor: .composed(RetryPolicy()), eventMonitors: [LogMonitor(level: .headers)])
        #expect(session.configuration.eventMonitors.count == 1)
    }

    @Test("Each level has more lines than the one before, and off has none", arguments: LogMonitor.Level.allCases)
    func levels(level: LogMonitor.Level) async {
        let text = await log(LogMonitor(level: level, to: sink)) {
            _ = await $0.request(url, method: .post, parameters: ["a": "word"], encoder: .json).serializingData()
                .response
        }
        #expect(text.contains("#1 POST http://example.com/a → 200, 12 B sent, 1 B\n") == (level > .off))
        #expect(text.contains("> Content-Type: application/json") == (level > .basic))
        #expect(text.contains("word") == (level > .headers))
        #expect(text.isEmpty == (level == .off))
    }

    @Test("A serializer's own failure and a late option have a line")
    func lines() async {
        let text = await log(LogMonitor(to: sink)) { session in
            let request = await session.request(url)
            _ = await request.serializingJSON().response
        }
        #expect(text.hasPrefix("#1 GET http://example.com/a → serializing failed: "))
        #expect(text.hasSuffix("#1 GET http://example.com/a → 200, 1 B\n"))
        let request = await Session().request(url)
        LogMonitor(to: sink).request(request, did: .ignoreOption("event monitor"))
        #expect(journal.lines.last == "#1 too late, after the finish: event monitor\n")
        LogMonitor(to: sink).didMiss(3)
        #expect(journal.lines.last == "… 3 requests are not logged, because the log was too slow\n")
    }

    @Test("No output shows a secret of a request", arguments: LogMonitor.Level.allCases)
    func secrets(level: LogMonitor.Level) async throws {
        let secret = "s3cr3t"
        let answer = StubAnswer.response(
            401,
            headers: [
                "Set-Cookie": "id=\(secret)", "Location": "/a?token=\(secret)", "WWW-Authenticate": secret,
                "X-Api-Key": secret, "Content-Type": "application/json",
            ], chunks: [Data(#"{"access_token": "\#(secret)", "a": [{"password": "\#(secret)"}]}"#.utf8)])
        let session = Session(
            configuration: SessionConfiguration { $0.validation = [.standard] },
            transport: StubTransport { _ in answer },
            interceptor: .retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry },
            eventMonitors: [LogMonitor(level: level, to: sink)])
        let headers: HTTPHeaders = [
            "Authorization": "Bearer \(secret)", "Cookie": "a=\(secret)", "X-Auth-Token": secret, "X-Mine": secret,
            "Referer": "https://u:\(secret)@h/?code=\(secret)#access_token=\(secret)",
        ]
        let events = await session.events
        var outputs: [String] = []
        for (body, type) in [
            (#"{"client_secret": "\#(secret)"}"#, "application/json"),
            ("password=\(secret)&pin=\(secret)", "application/x-www-form-urlencoded"),
            ("<pin>\(secret)</pin>", "application/xml"),
            ("{\"otp\": \"\(secret)\"}\n{\"otp\": \"\(secret)\"}", "application/x-ndjson"),
            (
                "--b\r\nContent-Disposition: form-data; name=\"pin\"\r\n\r\n\(secret)\r\n--b--",
                "multipart/form-data; boundary=b"
            ),
        ] {
            var request = try OutgoingRequest(
                "https://ada:\(secret)@example.com/a?api_key=\(secret)#token=\(secret)", method: .post,
                headers: headers,
                body: .data(Data(body.utf8)))
            request.headers["Content-Type"] = type
            request.options.confidentialHeaders = ["X-Mine"]
            let data = await session.request(request)
            let response = await data.serializingData().response
            outputs += response.timeline.map(\.description) + [response.debugDescription, "\(data)"]
            #expect(response.attempts.count == 2)
        }
        var finished = 0
        for await event in events {
            outputs.append("\(event)")
            if case .finish = event.event { finished += 1 }
            if finished == 5 { break }
        }
        let told = Gate()
        await session.request(url).eventMonitor(LogMonitor(level: level, to: LogSink { _ in told.open() })).cancel()
            .resume()
        if level > .off { await told.pass() }
        outputs += journal.lines
        #expect(outputs.count >= 5)
        for output in outputs { #expect(!output.contains(secret)) }
    }

    @Test("Names can be added, and without redaction everything is shown")
    func redaction() async {
        var redaction = Redaction.standard
        redaction.names.insert("salary")
        let send: (Session) async -> Void = { session in
            _ = await session.request(url, parameters: ["salary": "DE12", "pin": "1234"]).serializingData().response
        }
        #expect(await log(LogMonitor(to: sink, redacting: redaction), send).contains("?pin=REDACTED&salary=REDACTED"))
        #expect(await log(LogMonitor(to: sink, redacting: .none), send).contains("?pin=1234&salary=DE12"))
    }

    @Test("A file gets whole blocks at its end from all sessions, and only its owner can read it")
    func file() async throws {
        let folder = try TemporaryFolder()
        try folder.write("before\n".utf8, to: "log")
        let monitor = LogMonitor(level: .headers, to: try .file(folder["log"]))
        let recorder = EventRecorder()
        await withTaskGroup { group in
            for _ in 0..<4 {
                let session = Session(
                    configuration: SessionConfiguration { $0.headers = [:] },
                    transport: StubTransport { _ in .text("x") },
                    eventMonitors: [CompositeEventMonitor([monitor, recorder])])
                group.addTask {
                    for _ in 0..<50 { _ = await session.request("http://h/").serializingData().response }
                }
            }
        }
        await recorder.wait { $0.count { $0.name == "finish" } == 200 }
        // A block may still wait for the thread that writes the one before.
        try await poll { try String(contentsOf: folder["log"], encoding: .utf8).count { $0 == "\n" } == 1 + 3 * 200 }
        let text = try String(contentsOf: folder["log"], encoding: .utf8)
        let blocks = text.components(separatedBy: "#").dropFirst().map { $0.drop(while: \.isNumber) }
        #expect(text.hasPrefix("before\n#"))
        #expect(blocks.count == 200)
        #expect(
            blocks.allSatisfy { $0 == " GET http://h/ → 200, 1 B\n  < HTTP/1.1 200\n  < Content-Type: text/plain\n" })
        _ = try LogSink.file(folder["new"])
        let mode = try FileManager.default.attributesOfItem(atPath: folder["new"].path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("An existing file loses the permissions of other users")
    func openFile() throws {
        let folder = try TemporaryFolder()
        try folder.write("before\n".utf8, to: "log")
        #expect(chmod(folder["log"].path, 0o666) == 0)
        try LogSink.file(folder["log"]).write("after\n")
        let mode = try FileManager.default.attributesOfItem(atPath: folder["log"].path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try String(contentsOf: folder["log"], encoding: .utf8) == "before\nafter\n")
    }

    @Test("A symbolic link, a file with a second name and another user's file are refused and not changed")
    func linkedFile() throws {
        let folder = try TemporaryFolder()
        try folder.write("target\n".utf8, to: "target")
        #expect(symlink(folder["target"].path, folder["link"].path) == 0)
        #expect(link(folder["target"].path, folder["name"].path) == 0)
        #expect(symlink(folder["missing"].path, folder["dangling"].path) == 0)
        var names = ["link", "name", "dangling"]
        if geteuid() == 0 {
            try folder.write("other\n".utf8, to: "other")
            #expect(chown(folder["other"].path, 12_345, 12_345) == 0)
            names.append("other")
        }
        for name in names { #expect(throws: RequestError.self) { try LogSink.file(folder[name]) } }
        #expect(try String(contentsOf: folder["target"], encoding: .utf8) == "target\n")
        #expect(!FileManager.default.fileExists(atPath: folder["missing"].path))
    }

    @Test("A device is a destination of a log, and keeps its permissions")
    func device() throws {
        try LogSink.file(URL(fileURLWithPath: "/dev/null")).write("text\n")
        let mode = try FileManager.default.attributesOfItem(atPath: "/dev/null")[.posixPermissions] as? Int
        #expect(mode == 0o666)
    }

    @Test("A file that cannot be opened for writing is an error at once")
    func unwritable() throws {
        let folder = try TemporaryFolder()
        #expect(throws: RequestError.self) { try LogSink.file(folder.url) }
        #expect(throws: RequestError.self) { try LogSink.file(folder["a"].appendingPathComponent("b")) }
    }

    @Test("A thread that finds a sink busy leaves its block to the writer, and blocks past the limit are counted")
    func busy() async {
        let released = DispatchSemaphore(value: 0)
        let (entered, done) = (Gate(), Gate())
        let journal = journal
        let sink = LogSink { block in
            if journal.count(block) == 1 {
                entered.open()
                released.wait()
            }
            if block == "… 476 entries are not written\n" { done.open() }
        }
        Thread.detachNewThread { sink.write("first") }
        await entered.pass()
        for number in 0..<1_500 { sink.write("\(number)") }
        #expect(journal.lines == ["first"])
        released.signal()
        await done.pass()
        let written = (0..<1_024).map { "\($0)" }
        #expect(journal.lines.dropFirst().dropLast() == written[...])
    }

    @Test(
        "Colors are used on terminals that support them, unless the user disables them",
        arguments: [
            (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": ""], true),
            (true, ["TERM": "dumb"], false), (true, ["TERM": "xterm"], true),
        ] as [(Bool, [String: String], Bool)])
    func colors(isTerminal: Bool, environment: [String: String], wanted: Bool) {
        #expect(LogSink.wantsColors(isTerminal: isTerminal, environment) == wanted)
    }

    #if os(Linux) || os(macOS)
        @Test("A program that ends with its last request has logged it", arguments: 1...8)
        func end(run: Int) async throws {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let transport = StubTransport { _ in .text("x") }
                let session = Session(transport: transport, eventMonitors: [LogMonitor()])
                _ = await session.request("http://h/last").serializingData().response
                exit(EXIT_SUCCESS)
            }
            let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(text.contains("#1 GET http://h/last → 200, 1 B\n"))
        }
    #endif
}
