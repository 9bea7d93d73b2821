import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Handlers of streams", .limited)
struct StreamHandlerTests {
    private let url = "http://example.com/stream"

    private func session(_ answer: StubAnswer, monitors: [any EventMonitor] = []) -> Session {
        Session(transport: StubTransport { _ in answer }, eventMonitors: monitors)
    }

    private func chunks(_ texts: String...) -> StubAnswer { .response(chunks: texts.map { Data($0.utf8) }) }

    /// Notes each event of a stream, and opens its gate at the completion.
    private final class Notes<Value: Sendable>: Sendable {
        private let journal = Journal()
        private let end = Gate()

        init() { end.open() }

        func note(_ stream: DataStreamRequest.Stream<Value>) async {
            switch stream.event {
            case .stream(.success(let value)):
                journal.note((value as? Data).map { String(decoding: $0, as: UTF8.self) } ?? "\(value)")
            case .stream(.failure(let error)): journal.note("failure \(error.code)")
            case .complete(let completion):
                journal.note("complete \(completion.error?.code.rawValue ?? "\(completion.head?.status ?? 0)")")
                await end.pass()
            }
        }

        /// The notes up to the completion; waits for it.
        func lines() async -> [String] {
            await end.arrived()
            return journal.lines
        }
    }

    @Test("A handler gets every chunk in order and then one completion, with what came of the request")
    func order() async throws {
        let (notes, facts) = (Notes<Data>(), Protected<DataStreamRequest.Completion?>(nil))
        let request = await session(chunks("a", "b", "c")).streamRequest(url).responseStream { stream in
            if let completion = stream.completion { facts.withLock { $0 = completion } }
            await notes.note(stream)
        }
        #expect(await notes.lines() == ["a", "b", "c", "complete 200"])
        let completion = try #require(facts.withLock { $0 })
        #expect(completion.request?.url.text == url)
        #expect(completion.metrics?.responseBodyBytes == 3)
        #expect(request.status == .finished)
    }

