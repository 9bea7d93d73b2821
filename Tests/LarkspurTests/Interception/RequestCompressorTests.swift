import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Compressing requests", .limited)
struct RequestCompressorTests {
    private let server: MockServer
    private let session = Session()
    private static var text: Data {
        Data(String(repeating: "a line of a text that repeats itself\n", count: 3_000).utf8)
    }

    init() throws {
        server = try MockServer { _ in .text("ok") }
    }

    /// The head and the decoded body of the received request.
    private func received() throws -> (request: MockRequest, body: Data) {
        let request = try #require(server.requests.last)
        let codings = request.headers.values(for: "Content-Encoding")
        guard case .bytes(let bytes) = try Decoded(Array(request.body), codings) else { return (request, Data()) }
        return (request, Data(bytes))
    }

    @Test(
        "Data goes compressed, with its length and the name of the coding", arguments: RequestCompressor.Coding.allCases
    )
    func data(_ coding: RequestCompressor.Coding) async throws {
        _ = try await session.upload(
            Self.text, to: server.url, headers: ["Content-Length": "\(Self.text.count)"],
            interceptor: RequestCompressor(coding)
        ).serializingData().value
        let (request, body) = try received()
        #expect(body == Self.text)
        #expect(request.headers.values(for: "Content-Encoding") == [coding.rawValue])
        #expect(request.headers.values(for: "Content-Length") == ["\(request.body.count)"])
        #expect(request.body.count * 10 < Self.text.count)
        // The formats' own signs: of gzip with deflate in it, of zlib with a window of 32 KiB.
        #expect(request.body.starts(with: coding == .gzip ? [0x1F, 0x8B, 8] : [0x78]))
    }

    @Test("Files and streams are compressed while they are sent, in chunks", arguments: [true, false])
    func streams(_ isFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let bytes = [UInt8].pattern(3_000_000)
        let body: TransportBody =
            isFile ? try .file(folder.write(bytes)) : .sequence(Pieces(elements: bytes.pieces(of: 70_001)))
        let request = await session.upload(body, to: server.url, interceptor: .compressing(.gzip))
        _ = try await request.serializingData().value
        let (arrived, decoded) = try received()
        #expect(decoded == Data(bytes))
        #expect(arrived.headers["Transfer-Encoding"] == "chunked")
        #expect(arrived.headers["Content-Encoding"] == "gzip")
        #expect(arrived.body.count * 10 < bytes.count)
        #expect(request.metrics?.requestBodyBytes == UInt64(arrived.body.count))
    }

    @Test("A compressed body can be sent again if the body can", arguments: [true, false])
    func replay(_ isReplayable: Bool) async throws {
        let pieces = Pieces(elements: [UInt8].pattern(200_000).pieces(of: 50_000))
        let body: TransportBody = isReplayable ? .sequence { pieces } : .sequence(pieces)
        let compressed = try body.compressed(by: .gzip)
        #expect(compressed.isReplayable == isReplayable)
        #expect(compressed.length == nil)
        for _ in 0..<(isReplayable ? 2 : 1) {
            #expect(try Decoded(await compressed.pulled(by: 1_000), ["gzip"]) == .bytes(.pattern(200_000)))
        }
    }

