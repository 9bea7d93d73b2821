import Larkspur
import LarkspurTesting
import Testing

@Suite("Parameters in a request", .timeLimit(.minutes(1)))
struct ParameterEncoderTests {
    private struct Pair: Codable, Equatable {
        var b = 1
        var a = "x y"
    }

    private struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws { throw ForeignError() }
    }

    private let log = TransportLog()

    private func encoded(
        _ parameters: (some Encodable & Sendable)?, _ method: HTTPMethod = .post, headers: HTTPHeaders = [:],
        url: String = "http://h/p", by encoder: any ParameterEncoder
    ) async throws -> TransportRequest {
        let session = log.session()
        let request = await session.request(
            url, method: method, parameters: parameters, encoder: encoder, headers: headers)
        _ = try await request.serializingData().value
        return try #require(log.requests.last)
    }

    // MARK: JSON

    @Test("JSON parameters are the body, and name their content type")
    func json() async throws {
        let sent = try await encoded(Pair(), by: .json)
        #expect(try JSONDecoder().decode(Pair.self, from: Data(try #require(sent.text).utf8)) == Pair())
        #expect(sent["Content-Type"] == "application/json")
        #expect(sent.url.text == "http://h/p")
    }

    @Test("The JSON encoder is the caller's choice")
    func jsonEncoder() async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        struct User: Encodable { let userName = 1, age = 2 }
        let sent = try await encoded(User(), by: .json(encoder: encoder))
        #expect(sent.text == #"{"age":2,"user_name":1}"#)
    }

    @Test("JSON parameters may be an array or a single value")
    func jsonRoots() async throws {
        #expect(try await encoded([3, 1, 2], by: .json).text == "[3,1,2]")
        #expect(try await encoded("x", by: .json).text == #""x""#)
    }

    // MARK: Both

    @Test("A content type that is there stays", arguments: [true, false])
    func contentType(isJSON: Bool) async throws {
        let encoder: any ParameterEncoder = isJSON ? .json : .urlEncodedForm
        let sent = try await encoded(Pair(), headers: ["content-type": "x/y"], by: encoder)
        #expect(sent.fields.map(\.description) == ["content-type: x/y"])
    }

    @Test("A session's content type comes after the encoder's", arguments: [true, false])
    func sessionContentType(isJSON: Bool) async throws {
        let session = log.session(SessionConfiguration { $0.headers = ["Content-Type": "x/y"] })
        let encoder: any ParameterEncoder = isJSON ? .json : .urlEncodedForm
        _ = try await session.request("http://h/", method: .post, parameters: Pair(), encoder: encoder)
            .serializingData().value
        let sent = try #require(log.requests.last)
        #expect(sent.fields.count == 1)
        #expect(sent["Content-Type"] != "x/y")
    }

    @Test("No parameters leave the request untouched", arguments: [true, false], [HTTPMethod.get, .post])
    func noParameters(isJSON: Bool, method: HTTPMethod) async throws {
        let encoder: any ParameterEncoder = isJSON ? .json : .urlEncodedForm
        let sent = try await encoded(nil as Pair?, method, url: "http://h/p?q", by: encoder)
        #expect(sent.url.text == "http://h/p?q")
        #expect(sent.fields.isEmpty)
        guard case .none = sent.body else { return #expect(Bool(false), "\(sent.body)") }
    }

    @Test("What fails to encode gives a typed error with its cause, and is never sent", arguments: [true, false])
    func failures(isJSON: Bool) async throws {
        let encoder: any ParameterEncoder = isJSON ? .json : .urlEncodedForm
        let session = log.session()
        let request = await session.request("http://h/", method: .post, parameters: Failing(), encoder: encoder)
        let response = await request.serializingData().response
        #expect(response.error?.code == .encodingFailed)
        #expect(response.error?.stage == .building)
        #expect(response.error?.underlying as? ForeignError == ForeignError())
        #expect(log.count == 0)
    }

    @Test("A number that JSON does not have is a typed error that does not print the parameters")
    func jsonNaN() async throws {
        struct Mixed: Encodable { let password = "s3cret", number = Double.nan }
        let session = log.session()
        let request = await session.request("http://h/", method: .post, parameters: Mixed(), encoder: .json)
        let error = await request.serializingData().response.error
        #expect(error?.code == .encodingFailed)
        #expect(error?.underlying is EncodingError)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test("A modifier runs before the parameters, so that it may choose where they go")
    func modifierFirst() async throws {
        let session = log.session()
        let request = await session.request("http://h/", parameters: ["a": 1]) { $0.method = .post }
        _ = try await request.serializingData().value
        let sent = try #require(log.requests.last)
        #expect(sent.url.text == "http://h/")
        #expect(sent.text == "a=1")
    }

    @Test("Parameters are encoded anew at each attempt")
    func eachAttempt() async throws {
        struct Counted: Encodable, Sendable {
            let journal: Journal
            func encode(to encoder: any Encoder) throws { try ["n": journal.count()].encode(to: encoder) }
        }
        let session = log.session { _, number in number == 1 ? .failure(.timedOut) : .text("ok") }
        let request = await session.request(
            "http://h/?x", parameters: Counted(journal: Journal()), interceptor: .retrier { _, _, _ in .retry })
        _ = try await request.serializingData().value
        #expect(log.requests.map(\.url.target) == ["/?x&n=1", "/?x&n=2"])
    }

    // MARK: Destination of a form

    @Test("A form goes into the query of GET, HEAD and DELETE", arguments: [HTTPMethod.get, .head, .delete])
    func inQuery(method: HTTPMethod) async throws {
        let sent = try await encoded(Pair(), method, by: .urlEncodedForm)
        #expect(sent.url.text == "http://h/p?b=1&a=x%20y")
        #expect(sent.fields.isEmpty)
        guard case .none = sent.body else { return #expect(Bool(false), "\(sent.body)") }
    }

    @Test(
        "A form goes into the body of every other method",
        arguments: [HTTPMethod.post, .put, .patch, .query, .options, "get", "PROPFIND"])
    func inBody(method: HTTPMethod) async throws {
        let sent = try await encoded(Pair(), method, url: "http://h/p?q", by: .urlEncodedForm)
        #expect(sent.text == "b=1&a=x%20y")
        #expect(sent.url.text == "http://h/p?q")
        #expect(sent["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test(
        "A form is appended to the query there is, before the fragment",
        arguments: [
            ("http://h/p?q=1", "http://h/p?q=1&a=1"), ("http://h/p?q=%26#f", "http://h/p?q=%26&a=1#f"),
            ("http://h/p?", "http://h/p?a=1"), ("http://h/p#f", "http://h/p?a=1#f"), ("http://h", "http://h/?a=1"),
            ("http://h/p?a=0", "http://h/p?a=0&a=1"),
        ])
    func appended(url: String, expected: String) async throws {
        let sent = try await encoded(["a": 1], .get, url: url, by: .urlEncodedForm)
        #expect(sent.url.text == expected)
    }

    @Test("An empty form leaves the query as it is", arguments: ["http://h/p", "http://h/p?q=1", "http://h/p?"])
    func emptyQuery(url: String) async throws {
        let sent = try await encoded([String: Int](), .get, url: url, by: .urlEncodedForm)
        #expect(sent.url.text == url)
    }

    @Test("A query that outgrows a URL is a typed error")
    func tooLong() async throws {
        let session = log.session()
        let request = await session.request("http://h/", parameters: ["a": String(repeating: "ü", count: 12_000)])
        let response = await request.serializingData().response
        #expect(response.error?.code == .invalidURL)
        #expect((response.error?.underlying as? RequestURLError)?.reason == .tooLong)
        #expect(log.count == 0)
    }

    @Test("Any type can be an encoder")
    func ownEncoder() async throws {
        struct Header: ParameterEncoder {
            func encode<P: Encodable & Sendable>(_ parameters: P, into request: inout OutgoingRequest) throws {
                request.headers.add(name: "X-Parameters", value: "\(parameters)")
            }
        }
        #expect(try await encoded("value", by: Header())["X-Parameters"] == "value")
    }
}