    @Test("Texts are not cut within a character, and many handlers each get all")
    func strings() async throws {
        let bytes = Array("aé€😀z".utf8)
        let session = session(.response(chunks: bytes.map { Data([$0]) }))
        let request = await session.streamRequest(url, startsAutomatically: false)
        let notes = (0..<5).map { _ in Notes<String>() }
        for notes in notes { request.responseStreamString { await notes.note($0) } }
        withExtendedLifetime(session) { _ = request.resume() }
        for notes in notes { #expect(await notes.lines() == ["a", "é", "€", "😀", "z", "complete 200"]) }
    }

    @Test("A parser's values come one by one, and what it throws is the last of them")
    func parser() async throws {
        let notes = Notes<String>()
        let request = await session(chunks("on", "e\ntwo\nth", "ree, which is too long")).streamRequest(url)
        request.responseStream(using: LineParser(maximumLength: 5)) { await notes.note($0) }
        #expect(await notes.lines() == ["one", "two", "failure messageTooLarge", "complete messageTooLarge"])
    }

    @Test("A failed request completes each handler once, behind what had come", arguments: [true, false])
    func failure(_ hasBegun: Bool) async throws {
        let notes = [Notes<Data>(), Notes<Data>()]
        let answer = StubAnswer((hasBegun ? chunks("a").steps : []) + [.fail(TransportError(.connectionLost))])
        let session = session(answer)
        let request = await session.streamRequest(url, startsAutomatically: false)
        for notes in notes { request.responseStream { await notes.note($0) } }
        // From the first call of a handler's reader on, the request does not keep its session.
        await poll { await !session.requests.isEmpty }
        withExtendedLifetime(session) { _ = request.resume() }
        for notes in notes { #expect(await notes.lines() == (hasBegun ? ["a"] : []) + ["complete connectionLost"]) }
    }

    @Test(
        "A cancel completes the handler, whether it comes from the request or from an event", arguments: [true, false])
    func cancel(_ fromEvent: Bool) async throws {
        let (notes, gate) = (Notes<Data>(), Gate())
        let request = await session(StubAnswer(chunks("a").steps + [.stall])).streamRequest(url)
        request.responseStream { stream in
            await notes.note(stream)
            if fromEvent, stream.value != nil { stream.cancel() }
            if stream.value != nil { await gate.pass() }
        }
        await gate.arrived()
        gate.open()
        if !fromEvent { request.cancel() }
        #expect(await notes.lines() == ["a", "complete cancelled"])
        #expect(request.status == .cancelled)
    }

    @Test(
        "A handler that throws ends the request with its error, and completes at once, chunks left or not",
        arguments: [true, false])
    func throwing(_ isAlone: Bool) async throws {
        let (notes, others) = (Notes<Data>(), Notes<Data>())
        let session = session(StubAnswer(chunks("a", "b", "c").steps + [.stall]))
        let request = await session.streamRequest(url, startsAutomatically: false)
        request.responseStream { stream in
            await notes.note(stream)
            throw ForeignError()
        }
        if !isAlone { request.responseStream { await others.note($0) } }
        withExtendedLifetime(session) { _ = request.resume() }
        #expect(await notes.lines() == ["a", "complete receivingFailed"])
        if !isAlone { #expect(await others.lines().last == "complete receivingFailed") }
        #expect(request.error?.underlying as? ForeignError == ForeignError())
        #expect(request.error?.stage == .serializing)
    }

    @Test(
        "While a handler works it is not called again, and the transport waits: the buffer and a chunk or two are held")
    func backpressure() async throws {
        let (received, running, most) = (ByteCounter(), Counter(), Protected(0))
        let notes = Notes<Data>()
        let answer = StubAnswer.response(chunks: Array(repeating: Data(count: 1_000), count: 500))
        let request = await session(answer, monitors: [received]).streamRequest(url, bufferSize: 20_000)
        request.responseStream { stream in
            let number = running.increment()
            await Task.yield()
            #expect(running.value == number)
            if stream.value != nil { most.withLock { $0 = max($0, received.value / 1_000 - number) } }
            if stream.completion != nil { await notes.note(stream) }
        }
        _ = await notes.lines()
        #expect(running.value == 501)
        #expect(most.withLock { $0 } <= 23)
    }

    @Test(
        "A message that cannot be decoded is a failure in the stream, which continues unless the option cancels it",
        arguments: [false, true])
    func decoding(_ cancels: Bool) async throws {
        let notes = Notes<Int>()
        let request = await session(chunks("1\n2", "0\n\"x\"\n3", "\n")).streamRequest(url)
        request.responseStreamDecodable(
            of: Int.self, framing: .jsonLines, automaticallyCancelOnStreamError: cancels
        ) { await notes.note($0) }
        let start = ["1", "20", "failure decodingFailed"]
        #expect(await notes.lines() == start + (cancels ? ["complete decodingFailed"] : ["3", "complete 200"]))
    }

    @Test(
        "A framing that is broken is a failure, after which nothing comes but the completion", arguments: [false, true])
    func framing(_ cancels: Bool) async throws {
        let notes = Notes<Int>()
        let request = await session(StubAnswer(chunks("\u{1E}1\n2").steps + [.stall])).streamRequest(url)
        request.responseStreamDecodable(
            of: Int.self, framing: .jsonSequence, automaticallyCancelOnStreamError: cancels
        ) { await notes.note($0) }
        #expect(await notes.lines() == ["1", "failure malformedMessage", "complete malformedMessage"])
        #expect(request.error?.code == .malformedMessage)
    }

    @Test("The session's decoder decodes where none is named, in handlers and loops")
    func decoder() async throws {
        struct Answer: DataDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
                try JSONDecoder().decode(type, from: Data("42".utf8))
            }
        }
        let answer = chunks("1\n")
        let session = Session(
            configuration: SessionConfiguration { $0.decoder = Answer() }, transport: StubTransport { _ in answer })
        let notes = Notes<Int>()
        await session.streamRequest(url).responseStreamDecodable(of: Int.self, framing: .jsonLines) {
            await notes.note($0)
        }
        #expect(await notes.lines() == ["42", "complete 200"])
        var values: [Int] = []
        for try await value in await session.streamRequest(url).decodables(of: Int.self, framing: .jsonLines) {
            values.append(value)
        }
        #expect(values == [42])
    }

    // MARK: The end alone

    @Test("Awaiting the completion starts the request and throws the body away, however large it is")
    func completion() async throws {
        let answer = StubAnswer.response(chunks: Array(repeating: Data(count: 1_000), count: 500))
        let request = await session(answer).streamRequest(url, bufferSize: 1_000)
        _ = request.bytes  // released before it is iterated, so no reader waits
        let completion = await request.completion
        #expect(completion.error == nil)
        #expect(completion.metrics?.responseBodyBytes == 500_000)
        #expect(await request.completion.head?.status == 200)
    }

    @Test("Awaiting the completion takes no bytes from the readers")
    func completionBesideReader() async throws {
        let request = await session(chunks("a", "b", "c")).streamRequest(url, bufferSize: 4)
        let bytes = request.bytes
        async let completion = request.completion
        var all = Data()
        for try await chunk in bytes { all += chunk }
        #expect(all == Data("abc".utf8))
        #expect(await completion.error == nil)
    }

    @Test("A failure is the completion's, and a cancelled awaiter is told at once")
    func completionFails() async throws {
        #expect(await session(.failure(.nameLookup)).streamRequest(url).completion.error?.code == .nameLookup)
        let request = await session(StubAnswer([.stall])).streamRequest(url)
        let waiting = Task { await request.completion }
        waiting.cancel()
        #expect(await waiting.value.error?.isCancelled == true)
        #expect(request.status == .resumed)
        request.cancel()
    }

    @Test("A caller that waits for a request that never starts is answered when its session ends")
    func neverStarted() async throws {
        let notes = Notes<Data>()
        let waiting: Task<Void, any Error>
        do {
            let session = session(chunks("a"))
            await session.streamRequest(url, startsAutomatically: false).responseStream { await notes.note($0) }
            let request = await session.streamRequest(url, startsAutomatically: false)
            waiting = Task { for try await _ in request.bytes {} }
        }
        #expect(await notes.lines() == ["complete sessionEnded"])
        await #expect { try await waiting.value } throws: { ($0 as? RequestError)?.code == .sessionEnded }
    }

    // MARK: Output streams

    @Test("Everything is written to an output stream, which is closed then")
    func writing() async throws {
        let folder = try TemporaryFolder()
        let file = folder["body"]
        let answer = StubAnswer.response(chunks: (0..<300).map { MockResponse.pattern(from: $0 * 997, count: 997) })
        let request = await session(answer).streamRequest(url, bufferSize: 4_000)
        let stream = try #require(OutputStream(url: file, append: false))
        #expect(try await request.write(to: stream) == 300 * 997)
        #expect(try Data(contentsOf: file) == MockResponse.pattern(from: 0, count: 300 * 997))
    }

    @Test("An error of a stream names its request, as an error of a data request does")
    func facts() async throws {
        let first = session(chunks("{}\n"))
        let request = await first.streamRequest("http://h/p?q", method: .post, startsAutomatically: false)
        let told = Protected<[any Error]>([])
        let end = Gate()
        request.responseStreamDecodable(of: Int.self, framing: .jsonLines) { stream in
            if let error = stream.error { told.withLock { $0.append(error) } }
            if stream.completion != nil { await end.pass() }
        }
        let values = request.decodables(of: Int.self, framing: .jsonLines)
        withExtendedLifetime(first) { _ = request.resume() }
        let thrown = await #expect(throws: RequestError.self) { for try await _ in values {} }
        await end.arrived()
        end.open()
        let events = await session(
            .response(headers: ["Content-Type": "text/event-stream"], chunks: [Data("data: x\n\n".utf8)])
        )
        .streamRequest("http://h/p?q", method: .post).serverSentEvents(of: Int.self)
        let refused = await #expect(throws: RequestError.self) { for try await _ in events {} }
        #expect(told.withLock { $0.count } == 1)
        for error in try told.withLock({ $0 }) + [#require(thrown), #require(refused)] {
            let error = try #require(error as? RequestError)
            #expect(error.url?.path == "/p" && error.statusCode == 200)
        }
    }

    // MARK: The server's side

    /// The bytes that the kernel may hold for one connection: the maximum of its growing buffers, for both ends. Under
    /// load they do grow as far.
    private static let kernelBuffers: UInt64 = {
        let limits = ["tcp_rmem", "tcp_wmem"].compactMap { name -> UInt64? in
            let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
            return text?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0) }
        }
        return limits.count == 2 ? limits[0] + limits[1] : 32 << 20
    }()

    @Test("A server whose body is not read is paused: it sends as much as the buffers hold, and no more")
    func acceptedBytes() async throws {
        let most = Self.kernelBuffers + 4 << 20
        let (size, asked) = (4 * most + 256 << 20, Protected(UInt64(0)))
        let server = try MockServer()
        server.on("GET", "/small", .text("ok"))
        server.on("GET", "/large") { _ in
            MockResponse([
                .head(ResponseHead(status: 200)),
                .generated(count: size) { position in
                    asked.withLock { $0 = max($0, position) }
                    return MockResponse.pattern(from: position, count: Int(min(size - position, 64 * 1_024)))
                },
            ])
        }
        let received = ByteCounter()
        let session = Session(eventMonitors: [received])
        let iterator = await session.streamRequest(server.url + "/large").bytes.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        // Time enough for the server's thread to give much more, if it was let.
        for _ in 1...200 { _ = try await session.request(server.url + "/small").serializingData().value }
        // Of which the stream has its buffer, the chunk that was taken, and one more that was under way.
        #expect(received.value < 2 << 20)
        #expect(asked.withLock { $0 } < most)
        var (read, isSame) = (UInt64(first.count), true)
        while read < 64 << 20, let chunk = try await iterator.next() {
            isSame = isSame && chunk == MockResponse.pattern(from: read, count: chunk.count)
            read += UInt64(chunk.count)
        }
        #expect(isSame && read >= 64 << 20)
    }

    @Test("A small buffer holds a server back as soon, give or take what libcurl gives at once")
    func smallBuffer() async throws {
        let server = try MockServer()
        server.on("GET", "/small", .text("ok"))
        server.on("GET", "/large", .bytes(count: 8 << 20))
        let received = ByteCounter()
        let session = Session(eventMonitors: [received])
        let stream = await session.streamRequest(server.url + "/large", bufferSize: 16 << 10).bytes
        let iterator = stream.makeAsyncIterator()
        var read = try #require(try await iterator.next()).count
        for _ in 1...50 { _ = try await session.request(server.url + "/small").serializingData().value }
        #expect(received.value < 128 << 10)
        while let chunk = try await iterator.next() { read += chunk.count }
        #expect(read == 8 << 20)
    }

    #if os(Linux)
        @Test(
            "Writes that take a part only lose nothing; a stream that takes no more ends the request",
            arguments: [true, false])
        func shortWrites(_ fits: Bool) async throws {
            let written = Protected(Data())
            let request = await session(chunks("one ", "two ", "three")).streamRequest(url)
            do {
                let count = try await request.write(to: NarrowStream(written, limit: fits ? .max : 6))
                #expect(fits && count == 13)
            } catch {
                #expect(!fits && (error as? RequestError)?.code == .receivingFailed)
            }
            #expect(written.withLock { $0 } == Data("one two three".utf8.prefix(fits ? 13 : 6)))
        }
    #endif
}

#if os(Linux)
    /// Takes one byte at a time, up to a limit.
    private final class NarrowStream: OutputStream {
        private let written: Protected<Data>
        private let limit: Int

        init(_ written: Protected<Data>, limit: Int) {
            (self.written, self.limit) = (written, limit)
            super.init(toMemory: ())
        }

        required init(toMemory: ()) {
            (written, limit) = (Protected(Data()), 0)
            super.init(toMemory: ())
        }

        override var streamStatus: Foundation.Stream.Status { .open }
        override var streamError: (any Error)? { nil }
        override func close() {}

        override func write(_ buffer: UnsafePointer<UInt8>, maxLength: Int) -> Int {
            written.withLock { written in
                guard written.count < limit, maxLength > 0 else { return 0 }
                written.append(buffer[0])
                return 1
            }
        }
    }
#endif
