import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Parameters in a request", .limited)
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
        var configuration = SessionConfiguration.bare
        configuration.options.allowsBodyInGET = true
        let session = log.session(configuration)
        let request = await session.request(
            url, method: method, parameters: parameters, encoder: encoder, headers: headers)
        _ = try await request.serializingData().value
        return try #require(log.requests.last)
    }

    // MARK: JSON

    @Test("JSON parameters are the body, and set its content type")
    func json() async throws {
        let sent = try await encoded(Pair(), by: .json)
        #expect(try JSONDecoder().decode(Pair.self, from: Data(try #require(sent.text).utf8)) == Pair())
        #expect(sent["Content-Type"] == "application/json")
        #expect(sent.url.text == "http://h/p")
    }

    @Test("Members of JSON parameters keep the order of the type")
    func jsonOrder() async throws {
        struct Many: Codable { var h = 1, g = 2, f = 3, e = 4, d = 5, c = 6, b = 7, a = 8 }
        let text = #"{"h":1,"g":2,"f":3,"e":4,"d":5,"c":6,"b":7,"a":8}"#
        for encoder in [.json, JSONParameterEncoder(), .default] {
            #expect(try await encoded(Many(), by: encoder).text == text)
        }
        let session = log.session()
        let request = await session.request("http://h/", method: .post, body: .json(Many()))
        _ = try await request.serializingData().value
        #expect(log.requests.last?.text == text)
    }

    @Test("The caller can choose the JSON encoder")
    func jsonEncoder() async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        struct User: Encodable { let userName = 1, age = 2 }
        let sent = try await encoded(User(), by: .json(encoder: encoder))
        #expect(sent.text == #"{"age":2,"user_name":1}"#)
    }

    @Test("JSON has the chosen format, also for a JSON value with its own order and digits")
    func jsonFormatting() async throws {
        let value: JSON = ["b": [1, 2.50], "a": nil]
        #expect(try await encoded(value, by: JSONParameterEncoder.default).text == #"{"b":[1,2.5],"a":null}"#)
        #expect(try await encoded(value, by: JSONParameterEncoder.sortedKeys).text == #"{"a":null,"b":[1,2.5]}"#)
        #expect(try await encoded(value, by: JSONParameterEncoder.prettyPrinted).text == value.text(.prettyPrinted))
        #expect(try await encoded(Pair(), by: JSONParameterEncoder.sortedKeys).text == #"{"a":"x y","b":1}"#)
        let pretty = try #require(try await encoded(Pair(), by: JSONParameterEncoder.prettyPrinted).text)
        #expect(pretty.contains("\n"))
        #expect(try JSONDecoder().decode(Pair.self, from: Data(pretty.utf8)) == Pair())
    }

    @Test("JSON and property lists are a body for every method", arguments: [HTTPMethod.get, .head, .delete, .put])
    func bodies(method: HTTPMethod) async throws {
        for encoder in [.json, .propertyList] as [any ParameterEncoder] {
            let sent = try await encoded(Pair(), method, by: encoder)
            #expect(sent.url.text == "http://h/p")
            #expect(sent.text?.isEmpty == false)
        }
    }

    @Test("JSON parameters may be an array or a single value")
    func jsonRoots() async throws {
        #expect(try await encoded([3, 1, 2], by: .json).text == "[3,1,2]")
        #expect(try await encoded("x", by: .json).text == #""x""#)
    }

    @Test("Parameters of several types can be a literal, and nil parameters leave the request unchanged")
    func literals() async throws {
        let session = log.session()
        _ = try await session.request(
            "http://h/", parameters: ["q": "swift", "page": 1, "all": true, "tags": ["a", 2]]
        )
        .serializingData().value
        _ = try await session.request("http://h/", parameters: ["q": "swift"]).serializingData().value
        _ = try await session.request("http://h/", parameters: nil as [String: Int]?).serializingData().value
        #expect(
            log.requests.map(\.url.text) == [
                "http://h/?q=swift&page=1&all=1&tags%5B%5D=a&tags%5B%5D=2", "http://h/?q=swift", "http://h/",
            ])
    }

    @Test("Downloads and streams accept literals too")
    func literalsOfAllRequests() async throws {
        let session = log.session()
        let download = await session.download("http://h/", parameters: ["page": 1, "all": true])
        try FileManager.default.removeItem(at: await download.serializingFile().value)
        let stream = await session.streamRequest(
            "http://h/", method: .post, parameters: ["page": 1, "tags": ["a", 2]] as JSON, encoder: .json)
        #expect(await stream.completion.error == nil)
        #expect(log.requests.map(\.url.text) == ["http://h/?page=1&all=1", "http://h/"])
        #expect(log.requests.last?.text == #"{"page":1,"tags":["a",2]}"#)
    }

    // MARK: Property lists

    @Test(
        "Property lists are the body, in the chosen format, and set its content type",
        arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func propertyList(format: PropertyListSerialization.PropertyListFormat) async throws {
        let sent = try await encoded(Pair(), by: .propertyList(format: format))
        guard case .data(let data) = sent.body else {
            Issue.record("\(sent.body)")
            return
        }
        var found = PropertyListSerialization.PropertyListFormat.openStep
        #expect(try PropertyListDecoder().decode(Pair.self, from: data, format: &found) == Pair())
        #expect(found == format)
        #expect(sent["Content-Type"] == "application/x-plist")
    }

    @Test("The caller can choose the property list encoder; the default is XML")
    func propertyListEncoder() async throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let sent = try await encoded(Pair(), by: PropertyListParameterEncoder(encoder: encoder))
        guard case .data(let data) = sent.body else {
            Issue.record("\(sent.body)")
            return
        }
        #expect(data.starts(with: "bplist".utf8))
        #expect(try await encoded(Pair(), by: .propertyList).text?.hasPrefix("<?xml") == true)
    }

    @Test("A value that is not a property list is a typed error that does not print the parameters")
    func noPropertyList() throws {
        var request = OutgoingRequest(url: try RequestURL("http://h/"))
        #expect {
            try PropertyListParameterEncoder.propertyList.encode("s3cret", into: &request)
        } throws: { error in
            (error as? RequestError)?.code == .encodingFailed && !"\(error)".contains("s3cret")
        }
        guard case .none = request.body else {
            Issue.record("\(request.body)")
            return
        }
        #expect(request.headers["Content-Type"] == nil)
    }

    // MARK: All

    static let encoders: [any ParameterEncoder] = [.json, .urlEncodedForm, .propertyList]

    @Test("An existing content type stays", arguments: encoders)
    func contentType(encoder: any ParameterEncoder) async throws {
        let sent = try await encoded(Pair(), headers: ["content-type": "x/y"], by: encoder)
        #expect(sent.fields.map(\.description) == ["content-type: x/y"])
    }

    @Test("The encoder's content type takes precedence over the session's", arguments: encoders)
    func sessionContentType(encoder: any ParameterEncoder) async throws {
        let session = log.session(SessionConfiguration { $0.headers = ["Content-Type": "x/y"] })
        _ = try await session.request("http://h/", method: .post, parameters: Pair(), encoder: encoder)
            .serializingData().value
        let sent = try #require(log.requests.last)
        #expect(sent.fields.count == 1)
        #expect(sent["Content-Type"] != "x/y")
    }

    @Test("Without parameters the request is unchanged", arguments: encoders, [HTTPMethod.get, .post])
    func noParameters(encoder: any ParameterEncoder, method: HTTPMethod) async throws {
        let sent = try await encoded(nil as Pair?, method, url: "http://h/p?q", by: encoder)
        #expect(sent.url.text == "http://h/p?q")
        #expect(sent.fields.isEmpty)
        guard case .none = sent.body else {
            Issue.record("\(sent.body)")
            return
        }
    }

    @Test("A value that cannot be encoded gives a typed error with its cause, and is never sent", arguments: encoders)
    func failures(encoder: any ParameterEncoder) async throws {
        let session = log.session()
        let request = await session.request("http://h/", method: .post, parameters: Failing(), encoder: encoder)
        let response = await request.serializingData().response
        #expect(response.error?.code == .encodingFailed)
        #expect(response.error?.stage == .building)
        #expect(response.error?.underlying as? ForeignError == ForeignError())
        #expect(log.count == 0)
    }

    @Test("A number that JSON does not support is a typed error that does not print the parameters")
    func jsonNaN() async throws {
        struct Mixed: Encodable { let password = "s3cret", number = Double.nan }
        let session = log.session()
        let request = await session.request("http://h/", method: .post, parameters: Mixed(), encoder: .json)
        let error = await request.serializingData().response.error
        #expect(error?.code == .encodingFailed)
        #expect(error?.underlying is EncodingError)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test("A modifier runs before the encoder, so that it can choose the destination")
    func modifierFirst() async throws {
        let session = log.session()
        let request = await session.request("http://h/", parameters: ["a": 1]) { $0.method = .post }
        _ = try await request.serializingData().value
        let sent = try #require(log.requests.last)
        #expect(sent.url.text == "http://h/")
        #expect(sent.text == "a=1")
    }

    @Test("An invalid URL of a modifier stays an error, for any parameters", arguments: ["", "x"])
    func refusedURL(key: String) async throws {
        let session = log.session()
        let parameters = key.isEmpty ? [:] : [key: 1]
        let request = await session.request("http://h/", parameters: parameters) { request in
            request.urlRequest.url = URL(string: "no-url")
        }
        #expect(await request.serializingData().response.error?.code == .invalidURL)
        #expect(log.count == 0)
    }

    @Test("Parameters are encoded again at each attempt")
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
        guard case .none = sent.body else {
            Issue.record("\(sent.body)")
            return
        }
    }

    @Test(
        "A form goes into the body for all other methods",
        arguments: [HTTPMethod.post, .put, .patch, .query, .options, "get", "PROPFIND"])
    func inBody(method: HTTPMethod) async throws {
        let sent = try await encoded(Pair(), method, url: "http://h/p?q", by: .urlEncodedForm)
        #expect(sent.text == "b=1&a=x%20y")
        #expect(sent.url.text == "http://h/p?q")
        #expect(sent["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test(
        "A form goes to the chosen destination", arguments: [HTTPMethod.get, .head, .delete, .post, .put, "PROPFIND"])
    func destinations(method: HTTPMethod) async throws {
        let inQuery = try await encoded(
            ["a": 1], method, url: "http://h/p?q", by: .urlEncodedForm(destination: .queryString))
        #expect(inQuery.url.text == "http://h/p?q&a=1")
        #expect(inQuery.fields.isEmpty)
        guard case .none = inQuery.body else {
            Issue.record("\(inQuery.body)")
            return
        }
        let inBody = try await encoded(
            ["a": 1], method, url: "http://h/p?q", by: .urlEncodedForm(destination: .httpBody))
        #expect(inBody.url.text == "http://h/p?q")
        #expect(inBody.text == "a=1")
        #expect(inBody["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test("The caller can choose the form encoder")
    func formEncoder() async throws {
        let encoder = URLEncodedFormEncoder(arrayEncoding: .noBrackets, keyEncoding: .uppercased)
        #expect(try await encoded(["a": ["x", "y"]], by: .urlEncodedForm(encoder: encoder)).text == "A=x&A=y")
        let sent = try await encoded(["a": "b c+d"], .get, by: .urlEncodedForm(encoder: .webForm))
        #expect(sent.url.text == "http://h/p?a=b+c%2Bd")
    }

    @Test("Unescaped brackets are valid in the URL", arguments: [HTTPMethod.get, .post])
    func plainBrackets(method: HTTPMethod) async throws {
        let encoder = URLEncodedFormEncoder(allowedCharacters: .unreserved.adding("[]"))
        let sent = try await encoded(["a": [1]], method, by: .urlEncodedForm(encoder: encoder))
        #expect((sent.url.query.map(String.init) ?? sent.text) == "a[]=1")
    }

    @Test(
        "A form is appended to the existing query, before the fragment",
        arguments: [
            ("http://h/p?q=1", "http://h/p?q=1&a=1"), ("http://h/p?q=%26#f", "http://h/p?q=%26&a=1#f"),
            ("http://h/p?", "http://h/p?a=1"), ("http://h/p#f", "http://h/p?a=1#f"), ("http://h", "http://h/?a=1"),
            ("http://h/p?a=0", "http://h/p?a=0&a=1"),
        ])
    func appended(url: String, expected: String) async throws {
        let sent = try await encoded(["a": 1], .get, url: url, by: .urlEncodedForm)
        #expect(sent.url.text == expected)
    }

    @Test("An empty form leaves the query unchanged", arguments: ["http://h/p", "http://h/p?q=1", "http://h/p?"])
    func emptyQuery(url: String) async throws {
        let sent = try await encoded([String: Int](), .get, url: url, by: .urlEncodedForm)
        #expect(sent.url.text == url)
    }

    @Test("A query that exceeds the maximum length of a URL is a typed error")
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

    @Test("A closure can be an encoder; its error is wrapped, and a typed error is kept")
    func closure() async throws {
        let encoder: any ParameterEncoder = .custom { parameters, request in
            request.headers["X-Form"] = try URLEncodedFormEncoder().encode(parameters)
        }
        #expect(try await encoded(Pair(), by: encoder)["X-Form"] == "b=1&a=x%20y")
        let session = log.session()
        for (thrown, code) in [
            (ForeignError(), .encodingFailed), (RequestError(.invalidURL, "own"), .invalidURL),
        ] as [(any Error, RequestError.Code)] {
            let error = await session.request("http://h/", parameters: [1], encoder: .custom { _, _ in throw thrown })
                .serializingData().response.error
            #expect(error?.code == code)
        }
    }
}
