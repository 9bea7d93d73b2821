import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Validation", .limited)
struct ResponseValidatorTests {
    private let log = TransportLog()

    private func answer(_ status: Int = 200, _ contentType: String? = "text/plain", body: String = "body") -> StubAnswer
    {
        let fields: HTTPHeaders = contentType.map { ["Content-Type": $0] } ?? [:]
        return .response(status, headers: fields, chunks: body.isEmpty ? [] : [Data(body.utf8)])
    }

    /// The error of a request that gets this answer and is validated so.
    private func error(
        _ answer: StubAnswer, accept: [String] = [], method: HTTPMethod = .get, _ validators: ResponseValidator...
    ) async -> RequestError? {
        let session = log.session { _, _ in answer }
        let headers = HTTPHeaders(accept.map { HTTPHeader(name: "Accept", value: $0) })
        let request = await session.request("http://h/", method: method, headers: headers)
        for validator in validators { request.validate(using: validator) }
        return await request.serializingData().response.error
    }

    // MARK: Opting in

    @Test("Nothing is validated unless it is asked for", arguments: [200, 300, 404, 500, 599])
    func optIn(status: Int) async throws {
        let session = log.session { _, _ in answer(status, "x/y") }
        let request = await session.request("http://h/", headers: ["Accept": "text/plain"])
        let response = await request.serializingString().response
        #expect(response.error == nil)
        #expect(response.value == "body")
        #expect(response.head?.status == status)
    }

    @Test(
        "The standard validation takes status 200..<300",
        arguments: [
            (200, true), (226, true), (299, true), (300, false), (304, false), (404, false), (500, false),
        ])
    func standardStatus(status: Int, passes: Bool) async {
        let error = await error(answer(status), .standard)
        #expect((error == nil) == passes)
        #expect(error?.code == (passes ? nil : .unacceptableStatus))
    }

    @Test("validate() is the standard validation")
    func plainValidate() async {
        let session = log.session { _, number in number == 1 ? answer(404) : answer(200, "x/y") }
        let first = await session.request("http://h/").validate().serializingData().response
        #expect(first.error?.code == .unacceptableStatus)
        let request = await session.request("http://h/", headers: ["Accept": "text/plain"]).validate()
        #expect(await request.serializingData().response.error?.code == .unacceptableContentType)
    }

    // MARK: Accept

    @Test(
        "The standard validation takes the content types that Accept names, without their parameters",
        arguments: [
            (["application/json"], "application/json", true), (["application/json"], "text/html", false),
            (["application/json"], "application/json; charset=utf-8", true),
            (["application/json"], " Application/JSON ;x=y", true), (["Text/HTML;q=0.9"], "text/html", true),
            (["text/html, application/json;q=0.5"], "application/json", true),
            (["text/html,application/json"], "application/json", true),
            (["text/html", "application/json"], "application/json", true), (["text/*"], "text/csv", true),
            (["text/*"], "application/csv", false), (["*/*"], "x/y", true), (["*/json"], "text/json", true),
            (["text/html, */*;q=0.1"], "image/png", true), (["application/json"], "application/json+x", false),
            (["application/js"], "application/json", false),
        ])
    func accept(accept: [String], contentType: String, passes: Bool) async {
        let error = await error(answer(200, contentType), accept: accept, .standard)
        #expect((error == nil) == passes)
        #expect(error?.code == (passes ? nil : .unacceptableContentType))
    }

    @Test(
        "A type that Accept gives a weight of zero is refused, whatever else covers it; other weights do not count",
        arguments: [
            ("text/html;q=0, */*", "text/html", false), ("text/html;q=0, */*", "text/plain", true),
            ("*/*, text/html ; level=1 ; Q=0.000", "text/html", false), ("text/*;q=0, text/csv", "text/csv", true),
            ("text/*;q=0, text/csv", "text/html", false), ("*/*;q=0, a/b;q=0.1", "a/b", true),
            ("*/*;q=0, a/b", "x/y", false), ("*/*;q=0", nil, false), ("*/*;q=0.001", nil, true),
            ("a/b;q=0, */*", nil, true), ("a/b;q=0", "c/d", false), ("a/b;q=zero", "a/b", true),
        ])
    func weights(accept: String, contentType: String?, passes: Bool) async {
        let error = await error(answer(200, contentType), accept: [accept], .standard)
        #expect((error == nil) == passes)
        #expect(error?.code == (passes ? nil : .unacceptableContentType))
    }

    @Test("Without Accept every content type passes", arguments: ["text/html", "x/y", "text", "", nil])
    func noAccept(contentType: String?) async {
        #expect(await error(answer(200, contentType), .standard) == nil)
    }

    @Test(
        "The Accept field of the sent request counts, also if the session or an adapter sets it",
        arguments: ["session", "adapter"])
    func sentAccept(origin: String) async {
        let accept: HTTPHeaders = ["Accept": "application/json"]
        let session = log.session(
            SessionConfiguration { if origin == "session" { $0.headers = accept } },
            interceptor: Interceptor(adapt: { request, _ in
                if origin == "adapter" { request.headers["accept"] = "application/json" }
            })
        ) { _, _ in answer(200, "text/html") }
        let response = await session.request("http://h/").validate().serializingData().response
        #expect(response.error?.code == .unacceptableContentType)
    }

