import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Coded bodies in memory, which are decoded as they arrive", .limited)
struct ArrivingBodyTests {
    /// The ways in which the pipeline gets a body that is kept in memory.
    enum Way: CaseIterable, Sendable {
        case plain, gate, middleware, redirectHandler, retrier

        var status: Int { self == .redirectHandler ? 302 : 203 }

        func request(in session: Session) async -> DataRequest {
            let request = await session.request("http://h/")
            switch self {
            case .plain, .middleware, .retrier: return request
            case .gate: return request.onResponseHead { _ in .allow }
            case .redirectHandler: return request.redirect(using: .doNotFollow)
            }
        }

        func session(_ log: TransportLog, _ answer: StubAnswer) -> Session {
            let retrier = Interceptor.retrier { _, _, _ in .doNotRetry }
            let configuration = SessionConfiguration {
                $0.headers = [:]
                if self == .middleware { $0.middleware = [PassingMiddleware()] }
            }
            return log.session(configuration, interceptor: self == .retrier ? retrier : nil) { _, _ in answer }
        }
    }

    private struct PassingMiddleware: RequestMiddleware {
        func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse { try await next(exchange) }
    }

    private let log = TransportLog()

    private static func head(_ coding: String, status: Int = 200) -> StubAnswer.Step {
        .head(
            ResponseHead(
                status: status,
                fields: [
                    HTTPHeader(name: "Content-Encoding", value: coding), HTTPHeader(name: "Location", value: "/b"),
                ]))
    }

