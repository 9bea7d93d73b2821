import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Data streams", .limited)
struct DataStreamTests {
    let url = "http://example.com/stream"

    func session(
        _ answer: StubAnswer, interceptor: (any RequestInterceptor)? = nil, monitors: [any EventMonitor] = []
    ) -> Session {
        Session(transport: StubTransport { _ in answer }, interceptor: interceptor, eventMonitors: monitors)
    }

    func chunks(_ texts: String..., status: Int = 200, headers: HTTPHeaders = [:]) -> StubAnswer {
        .response(status, headers: headers, chunks: texts.map { Data($0.utf8) })
    }

    func read(_ stream: DataStream) async throws -> String {
        var all = Data()
        for try await chunk in stream { all += chunk }
        return String(decoding: all, as: UTF8.self)
    }

    @Test("Iterating the bytes starts the request and gives all of them in order")
    func order() async throws {
        let request = await session(chunks("a", "b", "c")).streamRequest(url)
        let bytes = request.bytes
        #expect(request.status == .initialized)
        #expect(try await read(bytes) == "abc")
    }

    @Test("Every reader that was made before the start gets every byte")
    func manyReaders() async throws {
        let request = await session(chunks("one ", "two ", "three")).streamRequest(url)
        let streams = (0..<5).map { _ in request.bytes }
        let texts = try await withThrowingTaskGroup { group in
            for stream in streams { group.addTask { try await read(stream) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "one two three", count: 5))
    }

    @Test("A reader made after the end sees the end, or the error, at once")
    func late() async throws {
        let request = await session(chunks("a")).streamRequest(url)
        _ = try await read(request.bytes)
        #expect(try await read(request.bytes).isEmpty)
        let failing = await session(StubAnswer.failure(.connectionRefused)).streamRequest(url)
        for _ in 0..<2 {
            await #expect { try await read(failing.bytes) } throws: {
                ($0 as? RequestError)?.code == .connectionRefused
            }
        }
    }