    // MARK: Content types

    @Test(
        "A content type passes if one of the ranges covers it",
        arguments: [
            (["text/plain"], "text/plain;charset=x", true), (["a/b", "text/*"], "text/plain", true),
            (["*/plain"], "text/plain", true), (["*/*"], "x/y", true), (["a/b"], "text/plain", false),
            ([], "a/b", false),
            (["text"], "text/plain", false), ([""], "text/plain", false), (["text/"], "text/plain", false),
            ([" TEXT/Plain ; q=1"], "text/plain", true),
        ])
    func contentTypes(ranges: [String], contentType: String, passes: Bool) async {
        #expect((await error(answer(200, contentType), .contentType(ranges)) == nil) == passes)
    }

    @Test(
        "A content type that is missing, or none, passes only with */*",
        arguments: [nil, "", "text", "text/", "/plain", "a/b/c"])
    func missingType(contentType: String?) async {
        #expect(await error(answer(200, contentType), .contentType(["*/*"])) == nil)
        #expect(await error(answer(200, contentType), .contentType(["a/b", "*/*;q=0.1"])) == nil)
        let refused = await error(answer(200, contentType), .contentType(["text/*", "text/plain"]))
        #expect(refused?.code == .unacceptableContentType)
    }

    @Test("A response without a body passes whatever its content type", arguments: [200, 204, 205])
    func emptyBody(status: Int) async {
        #expect(await error(answer(status, "x/y", body: ""), .contentType(["a/b"])) == nil)
        #expect(await error(answer(status, nil, body: ""), accept: ["a/b"], .standard) == nil)
        #expect(await error(answer(200, "x/y", body: ""), accept: ["a/b"], method: .head, .standard) == nil)
    }

    // MARK: Status

    @Test("Any sequence of status codes can be accepted")
    func statuses() async {
        #expect(await error(answer(404), .status([200, 405]))?.code == .unacceptableStatus)
        #expect(await error(answer(404), .status([200, 404])) == nil)
        #expect(await error(answer(404), .status(Set([404]))) == nil)
        #expect(await error(answer(404), .status(400...499)) == nil)
        #expect(await error(answer(404), .status(stride(from: 200, to: 300, by: 1)))?.code == .unacceptableStatus)
        #expect(await error(answer(200), .status([Int]()))?.code == .unacceptableStatus)
        let request = await log.session { _, _ in answer(404) }.request("http://h/").validate(statusCode: [404])
        #expect(await request.serializingData().response.error == nil)
    }

    // MARK: Order

    @Test("V6: validators run in the order of attachment, the session's first")
    func order() async {
        let journal = Journal()
        let noting = { (name: String) in ResponseValidator { _ in journal.note(name) } }
        let session = log.session(SessionConfiguration { $0.validation = [noting("s1"), noting("s2")] })
        let request = await session.request("http://h/").validate(using: noting("r1")).validate { _ in
            journal.note("r2")
        }
        _ = await request.serializingData().response
        #expect(journal.lines == ["s1", "s2", "r1", "r2"])
    }

    @Test("V6: the first failure wins and later validators are not asked")
    func firstFailure() async {
        let journal = Journal()
        let session = log.session { _, _ in answer(500, "x/y") }
        let request = await session.request("http://h/")
            .validate { _ in journal.note("before") }
            .validate(contentType: ["a/b"])
            .validate(statusCode: 200..<300)
            .validate { _ in journal.note("after") }
        #expect(await request.serializingData().response.error?.code == .unacceptableContentType)
        #expect(journal.lines == ["before"])
    }

    @Test("V10: a session's validation holds for every request")
    func sessionWide() async {
        let session = log.session(SessionConfiguration { $0.validation = [.standard] }) { _, _ in answer(404) }
        for _ in 0..<2 {
            #expect(await session.request("http://h/").serializingData().response.error?.code == .unacceptableStatus)
        }
        let request = await session.request("http://h/").validate { _ in throw ForeignError() }
        #expect(await request.serializingData().response.error?.code == .unacceptableStatus)
    }

    @Test("V6: no validator is asked when sending failed")
    func notAfterFailure() async {
        let journal = Journal()
        let session = log.session { _, _ in .failure(.connectionLost) }
        let request = await session.request("http://h/").validate { _ in journal.note("asked") }
        #expect(await request.serializingData().response.error?.code == .connectionLost)
        #expect(journal.lines.isEmpty)
    }

    @Test("V8: validation comes before every serializer, once for all of them")
    func beforeSerializers() async {
        let journal = Journal()
        let request = await log.session().request("http://h/").validate { _ in
            journal.note("validated")
            throw ForeignError()
        }
        let (data, text) = (request.serializingData(), request.serializingString())
        #expect(await data.response.error?.code == .validationFailed)
        #expect(await text.response.error?.code == .validationFailed)
        #expect(request.error?.code == .validationFailed)
        #expect(journal.lines == ["validated"])
    }

