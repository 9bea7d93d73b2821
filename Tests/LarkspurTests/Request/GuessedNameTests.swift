import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

/// Names that users of other libraries try first.
@Suite("Names that newcomers guess", .limited)
struct GuessedNameTests {
    private let log = TransportLog()

    @Test("A response has its status and its fields")
    func status() async {
        let session = log.session { _, _ in .text("no", status: 404) }
        let response = await session.request("http://h/").serializingString().response
        #expect(response.statusCode == 404 && response.headers?["Content-Type"]?.hasPrefix("text/plain") == true)
        let failed = log.session { _, _ in .failure(.connectionLost) }
        let none = await failed.request("http://h/").serializingString().response
        #expect(none.statusCode == nil && none.headers == nil)
    }

    private func unserialized(_ answer: StubAnswer) async -> DataResponse<Data?>? {
        let (responses, place) = AsyncStream.makeStream(of: DataResponse<Data?>.self)
        await log.session { _, _ in answer }.request("http://h/").validate().response { response in
            place.yield(response)
            place.finish()
        }
        return await responses.first { _ in true }
    }

    @Test("A response without a serializer has the body, nil for an empty one, and the error of a refused status")
    func unserialized() async throws {
        #expect(try await unserialized(.text("ok"))?.result.get() == Data("ok".utf8))
        #expect(try await unserialized(.response(200))?.result.get() == .some(nil))
        let refused = await unserialized(.text("no", status: 500))
        #expect(refused?.error?.statusCode == 500 && refused?.value == nil && refused?.statusCode == 500)
    }

    @Test("A response without a serializer does not read the file of a download into memory")
    func unserializedDownload() async throws {
        let folder = try TemporaryFolder()
        let (responses, place) = AsyncStream.makeStream(of: DownloadResponse<Data?>.self)
        await log.session().download("http://h/", to: folder["a"]).response { response in
            place.yield(response)
            place.finish()
        }
        let response = await responses.first { _ in true }
        #expect(response?.fileURL == folder["a"] && response?.value == .some(nil) && response?.error == nil)
    }

    @Test("A download goes to the file at a URL, and to no other place")
    func download() async throws {
        let folder = try TemporaryFolder()
        let file = try await log.session().download("http://h/b", parameters: ["q": 1], to: folder["a"])
            .serializingFile().value
        #expect(file == folder["a"] && log.requests.first?.url.query == "q=1")
        #expect(try folder.contents == ["a"])
    }

