import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Middleware around streams", .limited)
struct MiddlewareStreamTests {
    private let log = TransportLog()

    private func stream(
        _ answer: StubAnswer, bufferSize: Int = 1 << 20, monitors: [any EventMonitor] = [],
        _ intercept: @escaping ClosureMiddleware.Intercept
    ) async -> DataStreamRequest {
        var configuration = SessionConfiguration.bare
        configuration.middleware = [ClosureMiddleware(intercept)]
        configuration.eventMonitors = monitors
        return await log.session(configuration) { _, _ in answer }.streamRequest("http://h/", bufferSize: bufferSize)
    }

    private func chunks(_ texts: String..., status: Int = 200, headers: HTTPHeaders = [:]) -> StubAnswer {
        .response(status, headers: headers, chunks: texts.map { Data($0.utf8) })
    }

    private func read(_ request: DataStreamRequest) async throws -> String {
        var all = Data()
        for try await chunk in request.bytes { all += chunk }
        return String(decoding: all, as: UTF8.self)
    }

    /// Gives the body in capitals, chunk by chunk.
    private static let capitals: ClosureMiddleware.Intercept = { exchange, next in
        var response = try await next(exchange)
        guard case .live(let body) = response.body else { throw ForeignError(description: "no live body") }
        response.body = .live(
            LiveBody(body.map { Data(String(decoding: $0, as: UTF8.self).uppercased().utf8) }))
        response.headers.update(name: "X-Case", value: "upper")
        return response
    }

    @Test("A live body is changed while it flows, and the request shows the head that middleware gave")
    func mapped() async throws {
        let request = await stream(chunks("a", "b", "c"), Self.capitals)
        #expect(try await read(request) == "ABC")
        #expect(request.head?["X-Case"] == "upper")
        #expect(request.metrics?.responseBodyBytes == 3)
        #expect(request.attempts.first?.hops.first?.head?["X-Case"] == nil)
    }

    @Test("A reader that takes nothing stops the transport through middleware too")
    func backpressure() async throws {
        let size = 1_000
        let received = ByteCounter()
        let answer = StubAnswer.response(chunks: Array(repeating: Data(count: size), count: 500))
        let request = await stream(answer, bufferSize: 20 * size, monitors: [received], Self.capitals)
        let iterator = request.bytes.makeAsyncIterator()
        var read = 0
        while let chunk = try await iterator.next() {
            read += chunk.count
            #expect(received.value - read <= 20 * size + 3 * size)
        }
        #expect(read == 500 * size)
    }

    @Test("Content codings are undone before middleware sees the chunks")
    func decoding() async throws {
        let coded = CodedBody.gzip.bytes.pieces(of: 7).map { Data($0) }
        let request = await stream(
            .response(headers: ["Content-Encoding": "gzip"], chunks: coded), Self.capitals)
        #expect(try await read(request) == String(decoding: CodedBody.text, as: UTF8.self).uppercased())
    }

    @Test("A stream can be answered with a buffered body, without the transport")
    func shortCircuit() async throws {
        let request = await stream(chunks("x")) { _, _ in
            ExchangeResponse(headers: ["X-From": "cache"], body: Data("kept".utf8))
        }
        #expect(try await read(request) == "kept")
        #expect(request.head?["X-From"] == "cache")
        #expect(log.count == 0)
        #expect(request.error == nil)
    }

    @Test("The response of middleware is validated before a byte is delivered")
    func validation() async throws {
        let request = await stream(chunks("fine")) { exchange, next in
            _ = try await next(exchange)
            return ExchangeResponse(status: 503, body: Data("busy".utf8))
        }
        let error = await #expect(throws: RequestError.self) { try await read(request.validate()) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.statusCode == 503)
        #expect(error?.responseData == Data("busy".utf8))
    }

    @Test("A refused live body is read for the error only as far as errors carry it")
    func endless() async throws {
        let answer = StubAnswer(
            StubAnswer.response(500, chunks: Array(repeating: Data(count: 1_000), count: 100)).steps + [.stall])
        let request = await stream(answer, Self.capitals)
        let error = await #expect(throws: RequestError.self) { try await read(request.validate()) }
        #expect(error?.responseData?.count == 64 * 1024)
    }

