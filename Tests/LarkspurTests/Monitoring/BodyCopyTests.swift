import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Copies of bodies: for monitors that ask for them, up to their limit, in order", .limited)
struct BodyCopyTests {
    /// A monitor that receives bodies up to its limit.
    private final class Reader: EventMonitor {
        let bodyLimit: Int
        let finished = Counter()
        let box = Protected<(names: [String], parts: [BodyPart], dropped: Int)>(([], [], 0))

        init(limit: Int) { bodyLimit = limit }

        func request(_ request: any Request, did event: RequestEvent) {
            box.withLock { box in
                box.names.append(event.name)
                if case .copyBody(let part) = event { box.parts.append(part) }
            }
            if case .finish = event { finished.increment() }
        }

        func didDrop(_ events: Int) { box.withLock { $0.dropped += events } }

        /// The parts of the bodies, as `request 0 "text"`.
        func parts() async -> [String] {
            await finished.reached(1)
            return box.withLock { $0.parts }.map {
                "\($0.message) \($0.offset) \(String(decoding: $0.bytes, as: UTF8.self))"
            }
        }
    }

    private static func chunks(_ texts: String...) -> StubTransport {
        StubTransport { _ in .response(chunks: texts.map { Data($0.utf8) }) }
    }

    @Test("Bodies in memory arrive with the events of their hop, each monitor up to its own limit")
    func inMemory() async {
        let (reader, short, none) = (Reader(limit: 100), Reader(limit: 5), Reader(limit: 0))
        let session = Session(transport: Self.chunks("abc", "defg", "h"), eventMonitors: [reader, short, none])
        let request = await session.request("http://h/", method: .post, body: .data(Data("question".utf8)))
        _ = await request.serializingData().response
        #expect(await reader.parts() == ["request 0 question", "response 0 abc", "response 3 defg", "response 7 h"])
        #expect(await short.parts() == ["request 0 quest", "response 0 abc", "response 3 de"])
        #expect(await none.parts() == [])
        #expect(
            reader.box.withLock { $0.names } == [
                "start", "create", "beginHop", "copyBody", "sendBody", "receiveHead", "receiveBody", "copyBody",
                "receiveBody", "copyBody", "receiveBody", "copyBody", "gatherMetrics", "endHop", "serialize", "finish",
            ])
        #expect(!none.box.withLock { $0.names }.contains("copyBody"))
    }

    @Test("The body of each hop begins at 0: a redirect, then its target")
    func redirected() async {
        let reader = Reader(limit: 100)
        let transport = StubTransport { request in
            request.url.path == "/"
                ? .response(302, headers: ["Location": "/next"], chunks: [Data("moved".utf8)]) : .text("here")
        }
        let session = Session(transport: transport, eventMonitors: [reader])
        _ = await session.request("http://h/").serializingData().response
        #expect(await reader.parts() == ["response 0 moved", "response 0 here"])
    }

    @Test("Streams and downloads have copies of the same bytes")
    func received() async throws {
        let reader = Reader(limit: 4)
        let session = Session(transport: Self.chunks("abc", "def"), eventMonitors: [reader])
        var text = Data()
        for try await chunk in await session.streamRequest("http://h/").bytes { text += chunk }
        #expect(text == Data("abcdef".utf8))
        #expect(await reader.parts() == ["response 0 abc", "response 3 d"])

        let second = Reader(limit: 4)
        let other = Session(transport: Self.chunks("abc", "def"), eventMonitors: [second])
        _ = try await other.download("http://h/").serializingData().value
        #expect(await second.parts() == ["response 0 abc", "response 3 d"])
    }

    /// Reads a body as a transport does, in pieces of three bytes.
    private static func read(_ body: TransportBody) -> String {
        let stream = body.open()
        stream.begin {}
        defer { stream.end() }
        var (bytes, buffer) = (Data(), Data(count: 3))
        while case .bytes(let count) = buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A file that is sent is copied while it is read, and again from its beginning if it is sent again")
    func file() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "body")
        try Data("abcdefgh".utf8).write(to: file)
        let (reader, sent) = (Reader(limit: 7), Protected<[String]>([]))
        let transport = StubTransport { request in
            let texts = [Self.read(request.body), Self.read(request.body)]
            sent.withLock { $0 += texts }
            return .text("")
        }
        let session = Session(transport: transport, eventMonitors: [reader])
        _ = await session.upload(file, to: "http://h/").serializingData().response
        #expect(sent.withLock { $0 } == ["abcdefgh", "abcdefgh"])
        let once = ["request 0 abc", "request 3 def", "request 6 g"]
        #expect(await reader.parts() == once + once)
    }

    @Test("A stream that is sent over a socket is copied")
    func stream() async throws {
        let server = try MockServer { request in .text(String(decoding: request.body, as: UTF8.self)) }
        let reader = Reader(limit: 5)
        let session = Session(eventMonitors: [reader])
        let body = RequestContent.sequence(length: 8) {
            AsyncStream { pieces in
                for piece in ["ab", "cdefg", "h"] { pieces.yield(Data(piece.utf8)) }
                pieces.finish()
            }
        }
        let text = try await session.request(server.url, method: .post, body: body).serializingString().value
        #expect(text == "abcdefgh")
        await reader.finished.reached(1)
        let parts = reader.box.withLock { $0.parts }
        func bytes(_ message: BodyPart.Message) -> Data {
            parts.filter { $0.message == message }.map(\.bytes).reduce(Data(), +)
        }
        #expect(bytes(.request) == Data("abcde".utf8))
        #expect(bytes(.response) == Data("abcde".utf8))
    }

    @Test("At most 16 MiB of copies wait for a monitor; later parts are dropped and counted")
    func bounded() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://h/")
        var queue = EventQueue(acceptsAll: true)
        let size = 3 << 20
        for number in 0..<8 {
            let bytes = Data(count: size)
            queue.post(.copyBody(BodyPart(of: .response, offset: UInt64(number * size), bytes: bytes)), from: request)
            #expect(queue.hasRoom == (number < 2))
        }
        let batch = queue.take()
        #expect(batch.entries.count == 5)
        #expect(batch.dropped == 3)
        #expect(queue.hasRoom)
    }

    @Test("Many small parts are bounded, too")
    func manyParts() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = await session.request("http://h/")
        var queue = EventQueue(acceptsAll: true)
        let part = BodyPart(of: .response, offset: 0, bytes: Data("x".utf8))
        for _ in 0..<100_000 { queue.post(.copyBody(part), from: request) }
        let batch = queue.take()
        #expect(batch.entries.count < 70_000 && batch.entries.count + batch.dropped == 100_000)
    }

    @Test("A composite gives each of its monitors the bytes below that monitor's limit")
    func composite() async {
        let readers = [Reader(limit: 2), Reader(limit: 0), Reader(limit: 6)]
        let session = Session(transport: Self.chunks("abc", "def"), eventMonitors: [CompositeEventMonitor(readers)])
        _ = await session.request("http://h/").serializingData().response
        #expect(await readers[0].parts() == ["response 0 ab"])
        #expect(await readers[1].parts() == [])
        #expect(await readers[2].parts() == ["response 0 abc", "response 3 def"])
    }

    @Test("A printed part shows no bytes")
    func printed() {
        let part = BodyPart(of: .request, offset: 3, bytes: Data("hunter2".utf8))
        var dumped = ""
        dump(RequestEvent.copyBody(part), to: &dumped)
        #expect("\(part)" == "7 bytes of the request from 3")
        #expect(!dumped.contains("hunter2") && !String(reflecting: part).contains("hunter2"))
    }

    @Test("The bytes of a compressed body are decoded, also those of its first part, up to a limit")
    func decoded() async throws {
        let reader = Reader(limit: 1 << 20)
        let (text, body) = (Data(CodedBody.text), Data(CodedBody.gzip.bytes))
        let transport = StubTransport { _ in .response(headers: ["Content-Encoding": "gzip"], chunks: [body]) }
        let session = Session(transport: transport, eventMonitors: [reader])
        let request = await session.request("http://h/")
        #expect(try await request.serializingData().value == text)
        await reader.finished.reached(1)
        let copied = reader.box.withLock { $0.parts }.map(\.bytes).reduce(Data(), +)
        #expect(copied == body)
        let (sent, head) = (try #require(request.request), try #require(request.head))
        let whole = try #require(head.decoded(copied, of: sent, upTo: 1 << 20))
        #expect(whole.bytes == text && whole.isWhole)
        let short = try #require(head.decoded(copied, of: sent, upTo: 50))
        #expect(short.bytes == text.prefix(50) && !short.isWhole)
        let cut = try #require(head.decoded(copied.prefix(copied.count / 2), of: sent, upTo: 1 << 20))
        #expect(!cut.bytes.isEmpty && text.starts(with: cut.bytes) && !cut.isWhole)
        let unknown = ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Encoding", value: "x-unknown")])
        #expect(unknown.decoded(copied, of: sent, upTo: 100) == nil)
        let plain = ResponseHead(status: 200, fields: [])
        #expect(plain.decoded(copied, of: sent, upTo: 0)?.bytes == copied)
    }
}
