import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Trailers of requests", .limited)
struct TrailerBodyTests {
    private struct Trouble: Error {}

    private static func pieces() -> Pieces<[UInt8]> { Pieces(elements: [[1, 2], [3]]) }

    /// Reads the whole body. Returns its bytes and its trailers.
    private static func pull(_ body: TransportBody) async throws -> ([UInt8], [HTTPHeader]) {
        var pulled = PulledBody(body)
        while try await pulled.next(65_536) > 0 {}
        defer { pulled.stream.end() }
        return (pulled.bytes, pulled.stream.trailers)
    }

    @Test("The closure is called at the end of each send, and its fields are the stream's")
    func closure() async throws {
        let calls = Journal()
        let bodies: [TransportBody] = [.data(Data([1, 2, 3])), .sequence { Self.pieces() }, .none]
        for body in bodies {
            let trailing = body.trailers("X-Sum") { ["X-Sum": "\(calls.count())"] }
            #expect(trailing.length == nil)
            #expect(trailing.isReplayable)
            for _ in 0..<2 {
                let before = calls.lines.count
                let (bytes, trailers) = try await Self.pull(trailing)
                #expect(bytes == (body.length == 0 ? [] : [1, 2, 3]))
                #expect(trailers == [HTTPHeader(name: "X-Sum", value: "\(before + 1)")])
            }
        }
    }

    @Test("A body that is given up calls no closure")
    func givenUp() async throws {
        let calls = Journal()
        var pulled = PulledBody(TransportBody.sequence { Self.pieces() }.trailers { ["X-Sum": "\(calls.count())"] })
        _ = try await pulled.next(1)
        pulled.stream.end()
        #expect(calls.lines.isEmpty)
    }

    private static let wrong: [HTTPHeaders] = [
        ["Content-Length": "3"], ["Set-Cookie": "a=b"], ["X-Sum": "1\r\nX-Evil: 2"], ["X Sum": "1"], ["": "1"],
        ["Authorization": "x"], ["X-Sum": "\0"],
    ]

    @Test("Fields that may not follow a body, or would break the message, fail the body", arguments: wrong)
    func forbidden(fields: HTTPHeaders) async {
        let body = TransportBody.data(Data([1])).trailers { fields }
        let error = await #expect(throws: TransportError.self) { try await Self.pull(body) }
        #expect(error?.code == .bodyFailed)
    }

    @Test("An error of the closure fails the request with bodyFailed")
    func failure() async throws {
        let server = try MockServer { _ in .text("ok") }
        let content = RequestContent.sequence { Self.pieces() }.trailers { throw Trouble() }
        let response = await Session().upload(content, to: server.url).serializingData().response
        #expect(response.error?.code == .bodyFailed)
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    @Test("The server gets the trailers after the body, and their announcement before it")
    func sent() async throws {
        let server = try MockServer { _ in .text("ok") }
        let content = RequestContent.sequence { Self.pieces() }.trailers("X-Sum", "X-Count") {
            ["X-Sum": "6", "X-Count": "3"]
        }
        for _ in 0..<2 {
            #expect(try await Session().upload(content, to: server.url).serializingString().value == "ok")
        }
        for request in server.requests {
            #expect(request.headers["Trailer"] == "X-Sum, X-Count")
            #expect(request.headers["Transfer-Encoding"] == "chunked")
            #expect(request.body == Data([1, 2, 3]))
            #expect(request.trailers["X-Sum"] == "6")
            #expect(request.trailers["X-Count"] == "3")
        }
        #expect(server.requests.count == 2)
        await server.stop()
    }

    @Test("A retry and a redirect that keeps the body send the trailers again")
    func again() async throws {
        let server = try MockServer()
        server.on(
            "POST", "/", .response(503, headers: ["Connection": "close"]),
            .response(307, headers: ["Location": "/other"]))
        server.on("POST", "/other", .text("ok"))
        let calls = Journal()
        let content = RequestContent.sequence { Self.pieces() }.trailers { ["X-Sum": "\(calls.count())"] }
        let session = Session(interceptor: RetryPolicy(limit: 1, methods: [.post], backoff: .init(scale: .zero)))
        #expect(try await session.upload(content, to: server.url + "/").validate().serializingString().value == "ok")
        #expect(server.requests.map { $0.trailers["X-Sum"] } == ["1", "2", "3"])
        await server.stop()
    }

    @Test("HTTP/2, over which no trailers can be sent, is refused with a typed error")
    func http2() async throws {
        let content = RequestContent.sequence { Self.pieces() }.trailers { ["X-Sum": "6"] }
        let configuration = SessionConfiguration { $0.options.httpVersion = .http2 }
        let response = await Session(configuration: configuration).upload(content, to: "http://127.0.0.1:9/")
            .serializingData().response
        #expect(response.error?.code == .transportUnavailable)
    }

    @Test("A throttled body keeps its trailers; a part of a joined body cannot have any; compression leaves them alone")
    func wrapped() async throws {
        let body = TransportBody.data(Data([1, 2, 3])).trailers("X-Sum") { ["X-Sum": "6"] }
        let (bytes, trailers) = try await Self.pull(body.throttled(pause: .zero))
        #expect(bytes == [1, 2, 3])
        #expect(trailers == [HTTPHeader(name: "X-Sum", value: "6")])
        let error = await #expect(throws: TransportError.self) {
            try await Self.pull(.joined([body, .data(Data([4]))]))
        }
        #expect(error?.code == .bodyFailed)
        let log = TransportLog()
        let session = log.session(interceptor: .compressing(.gzip, from: 1))
        _ = await session.upload(body, to: "http://example.com/").serializingData().response
        #expect(log.requests[0].fields.contains { $0.name == "Trailer" && $0.value == "X-Sum" })
        #expect(!log.requests[0].fields.contains { $0.name == "Content-Encoding" })
    }

