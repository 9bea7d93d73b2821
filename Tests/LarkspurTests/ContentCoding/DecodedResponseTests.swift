import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Decoded responses", .limited)
struct DecodedResponseTests {
    private let server: MockServer
    private let session = Session()
    private static var text: Data { Data(CodedBody.text) }

    init() throws {
        server = try MockServer()
    }

    private func serve(
        _ path: String, _ body: [UInt8], _ fields: HTTPHeaders, status: Int = 200,
        framing: MockResponse.Framing = .automatic
    ) {
        let response = MockResponse.response(
            status, headers: fields, chunks: [Data(body.prefix(20)), Data(body.dropFirst(20))], framing: framing)
        server.on(nil, path, response)
    }

    @Test(
        "A response in any coding is decoded to the text, and its received bytes are counted before decoding",
        arguments: CodedBody.all)
    func decoded(_ body: CodedBody) async throws {
        for framing in [MockResponse.Framing.automatic, .chunked, .untilClose] {
            serve("/", body.bytes, ["Content-Encoding": body.codings[0]], framing: framing)
            let request = await session.request(server.url)
            let response = await request.serializingData().response
            #expect(response.value == Self.text)
            #expect(response.data == Self.text)
            #expect(request.metrics?.responseBodyBytes == UInt64(body.bytes.count))
            #expect(response.head?["Content-Encoding"] == body.codings[0], "the head is unchanged")
        }
    }

    @Test("Several fields are one list, which is decoded from its end", arguments: CodedBody.stacked)
    func stacked(_ body: CodedBody) async throws {
        let fields = body.codings.map { HTTPHeader(name: "content-encoding", value: $0.uppercased()) }
        serve("/", body.bytes, HTTPHeaders(fields))
        #expect(try await session.request(server.url).serializingData().value == Self.text)
    }

    @Test("Validators and serializers see the decoded body")
    func aboveSeesDecoded() async throws {
        serve("/", CodedBody.br.bytes, ["Content-Encoding": "br", "Content-Type": "text/plain"])
        let seen = Journal()
        let validator = ResponseValidator { seen.note(String(decoding: $0.data ?? Data(), as: UTF8.self)) }
        let text = try await session.request(server.url).validate(using: validator).serializingString().value
        #expect(text == String(decoding: CodedBody.text, as: UTF8.self))
        #expect(seen.lines == [text])
    }

    @Test("A damaged body is an error with its status, is retried, and is kept undecoded")
    func damaged() async throws {
        let cut = Data(CodedBody.gzip.bytes.dropLast(3))
        server.on(
            "GET", "/",
            .response(203, headers: ["Content-Encoding": "gzip"], chunks: [cut]),
            .response(headers: ["Content-Encoding": "gzip"], chunks: [Data(CodedBody.gzip.bytes)]))
        let asked = Journal()
        let retrying = Interceptor.retrier { _, _, error in
            asked.note("\(error)")
            return .retry
        }
        let request = await session.request(server.url, interceptor: retrying)
        #expect(try await request.serializingData().value == Self.text)
        #expect(asked.count("end") == 2)
        let error = try #require(request.attempts.first?.error)
        #expect(error.code == .undecodableContent)
        #expect(error.stage == .sending)
        #expect(error.statusCode == 203)
        #expect(error.responseData == cut)
        #expect(!error.isConnectivity)
    }

    @Test("An unknown coding is an error with the response's head")
    func unknown() async throws {
        serve("/", CodedBody.text, ["Content-Encoding": "compress"])
        let error = try #require(await session.request(server.url).serializingData().response.error)
        #expect(error.code == .unsupportedCoding && error.statusCode == 200)
    }

    @Test("A request for undecoded bodies gets them, and accepts no coding")
    func optedOut() async throws {
        serve("/", CodedBody.gzip.bytes, ["Content-Encoding": "gzip"])
        let session = Session(configuration: SessionConfiguration { $0.options.decodesContent = false })
        #expect(try await session.request(server.url).serializingData().value == Data(CodedBody.gzip.bytes))
        let own = await session.request(server.url, headers: ["accept-encoding": "gzip"])
        #expect(try await own.serializingData().value == Data(CodedBody.gzip.bytes))
        let decoding = await session.request(server.url) { $0.options.decodesContent = true }
        #expect(try await decoding.serializingData().value == Self.text)
        #expect(
            server.requests.map { $0.headers["Accept-Encoding"] }
                == ["identity", "gzip", HTTPHeader.defaultAcceptEncoding.value])
    }

    @Test("A body that the transport has decoded is not decoded again")
    func decodedBelow() async throws {
        let session = Session(
            transport: StubTransport { _ in
                let field = HTTPHeader(name: "Content-Encoding", value: "gzip")
                return StubAnswer([
                    .head(ResponseHead(status: 200, fields: [field], bodyIsDecoded: true)), .body(Self.text),
                ])
            })
        #expect(try await session.request("http://h/").serializingData().value == Self.text)
    }

    @Test("A response without a body is not decoded", arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
    func bodiless(_ method: String, _ status: Int) async throws {
        server.on(method, "/", .response(status, headers: ["Content-Encoding": "gzip"]))
        let request = await session.request(server.url, method: HTTPMethod(rawValue: method))
        let response = await request.serializingData().response
        #expect(response.value == Data())
        #expect(response.head?.status == status)
    }

    @Test("A range is requested without a coding unless the request sets one, and is never decoded")
    func ranges() async throws {
        serve("/", CodedBody.gzip.bytes, ["Content-Encoding": "gzip"], status: 206)
        let ranged = await session.request(server.url, headers: ["Range": "bytes=0-9"])
        #expect(try await ranged.serializingData().value == Data(CodedBody.gzip.bytes))
        let both: HTTPHeaders = ["Range": "bytes=0-9", "Accept-Encoding": "gzip"]
        _ = try await session.request(server.url, headers: both).serializingData().value
        let bare = session.extending { $0.headers = [:] }
        _ = try await bare.request(server.url, headers: ["Range": "bytes=0-9"]).serializingData().value
        #expect(
            server.requests.map { $0.headers.values(for: "Accept-Encoding") } == [["identity"], ["gzip"], ["identity"]])
    }

    @Test(
        "Names in Content-Encoding that are not codings leave the body unchanged",
        arguments: [
            "none", "None", "UTF-8", "utf8", "ISO-8859-1", "windows-1252", "binary", "aws-chunked", "text/html",
        ])
    func noCoding(_ name: String) async throws {
        serve("/", CodedBody.text, ["Content-Encoding": name])
        #expect(try await session.request(server.url).serializingData().value == Self.text)
        serve("/coded", CodedBody.gzip.bytes, ["Content-Encoding": "\(name), gzip"])
        #expect(try await session.request(server.url + "/coded").serializingData().value == Self.text)
    }

    @Test("A session's limits apply to its requests, and a request may have its own limits")
    func limits() async throws {
        serve("/", try Bomb.zeros(5 << 20), ["Content-Encoding": "gzip"])
        let error = try #require(await session.request(server.url).serializingData().response.error)
        #expect(error.code == .contentTooLarge)
        #expect(error.statusCode == 200)
        let trusting = session.extending { $0.options.decodingLimits = DecodingLimits.none }
        #expect(try await trusting.request(server.url).serializingData().value.count == 5 << 20)
        let request = await trusting.request(server.url) { $0.options.decodingLimits = DecodingLimits() }
        #expect(await request.serializingData().response.error?.code == .contentTooLarge)
    }
}