    @Test("A redirect that keeps the body gets it compressed again")
    func redirect() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Array(Self.text))
        server.on("POST", "/moved", .redirect(307, to: "/there"))
        let request = await session.upload(file, to: server.url + "/moved", interceptor: .compressing(.deflate))
        _ = try await request.serializingData().value
        #expect(try received().body == Self.text)
        #expect(server.requests.map(\.path) == ["/moved", "/there"])
    }

    @Test("A compressed body fails with the error of its original")
    func failing() async throws {
        let body = TransportBody.sequence(
            Pieces(elements: [[UInt8](repeating: 1, count: 5_000)], error: ForeignError()))
        let error = await session.upload(body, to: server.url, interceptor: .compressing(.gzip)).serializingData()
            .response.error
        #expect(error?.code == .bodyFailed)
        let failure = (error?.underlying as? TransportError)?.underlying as? TransportError
        #expect(failure?.underlying is ForeignError)
    }

    @Test("A body that is not read to its end is closed", arguments: [true, false])
    func abandoned(_ isEndedAtOnce: Bool) async throws {
        let (ended, end) = AsyncStream<Void>.makeStream()
        var pulled = PulledBody(try Self.endless { end.finish() }.compressed(by: .gzip))
        #expect(try await pulled.next(1_000) > 0)
        // The producer of the original body waits for room in its pipe at first, and for the sequence later.
        if !isEndedAtOnce { while pulled.bytes.count < 200_000 { _ = try await pulled.next(10_000) } }
        pulled.stream.end()
        for await _ in ended {}
    }

    /// Returns a body that has 300,000 random bytes and no end. It owns the sequence alone, so that the sequence ends
    /// when the body releases it, and also when the body cancels it.
    private static func endless(onTermination: @escaping @Sendable () -> Void) -> TransportBody {
        let (sequence, feed) = AsyncStream<[UInt8]>.makeStream()
        feed.onTermination = { _ in onTermination() }
        feed.yield((0..<300_000).map { _ in UInt8.random(in: 0...255) })
        return .sequence(sequence)
    }

    @Test("Short bodies and those of no use are sent as they are")
    func skipped() async throws {
        let noise = Data((0..<4_000).map { _ in UInt8.random(in: 0...255) })
        let short = Self.text.prefix(1_023)
        for body in [noise, Data(short), Data()] {
            _ = try await session.upload(body, to: server.url, interceptor: .compressing(.gzip)).serializingData().value
            #expect(server.requests.last?.body == body)
            #expect(server.requests.last?.headers["Content-Encoding"] == nil)
        }
        _ = try await session.upload(short, to: server.url, interceptor: .compressing(.gzip, from: 1_023))
            .serializingData().value
        #expect(try received().body == short)
        #expect(server.requests.last?.headers["Content-Encoding"] == "gzip")
        _ = try await session.request(server.url, interceptor: .compressing(.gzip, from: 0)).serializingData().value
        #expect(server.requests.last?.headers["Content-Encoding"] == nil)
    }

    @Test(
        "Types that are compressed by themselves are left alone, all others are not",
        arguments: [
            ("application/json", true), ("text/plain; charset=utf-8", true), (nil, true), ("nonsense", true),
            ("application/octet-stream", true), ("image/svg+xml", true), ("application/x-www-form-urlencoded", true),
            ("image/jpeg", false), ("IMAGE/PNG; a=b", false), ("video/mp4", false), ("audio/mpeg", false),
            ("application/zip", false), ("application/epub+zip", false), ("application/gzip", false),
            ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", false), ("font/woff2", false),
            ("multipart/form-data; boundary=b", false),
        ] as [(String?, Bool)])
    func types(_ type: String?, _ isCompressed: Bool) async throws {
        let headers: HTTPHeaders = type.map { ["Content-Type": $0] } ?? [:]
        let request = await session.upload(
            Self.text, to: server.url, headers: headers, interceptor: .compressing(.gzip))
        _ = try await request.serializingData().value
        #expect((server.requests.last?.headers["Content-Encoding"] == "gzip") == isCompressed)
        #expect(try received().body == Self.text)
    }

    @Test("A rule of one's own decides instead")
    func ownRule() async throws {
        let compressor = RequestCompressor(from: 1) { $0.url.path == "/jpeg" }
        for path in ["/jpeg", "/json"] {
            _ = try await session.upload(
                Self.text, to: server.url + path, headers: ["Content-Type": "image/jpeg"], interceptor: compressor
            ).serializingData().value
        }
        #expect(server.requests.map { $0.headers["Content-Encoding"] } == ["gzip", nil])
    }

    @Test("A body that has a coding is skipped, refused or coded all the same, as the compressor is told")
    func duplicates() async throws {
        func send(_ behavior: RequestCompressor.DuplicateHeaderBehavior, _ coding: String = "br") async -> RequestError?
        {
            let compressor = RequestCompressor(.gzip, from: 1, duplicateHeaderBehavior: behavior)
            return await session.upload(
                Self.text, to: server.url, headers: ["Content-Encoding": coding], interceptor: compressor
            ).serializingData().response.error
        }
        #expect(await send(.skip) == nil)
        #expect(server.requests.last?.body == Self.text)
        #expect(server.requests.last?.headers["Content-Encoding"] == "br")
        let error = await send(.error)
        #expect(error?.code == .encodingFailed)
        #expect(error?.stage == .adapting)
        #expect(server.requests.count == 1)
        for coding in ["br", "identity"] {
            #expect(await send(.replace, coding) == nil)
            #expect(server.requests.last?.headers.values(for: "Content-Encoding") == ["gzip"])
            #expect(try received().body == Self.text)
        }
    }
}
