import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("What cassettes compare and play", .limited)
struct CassetteContentTests {
    private func status(
        _ cassette: Cassette, _ body: String, type: String = "application/json"
    ) async -> Int? {
        await Session(transport: cassette)
            .upload(.data(Data(body.utf8), type: type), to: "http://h/")
            .serializingData().response.head?.status
    }

    private func archive(_ bodies: String..., type: String = "application/json") -> HARArchive {
        HARArchive(
            entries: bodies.enumerated().map { number, body in
                var entry = HARArchive.Entry(method: "POST", "http://h/", "", status: 201 + number)
                entry.request.headers = ["Content-Type": type]
                entry.request.body = HARArchive.Body(Data(body.utf8), mimeType: type)
                return entry
            })
    }

    @Test("Bodies are compared if asked: bytes, JSON by value, without secrets, forms, by a closure")
    func bodies() async throws {
        let json = archive(#"{"a": 1, "b": [true]}"#, #"{"a": 2}"#, #"{"password": "REDACTED", "a": 3}"#)
        let equal = Cassette(json, matching: .init(body: .equal), repeats: true)
        #expect(await status(equal, #"{"b":[true],"a":1.0}"#) == 201)
        #expect(await status(equal, #"{"a":2}"#) == 202)
        #expect(await status(equal, #"{"a":3,"password":"mine"}"#) == 203)
        #expect(await status(equal, #"{"a":4}"#) == nil)
        #expect(await status(Cassette(json), #"{"a":4}"#) == 201, "bodies are not compared by default")
        let form = archive("a=1&pin=REDACTED", type: "application/x-www-form-urlencoded")
        let forms = Cassette(form, matching: .init(body: .equal))
        #expect(await status(forms, "a=1&pin=1234", type: "application/x-www-form-urlencoded") == 201)
        let closure = Cassette(
            json,
            matching: .init(
                body: .matched { sent, recorded in
                    let recorded = try? JSON(data: recorded.bytes ?? Data())
                    return ThreadMarks.lockDepth == 0 && recorded?["a"] == (try? JSON(data: sent))?["a"]
                }))
        #expect(await status(closure, #"{"a":2,"time":1700000000}"#) == 202)
    }

    @Test("Multipart forms are equal whatever their boundaries are")
    func multipart() async throws {
        func form(_ name: String) -> MultipartFormData {
            var form = MultipartFormData()
            form.append(name, name: "name")
            form.append("s3cret", name: "password")
            return form
        }
        let folder = try TemporaryFolder()
        let har = HARRecorder(to: folder["a.har"])
        let recorded = Session(transport: StubTransport { _ in .text("saved") }, eventMonitors: [har])
        _ = try await recorded.upload(form("Ada"), to: "http://h/").serializingString().value
        try await har.finish()
        let cassette = try Cassette(har: folder["a.har"], matching: .init(body: .equal))
        let session = Session(transport: cassette)
        let other = await session.upload(form("Grace"), to: "http://h/").serializingString().response
        #expect(other.error?.message.contains("(the body differs)") == true)
        #expect(try await session.upload(form("Ada"), to: "http://h/").serializingString().value == "saved")
    }

    @Test("Fields, query items and origins are compared as asked")
    func choices() async throws {
        var german = HARArchive.Entry.get("http://h/?t=1", "hallo")
        german.request.headers = ["Accept-Language": "de"]
        var english = HARArchive.Entry.get("http://h/?t=2", "hello")
        english.request.headers = ["accept-language": "en"]
        let cassette = Cassette(
            HARArchive(entries: [german, english]),
            matching: .init(fields: ["Accept-Language"], ignoringQueryItems: ["t", "ü"], ignoringOrigin: true))
        let session = Session(transport: cassette)
        let french = await session.request("https://x:81/?t=3", headers: ["Accept-Language": "fr"])
            .serializingString().response
        #expect(french.error?.message.contains("the field Accept-Language differs") == true)
        let text = try await session.request("https://x:81/?%C3%BC=1&%74=3", headers: ["Accept-Language": "en"])
            .serializingString().value
        #expect(text == "hello")
    }

    @Test("Of entries that differ in secrets alone, the request's own answers first")
    func secrets() async throws {
        let cassette = Cassette(
            HARArchive(entries: [
                .get("http://h/?token=a", "A"), .get("http://h/?token=b", "B"), .get("http://h/?token=REDACTED", "C"),
            ]))
        let session = Session(transport: cassette)
        var texts: [String] = []
        for token in ["b", "z", "y"] {
            texts.append(try await session.request("http://h/?token=\(token)").serializingString().value)
        }
        #expect(texts == ["B", "A", "C"])
    }

    @Test("An archive of a browser is played: decoded bodies, joined cookies, redirects, texts of old encodings")
    func browser() async throws {
        var page = HARArchive.Entry.get("https://h/page", "<p>Grüße</p>")
        page.response.version = "h2"
        page.response.headers = [
            HTTPHeader(name: "content-encoding", value: "br"), HTTPHeader(name: "content-length", value: "5"),
            HTTPHeader(name: "content-type", value: "text/html; charset=iso-8859-1"),
            HTTPHeader(name: "set-cookie", value: "a=1; Path=/\nb=2; Path=/"),
            HTTPHeader(name: "x-bad", value: "a\u{1}b\r\nInjected: yes"), HTTPHeader(name: "bad name", value: "x"),
        ]
        var moved = HARArchive.Entry.get("https://h/", "", status: 302)
        moved.response.redirectURL = "/page"
        let session = Session(transport: Cassette(HARArchive(entries: [page, moved])))
        let response = await session.request("https://h/").serializingString().response
        #expect(response.value == "<p>Grüße</p>")
        #expect(response.head?.version == "h2" && response.head?["content-length"] == "14")
        #expect(response.head?.values(for: "set-cookie") == ["a=1; Path=/", "b=2; Path=/"])
        #expect(response.head?["Injected"] == nil && response.head?["bad name"] == nil)
        #expect(response.head?.values(for: "x-bad") == ["a b", "Injected: yes"])
    }

    @Test(
        "HEAD, 204 and 304 have no body, and keep their fields", arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
    func bodiless(method: String, status: Int) async throws {
        var entry = HARArchive.Entry(method: method, "http://h/", "", status: status)
        entry.response.headers = ["ETag": "\"1\"", "Content-Length": "100"]
        entry.response.body = HARArchive.Body(nil, size: 100)
        let session = Session(
            configuration: SessionConfiguration { $0.validation = [] },
            transport: Cassette(HARArchive(entries: [entry])))
        let response = await session.request("http://h/", method: HTTPMethod(rawValue: method)).serializingData()
            .response
        #expect(response.error == nil || response.error?.code == .emptyBody)
        #expect(response.head?.status == status && response.head?["ETag"] == "\"1\"")
    }

    @Test("The messages of a WebSocket are played: received ones are sent after the sent ones before them")
    func webSocket() async throws {
        var entry = HARArchive.Entry.get("wss://h/chat", "", status: 101)
        entry.response.headers = ["Sec-WebSocket-Protocol": "chat"]
        let now = Date(timeIntervalSince1970: 0)
        entry.messages = [
            .init(isSent: false, isText: true, time: now, bytes: Data("welcome".utf8)),
            .init(isSent: true, isText: true, time: now, bytes: Data("hi".utf8)),
            .init(isSent: false, isText: false, time: now, bytes: Data([1, 2])),
        ]
        for (sent, matching, code) in [
            ("hi", Cassette.Matching(body: .equal), WebSocketCloseCode.normal), ("x", .init(), .normal),
            ("x", .init(body: .equal), .internalError),
        ] {
            let session = Session(transport: Cassette(HARArchive(entries: [entry]), matching: matching))
            let socket = await session.webSocket("wss://h/chat", protocols: ["chat"])
            var received: [WebSocketMessage] = []
            for try await message in socket.messages {
                received.append(message)
                if received.count == 1 { try await socket.send(.text(sent)) }
            }
            let all: [WebSocketMessage] = [.text("welcome"), .data(Data([1, 2]))]
            #expect(received == Array(all.prefix(code == .normal ? 2 : 1)))
            #expect(await socket.closed.code == code)
            #expect(socket.negotiatedProtocol == "chat")
        }
    }

    @Test("A streamed body is read to its end, and its bytes are compared")
    func streams() async throws {
        let cassette = Cassette(archive("one two", type: "text/plain"), matching: .init(body: .equal))
        let session = Session(transport: cassette)
        let pieces = Pieces(elements: [Data("one ".utf8), Data("two".utf8)])
        let request = await session.upload(.sequence(pieces), to: "http://h/")
        #expect(await request.serializingData().response.head?.status == 201)
    }

    @Test("A request can be cancelled while its body is read, and plays nothing")
    func cancel() async throws {
        let cassette = Cassette(archive("one", type: "text/plain"), matching: .init(body: .equal))
        let session = Session(transport: cassette)
        let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
        let begun = Gate()
        let pieces = stream.map { piece in
            begun.open()
            return piece
        }
        continuation.yield(Data("o".utf8))
        let request = await session.upload(.sequence(pieces), to: "http://h/")
        async let response = request.serializingData().response
        await begun.pass()
        request.cancel()
        #expect(await response.error?.code == .cancelled)
        #expect(cassette.playCount == 0)
        continuation.finish()
    }
}
