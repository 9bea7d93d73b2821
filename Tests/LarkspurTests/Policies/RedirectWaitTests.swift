import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Handlers that take their time, bodies of redirects, streams, downloads and middleware.
@Suite("Redirect handlers under way", .limited)
struct RedirectWaitTests {
    private let log = TransportLog()
    private let clock = ManualClock()
    private let gate = Gate()

    private func session(_ first: StubAnswer, _ configure: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration.bare
        configuration.clock = clock
        configure(&configuration)
        return log.session(configuration) { request, _ in request.url.hasTarget("/a") ? first : .text("end") }
    }

    private func moved(_ chunks: Int = 1, of text: String = "moved") -> StubAnswer {
        .response(302, headers: ["Location": "/b"], chunks: Array(repeating: Data(text.utf8), count: chunks))
    }

    private func read(_ request: DataStreamRequest) async throws -> String {
        var all = Data()
        for try await chunk in request.bytes { all += chunk }
        return String(decoding: all, as: UTF8.self)
    }

    // MARK: Time

    enum End: CaseIterable { case cancel, total, attempt }
    enum Kind: CaseIterable { case data, stream }

    @Test(
        "R4: the end of a request does not wait for a handler that ignores its cancel", arguments: End.allCases,
        Kind.allCases)
    func ends(end: End, kind: Kind) async throws {
        defer { gate.open() }
        let handler = Redirector { [gate] _ in
            await gate.pass()
            return .follow
        }
        let session = session(moved()) {
            $0.redirectHandler = handler
            if end == .total { $0.options.timeouts.total = .seconds(50) }
            if end == .attempt { $0.options.timeouts.attempt = .seconds(50) }
        }
        let request: any Request
        let task: Task<RequestError?, Never>
        switch kind {
        case .data:
            let data = await session.request("http://h/a")
            (request, task) = (data, Task { await data.serializingData().response.error })
        case .stream:
            let stream = await session.streamRequest("http://h/a")
            (request, task) = (stream, Task { await stream.completion.error })
        }
        await gate.arrived()
        switch end {
        case .cancel: request.cancel()
        case .total, .attempt:
            await clock.waitForSleepers()
            clock.advance(by: .seconds(50))
        }
        let error = try #require(await task.value)
        #expect(error.isCancelled == (end == .cancel) && error.isTimeout == (end != .cancel))
        #expect(log.count == 1)
    }

    @Test("A handler is asked while the redirect's body is still coming, and its answer ends that")
    func slowBody() async throws {
        let head = ResponseHead(status: 302, fields: [HTTPHeader(name: "Location", value: "/b")])
        let answer = StubAnswer([.head(head)] + Array(repeating: .body(Data(count: 1 << 14)), count: 8) + [.stall])
        let request = await session(answer).request("http://h/a").redirect(using: .doNotFollow)
        let task = request.serializingData()
        for await head in request.heads where head.status == 302 { break }
        request.cancel()
        #expect(await task.response.error?.isCancelled == true)

        let other = await session(answer).request("http://h/a").redirect(using: .follow)
        let response = await other.serializingString().response
        #expect(response.value == "end", "more than 64 KiB of a body that nobody wants end its hop")
    }

    // MARK: Bodies

    @Test("A redirect's body is whole where it is the response, and nowhere else", arguments: [0, 1, 100])
    func bodies(chunks: Int) async throws {
        let text = String(repeating: "x", count: 10_000)
        let delivered = await session(moved(chunks, of: text)).request("http://h/a").redirect(using: .doNotFollow)
        #expect(try await delivered.serializingData().value.count == chunks * 10_000)
        let followed = await session(moved(chunks, of: text)).request("http://h/a").redirect(using: .follow)
        #expect(try await followed.serializingString().value == "end")
        #expect(followed.attempts.first?.hops.first?.error == nil)
    }

    @Test("A body that breaks off is followed all the same, and delivered as what it is")
    func brokenBody() async throws {
        let head = ResponseHead(status: 302, fields: [HTTPHeader(name: "Location", value: "/b")])
        let answer = StubAnswer([.head(head), .body(Data("x".utf8)), .fail(TransportError(.connectionLost))])
        let followed = await session(answer).request("http://h/a").redirect(using: .follow)
        #expect(try await followed.serializingString().value == "end")
        let delivered = await session(answer).request("http://h/a").redirect(using: .doNotFollow)
        #expect(await delivered.serializingString().response.error?.code == .connectionLost)
    }

