import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("MockServer: requests", .limited)
struct MockServerRequestTests {
    @Test("A request is answered by its method and path, then by its path, then by the fallback")
    func routes() async throws {
        let server = try MockServer { _ in .text("fallback", status: 203) }
        server.on("GET", "/a") { _ in .text("GET a") }
        server.on(nil, "/a") { _ in .text("any a") }
        server.on("GET", "/b") { _ in .text("old") }
        server.on("GET", "/b") { _ in .text("new") }
        let expected = [("GET /a?x", "GET a"), ("PUT /a", "any a"), ("GET /b", "new"), ("GET /c", "fallback")]
        for (line, body) in expected {
            let received = try await WireClient.exchange(server.port, "\(line) HTTP/1.1\r\nConnection: close\r\n\r\n")
            #expect(received.body == body)
        }
    }

    @Test("Given responses are used in order, and the last one is repeated")
    func inTurn() async throws {
        let server = try MockServer()
        server.on("GET", "/flaky", .text("first", status: 503), .text("then"))
        for body in ["first", "then", "then"] {
            let received = try await WireClient.exchange(server.port, "GET /flaky HTTP/1.0\r\n\r\n")
            #expect(received.body == body)
        }
        #expect(server.requests.count == 3)
    }

    @Test("A server without a handler answers 404")
    func notFound() async throws {
        let server = try MockServer()
        let received = try await WireClient.exchange(server.port, "GET / HTTP/1.0\r\n\r\n")
        #expect(received.text.hasPrefix("HTTP/1.1 404 "))
        #expect(received.end == .closed)
    }

    @Test("An error that a handler throws becomes a 500")
    func thrown() async throws {
        let server = try MockServer { _ in throw URLError(.badURL) }
        let received = try await WireClient.exchange(server.port, "GET / HTTP/1.0\r\n\r\n")
        #expect(received.text.hasPrefix("HTTP/1.1 500 "))
    }

    @Test("A request is recorded unchanged: target, fields in order with repeats, body")
    func recorded() async throws {
        let server = try MockServer { _ in .text("") }
        let fields = "X-B: 2\r\nx-a:1\r\nX-B:again\r\nX-Empty:\r\nContent-Length: 5\r\nConnection: close\r\n"
        _ = try await WireClient.exchange(server.port, "PATCH /p/a?q=a%20b?c HTTP/1.1\r\n\(fields)\r\nhello")
        let request = try #require(server.requests.first)
        #expect(request.method == "PATCH")
        #expect(request.target == "/p/a?q=a%20b?c")
        #expect(request.path == "/p/a")
        #expect(request.query == "q=a%20b?c")
        #expect(request.version == "HTTP/1.1")
        #expect(request.headers.map(\.name) == ["X-B", "x-a", "X-B", "X-Empty", "Content-Length", "Connection"])
        #expect(request.headers.map(\.value) == ["2", "1", "again", "", "5", "close"])
        #expect(request.body == Data("hello".utf8))
        #expect(request.bodyCount == 5)
    }

    @Test("Connections are reused, and distinguished in the record")
    func keepAlive() async throws {
        let server = try MockServer { request in .text("\(request.connection).\(request.number)") }
        let clients = [try await WireClient(port: server.port), try await WireClient(port: server.port)]
        try await server.wait { $0.connectionCount == 2 }
        for number in 1...3 {
            for client in clients {
                try await client.send("GET / HTTP/1.1\r\n\r\n")
                _ = try await client.receive(".\(number)")
            }
        }
        #expect(server.log.connectionsAccepted == 2)
        #expect(server.requests.map(\.number) == [1, 1, 2, 2, 3, 3])
        #expect(Set(server.requests.map(\.connection)) == [1, 2])
        clients[0].close()
        try await server.wait { $0.connectionCount == 1 }
    }

