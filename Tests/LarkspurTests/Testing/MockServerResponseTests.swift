import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("MockServer: responses", .limited)
struct MockServerResponseTests {
    private static func received(
        _ response: MockResponse, method: String = "GET"
    ) async throws -> WireClient.Received {
        let server = try MockServer { _ in response }
        return try await WireClient.exchange(server.port, "\(method) / HTTP/1.1\r\nConnection: close\r\n\r\n")
    }

    private static let framings: [(MockResponse.Framing, field: String, body: String)] = [
        (.automatic, "Content-Length: 5\r\n", "abcde"), (.length(9), "Content-Length: 9\r\n", "abcde"),
        (.chunked, "Transfer-Encoding: chunked\r\n", "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"), (.untilClose, "", "abcde"),
    ]

    @Test("A body has the requested framing", arguments: framings)
    func framing(framing: MockResponse.Framing, field: String, body: String) async throws {
        let chunks = [Data("ab".utf8), Data("cde".utf8)]
        let received = try await Self.received(.response(headers: ["X-A": "1"], chunks: chunks, framing: framing))
        #expect(received.text.hasSuffix("\r\nX-A: 1\r\n\(field)\r\n\(body)"))
    }

    @Test("The framing of a given head is kept", arguments: ["Content-Length: 7", "Transfer-Encoding: chunked"])
    func ownFraming(field: String) async throws {
        let head = ResponseHead(status: 200, rawFields: Array("\(field)\r\n".utf8))
        let received = try await Self.received(MockResponse([.head(head), .body(Data("abc".utf8))]))
        #expect(received.text.contains(" 200 "))
        #expect(received.body == (field.hasPrefix("C") ? "abc" : "3\r\nabc\r\n0\r\n\r\n"))
        #expect(received.text.components(separatedBy: ":").count == 2)
    }

    @Test("Trailers follow the last chunk")
    func trailers() async throws {
        let head = MockResponse.Step.head(ResponseHead(status: 200))
        let received = try await Self.received(
            MockResponse([head, .body(Data("abc".utf8)), .trailers(["X-T": "1", "X-U": "2"])]))
        #expect(received.body == "3\r\nabc\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n")
    }

