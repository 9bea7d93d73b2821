import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Transfer codings", .limited)
struct TransferCodingTests {
    private let server: MockServer
    private let session = Session()
    private static var text: Data { Data(CodedBody.text) }

    init() throws {
        server = try MockServer()
    }

    /// Sends the body in two chunks, and keeps the connection open.
    private func serve(_ body: [UInt8], _ fields: String..., status: Int = 200) {
        var raw = Data("HTTP/1.1 \(status) OK\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n".utf8)
        for chunk in [body.prefix(20), body.dropFirst(20)] where !chunk.isEmpty {
            raw += Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)
        }
        raw += Data("0\r\n\r\n".utf8)
        server.on("GET", "/", MockResponse([.raw(raw)]))
    }

    @Test(
        "gzip, x-gzip and deflate inside chunks are decoded",
        arguments: [
            ("gzip, chunked", CodedBody.gzip), ("X-GZip ,chunked", .gzip), ("deflate, chunked", .zlib),
            ("deflate, chunked", .raw),
        ])
    func undone(_ codings: String, _ body: CodedBody) async throws {
        serve(body.bytes, "Transfer-Encoding: \(codings)")
        let request = await session.request(server.url)
        let response = await request.serializingData().response
        #expect(response.value == Self.text)
        #expect(response.head?["Transfer-Encoding"] == codings, "the head is unchanged")
        #expect(request.metrics?.responseBodyBytes == UInt64(body.bytes.count))
    }

    @Test("A coding in its own field is decoded, and also a body that ends with its connection")
    func otherForms() async throws {
        serve(CodedBody.gzip.bytes, "Transfer-Encoding: gzip", "Transfer-Encoding: chunked")
        #expect(try await session.request(server.url).serializingData().value == Self.text)
        let head = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n".utf8)
        server.on("GET", "/", MockResponse([.raw(head + Data(CodedBody.gzip.bytes)), .close]))
        #expect(try await session.request(server.url).serializingData().value == Self.text)
    }

    @Test("A transfer coding is decoded even if content codings are not")
    func contentStays() async throws {
        serve(CodedBody.gzip.bytes, "Transfer-Encoding: gzip, chunked", "Content-Encoding: br")
        let asSent = await session.request(server.url) { $0.options.decodesContent = false }
        #expect(try await asSent.serializingData().value == Self.text)
        serve(CodedBody.gzip.bytes, "Transfer-Encoding: gzip, chunked", status: 206)
        #expect(try await session.request(server.url).serializingData().value == Self.text)
    }

    @Test("A transfer coding is decoded before a content coding", arguments: [CodedBody.br, .zstd, .gzip])
    func both(_ body: CodedBody) async throws {
        let encoder = try ContentEncoder(.gzip)
        var bytes: [UInt8] = []
        try body.bytes.withUnsafeBytes { try encoder.encode($0, isLast: true) { bytes += $0 } }
        serve(bytes, "Transfer-Encoding: gzip, chunked", "Content-Encoding: \(body.codings[0])")
        #expect(try await session.request(server.url).serializingData().value == Self.text)
    }

    @Test("A truncated compressed body in complete chunks is an error, and so is a bomb")
    func unsound() async throws {
        serve(Array(CodedBody.gzip.bytes.dropLast(3)), "Transfer-Encoding: gzip, chunked")
        #expect(await session.request(server.url).serializingData().response.error?.code == .undecodableContent)
        serve(try Bomb.zeros(5 << 20), "Transfer-Encoding: gzip, chunked")
        #expect(await session.request(server.url).serializingData().response.error?.code == .contentTooLarge)
    }

    @Test("Streams and downloads receive decoded content")
    func received() async throws {
        serve(CodedBody.gzip.bytes, "Transfer-Encoding: gzip, chunked")
        var streamed = Data()
        for try await chunk in await session.streamRequest(server.url).bytes { streamed += chunk }
        #expect(streamed == Self.text)
        let file = try await session.download(server.url).serializingFile().value
        #expect(try Data(contentsOf: file) == Self.text)
        try FileManager.default.removeItem(at: file)
    }

    @Test("An unknown coding is an error that is not retried")
    func unknown() async throws {
        serve(CodedBody.text, "Transfer-Encoding: compress, chunked")
        let retrying = session.extending { $0.interceptors = [.retry(limit: 2)] }
        let error = try #require(await retrying.request(server.url).serializingData().response.error)
        #expect(error.code == .unsupportedCoding)
        #expect(!error.isConnectivity)
        #expect(server.requests.count == 1)
    }
}
