import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Streams whose request body is still being sent.
@Suite("Both directions of a stream", .limited)
struct DuplexTests {
    /// A server that answers each line with the same line in capitals.
    private static func echo() throws -> MockServer {
        let server = try MockServer()
        server.on("POST", "/", reading: .live) { request in .capitals(of: request) }
        return server
    }

    @Test("A reply is read before the next move is made, and the stream ends after the last move")
    func dialogue() async throws {
        let server = try Self.echo()
        let (moves, next) = AsyncStream.makeStream(of: Data.self)
        let duplex = await Session().streamRequest(server.url, method: .post, body: .sequence(moves))
        var replies = duplex.lines.makeAsyncIterator()
        for move in ["e4", "nf3", "bb5"] {
            next.yield(Data("\(move)\n".utf8))
            #expect(try await replies.next() == move.uppercased())
        }
        next.finish()
        #expect(try await replies.next() == nil)
        let end = await duplex.completion
        #expect(end.error == nil)
        #expect(end.metrics?.requestBodyBytes == 11)
        await server.stop()
    }

    @Test("Leaving the loop ends the task that produces the request's body")
    func left() async throws {
        let server = try Self.echo()
        let ended = Gate()
        let moves = AsyncStream<Data> { moves in
            moves.onTermination = { _ in ended.open() }
            moves.yield(Data("e4\n".utf8))
        }
        let duplex = await Session().streamRequest(server.url, method: .post, body: .sequence(moves))
        for try await _ in duplex.lines { break }
        #expect(await duplex.completion.error?.isCancelled == true)
        await ended.pass()
        await server.stop()
    }

    @Test("An early refusal is validated and delivered although the body has no end")
    func refused() async throws {
        let server = try MockServer()
        server.on("POST", "/", reading: .live) { _ in .text("no", status: 403) }
        let (moves, next) = AsyncStream.makeStream(of: Data.self)
        next.yield(Data("e4\n".utf8))
        let duplex = await Session().streamRequest(server.url, method: .post, body: .sequence(moves)).validate()
        let end = await duplex.completion
        #expect(end.error?.code == .unacceptableStatus)
        #expect(end.error?.responseData == Data("no".utf8))
        next.finish()
        await server.stop()
    }

    @Test("A total timeout ends both directions")
    func timeout() async throws {
        let server = try Self.echo()
        let (moves, next) = AsyncStream.makeStream(of: Data.self)
        let configuration = SessionConfiguration { $0.options.timeouts.total = .milliseconds(300) }
        let duplex = await Session(configuration: configuration)
            .streamRequest(server.url, method: .post, body: .sequence(moves))
        next.yield(Data("e4\n".utf8))
        let error = await #expect(throws: RequestError.self) { for try await _ in duplex.lines {} }
        #expect(error?.isTimeout == true)
        next.finish()
        await server.stop()
    }
}

extension MockResponse {
    /// Answers each piece of a request's body with the same text in capitals.
    ///
    /// - Parameter steps: The steps before the head.
    static func capitals(of request: MockRequest, after steps: [Step] = []) -> MockResponse {
        let replies = Replies(request.pieces)
        return MockResponse(steps + [.head(ResponseHead(status: 200)), .pieces { await replies.next() }])
    }
}

private actor Replies {
    private let pieces: AsyncStream<Data>
    init(_ pieces: AsyncStream<Data>) { self.pieces = pieces }

    func next() async -> Data? {
        for await piece in pieces { return Data(String(decoding: piece, as: UTF8.self).uppercased().utf8) }
        return nil
    }
}
