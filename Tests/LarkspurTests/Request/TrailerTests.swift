import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Trailers of responses", .limited)
struct TrailerTests {
    private let url = "http://example.com/a"

    private static func answer(_ trailers: HTTPHeaders, head: HTTPHeaders = [:], body: String = "ok") -> StubAnswer {
        StubAnswer([
            .head(ResponseHead(status: 200, fields: Array(head))), .body(Data(body.utf8)), .trailers(trailers),
        ])
    }

    @Test("The response has the trailers, and its head does not")
    func response() async throws {
        let recorder = EventRecorder()
        let session = Session(
            transport: StubTransport { _ in Self.answer(["X-Sum": "1", "Set-Cookie": "a=b"]) },
            eventMonitors: [recorder])
        let request = await session.request(url)
        let response = await request.serializingString().response
        #expect(response.trailers == ["X-Sum": "1"])
        #expect(response.head?["X-Sum"] == nil)
        #expect(response.debugDescription.contains("trailers:\n  X-Sum: 1"))
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(recorder.events.count { $0.name == "receiveTrailers" } == 1)
        let plain = Session(transport: StubTransport { _ in .text("ok") })
        #expect(await plain.request(url).serializingString().response.trailers == nil)
    }

    @Test("A download and the end of a stream have the trailers")
    func otherKinds() async throws {
        let server = try MockServer()
        let steps: [MockResponse.Step] = [
            .head(ResponseHead(status: 200)), .body(Data("ok".utf8)), .trailers(["X-Sum": "1"]),
        ]
        server.on("GET", "/", MockResponse(steps))
        let session = Session()
        let download = await session.download(server.url).serializingString().response
        #expect(download.value == "ok")
        #expect(download.trailers == ["X-Sum": "1"])
        let stream = await session.streamRequest(server.url)
        var text = ""
        for try await piece in stream.strings { text += piece }
        #expect(text == "ok")
        #expect(await stream.completion.trailers == ["X-Sum": "1"])
        await server.stop()
    }

    @Test("With middleware, the response still has the trailers")
    func middleware() async throws {
        let configuration = SessionConfiguration { $0.middleware = [Passing()] }
        let session = Session(
            configuration: configuration, transport: StubTransport { _ in Self.answer(["X-Sum": "1"]) })
        #expect(await session.request(url).serializingString().response.trailers == ["X-Sum": "1"])
    }

    @Test("Trailers of a redirect are not those of the response")
    func redirect() async throws {
        let log = TransportLog()
        let session = log.session { _, number in
            number == 1
                ? StubAnswer(StubAnswer.redirect(to: "/b").steps + [.trailers(["X-Sum": "1"])]) : .text("ok")
        }
        #expect(await session.request(url).serializingString().response.trailers == nil)
    }

    @Test("The cache passes trailers on and does not store them")
    func cached() async throws {
        let configuration = SessionConfiguration { $0.cache = .inMemory(limit: 1 << 20) }
        let answer = Self.answer(["X-Sum": "1"], head: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"])
        let session = Session(configuration: configuration, transport: StubTransport { _ in answer })
        let first = await session.request(url).serializingString().response
        #expect(first.cache == .miss)
        #expect(first.trailers == ["X-Sum": "1"])
        let second = await session.request(url).serializingString().response
        #expect(second.value == "ok")
        if case .hit? = second.cache {} else { Issue.record("not from the cache: \(String(describing: second.cache))") }
        #expect(second.trailers == nil)
    }

    @Test("Trailers of a megabyte fail the request with a typed error", arguments: [1, 60_000])
    func large(count: Int) async throws {
        let server = try MockServer()
        let value = String(repeating: "y", count: (1 << 20) / count)
        let fields = HTTPHeaders((0..<count).map { _ in HTTPHeader(name: "X-T", value: value) })
        server.on(
            "GET", "/", MockResponse([.head(ResponseHead(status: 200)), .body(Data("ok".utf8)), .trailers(fields)]))
        let response = await Session().request(server.url).serializingData().response
        #expect(response.error?.code == .protocolViolation)
        #expect(response.trailers == nil)
        await server.stop()
    }

    // MARK: Digests

    private static let sha256 = "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"  // of {} and no line end
    private static let wrong = "sha-256=:AAAAo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"

    private static let digests: [(head: HTTPHeaders, trailers: HTTPHeaders, code: RequestError.Code?)] = [
        (["Content-Digest": sha256], [:], nil), (["Repr-Digest": sha256], [:], nil),
        ([:], ["Content-Digest": sha256], nil), ([:], ["Repr-Digest": "md5=:AAAA:, \(sha256)"], nil),
        (["Content-Digest": "SHA-256 = :AAAA: ;q=1"], [:], .checksumMismatch),
        (["Content-Digest": sha256], ["Content-Digest": wrong], .checksumMismatch),
        ([:], ["Content-Digest": wrong], .checksumMismatch), ([:], [:], .checksumMismatch),
        (["Content-Digest": "md5=:AAAA:"], [:], .checksumMismatch),
        (["Content-Digest": "sha-256=RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o="], [:], .checksumMismatch),
        (["Content-Digest": "sha-256"], [:], .checksumMismatch),
        (["Content-Digest": sha256, "Content-Encoding": "identity"], [:], nil),
    ]

    @Test("The validator compares every digest that it knows, and needs one", arguments: digests)
    func digest(head: HTTPHeaders, trailers: HTTPHeaders, code: RequestError.Code?) async throws {
        let session = Session(transport: StubTransport { _ in Self.answer(trailers, head: head, body: "{}") })
        let response = await session.request(url).validate(using: .contentDigest).serializingString().response
        #expect(response.error?.code == code)
    }

    @Test("A digest of encoded bytes is compared only if they are not decoded")
    func encoded() async throws {
        let gzip = try #require(Data(base64Encoded: "H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA=="))  // of {}
        let sum = DigestAlgorithm.sha256
        let answer = StubAnswer([
            .head(ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Encoding", value: "gzip")])),
            .body(gzip), .trailers(["Content-Digest": try Self.digest(of: gzip, sum)]),
        ])
        let session = Session(transport: StubTransport { _ in answer })
        let decoded = await session.request(url).validate(using: .contentDigest).serializingData().response
        #expect(decoded.error?.code == .invalidRequest)
        let raw = await session.request(url) { $0.options.decodesContent = false }
            .validate(using: .contentDigest).serializingData().response
        #expect(raw.value == gzip)
    }

    @Test("Streams, whose body has not arrived when they are validated, cannot be checked")
    func stream() async throws {
        let session = Session(
            transport: StubTransport { _ in Self.answer(["Content-Digest": Self.sha256], body: "{}") })
        let end = await session.streamRequest(url).validate(using: .contentDigest).completion
        #expect(end.error?.code == .invalidRequest)
    }

    /// Returns the field for these bytes, as a body of this library sends it.
    private static func digest(of bytes: Data, _ algorithm: DigestAlgorithm) throws -> String {
        let body = TransportBody.data(bytes).contentDigest(algorithm)
        guard case .stream(let source) = body else { return "" }
        let stream = source.open()
        stream.begin {}
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while case .bytes = buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {}
        stream.end()
        return stream.trailers.first?.value ?? ""
    }

    private struct Passing: RequestMiddleware {
        func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
            try await next(exchange)
        }
    }
}