    @Test("A duration alone is the limit of the whole request")
    func timeout() async throws {
        let clock = ManualClock()
        let session = Session(
            configuration: SessionConfiguration { $0.clock = clock },
            transport: StubTransport { _ in StubAnswer([.stall]) })
        let request = await session.request("http://h/").timeout(.seconds(3))
        async let response = request.serializingData().response
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(3))
        let error = await response.error
        #expect(error?.isTimeout == true && error?.message.contains("total") == true)
    }

    @Test("A text is a body in UTF-8 with its type")
    func text() async {
        let session = log.session()
        _ = await session.request("http://h/", method: .post, body: .text("é")).serializingData().response
        _ = await session.request("http://h/", method: .post, body: .text("a,b", type: "text/csv"))
            .serializingData().response
        #expect(log.requests.map(\.text) == ["é", "a,b"])
        #expect(log.requests.map { $0["Content-Type"] } == ["text/plain; charset=utf-8", "text/csv"])
    }

    // MARK: Queries

    private struct Page: Encodable, Sendable { let number: Int }

    @Test("A query is a value, a literal, or query items, for every method, and added to the URL's own")
    func query() async {
        let (session, name, age) = (log.session(), "Ada & co", 36)
        _ = await session.request("http://h/?a=1", query: Page(number: 2)).serializingData().response
        _ = await session.request("http://h/", method: .post, query: ["page": 2, "all": true], body: .text("x"))
            .serializingData().response
        _ = await session.request("http://h/", query: ["name": name, "age": age]).serializingData().response
        let items = [URLQueryItem(name: "a b", value: "é&="), URLQueryItem(name: "flag", value: nil)]
        _ = await session.request("http://h/?x", query: .items(items)).serializingData().response
        _ = await session.request("http://h/", query: []).serializingData().response
        #expect(
            log.requests.map(\.url.query) == [
                "a=1&number=2", "page=2&all=1", "name=Ada%20%26%20co&age=36", "x&a%20b=%C3%A9%26%3D&flag", nil,
            ])
        #expect(log.requests[1].text == "x" && log.requests[1].method == "POST")
    }

    @Test("Every kind of request has a query beside its body")
    func queryOfAllKinds() async throws {
        let (session, folder, page, term) = (log.session(), try TemporaryFolder(), Page(number: 2), "a&b")
        _ = await session.upload(Data("x".utf8), to: "http://h/1?a", query: page).serializingData().response
        _ = await session.upload(Data("x".utf8), to: "http://h/2", query: ["q": term, "n": 1]).serializingData()
            .response
        _ = await session.upload(.text("x"), to: "http://h/3", query: page).serializingData().response
        _ = await session.upload(.text("x"), to: "http://h/4", query: ["q": term, "n": 1]).serializingData().response
        _ = await session.download("http://h/5", query: page).serializingData().response
        _ = await session.download("http://h/6", query: ["q": term, "n": 1]).serializingData().response
        _ = await session.download("http://h/7", query: page, to: folder["7"]).serializingFile().response
        _ = await session.download("http://h/8", query: ["q": term, "n": 1], to: folder["8"]).serializingFile().response
        _ = try await session.streamRequest("http://h/9", query: page).response()
        _ = try await session.streamRequest(
            "http://h/10", method: .post, query: ["q": term, "n": 1], body: .text("x")
        ).response()
        let (number, mixed): (Substring, Substring) = ("number=2", "q=a%26b&n=1")
        #expect(
            log.requests.map(\.url.query)
                == ["a&" + number, mixed, number, mixed, number, mixed, number, mixed, number, mixed])
        #expect(log.requests.map(\.text) == ["x", "x", "x", "x", "", "", "", "", "", "x"])
        #expect(try folder.contents.sorted() == ["7", "8"])
    }

    @Test("A query has the format of the encoder that makes its items")
    func queryEncoder() async throws {
        let encoder = URLEncodedFormEncoder(arrayEncoding: .noBrackets)
        let query = RequestQuery.items(try encoder.queryItems(of: ["a": [1, 2]]))
        _ = await log.session().request("http://h/", query: query).serializingData().response
        #expect(log.requests.first?.url.query == "a=1&a=2")
    }

    // MARK: The response of a stream

    @Test("A stream's head is known before its body is read, after redirects and retries")
    func streamResponse() async throws {
        let session = log.session(interceptor: .retry(backoff: .init(scale: .milliseconds(1), jitter: .none))) {
            request, number in
            number == 1 ? .text("wait", status: 503) : number == 2 ? .redirect(302, to: "/b") : .text("body")
        }
        let response = try await session.streamRequest("http://h/a").validate().response()
        #expect(response.statusCode == 200 && response.headers["Content-Type"] != nil)
        let body = try await response.bytes.reduce(into: Data()) { $0 += $1 }
        #expect(String(decoding: body, as: UTF8.self) == "body" && log.count == 3)
    }

    @Test("A stream whose status is refused throws the error, also to a second caller")
    func refusedStream() async {
        let request = await log.session { _, _ in .text("no", status: 404) }.streamRequest("http://h/").validate()
        for _ in 0..<2 {
            let error = await #expect(throws: RequestError.self) { try await request.response() }
            #expect(error?.statusCode == 404)
        }
    }

    @Test("A cancelled wait for a stream's head throws CancellationError and cancels the request")
    func cancelledStream() async {
        let request = await Session(transport: StubTransport { _ in StubAnswer([.stall]) }).streamRequest("http://h/")
        let task = Task { try await request.response() }
        await poll { request.status == .resumed }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await poll { request.status == .cancelled }
    }

    // MARK: Configurations

    @Test("A circuit breaker is a property of the configuration, beside the limits")
    func circuitBreaker() async {
        let breaker = CircuitBreaker(minimumCount: 1)
        var configuration = SessionConfiguration.bare
        configuration.circuitBreaker = CircuitBreaker()
        configuration.circuitBreaker = breaker
        #expect(configuration.circuitBreaker === breaker && configuration.middleware.count == 1)
        let session = log.session(configuration) { _, _ in .failure(.connectionRefused) }
        var codes: [RequestError.Code?] = []
        for _ in 0..<2 { codes.append(await session.request("http://h/").serializingData().response.error?.code) }
        #expect(codes == [.connectionRefused, .circuitOpen])
        configuration.circuitBreaker = nil
        #expect(configuration.circuitBreaker == nil && configuration.middleware.isEmpty)
    }

    @Test("Hedging is a property of the configuration: a slow request is sent a second time")
    func hedging() async throws {
        let clock = ManualClock()
        let configuration = SessionConfiguration {
            $0.clock = clock
            $0.hedging = Hedging(after: .duration(.seconds(1)), atMost: 1)
        }
        #expect(configuration.hedging?.budget == 1)
        let session = log.session(configuration) { _, number in number == 1 ? StubAnswer([.stall]) : .text("second") }
        async let value = session.request("http://h/").serializingString().value
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(try await value == "second" && log.count == 2)
    }

    @Test("A trace monitor is attached in one place")
    func traces() async {
        var configuration = SessionConfiguration.bare
        configuration.trace(with: TraceMonitor())
        #expect(configuration.hopFields.count == 1 && configuration.eventMonitors.count == 1)
        _ = await log.session(configuration).request("http://h/").serializingData().response
        #expect(log.requests.first?["traceparent"] != nil)
    }

    #if os(Linux)
        @Test("Authorities are text, data or a file")
        func authorities() throws {
            let folder = try TemporaryFolder()
            let file = try folder.write(Array("pem".utf8))
            typealias Authorities = CurlTransport.Configuration.Authorities
            #expect(
                Authorities.pem("pem") == .pem(Array("pem".utf8)) && Authorities.pem(Data("pem".utf8)) == .pem("pem"))
            #expect(Authorities.file(file) == .file(path: file.path))
            #expect(Authorities.systemAnd(pem: "pem") == .systemAnd(pem: Array("pem".utf8)))
            #expect(try Authorities.systemAnd(file: file) == .systemAnd(pem: Data("pem".utf8)))
            #expect(throws: (any Error).self) { try Authorities.systemAnd(file: folder["none"]) }
        }
    #endif
}