    @Test(
        "A connection ends when either side requests it",
        arguments: [("HTTP/1.1", "close", true), ("HTTP/1.0", "x", true), ("HTTP/1.0", "Keep-Alive", false)])
    func connectionOptions(version: String, option: String, ends: Bool) async throws {
        let server = try MockServer { request in .text("ok\(request.number)") }
        let client = try await WireClient(port: server.port)
        try await client.send("GET / \(version)\r\nConnection: \(option)\r\n\r\n")
        _ = try await client.receive("ok1")
        guard !ends else { return #expect(try await client.receive().end == .closed) }
        try await client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        #expect(try await client.receive().body == "ok2")
    }

    @Test("Pipelined requests are answered in order, one after the other")
    func pipelined() async throws {
        let gate = Gate()
        let server = try MockServer { request in .text(request.target) }
        server.on("GET", "/1") { _ in
            await gate.pass()
            return .text("/1")
        }
        let client = try await WireClient(port: server.port)
        try await client.send(
            "GET /1 HTTP/1.1\r\n\r\nPUT /2 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /3 HTTP/1.1\r\n\r\n")
        await gate.arrived()
        #expect(server.requests.map(\.target) == ["/1"])
        gate.open()
        let received = try await client.receive("/3")
        let bodies = received.text.components(separatedBy: "\r\n\r\n").dropFirst().map { String($0.prefix(2)) }
        #expect(bodies == ["/1", "/2", "/3"])
        #expect(server.requests.map(\.body) == [Data(), Data("abc".utf8), Data()])
    }

    @Test("A chunked body is joined; chunk extensions and trailers are skipped")
    func chunked() async throws {
        let server = try MockServer { _ in .text("") }
        let client = try await WireClient(port: server.port)
        try await client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;a=b\r\nab")
        try await client.send("c\r\n000A\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n")
        #expect(try await client.receive().end == .closed)
        #expect(server.requests.map(\.body) == [Data("abc0123456789".utf8)])
    }

    @Test("A body that arrives byte by byte is complete")
    func byteByByte() async throws {
        let server = try MockServer { _ in .text("") }
        let client = try await WireClient(port: server.port)
        let request = "\r\nPOST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        for byte in request.utf8 { try await client.send([byte]) }
        let log = try await server.wait { !$0.requests.isEmpty }
        #expect(log.requests.map(\.body) == [Data("hello".utf8)])
    }

    @Test("A body that is only counted is not stored")
    func counted() async throws {
        let server = try MockServer(reading: .counted) { request in .text("\(request.bodyCount)") }
        let client = try await WireClient(port: server.port)
        try await client.send("PUT / HTTP/1.1\r\nContent-Length: 3000000\r\nConnection: close\r\n\r\n")
        for _ in 0..<30 { try await client.send([UInt8](repeating: 7, count: 100_000)) }
        #expect(try await client.receive().body == "3000000")
        #expect(server.requests.map(\.body) == [Data()])
    }

    @Test("A route that stops reading is called at once, answers, and drops the rest of the body")
    func unread() async throws {
        let server = try MockServer(reading: .upTo(0)) { _ in .text("too large", status: 413) }
        server.on("PUT", "/some", reading: .upTo(4)) { request in .text("\(request.bodyCount >= 4)") }
        let (length, chunks) = ("Content-Length: 300000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n")
        for (path, rest, body) in [
            ("/none", length + "some bytes", "too large"), ("/some", length + "some bytes", "true"),
            ("/none", chunks, "too large"), ("/some", chunks + "4\r\nsome\r\n", "true"),
        ] {
            let client = try await WireClient(port: server.port)
            try await client.send("PUT \(path) HTTP/1.1\r\n\(rest)")
            let received = try await client.receive()
            #expect(received.body == body)
            #expect(received.end == .closed)
        }
    }

    @Test("A request with `Expect` gets a 100, unless its body is not wanted", arguments: [true, false])
    func expectContinue(isWanted: Bool) async throws {
        let server = try MockServer(reading: isWanted ? .kept : .upTo(0)) { request in
            .text("end", status: 200 + Int(request.bodyCount))
        }
        let client = try await WireClient(port: server.port)
        try await client.send("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        if isWanted {
            #expect(try await client.receive("\r\n\r\n").text == "HTTP/1.1 100 Continue\r\n\r\n")
            try await client.send("abc")
        }
        #expect(try await client.receive("end").text.hasPrefix(isWanted ? "HTTP/1.1 203 " : "HTTP/1.1 200 "))
    }

    private static let malformed = [
        "garbage\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nX : 1\r\n\r\n", "GET / HTTP/1.1\r\n: 1\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "GET / HTTP/1.1\r\nX: \0\r\n\r\n",
    ]

    @Test("An invalid HTTP request gets a 400 and the end of the connection", arguments: malformed)
    func garbage(request: String) async throws {
        let server = try MockServer { _ in .text("never") }
        let received = try await WireClient.exchange(server.port, request)
        #expect(received.text.hasPrefix("HTTP/1.1 400 "))
        #expect(received.end == .closed)
        #expect(server.requests.isEmpty)
    }
}