    private static let digestOf123 = "sha-256=:A5BYxvLAy0ksUzsKTRTvd8wPeKvMztUofYShogEc+4E=:"

    @Test("Trailers of trailers are all sent, those of the inner body first, and all are announced", arguments: 0..<4)
    func stacked(order: Int) async throws {
        func sum(_ body: TransportBody) -> TransportBody { body.trailers("X-Sum") { ["X-Sum": "6"] } }
        let inner = TransportBody.sequence { Self.pieces() }
        let (body, names): (TransportBody, [String]) =
            switch order {
            case 0: (sum(inner.contentDigest()), ["Content-Digest", "X-Sum"])
            case 1: (sum(inner).contentDigest(), ["X-Sum", "Content-Digest"])
            case 2:
                (
                    sum(inner.contentDigest()).trailers("x-sum", "X-Count") { ["X-Count": "3"] },
                    ["Content-Digest", "X-Sum", "X-Count"]
                )
            default: (sum(inner.contentDigest().throttled(pause: .zero)), ["Content-Digest", "X-Sum"])
            }
        let values = ["Content-Digest": Self.digestOf123, "X-Sum": "6", "X-Count": "3"]
        #expect(body.trailerNames == names)
        for _ in 0..<2 {
            let (bytes, trailers) = try await Self.pull(body)
            #expect(bytes == [1, 2, 3])
            #expect(trailers.map(\.name) == names)
            for trailer in trailers { #expect(trailer.value == values[trailer.name]) }
        }
        let server = try MockServer { _ in .text("ok") }
        #expect(try await Session().upload(.body(body), to: server.url).serializingString().value == "ok")
        let request = try #require(server.requests.first)
        #expect(request.headers["Trailer"] == names.joined(separator: ", "))
        for name in names { #expect(request.trailers[name] == values[name]) }
        await server.stop()
    }

    @Test("contentDigest sends the hash of the bytes, which the validator of the response accepts")
    func digest() async throws {
        let server = try MockServer { request in
            MockResponse([
                .head(ResponseHead(status: 200)), .body(request.body),
                .trailers(["Content-Digest": request.trailers["Content-Digest"] ?? ""]),
            ])
        }
        for (algorithm, size) in [(DigestAlgorithm.sha256, 0), (.sha256, 300_000), (.sha512, 300_000)] {
            let content = RequestContent.data(Data([UInt8].pattern(size))).contentDigest(algorithm)
            let echo = await Session().upload(content, to: server.url).validate(using: .contentDigest)
                .serializingData().response
            #expect(echo.error == nil)
            #expect(server.requests.last?.headers["Trailer"] == "Content-Digest")
            #expect(server.requests.last?.body.count == size)
            #expect(server.requests.last?.trailers["Content-Digest"]?.hasPrefix("\(algorithm.rawValue)=:") == true)
        }
        await server.stop()
    }
}