    @Test("Responses without a body have none", arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
    func bodiless(method: String, status: Int) async throws {
        for framing in [MockResponse.Framing.automatic, .chunked] {
            let response = MockResponse.response(status, chunks: [Data("abc".utf8)], framing: framing)
            let received = try await Self.received(response, method: method)
            #expect(received.body.isEmpty)
            #expect(received.text.contains(framing.isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 3"))
        }
        if method == "GET" { #expect(!(try await Self.received(.response(status)).text.contains("Content-Length"))) }
    }

    @Test("Interim heads precede the head")
    func interim() async throws {
        let link = MockResponse.Step.interim(103, ["Link": "</a.css>"])
        let received = try await Self.received(MockResponse([.interim(102), link] + MockResponse.text("end").steps))
        let heads = received.text.components(separatedBy: "\r\n\r\n")
        #expect(heads.map { $0.prefix(12) } == ["HTTP/1.1 102", "HTTP/1.1 103", "HTTP/1.1 200", "end"])
        #expect(heads[1].hasSuffix("\r\nLink: </a.css>"))
    }

    @Test("Raw bytes are sent unchanged")
    func raw() async throws {
        let bytes: [UInt8] = Array("HTTP/1.1  200\n".utf8) + [0, 0xFF, 0x0D]
        #expect(try await Self.received(MockResponse([.raw(Data(bytes)), .close])).bytes == bytes)
        #expect(try await Self.received(.raw("exactly this")).text == "exactly this")
        #expect(!(try await Self.received(.garbage).text.hasPrefix("HTTP/")))
    }

    @Test("A truncated response declares its full length, and ends as requested", arguments: [0, 1, 4])
    func truncated(count: UInt64) async throws {
        let response = MockResponse.response(chunks: [Data("ab".utf8), Data("cde".utf8)])
        let received = try await Self.received(response.truncated(after: count))
        #expect(received.text.contains("Content-Length: 5\r\n"))
        #expect(received.body == "abcde".prefix(Int(count)))
        #expect(received.end == .closed)
        let generated = try await Self.received(.bytes(count: 1_000_000).truncated(after: count))
        #expect(generated.text.contains("Content-Length: 1000000\r\n"))
        #expect(generated.body.utf8.count == Int(count))
        let mixed = MockResponse(MockResponse.bytes(count: 2).steps + [.body(Data("cde".utf8))])
        #expect(try await Self.received(mixed.truncated(after: count)).body.utf8.count == Int(count))
        #expect(try await Self.received(response.truncated(after: count, by: .reset)).end == .reset)
    }

    @Test("A reset may occur at any position", arguments: 0...2)
    func reset(position: Int) async throws {
        var steps: [MockResponse.Step] = [.raw(Data("HTTP/1.1 200 OK\r\nA".utf8)), .raw(Data(": b\r\n\r\n".utf8))]
        steps.insert(.reset, at: position)
        #expect(try await Self.received(MockResponse(steps)).end == .reset)
    }

    @Test(
        "A stall lasts until the client leaves",
        arguments: [MockResponse.stall, .text("abc").truncated(after: 1, by: .stall)])
    func stall(response: MockResponse) async throws {
        let server = try MockServer { _ in response }
        let client = try await WireClient(port: server.port)
        try await client.send("GET / HTTP/1.1\r\n\r\n")
        try await server.wait { $0.requests.count == 1 && $0.connectionCount == 1 }
        client.close()
        try await server.wait { $0.connectionCount == 0 }
    }

    @Test("A pause ends with the test's signal, and delays no other connection")
    func pause() async throws {
        let gate = Gate()
        let server = try MockServer { _ in .text("other") }
        server.on("GET", "/paused") { _ in
            MockResponse([
                .head(ResponseHead(status: 200)), .body(Data("ab".utf8)), .pause { await gate.pass() },
                .body(Data("cd".utf8)),
            ])
        }
        let client = try await WireClient(port: server.port)
        try await client.send("GET /paused HTTP/1.1\r\nConnection: close\r\n\r\n")
        #expect(try await client.receive("ab").text.contains("Content-Length: 4\r\n"))
        await gate.arrived()
        #expect(try await WireClient.exchange(server.port, "GET / HTTP/1.0\r\n\r\n").body == "other")
        gate.open()
        #expect(try await client.receive().text == "cd")
    }

    @Test("A pause that throws closes the connection")
    func brokenPause() async throws {
        let received = try await Self.received(MockResponse([.pause { throw URLError(.badURL) }]))
        #expect(received.bytes.isEmpty && received.end == .closed)
    }

    @Test("A delay has its duration")
    func delay() async throws {
        let start = ContinuousClock.now
        #expect(try await Self.received(.text("late").after(.milliseconds(30))).body == "late")
        #expect(start.duration(to: .now) >= .milliseconds(30))
    }

    @Test("A slow response sends so many bytes at a time")
    func drip() async throws {
        let start = ContinuousClock.now
        let received = try await Self.received(.text("slowly").dripping(bytes: 10, every: .milliseconds(2)))
        #expect(received.body == "slowly")
        #expect(start.duration(to: .now) >= .milliseconds(2) * (received.bytes.count / 10))
    }

    @Test("A large body repeats the pattern, and is created while it is sent")
    func large() async throws {
        let server = try MockServer { _ in .bytes(count: 30_000_000) }
        let received = try await WireClient.exchange(server.port, "GET / HTTP/1.0\r\n\r\n")
        #expect(received.bytes.count > 30_000_000)
        #expect(Data(received.bytes.suffix(30_000_000)) == MockResponse.pattern(from: 0, count: 30_000_000))
        #expect(MockResponse.pattern(from: 1_000, count: 9) == MockResponse.pattern(from: 0, count: 1_009).suffix(9))
    }

    @Test("A client that does not read stops the creation of a body")
    func backPressure() async throws {
        let made = Protected<UInt64>(0)
        let server = try MockServer { _ in .text("other") }
        server.on("GET", "/endless") { _ in
            let piece = Data(repeating: 7, count: 64 * 1024)
            return MockResponse([
                .head(ResponseHead(status: 200)),
                .generated(count: nil) { position in
                    made.withLock { $0 = position }
                    return piece
                },
            ])
        }
        let client = try await WireClient(port: server.port)
        try await client.send("GET /endless HTTP/1.1\r\n\r\n")
        _ = try await client.receive { $0.bytes.count > 1_000 }
        for _ in 0..<50 { _ = try await WireClient.exchange(server.port, "GET / HTTP/1.0\r\n\r\n") }
        #expect(made.withLock { $0 } < 100_000_000)
        client.close()
        try await server.wait { $0.connectionCount == 0 }
    }
}

extension MockResponse.Framing {
    fileprivate var isChunked: Bool {
        if case .chunked = self { true } else { false }
    }
}
