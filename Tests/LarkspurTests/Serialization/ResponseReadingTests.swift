import Larkspur
import LarkspurTesting
import LarkspurXML
import TestSupport
import Testing

@Suite("Reading responses", .limited)
struct ResponseReadingTests {
    private struct User: Codable, Sendable, Equatable { var name: String }

    private func request(_ answer: StubAnswer, method: HTTPMethod = .get) async -> DataRequest {
        await TransportLog().session { _, _ in answer }.request("http://h/p", method: method)
    }

    // MARK: Empty bodies

    @Test(
        "An empty body is allowed for 204, 205 and HEAD, and an error otherwise",
        arguments: [
            (204, "GET", true), (205, "GET", true), (200, "HEAD", true), (200, "GET", false), (404, "GET", false),
        ])
    func empty(status: Int, method: String, isExpected: Bool) async throws {
        let request = await request(.response(status), method: HTTPMethod(rawValue: method))
        let json = await request.serializingJSON().response
        let empty = await request.serializingDecodable(Empty.self).response
        let optional = await request.serializingDecodable(User?.self).response
        #expect(json.value == (isExpected ? .null : nil))
        #expect(empty.value == (isExpected ? Empty.value : nil))
        #expect((optional.value != nil) == isExpected)
        if !isExpected { #expect(json.error?.code == .emptyBody && empty.error?.code == .emptyBody) }
        #expect(await request.serializingDecodable(User.self).response.error?.code == .emptyBody)
        #expect(try await request.serializingData().value.isEmpty)
        #expect(try await request.serializingString().value.isEmpty)
    }

    @Test("The caller can set the codes and methods")
    func ownEmptyRules() async throws {
        let request = await request(.response(200), method: .delete)
        #expect(try await request.serializingJSON(emptyResponseCodes: [200]).value == .null)
        #expect(try await request.serializingJSON(emptyRequestMethods: [.delete]).value == .null)
        #expect(try await request.serializingDecodable(Empty.self, emptyResponseCodes: [200]).value == .value)
        #expect(await request.serializingJSON(emptyResponseCodes: [], emptyRequestMethods: []).response.error != nil)
    }

    // MARK: Preprocessors

    private struct Shouting: DataPreprocessor {
        func preprocess(_ data: Data) throws -> Data {
            if data == Data("no".utf8) { throw ForeignError() }
            return Data(String(decoding: data, as: UTF8.self).uppercased().utf8)
        }
    }

    @Test("A preprocessor runs before every serializer, but not for an empty body")
    func preprocessors() async throws {
        let text = await request(.text("ab"))
        #expect(try await text.serializingData(preprocessor: Shouting()).value == Data("AB".utf8))
        #expect(try await text.serializingString(preprocessor: Shouting()).value == "AB")
        #expect(try await text.serializingString().value == "ab", "the body itself stays as it is")
        let guarded = await request(.text(")]}',\n{\"name\": \"Ada\"}"))
        #expect(try await guarded.serializingJSON(preprocessor: .googleXSSI).value["name"] == "Ada")
        #expect(try await guarded.serializingDecodable(User.self, preprocessor: .googleXSSI).value.name == "Ada")
        #expect(await guarded.serializingJSON().response.error?.code == .invalidJSON)
        let plain = await request(.text("[1]"))
        #expect(try await plain.serializingJSON(preprocessor: .googleXSSI).value[0].int == 1)
        let empty = await request(.response())
        #expect(try await empty.serializingData(preprocessor: Shouting()).value.isEmpty)
        let failing = await request(.text("no"))
        let error = await failing.serializingData(preprocessor: Shouting()).response.error
        #expect(error?.underlying as? ForeignError == ForeignError())
        #expect(error?.isSerialization == true)
    }

    // MARK: Typed failures

    private static let problem =
        #"{"type": "https://h/out-of-credit", "title": "No credit", "status": 403, "detail": "30 needed", "balance": 12.50}"#

    @Test("The error body of a rejected response is decoded, and is in the error")
    func typedFailure() async throws {
        let request = await request(.text(Self.problem, status: 403, contentType: "application/problem+json"))
            .validate()
        let task = request.serializingDecodable(User.self, failure: APIProblem.self)
        let error = try #require(await task.response.error)
        #expect(error.code == .unacceptableStatus && error.statusCode == 403 && error.isValidation)
        let problem = try #require(error.failure(as: APIProblem.self))
        #expect(problem.title == "No credit" && problem.detail == "30 needed" && problem.status == 403)
        #expect(problem.type == "https://h/out-of-credit" && problem.instance == nil)
        #expect(problem.extensions == ["balance": 12.5])
        #expect("\(problem)" == "No credit: 30 needed")
        let again = try JSONDecoder().decode(APIProblem.self, from: JSONEncoder().encode(problem))
        #expect(again == problem)
        await #expect(throws: RequestError.self) { try await task.value }
        let closure = AsyncStream<RequestError?>.makeStream()
        request.responseDecodable(of: User.self, failure: APIProblem.self) { closure.continuation.yield($0.error) }
        #expect(await closure.stream.first { _ in true }??.failure(as: APIProblem.self) == problem)
    }

    @Test("Without a rejection, or with another body, no failure type is decoded")
    func otherFailures() async throws {
        let others = await request(.text("<html>", status: 500)).validate()
        let error = await others.serializingDecodable(User.self, failure: APIProblem.self).response.error
        #expect(error?.code == .unacceptableStatus && error?.underlying == nil)
        let unvalidated = await request(.json(Self.problem, status: 403))
        let own = await unvalidated.serializingDecodable(User.self, failure: APIProblem.self).response.error
        #expect(own?.code == .decodingFailed && own?.failure(as: APIProblem.self) == nil)
        let good = await request(.json(#"{"name": "Ada"}"#)).validate()
        #expect(try await good.serializingDecodable(User.self, failure: APIProblem.self).value.name == "Ada")
    }

    @Test(
        "Problems may lack all members, and have members of wrong types",
        arguments: [
            ("{}", "problem"), (#"{"title": 7, "status": "x", "detail": "d"}"#, "problem: d"), (#"{"type": "t"}"#, "t"),
        ])
    func oddProblems(text: String, words: String) throws {
        #expect("\(try JSONDecoder().decode(APIProblem.self, from: Data(text.utf8)))" == words)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(APIProblem.self, from: Data("[1]".utf8)) }
    }

    @Test("The error of JSON that is cut off has the position of the end")
    func positionOfInvalidJSON() async throws {
        let cut = await request(.json("{\n  \"name\": \"Ad"))
        let error = await cut.serializingDecodable(User.self).response.error
        #expect(error?.code == .decodingFailed && error?.message.contains("line 2, column 14") == true)
        // The position comes from this library's parser, which agrees only with JSON decoders.
        let list = await request(.response(chunks: [Data("<plist".utf8)]))
        let other = await list.serializingDecodable(User.self, decoder: PropertyListDecoder()).response.error
        #expect(other?.code == .decodingFailed && other?.message.contains("not valid JSON") == false)
    }

    // MARK: Property lists, compounds

    @Test(
        "Property lists of both formats are decoded",
        arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func propertyLists(format: PropertyListSerialization.PropertyListFormat) async throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        let request = await request(.response(chunks: [try encoder.encode(User(name: "Ada"))]))
        #expect(try await request.serializingPropertyList(User.self).value == User(name: "Ada"))
        let closure = AsyncStream<User?>.makeStream()
        request.responsePropertyList(of: User.self) { closure.continuation.yield($0.value) }
        #expect(await closure.stream.first { _ in true } == User(name: "Ada"))
    }

    @Test("The failure that one of several serializers decodes is the compound's error")
    func compoundFailure() async throws {
        let request = await request(.json(Self.problem, status: 403)).validate()
        let serializer = CompoundResponseSerializer<User>([
            .decodable(of: User.self), .decodable(of: User.self, failure: APIProblem.self),
        ])
        let error = try #require(await request.serializingResponse(using: serializer).response.error)
        #expect(error.failure(as: APIProblem.self)?.title == "No credit" && error.statusCode == 403)
    }

    @Test("XML is parsed in the charset of the response, and invalid XML is an error with its position")
    func xml() async throws {
        let latin = Data("<a b='1'><c>".utf8) + Data([0xFC]) + Data("</c></a>".utf8)
        let request = await request(
            .response(headers: ["Content-Type": "text/xml; charset=\"ISO-8859-1\""], chunks: [latin]))
        #expect(try await request.serializingXML().value["c"].text == "ü")
        let closure = AsyncStream<String?>.makeStream()
        request.responseXML { closure.continuation.yield($0.value?.attribute("b")) }
        #expect(await closure.stream.first { _ in true } == "1")
        let broken = await self.request(.text("<a>\n<b></a>", contentType: "text/xml"))
        let error = try #require(await broken.serializingXML().response.error)
        #expect(error.code == .invalidXML && (error.underlying as? XMLError)?.line == 2)
        #expect(await self.request(.response()).serializingXML().response.error?.code == .emptyBody)
    }

    @Test("Null members are removed before decoding, and numbers stay exact")
    func nullRemoval() async throws {
        let request = await request(.json(#"{"a": null, "b": [{"c": null, "d": 1.5}], "e": 12345678901234567890}"#))
        let text = try await request.serializingString(preprocessor: .removingNulls).value
        #expect(text == #"{"b":[{"d":1.5}],"e":12345678901234567890}"#)
    }

    private struct Fixed: ResponseSerializer {
        let value: Int?
        let journal: Journal
        func serialize(_ exchange: CompletedExchange) throws -> Int {
            journal.note("\(value ?? -1)")
            guard let value else { throw ForeignError(description: "no value") }
            return value
        }
        func recover(from error: RequestError, _ exchange: CompletedExchange) throws -> Int {
            guard let value else { throw error }
            return value
        }
    }

    @Test("The first of several serializers that succeeds returns the value, and later ones do not run")
    func compound() async throws {
        let journal = Journal()
        let serializers = [nil, 2, 3].map { Fixed(value: $0, journal: journal) }
        let good = await request(.text("x"))
        #expect(try await good.serializingResponse(using: .firstOf(serializers)).value == 2)
        #expect(journal.lines == ["-1", "2"])
        let failed = await good.serializingResponse(using: .firstOf([serializers[0], serializers[0]])).response.error
        #expect((failed?.underlying as? CompoundFailure)?.errors.count == 2)
        #expect(await good.serializingResponse(using: CompoundResponseSerializer<Int>([])).response.error != nil)
        let bad = await request(.failure(.connectionLost))
        #expect(try await bad.serializingResponse(using: .firstOf(serializers)).value == 2, "also from a failure")
        let error = await bad.serializingResponse(using: .firstOf([serializers[0]])).response.error
        #expect(error?.code == .connectionLost && error?.stage == .sending)
    }

    // MARK: DataResponse

    @Test("A response has all attempts and redirects, with their hops")
    func history() async throws {
        let log = TransportLog()
        let session = log.session { request, number in
            if request.url.path == "/a" { return .redirect(to: "/b") }
            return number == 2 ? .text("busy", status: 503) : .text("ok")
        }
        let response = await session.request("http://h/a").validate()
            .retry(using: .retrier { _, _, _ in .retryAfter(.milliseconds(1)) }).serializingString().response
        #expect(response.attempts.map { $0.hops.map { $0.head?.status } } == [[302, 503], [302, 200]])
        #expect(response.attempts[0].error?.statusCode == 503 && response.attempts[0].delay == .milliseconds(1))
        #expect(response.attempts[1].error == nil)
        #expect(response.redirects.map { $0.request.url.path } == ["/a"])
        let lost = await log.session { _, _ in .failure(.connectionLost) }.request("http://h/").serializingData()
            .response
        #expect(lost.attempts.map { $0.error?.code } == [.connectionLost])
        let unbuilt = await log.session().request("no url").serializingData().response
        #expect(unbuilt.attempts.map { $0.error?.code } == [.invalidURL] && unbuilt.attempts[0].hops.isEmpty)
    }

    @Test("A response is mapped, and an error of the closure has the facts of the exchange")
    func mapping() async throws {
        let response = await request(.text("7")).serializingString().response
        #expect(response.map { $0.count }.value == 1)
        #expect(response.tryMap { Int($0) }.value == 7)
        let thrown = response.tryMap { _ in throw ForeignError() } as DataResponse<Int>
        #expect(thrown.error?.statusCode == 200 && thrown.error?.underlying as? ForeignError == ForeignError())
        let failed = await request(.failure(.connectionLost)).serializingString().response
        #expect(failed.map { $0.count }.error?.code == .connectionLost)
        #expect(failed.mapError { _ in RequestError(.emptyBody, "other") }.error?.code == .emptyBody)
        #expect(response.mapError { _ in RequestError(.emptyBody, "other") }.error == nil)
        #expect(failed.tryMapError { _ in RequestError(.emptyBody, "other") }.error?.code == .emptyBody)
        #expect(failed.tryMapError { _ in throw ForeignError() }.error?.underlying as? ForeignError == ForeignError())
        #expect(response.tryMapError { _ in throw ForeignError() }.value == "7")
    }

    private func formDescription(boundary: String) async throws -> String {
        var form = MultipartFormData(boundary: boundary)
        form.append("s3cret", name: "password")
        let session = TransportLog().session { _, _ in .text("ok") }
        return await session.upload(form, to: "http://h/").serializingString().response.debugDescription
    }

    @Test("The debug description has request, response and texts, and no secret")
    func longDescription() async throws {
        let body = #"{"name": "Ada", "token": "s3cret1"}"#
        let session = TransportLog().session { request, _ in
            if request.url.path == "/a" { return .redirect(307, to: "/b?token=s3cret2") }
            let headers: HTTPHeaders = ["Content-Type": "application/json", "Location": "/c?code=s3cret6"]
            return .response(headers: headers, chunks: [Data(body.utf8)])
        }
        let response = await session.request(
            "http://u:s3cret3@h/a?page=1", method: .post, parameters: ["password": "s3cret4", "x": "y"], encoder: .json,
            headers: [.authorization(bearerToken: "s3cret5")]
        ).serializingString().response
        let text = response.debugDescription
        for words in [
            "redirect: POST http://h/a?page=1, status 307", "request: POST http://h/b?token=REDACTED",
            "Authorization: Bearer REDACTED", #""x":"y""#, "response: HTTP/1.1 200", #""name":"Ada""#,
            "success: String",
        ] {
            #expect(text.contains(words), "\(words) in \(text)")
        }
        #expect(!text.contains("s3cret"), "\(text)")
        let form = try await formDescription(boundary: "AbCxml")
        #expect(form.contains("body: ") && !form.contains("s3cret"), "\(form)")
        let binary = await request(.response(headers: ["Content-Type": "image/png"], chunks: [Data(count: 9)]))
            .serializingData().response
        #expect(binary.debugDescription.contains("body: 9 bytes"))
    }

    @Test("The debug description of a UTF-16 body has only its size, because its secrets cannot be found")
    func wideDescription() async {
        let bytes = Data("token=s3cret".utf8.flatMap { [$0, 0] })
        let headers: HTTPHeaders = ["Content-Type": "text/plain; charset=utf-16le"]
        let response = await request(.response(headers: headers, chunks: [bytes])).serializingString().response
        #expect(response.value == "token=s3cret")
        #expect(response.debugDescription.contains("body: 24 bytes"))
    }
}
