import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Streams whose request body is still being sent when the request is sent again, or when a timeout could pass.
@Suite("Both directions of a stream: repeats and timeouts", .limited)
struct DuplexRepeatTests {
    /// A body with a new sequence for each send. Each sequence begins with one line and stays open.
    private final class Bodies: Sendable {
        private let box = Protected<[AsyncStream<Data>.Continuation]>([])
        private let ends = AsyncStream.makeStream(of: Int.self)

        var count: Int { box.withLock { $0.count } }

        var content: RequestContent { .sequence { self.next() } }

        func next() -> AsyncStream<Data> {
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            let number = box.withLock { all in
                all.append(continuation)
                return all.count
            }
            continuation.onTermination = { [ends] _ in ends.continuation.yield(number) }
            continuation.yield(Data("e4\n".utf8))
            return stream
        }

        /// Ends the sequence of the latest send.
        func finish() { box.withLock { $0.last }?.finish() }

        /// Waits until the sequence of this send has ended.
        func waitForEnd(of number: Int) async {
            for await ended in ends.stream where ended == number { return }
        }
    }

    /// A server that answers the first request in this way, while its body is open, and the others with their lines in
    /// capitals.
    private static func server(first: MockResponse) throws -> MockServer {
        let server = try MockServer()
        let isFirst = Protected(true)
        server.on("POST", "/", reading: .live) { request in
            let begins = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return begins ? first : .capitals(of: request)
        }
        server.on("POST", "/echo", reading: .live) { request in .capitals(of: request) }
        return server
    }

    private static let failures: [MockResponse] = [.text("no", status: 503), MockResponse([.reset])]

    private static let retrying = Session(
        interceptor: RetryPolicy(limit: 1, methods: [.post], backoff: .init(scale: .zero)))

    @Test("Before the first byte, a failed request is sent again with another sequence", arguments: failures)
    func retry(failure: MockResponse) async throws {
        let server = try Self.server(first: failure)
        let bodies = Bodies()
        let duplex = await Self.retrying.streamRequest(server.url, method: .post, body: bodies.content).validate()
        var replies = duplex.lines.makeAsyncIterator()
        #expect(try await replies.next() == "E4")
        await bodies.waitForEnd(of: 1)
        bodies.finish()
        #expect(try await replies.next() == nil)
        let end = await duplex.completion
        #expect(end.error == nil)
        #expect(duplex.attempts.count == 2)
        #expect(bodies.count == 2)
        await server.stop()
    }

    @Test("After the first byte has been delivered, nothing is sent again")
    func noRetry() async throws {
        let server = try MockServer()
        // It resets the connection when it has all that was sent: libcurl reads no response after a failure to send.
        server.on("POST", "/", reading: .live) { request in
            MockResponse([
                .pause { for await _ in request.pieces { break } }, .head(ResponseHead(status: 200), .chunked),
                .body(Data("E4\n".utf8)), .reset,
            ])
        }
        let bodies = Bodies()
        let duplex = await Self.retrying.streamRequest(server.url, method: .post, body: bodies.content).validate()
        var replies = duplex.lines.makeAsyncIterator()
        #expect(try await replies.next() == "E4")
        await #expect(throws: RequestError.self) { try await replies.next() }
        await bodies.waitForEnd(of: 1)
        #expect(duplex.attempts.count == 1)
        #expect(bodies.count == 1)
        await server.stop()
    }

    @Test("A redirect that keeps the body sends another sequence to the target")
    func redirect() async throws {
        let server = try Self.server(first: .response(307, headers: ["Location": "/echo"]))
        let bodies = Bodies()
        let duplex = await Session().streamRequest(server.url, method: .post, body: bodies.content).validate()
        var replies = duplex.lines.makeAsyncIterator()
        #expect(try await replies.next() == "E4")
        await bodies.waitForEnd(of: 1)
        bodies.finish()
        #expect(try await replies.next() == nil)
        #expect(await duplex.completion.error == nil)
        #expect(server.requests.map(\.path) == ["/", "/echo"])
        #expect(bodies.count == 2)
        await server.stop()
    }

    @Test(
        "A sequence that can be read only once is not sent again",
        arguments: failures + [.response(307, headers: ["Location": "/echo"])])
    func onlyOnce(first: MockResponse) async throws {
        let server = try Self.server(first: first)
        let bodies = Bodies()
        let duplex = await Self.retrying.streamRequest(server.url, method: .post, body: .sequence(bodies.next()))
            .validate()
        let end = await duplex.completion
        #expect(end.error?.code == .bodyNotReplayable)
        await bodies.waitForEnd(of: 1)
        #expect(server.log.requestCount == 1)
        await server.stop()
    }

    private static func limited(_ limit: RequestTimeouts.Limit, _ url: String, _ bodies: Bodies) async
        -> DataStreamRequest
    {
        await Session().streamRequest(url, method: .post, body: bodies.content).timeout(limit)
    }

    @Test("The timeout for the first byte does not run before the end of the body", .timing)
    func firstByteDuringBody() async throws {
        let server = try MockServer()
        server.on("POST", "/slow", reading: .live) { request in
            .capitals(of: request, after: [.wait(.milliseconds(1_200))])
        }
        let bodies = Bodies()
        let duplex = await Self.limited(.firstByte(.milliseconds(400)), server.url + "/slow", bodies)
        var replies = duplex.lines.makeAsyncIterator()
        #expect(try await replies.next() == "E4")
        bodies.finish()
        #expect(try await replies.next() == nil)
        #expect(await duplex.completion.error == nil)
        await server.stop()
    }

    @Test("The timeout for the first byte runs from the end of the body on")
    func firstByteAfterBody() async throws {
        let server = try MockServer()
        server.on("POST", "/never", reading: .live) { _ in MockResponse([.stall]) }
        let bodies = Bodies()
        let silent = await Self.limited(.firstByte(.milliseconds(400)), server.url + "/never", bodies)
        async let end = silent.completion
        await poll { bodies.count == 1 }
        bodies.finish()
        #expect(await end.error?.timeoutName == "first byte")
        await server.stop()
    }

    private static let head = MockResponse.Step.head(ResponseHead(status: 200), .chunked)
    private static let first = MockResponse.Step.body(Data("E4\n".utf8))

    @Test("The idle timeout does not run while the open body has no bytes", .timing)
    func idleDuringBody() async throws {
        let server = try MockServer()
        let second = MockResponse.Step.body(Data("NF3\n".utf8))
        server.on(
            "POST", "/", reading: .live, MockResponse([Self.head, Self.first, .wait(.milliseconds(1_200)), second]))
        let bodies = Bodies()
        let duplex = await Self.limited(.idle(.milliseconds(400)), server.url, bodies)
        var replies = duplex.lines.makeAsyncIterator()
        #expect(try await replies.next() == "E4")
        #expect(try await replies.next() == "NF3")
        bodies.finish()
        #expect(try await replies.next() == nil)
        #expect(await duplex.completion.error == nil)
        await server.stop()
    }

    @Test("The idle timeout runs after the end of the body")
    func idleAfterBody() async throws {
        let server = try MockServer()
        server.on("POST", "/", reading: .live, MockResponse([Self.head, Self.first, .stall]))
        let bodies = Bodies()
        let silent = await Self.limited(.idle(.milliseconds(400)), server.url, bodies)
        var replies = silent.lines.makeAsyncIterator()
        #expect(try await replies.next() == "E4")
        await poll { bodies.count == 1 }
        bodies.finish()
        await #expect(throws: RequestError.self) { try await replies.next() }
        #expect(await silent.completion.error?.timeoutName == "idle")
        await server.stop()
    }
}