    @Test("The head is validated before a byte is handed on, and the error carries the server's words")
    func validation() async throws {
        let request = await session(chunks("no ", "such thing", status: 404)).streamRequest(url).validate()
        let bytes = request.bytes
        let error = await #expect(throws: RequestError.self) {
            for try await _ in bytes { Issue.record("a byte was handed on") }
        }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.responseData == Data("no such thing".utf8))
        #expect(request.error?.statusCode == 404)
    }

    @Test(
        "A refused response that goes silent is waited for a moment, and the error has what came",
        arguments: [false, true])
    func silentRefusal(throughMiddleware: Bool) async throws {
        let configuration = SessionConfiguration {
            if throughMiddleware { $0.middleware = [ClosureMiddleware { try await $1($0) }] }
        }
        let answer = StubAnswer(chunks("overloaded", status: 503).steps + [.stall])
        let session = Session(configuration: configuration, transport: StubTransport { _ in answer })
        let request = await session.streamRequest(url).validate()
        let error = await #expect(throws: RequestError.self) { try await read(request.bytes) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.responseData == Data("overloaded".utf8))
    }

    @Test("A request whose only reader was dropped unread is cancelled if it is under way")
    func droppedUnread() async throws {
        let request = await session(StubAnswer(chunks("a").steps + [.stall])).streamRequest(url)
        var bytes: DataStream? = request.bytes
        request.resume()
        #expect(bytes != nil)
        bytes = nil
        #expect(await request.completion.error?.isCancelled == true)
    }

    @Test("A reader dropped before the start leaves the request as it was, for others to read")
    func droppedEarly() async throws {
        let request = await session(chunks("a", "b")).streamRequest(url)
        _ = request.bytes
        #expect(request.status == .initialized)
        #expect(try await read(request.bytes) == "ab")
    }

    @Test("A reader dropped unread cancels nothing that goes on without readers")
    func droppedFromUnneeded() async throws {
        let clock = ManualClock()
        let answer = StubAnswer(chunks("a").steps + [.wait(.seconds(1)), .body(Data("b".utf8))])
        let request = await Session(transport: StubTransport(clock: clock) { _ in answer }).streamRequest(url)
        let left = request.bytes(automaticallyCancelling: false)
        do {
            let iterator = left.makeAsyncIterator()
            _ = try await iterator.next()
        }
        _ = request.bytes
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(await request.completion.error == nil)
    }

    @Test(
        "A content type is validated though no byte of the body has come",
        arguments: [("text/html", 200, true), ("text/event-stream", 200, false), ("text/html", 204, false)])
    func contentType(_ type: String, _ status: Int, _ fails: Bool) async throws {
        let answer = StubAnswer.response(status, headers: ["Content-Type": type])
        let request = await session(answer).streamRequest(url).validate(contentType: ["text/event-stream"])
        _ = try? await read(request.bytes)
        #expect((request.error?.code == .unacceptableContentType) == fails)
    }

    @Test("A stream that breaks gives what has come, and then the error")
    func broken() async throws {
        let answer = StubAnswer(chunks("some").steps + [.fail(TransportError(.connectionLost))])
        let request = await session(answer).streamRequest(url)
        let iterator = request.bytes.makeAsyncIterator()
        #expect(try await iterator.next() == Data("some".utf8))
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == .connectionLost)
        #expect(error?.requestID == request.id)
    }

    @Test("Another attempt is made before the first byte, and none after it", arguments: [false, true])
    func retry(_ hasSent: Bool) async throws {
        let attempts = Counter()
        let transport = StubTransport { _ in
            guard attempts.increment() == 1 else { return chunks("whole") }
            return StubAnswer((hasSent ? chunks("half").steps : []) + [.fail(TransportError(.connectionLost))])
        }
        let session = Session(transport: transport, interceptor: Interceptor(retry: { _, _, _ in .retry }))
        let bytes = await session.streamRequest(url).bytes
        if hasSent {
            await #expect(throws: RequestError.self) { try await read(bytes) }
            #expect(attempts.value == 1)
        } else {
            #expect(try await read(bytes) == "whole")
        }
    }

    @Test("A response that fails validation can be retried")
    func retryAfterValidation() async throws {
        let attempts = Counter()
        let transport = StubTransport { _ in
            attempts.increment() == 1 ? chunks("busy", status: 503) : chunks("here")
        }
        let session = Session(transport: transport, interceptor: Interceptor(retry: { _, _, _ in .retry }))
        let request = await session.streamRequest(url).validate()
        #expect(try await read(request.bytes) == "here")
        #expect(request.retryCount == 1)
    }

    @Test("A redirect's body reaches no reader, however long it is")
    func redirect() async throws {
        let transport = StubTransport { request in
            request.url.path == "/end"
                ? chunks("the end")
                : .response(302, headers: ["Location": "/end"], chunks: Array(repeating: Data(count: 50_000), count: 9))
        }
        let request = await Session(transport: transport).streamRequest(url, bufferSize: 64)
        #expect(try await read(request.bytes) == "the end")
        #expect(request.attempts.first?.hops.map(\.metrics?.responseBodyBytes) == [100_000, 7])
    }

    @Test("Leaving the loop cancels the request, unless the option says otherwise", arguments: [true, false])
    func leaving(_ automatically: Bool) async throws {
        let recorder = EventRecorder()
        let answer = StubAnswer(chunks("a", "b").steps + (automatically ? [.stall] : []))
        let request = await session(answer, monitors: [recorder]).streamRequest(url)
        for try await _ in request.bytes(automaticallyCancelling: automatically) { break }
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == (automatically ? .cancelled : .finished))
    }

    @Test("A request with one reader left goes on")
    func oneLeaves() async throws {
        let gate = Gate()
        let server = try MockServer()
        server.on("GET", "/") { _ in
            MockResponse([
                .head(ResponseHead(status: 200)), .body(Data("a".utf8)), .pause { await gate.pass() },
                .body(Data("b".utf8)),
            ])
        }
        let request = await Session().streamRequest(server.url + "/")
        let rest = request.bytes
        for try await _ in request.bytes { break }
        gate.open()
        #expect(try await read(rest) == "ab")
    }

    @Test("A cancelled reader gets CancellationError at once, and the request with it")
    func cancelledReader() async throws {
        let recorder = EventRecorder()
        let request = await session(StubAnswer(chunks("a").steps + [.stall]), monitors: [recorder]).streamRequest(url)
        let bytes = request.bytes
        let first = Gate()
        let reader = Task {
            for try await _ in bytes { await first.pass() }
        }
        first.open()
        await first.arrived()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(request.status == .cancelled)
    }

    @Test("A cancelled request ends its readers, also while a validator holds it up")
    func cancelledRequest() async throws {
        let gate = Gate()
        let request = await session(chunks("a")).streamRequest(url).validate { _ in await gate.pass() }
        let bytes = request.bytes
        let reader = Task { try await read(bytes) }
        await gate.arrived()
        request.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        gate.open()
    }

    @Test("A body that is never iterated does not cancel its request")
    func uniterated() async throws {
        let request = await session(chunks("a")).streamRequest(url)
        _ = request.bytes
        #expect(request.status == .initialized)
        #expect(try await read(request.bytes) == "a")
    }

    @Test(
        "A reader that takes nothing stops the transport: the buffer is full, and one chunk more for each that holds some"
    )
    func backpressure() async throws {
        let size = 1_000
        let received = ByteCounter()
        let answer = StubAnswer.response(chunks: Array(repeating: Data(count: size), count: 1_000))
        let request = await session(answer, monitors: [received]).streamRequest(url, bufferSize: 20 * size)
        let iterator = request.bytes.makeAsyncIterator()
        var read = 0
        while let chunk = try await iterator.next() {
            read += chunk.count
            #expect(received.value - read <= 20 * size + 3 * size)
        }
        #expect(read == 1_000 * size)
    }

    @Test("Content codings are undone, and damage is an error", arguments: [false, true])
    func decoding(_ isDamaged: Bool) async throws {
        var coded = CodedBody.gzip.bytes
        if isDamaged { coded.removeLast(4) }
        let pieces = coded.pieces(of: 7)
        let answer = StubAnswer.response(headers: ["Content-Encoding": "gzip"], chunks: pieces.map { Data($0) })
        let bytes = await session(answer).streamRequest(url).bytes
        if isDamaged {
            await #expect { try await read(bytes) } throws: { ($0 as? RequestError)?.code == .undecodableContent }
        } else {
            #expect(try await read(bytes) == String(decoding: CodedBody.text, as: UTF8.self))
        }
    }
}