    @Test("A redirect that is the response is decoded, validated and limited like any other")
    func delivered() async throws {
        let session = session(moved(of: String(repeating: "x", count: 500))) {
            $0.redirectHandler = Redirector.doNotFollow
        }
        #expect(
            await session.request("http://h/a").validate().serializingData().response.error?.code == .unacceptableStatus
        )
        let limited = await session.request("http://h/a") { $0.options.maximumBodySize = 499 }
        #expect(await limited.serializingData().response.error?.code == .contentTooLarge)
    }

    @Test("The bytes of a redirect that is followed are no progress")
    func progress() async throws {
        let request = await session(moved(100)).request("http://h/a").redirect(using: .follow)
        var last: TransferProgress?
        for await progress in request.downloadProgress { last = progress }
        #expect(last?.completed == 3)
    }

    // MARK: Streams and downloads

    @Test("A stream is redirected, with changes, or gives the redirect's own body", arguments: [true, false])
    func streams(isFollowed: Bool) async throws {
        let handler: Redirector = isFollowed ? .modify { request, _ in request.headers["X"] = "1" } : .doNotFollow
        for chunks in [1, 200] {
            let text = String(repeating: "x", count: 1_000)
            let stream = await session(moved(chunks, of: text)).streamRequest("http://h/a", bufferSize: 4_096)
            let body = try await read(stream.redirect(using: handler))
            #expect(body.count == (isFollowed ? 3 : chunks * 1_000))
            #expect(stream.head?.status == (isFollowed ? 200 : 302))
            #expect(log.requests.last?["X"] == (isFollowed ? "1" : nil))
        }
    }

    @Test("A stream whose handler refuses gives no byte and the reason")
    func refusedStream() async throws {
        let stream = await session(moved()).streamRequest("http://h/a").redirect(
            using: Redirector { _ in throw ForeignError() })
        await #expect(throws: RequestError.self) { try await read(stream) }
        let error = try #require(stream.error)
        #expect(error.code == .redirectRefused && error.statusCode == 302)
    }

    @Test("A download is redirected, or saves the redirect's own body")
    func downloads() async throws {
        let folder = try TemporaryFolder()
        let session = session(moved())
        for (handler, text) in [(Redirector.follow, "end"), (.doNotFollow, "moved")] {
            let file = await session.download("http://h/a", to: .file(folder[text])).redirect(using: handler)
            #expect(try await String(decoding: Data(contentsOf: file.serializingFile().value), as: UTF8.self) == text)
        }
        #expect(try folder.contents == ["end", "moved"])
    }

    @Test("A download still resumes if a handler returns a new request")
    func resumed() async throws {
        let folder = try TemporaryFolder()
        let (served, cut) = (ServedFile(), ServedFile(cut: 20_000))
        let session = log.session { request, number in
            if number == 1 { return cut.answer(to: request) }
            return request.url.hasTarget("/a") ? .redirect(to: "/b") : served.answer(to: request)
        }
        let handler = Redirector { redirect in
            let proposal = try redirect.proposal
            return .follow(OutgoingRequest(url: proposal.url, headers: proposal.headers))
        }
        let retrier = Interceptor(retry: { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        let download = await session.download("http://h/a", to: .file(folder["f"]), interceptor: retrier)
        let file = try await download.redirect(using: handler).serializingFile().value
        #expect(try Data(contentsOf: file) == served.bytes)
        #expect(log.requests.map { $0["Range"] } == [nil, "bytes=20000-", "bytes=20000-"])
    }

    // MARK: Middleware

    @Test("Middleware sees the answer of its handler's redirects", arguments: [true, false], Kind.allCases)
    func middleware(isFollowed: Bool, kind: Kind) async throws {
        let journal = Journal()
        let session = session(moved()) {
            $0.redirectHandler = isFollowed ? Redirector.follow : Redirector.doNotFollow
            $0.middleware = [
                ClosureMiddleware { exchange, next in
                    _ = try await next(exchange)
                    let response = try await next(exchange)
                    journal.note("\(response.head.status)")
                    return response
                }
            ]
        }
        let text =
            kind == .data
            ? try await session.request("http://h/a").serializingString().value
            : try await read(session.streamRequest("http://h/a"))
        #expect(text == (isFollowed ? "end" : "moved"))
        #expect(journal.lines == [isFollowed ? "200" : "302"])
        #expect(log.count == (isFollowed ? 4 : 2))
    }
}