    @Test("Calling next again ends the first live body's hop; readers see the second alone")
    func twice() async throws {
        var configuration = SessionConfiguration.bare
        configuration.middleware = [
            ClosureMiddleware { exchange, next in
                let first = try await next(exchange)
                let second = try await next(exchange)
                await #expect(throws: RequestError.self) { try await first.data(upTo: 1_000) }
                return second
            }
        ]
        let request = await log.session(configuration) { _, number in
            number == 1 ? StubAnswer([.head(ResponseHead(status: 200)), .stall]) : chunks("second")
        }.streamRequest("http://h/")
        #expect(try await read(request) == "second")
        #expect(request.attempts.map { $0.hops.map(\.error?.code) } == [[.cancelled, nil]])
    }

    enum Instead: CaseIterable { case buffered, beginning, failure }

    @Test("A live body that is not read to its end does not hold the request up", arguments: Instead.allCases)
    func dropped(_ instead: Instead) async throws {
        let request = await stream(StubAnswer(chunks("be", "gin").steps + [.stall])) { exchange, next in
            var response = try await next(exchange)
            guard case .live(let body) = response.body else { throw ForeignError(description: "no live body") }
            switch instead {
            case .buffered: response.body = .buffered(Data("own".utf8))
            case .beginning: response.body = .live(LiveBody(body.prefix(1)))
            case .failure: throw ForeignError()
            }
            return response
        }
        switch instead {
        case .buffered: #expect(try await read(request) == "own")
        case .beginning: #expect(try await read(request) == "be")
        case .failure:
            let error = await #expect(throws: RequestError.self) { try await read(request) }
            #expect(error?.code == .middlewareFailed)
        }
        #expect(request.attempts.first?.hops.map(\.error?.code) == [.cancelled])
    }

    @Test(
        "A body that breaks fails the request with what broke it, the network or middleware", arguments: [true, false])
    func broken(_ byNetwork: Bool) async throws {
        let steps = chunks("some").steps + (byNetwork ? [.fail(TransportError(.connectionLost))] : [.stall])
        let request = await stream(StubAnswer(steps)) { exchange, next in
            var response = try await next(exchange)
            guard case .live(let body) = response.body else { throw ForeignError(description: "no live body") }
            response.body = .live(
                LiveBody(body.map { if byNetwork { return $0 } else { throw ForeignError() } }))
            return response
        }
        let error = await #expect(throws: RequestError.self) { try await read(request) }
        #expect(error?.code == (byNetwork ? .connectionLost : .middlewareFailed))
        #expect(error?.stage == .sending)
        #expect(error?.requestID == request.id)
    }

    @Test("A live body that was kept throws when it is read once more, or when the exchange is over")
    func kept() async throws {
        let box = Protected<[LiveBody]>([])
        let request = await stream(StubAnswer(chunks("read").steps)) { exchange, next in
            let response = try await next(exchange)
            if case .live(let body) = response.body { box.withLock { $0.append(body) } }
            return response
        }
        #expect(try await read(request) == "read")
        let unread = await stream(StubAnswer([.head(ResponseHead(status: 200)), .stall])) { exchange, next in
            if case .live(let body) = try await next(exchange).body { box.withLock { $0.append(body) } }
            return ExchangeResponse()
        }
        #expect(try await read(unread).isEmpty)
        for body in box.withLock({ $0 }) {
            await #expect(throws: RequestError.self) { for try await _ in body {} }
        }
    }

    @Test("Another attempt goes through middleware again, before the first byte")
    func retry() async throws {
        var configuration = SessionConfiguration.bare
        configuration.middleware = [ClosureMiddleware(Self.capitals)]
        configuration.interceptors = [Interceptor(retry: { _, _, _ in .retry })]
        let request = await log.session(configuration) { _, number in
            number == 1 ? chunks("busy", status: 503) : chunks("here")
        }.streamRequest("http://h/").validate()
        #expect(try await read(request) == "HERE")
        #expect(request.attempts.map(\.hops.count) == [1, 1])
    }
}
