import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Middleware", .limited)
struct MiddlewareTests {
    private let log = TransportLog()
    private let journal = Journal()

    private func session(
        _ middleware: any RequestMiddleware..., interceptor: (any RequestInterceptor)? = nil,
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("ok") }
    ) -> Session {
        var configuration = SessionConfiguration.bare
        configuration.middleware = middleware
        return log.session(configuration, interceptor: interceptor, answering: answer)
    }

    private func noting(_ name: String) -> ClosureMiddleware {
        ClosureMiddleware { [journal] exchange, next in
            journal.note("\(name) in")
            defer { journal.note("\(name) out") }
            return try await next(exchange)
        }
    }

    private func answering(_ response: ExchangeResponse) -> ClosureMiddleware {
        ClosureMiddleware { _, _ in response }
    }

    // MARK: Order

    @Test("The session's is outermost, a request's own inside, in the order of attachment; adapters come before")
    func order() async throws {
        let adapter = Interceptor(adapt: { [journal] _, _ in journal.note("adapter") })
        let request = await session(noting("1"), noting("2"), interceptor: adapter).request("http://h/")
            .middleware(noting("3")).middleware(noting("4")).validate { [journal] _ in journal.note("validator") }
        _ = try await request.serializingData().value
        #expect(
            journal.lines == [
                "adapter", "1 in", "2 in", "3 in", "4 in", "4 out", "3 out", "2 out", "1 out", "validator",
            ])
    }

    @Test("A child session inherits it, and may have more")
    func inheritance() async throws {
        let child = session(noting("parent")).extending { $0.middleware.append(noting("child")) }
        _ = try await child.request("http://h/").serializingData().value
        #expect(journal.lines == ["parent in", "child in", "child out", "parent out"])
    }

    @Test("Middleware gets the request, its session and the number of the attempt, and runs again for a retry")
    func retry() async throws {
        let knowing = ClosureMiddleware { [journal] exchange, next in
            journal.note("\(exchange.requestID) \(exchange.attempt) \(exchange.session.configuration.middleware.count)")
            return try await next(exchange)
        }
        let retrying = Interceptor(retry: { _, _, _ in .retry })
        let request = await session(knowing, noting("-"), interceptor: retrying) { _, number in
            number == 1 ? .failure(.connectionLost) : .text("ok")
        }.request("http://h/")
        #expect(try await request.serializingString().value == "ok")
        #expect(journal.lines == ["\(request.id) 1 2", "- in", "- out", "\(request.id) 2 2", "- in", "- out"])
        #expect(request.attempts.map(\.hops.count) == [1, 1])
    }

    @Test("Middleware that is added during a request counts from the next attempt, and is ignored after the finish")
    func late() async throws {
        let recorder = EventRecorder()
        let request = await session(
            interceptor: Interceptor(retry: { [journal] request, _, _ in
                func add(to request: some Request) { request.middleware(noting("late")) }
                add(to: request)
                journal.note("retrier")
                return .retry
            })
        ) { _, number in number == 1 ? .failure(.connectionLost) : .text("ok") }.request("http://h/")
        _ = try await request.eventMonitor(recorder).serializingData().value
        #expect(journal.lines == ["retrier", "late in", "late out"])
        request.middleware(noting("later"))
        await recorder.wait { $0.contains { $0.name == "ignoreOption" } }
    }

    // MARK: Answering

    @Test("A response of its own never touches the transport, and is shown as the response")
    func shortCircuit() async throws {
        let own = answering(ExchangeResponse(status: 203, headers: ["X-From": "cache"], body: Data("kept".utf8)))
        let request = await session(own).request("http://h/a").validate()
        let response = await request.serializingString().response
        #expect(response.value == "kept")
        #expect(response.head?["X-From"] == "cache")
        #expect(response.response?.statusCode == 203)
        #expect(response.response?.url?.absoluteString == "http://h/a")
        #expect(response.data == Data("kept".utf8))
        #expect(response.metrics == nil)
        #expect(request.head?.status == 203)
        #expect(response.attempts.map(\.hops.count) == [0])
        #expect(response.attempts.first?.request?.url.text == "http://h/a")
        #expect(log.count == 0)
    }

    @Test("A response of its own is validated, and a refusal asks the retriers, as for one from the network")
    func validation() async throws {
        let busy = ClosureMiddleware { exchange, next in
            exchange.attempt == 1
                ? ExchangeResponse(status: 503, body: Data("busy".utf8)) : try await next(exchange)
        }
        let retrying = Interceptor(retry: { [journal] _, _, error in
            journal.note("\(error.code) \(error.statusCode ?? 0) \(error.responseData?.count ?? 0)")
            return .retry
        })
        let request = await session(busy, interceptor: retrying).request("http://h/").validate()
        #expect(try await request.serializingString().value == "ok")
        #expect(journal.lines == ["unacceptableStatus 503 4"])
        #expect(request.attempts.map(\.hops.count) == [0, 1])
        #expect(request.head?.status == 200)
    }

    @Test("The response of an attempt that failed is not shown as the next one's")
    func earlierResponse() async throws {
        let failing = ClosureMiddleware { exchange, _ in
            guard exchange.attempt == 1 else { throw ForeignError() }
            return ExchangeResponse(status: 503)
        }
        let retrying = Interceptor(retry: { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        let request = await session(failing, interceptor: retrying).request("http://h/").validate()
        let error = await request.serializingData().response.error
        #expect(error?.code == .middlewareFailed)
        #expect(error?.statusCode == nil)
        #expect(request.head == nil)
    }

    @Test("A response that was kept from another exchange is shown without that one's request and metrics")
    func kept() async throws {
        let box = Protected<ExchangeResponse?>(nil)
        let keeping = ClosureMiddleware { exchange, next in
            if let kept = box.withLock({ $0 }) { return kept }
            let response = try await next(exchange)
            box.withLock { $0 = response }
            return response
        }
        let session = session(keeping)
        #expect(await session.request("http://h/1").serializingData().response.metrics != nil)
        let second = await session.request("http://h/2").serializingString().response
        #expect(second.value == "ok")
        #expect(second.metrics == nil)
        #expect(second.request?.url.text == "http://h/2")
    }

    // MARK: Rewriting

    @Test("A rewritten request is what is sent, and what the hop shows; the attempt shows what was adapted")
    func request() async throws {
        let rewriting = ClosureMiddleware { exchange, next in
            var exchange = exchange
            exchange.request.method = .put
            exchange.request.url = try RequestURL("http://other/b")
            exchange.request.headers["X-By"] = "middleware"
            exchange.request.body = .data(Data("new".utf8))
            return try await next(exchange)
        }
        let session = session(rewriting)
        let upload = await session.upload(Data("old".utf8), to: "http://h/a")
        let data = await session.request("http://h/a")
        _ = try await upload.serializingData().value
        _ = try await data.serializingData().value
        for sent in log.requests {
            #expect(sent.method == "PUT")
            #expect(sent.url.text == "http://other/b")
            #expect(sent["X-By"] == "middleware")
            #expect(sent.text == "new")
        }
        #expect(log.count == 2)
        #expect(upload.attempts.first?.request?.url.text == "http://h/a")
        #expect(upload.attempts.first?.hops.first?.request.url.text == "http://other/b")
        #expect(upload.request?.url.text == "http://other/b")
    }

    @Test(
        "A request that must not be sent is refused also if middleware makes it",
        arguments: [
            ("line end", RequestError.Code.invalidRequest), ("length", .invalidRequest), ("method", .invalidRequest),
            ("scheme", .invalidURL), ("body", .bodyInGETRequest),
        ])
    func smuggling(_ what: String, _ code: RequestError.Code) async throws {
        let smuggling = ClosureMiddleware { exchange, next in
            var exchange = exchange
            switch what {
            case "line end": exchange.request.headers["X"] = "1\r\nHost: evil"
            case "length": exchange.request.headers["Content-Length"] = "7"
            case "method": exchange.request.method = HTTPMethod(rawValue: "GET /evil")
            case "scheme": exchange.request.url = try RequestURL("ftp://h/")
            default: exchange.request.body = .data(Data("x".utf8))
            }
            return try await next(exchange)
        }
        let error = await session(smuggling).request("http://h/").serializingData().response.error
        #expect(error?.code == code)
        #expect(log.count == 0)
    }

    @Test("A rewritten head and body are what is validated and serialized; the hop shows what came")
    func response() async throws {
        let rewriting = ClosureMiddleware { exchange, next in
            var response = try await next(exchange)
            let text = String(decoding: try await response.data(upTo: 10), as: UTF8.self)
            response.head = ResponseHead(status: 200, fields: response.head.fields)
            response.headers.update(name: "X-Seen", value: "yes")
            response.body = .buffered(Data(text.uppercased().utf8))
            return response
        }
        let request = await session(rewriting) { _, _ in .text("words", status: 404) }.request("http://h/").validate()
        let response = await request.serializingString().response
        #expect(response.value == "WORDS")
        #expect(response.head?["X-Seen"] == "yes")
        #expect(response.head?["Content-Type"] == "text/plain")
        #expect(response.metrics?.responseBodyBytes == 5)
        #expect(response.attempts.first?.hops.first?.head?.status == 404)
        #expect(request.head?.status == 200)
    }

    @Test("A live body for a request that keeps its body is collected, within the limits", arguments: [4, 3])
    func collected(_ limit: UInt64) async throws {
        let live = ClosureMiddleware { exchange, next in
            let chunks = AsyncStream<Data> { stream in
                for text in ["a", "bc", "", "d"] { stream.yield(Data(text.utf8)) }
                stream.finish()
            }
            return ExchangeResponse(head: ResponseHead(status: 200), body: .live(LiveBody(chunks)))
        }
        let request = await session(live).request("http://h/") { $0.options.maximumBodySize = limit }
        let response = await request.serializingString().response
        #expect(response.value == (limit == 4 ? "abcd" : nil))
        #expect(response.error?.code == (limit == 4 ? nil : .contentTooLarge))
    }

    // MARK: Codings and redirects

    @Test("Bodies are decoded before middleware sees them, and never after it", arguments: [true, false])
    func decoding(_ decodes: Bool) async throws {
        let coded = Data(CodedBody.gzip.bytes)
        let text = Data(CodedBody.text)
        let passing = ClosureMiddleware { [journal] exchange, next in
            let response = try await next(exchange)
            journal.note("\(response.headers["Content-Encoding"] ?? "-") \(try await response.data(upTo: 999).count)")
            return response
        }
        let request = await session(passing) { _, _ in
            .response(headers: ["Content-Encoding": "gzip"], chunks: [coded])
        }.request("http://h/") { $0.options.decodesContent = decodes }
        #expect(try await request.serializingData().value == (decodes ? text : coded))
        #expect(journal.lines == ["gzip \((decodes ? text : coded).count)"])
    }

    @Test("A damaged body is an error that next throws")
    func damaged() async throws {
        let mending = ClosureMiddleware { exchange, next in
            do { return try await next(exchange) } catch let error as RequestError {
                return ExchangeResponse(body: Data("\(error.code)".utf8))
            }
        }
        let request = await session(mending) { _, _ in
            .response(headers: ["Content-Encoding": "gzip"], chunks: [Data("no gzip".utf8)])
        }.request("http://h/")
        #expect(try await request.serializingString().value == "undecodableContent")
    }

    @Test("Redirects are followed inside")
    func redirect() async throws {
        let request = await session(noting("-")) { request, _ in
            request.url.path == "/end" ? .text("the end") : .redirect(to: "/end")
        }.request("http://h/")
        let response = await request.serializingString().response
        #expect(response.value == "the end")
        #expect(journal.lines == ["- in", "- out"])
        #expect(response.redirects.count == 1)
        #expect(response.request?.url.path == "/end")
    }
}