    /// A gzip stream whose first block has a type that does not exist.
    private static let damaged = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xFF, 0xFF])

    @Test("A damaged body ends the request at once, though the connection stays open", arguments: Way.allCases)
    func damaged(way: Way) async throws {
        let answer = StubAnswer([Self.head("gzip", status: way.status), .body(Self.damaged), .stall])
        let request = await way.request(in: way.session(log, answer))
        let response = await request.serializingData().response
        let error = try #require(response.error)
        #expect(error.code == .undecodableContent && error.stage == .sending)
        #expect(error.statusCode == way.status && error.responseData == Self.damaged)
        #expect(response.metrics != nil && log.count == 1)
    }

    @Test("An unknown coding ends the request at its head, though the connection stays open", arguments: Way.allCases)
    func unknown(way: Way) async throws {
        for coding in ["unknown", "gzip, unknown", Array(repeating: "gzip", count: 6).joined(separator: ",")] {
            let answer = StubAnswer([Self.head(coding, status: way.status), .stall])
            let request = await way.request(in: way.session(log, answer))
            let response = await request.serializingData().response
            let error = try #require(response.error)
            #expect(error.code == .unsupportedCoding && error.stage == .sending && error.statusCode == way.status)
            #expect(response.metrics != nil)
        }
    }

    @Test("An unknown coding ends a download and a stream at the head, too")
    func unknownElsewhere() async {
        let session = log.session { _, _ in StubAnswer([Self.head("unknown"), .stall]) }
        #expect(await session.download("http://h/").serializingFile().response.error?.code == .unsupportedCoding)
        await #expect {
            for try await _ in await session.streamRequest("http://h/").bytes {}
        } throws: {
            ($0 as? RequestError)?.code == .unsupportedCoding
        }
    }

    @Test("Bytes after the end of a body, and a bomb, end the request at once, too", arguments: Way.allCases)
    func refused(way: Way) async throws {
        let tail = Data(CodedBody.zlib.bytes + [1])
        let bomb = Data(try Bomb.gzip.get())
        let cases = [("deflate", tail, RequestError.Code.undecodableContent), ("gzip", bomb, .contentTooLarge)]
        for (coding, body, code) in cases {
            let answer = StubAnswer([Self.head(coding, status: way.status), .body(body), .stall])
            let request = await way.request(in: way.session(log, answer))
            let error = await request.serializingData().response.error
            #expect(error?.code == code)
        }
    }

    @Test("Any pieces of a body are decoded to the text", arguments: Way.allCases)
    func pieces(way: Way) async throws {
        for body in CodedBody.all + CodedBody.stacked {
            for size in [1, 50, 1_000] {
                let pieces = stride(from: 0, to: body.bytes.count, by: size).map {
                    Data(body.bytes[$0...].prefix(size))
                }
                let head = Self.head(body.codings.joined(separator: ", "), status: way.status)
                let session = way.session(log, StubAnswer([head] + pieces.map(StubAnswer.Step.body)))
                let response = await way.request(in: session).serializingData().response
                #expect(response.value == Data(CodedBody.text), "\(body.name) by \(size)")
            }
        }
    }

    @Test("A failed hop has its own error and its undecoded bytes, though the bytes so far could be decoded")
    func failed() async throws {
        let half = Data(CodedBody.gzip.bytes.prefix(60))
        let session = log.session { _, _ in
            StubAnswer([Self.head("gzip"), .body(half), .fail(TransportError(.connectionLost))])
        }
        let error = try #require(await session.request("http://h/").serializingData().response.error)
        #expect(error.code == .connectionLost && error.responseData == half)
    }

    @Test("A cancel while the rest of a body is awaited ends the hop, and the request has the hop's metrics")
    func cancelled() async throws {
        let half = Data(CodedBody.gzip.bytes.prefix(60))
        let session = log.session { _, _ in StubAnswer([Self.head("gzip"), .body(half), .stall]) }
        let request = await session.request("http://h/")
        let task = request.serializingData()
        for await progress in request.downloadProgress where progress.completed == 60 { break }
        request.cancel()
        let response = await task.response
        #expect(response.error?.isCancelled == true && response.error?.code != .undecodableContent)
        #expect(response.head?.status == 200 && response.metrics != nil)
    }

    @Test("A timeout of the attempt ends a hop whose body stays incomplete, and the attempt is repeated")
    func timedOut() async throws {
        let clock = ManualClock()
        let half = Data(CodedBody.gzip.bytes.prefix(60))
        let session = log.session(SessionConfiguration { ($0.headers, $0.clock) = ([:], clock) }) { _, number in
            let body = StubAnswer.Step.body(number == 1 ? half : Data(CodedBody.gzip.bytes))
            return StubAnswer([Self.head("gzip"), body] + (number == 1 ? [.stall] : []))
        }
        let request = await session.request("http://h/", interceptor: Interceptor.retrier { _, _, _ in .retry })
        let task = request.timeout(.attempt(.seconds(60))).serializingData()
        for await progress in request.downloadProgress where progress.completed == 60 { break }
        clock.advance(by: .seconds(60))
        #expect(await task.response.value == Data(CodedBody.text))
        #expect(request.attempts.first?.error?.code == .timedOut && log.count == 2)
    }

    @Test("A body that is no longer needed is not decoded to its end")
    func notNeeded() async throws {
        let fields = [HTTPHeader(name: "Content-Encoding", value: "gzip")]
        let hop = Hop(
            request: OutgoingRequest(url: try RequestURL("http://h/")), head: ResponseHead(status: 200, fields: fields))
        func body() throws -> HopBody {
            let channel = ByteChannel()
            channel.receive(Data(try Bomb.zeros(1 << 20)))
            channel.end(nil)
            return HopBody(channel, of: hop)
        }
        #expect(try await body().collected { true } == Data(count: 1 << 20))
        var pieces = 0
        let rest = try await body().collected {
            pieces += 1
            return pieces < 3
        }
        #expect(rest == nil && pieces == 3)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await body().collected { true }
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    // MARK: Bytes that decode to nothing

    /// Two mebibytes that decode to nothing.
    private static let empty: [Data] = {
        let piece = Data((0..<3_300).flatMap { _ in CodedBody.gzip.empty })
        return Array(repeating: piece, count: 32)
    }()

    @Test("Bytes that decode to nothing end each kind of request at once", arguments: ["data", "stream", "file"])
    func nothing(kind: String) async throws {
        let session = log.session { _, _ in StubAnswer([Self.head("gzip")] + Self.empty.map { .body($0) } + [.stall]) }
        let error: (any Error)?
        switch kind {
        case "data": error = await session.request("http://h/").serializingData().response.error
        case "stream":
            let stream = await session.streamRequest("http://h/")
            error = await #expect(throws: RequestError.self) { for try await _ in stream.bytes {} }
        default: error = await session.download("http://h/").serializingFile().response.error
        }
        #expect((error as? RequestError)?.code == .contentTooLarge)
        let few = log.session { _, _ in StubAnswer([Self.head("gzip")] + Self.empty.prefix(15).map { .body($0) }) }
        #expect(try await few.request("http://h/").serializingData().value.isEmpty)
    }
}