    @Test("V4: any sequence of content types can be named", arguments: [0, 1])
    func typeSequences(which: Int) async {
        let validator = which == 0 ? ResponseValidator.contentType(Set(["text/*"])) : .contentType(["text/*"][...])
        #expect(await error(answer(200, "text/csv"), validator) == nil)
        #expect(await error(answer(200, "a/b"), validator)?.code == .unacceptableContentType)
    }

    // MARK: Custom

    @Test("A closure sees request, head and body, and may wait")
    func custom() async throws {
        let clock = ManualClock()
        let session = log.session { _, _ in answer(201, "a/b", body: "bytes") }
        let request = await session.request("http://h/p", method: .put).validate { exchange in
            try await clock.sleep(for: .seconds(1))
            #expect(exchange.request?.method == .put)
            #expect(exchange.head?.status == 201)
            #expect(exchange.data == Data("bytes".utf8))
            #expect(exchange.error == nil)
            #expect(exchange.attempts == 1)
            throw ForeignError(description: "too late")
        }
        let task = request.serializingData()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(await task.response.error?.underlying as? ForeignError == ForeignError(description: "too late"))
    }

    @Test("A thrown error is wrapped, a RequestError stays as it is; both are of the validating stage")
    func customErrors() async throws {
        let foreign = try #require(await error(answer(), ResponseValidator { _ in throw ForeignError() }))
        #expect(foreign.code == .validationFailed)
        #expect(foreign.underlying is ForeignError)
        #expect(foreign.isValidation)
        let code = RequestError.Code(rawValue: "mine")
        let own = try #require(await error(answer(), ResponseValidator { _ in throw RequestError(code, "my words") }))
        #expect(own.code == code)
        #expect(own.isValidation)
        #expect(own.statusCode == 200)
    }

    @Test("The error carries status, head, body and URL of the response, and so does the response")
    func context() async throws {
        let session = log.session { _, _ in answer(422, "application/json", body: #"{"why":"no"}"#) }
        let request = await session.request("http://h/p?q").validate()
        let response = await request.serializingJSON().response
        let error = try #require(response.error)
        #expect(error.stage == .validating)
        #expect(error.statusCode == 422)
        #expect(error.responseHead?["Content-Type"] == "application/json")
        #expect(error.responseData == Data(#"{"why":"no"}"#.utf8))
        #expect(error.url?.text == "http://h/p?q")
        #expect(error.requestID == request.id)
        #expect(error.attempts == 1)
        #expect(response.data == error.responseData)
        #expect(response.head?.status == 422)
        #expect(request.attempts.first?.error?.code == .unacceptableStatus)
    }

    // MARK: Retrying

    @Test("V8, V9: retriers see the validation's error, and validators run again on every attempt")
    func retried() async throws {
        let journal = Journal()
        let session = log.session { _, number in number < 3 ? answer(503) : answer() }
        let request = await session.request("http://h/").validate { _ in journal.note("asked") }.validate()
        request.retry(
            using: Interceptor(retry: { _, _, error in
                journal.note("\(error.code) \(error.statusCode ?? 0) \(error.isValidation)")
                return .retry
            }))
        #expect(await request.serializingString().response.value == "body")
        let retry = "unacceptableStatus 503 true"
        #expect(journal.lines == ["asked", retry, "asked", retry, "asked"])
        #expect(request.attempts.map { $0.error?.statusCode } == [503, 503, nil])
    }

    @Test("V8: monitors are told what the validators said, once, before the finish, and nothing if there are none")
    func events() async {
        let recorder = EventRecorder()
        let session = Session(
            transport: log.transport { _, number in number == 1 ? answer(404) : answer() }, eventMonitors: [recorder])
        let requests = [
            await session.request("http://h/").validate().validate(),
            await session.request("http://h/").validate().validate(), await session.request("http://h/"),
        ]
        for request in requests { _ = await request.serializingData().response }
        await recorder.wait { events in events.count { $0.name == "finish" } == requests.count }
        let verdicts = requests.map { request in recorder.names(of: request).count { $0 == "validate" } }
        #expect(verdicts == [1, 1, 0])
        let order = recorder.names(of: requests[0]).filter {
            ["endHop", "validate", "serialize", "finish"].contains($0)
        }
        #expect(order == ["endHop", "validate", "serialize", "finish"])
        #expect(recorder.violations.isEmpty)
    }

    @Test("A validator that comes after the finish is ignored and told to monitors")
    func late() async {
        let recorder = EventRecorder()
        let session = Session(transport: log.transport(), eventMonitors: [recorder])
        let request = await session.request("http://h/")
        _ = await request.serializingData().response
        request.validate { _ in throw ForeignError() }
        #expect(await request.serializingData().response.error == nil)
        #expect(request.error == nil)
    }
}
