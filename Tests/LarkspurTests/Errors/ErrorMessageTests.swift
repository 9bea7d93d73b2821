import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// The names and values that messages of errors must have, so that a reader finds the cause and the remedy. Other
/// suites compare the codes of these errors.
@Suite("Names in error messages", .limited)
struct ErrorMessageTests {
    private let log = TransportLog()

    /// The error of a request that gets this response.
    private func error(
        _ answer: StubAnswer, from url: String = "http://h/", configuration: SessionConfiguration = .bare,
        accept: String? = nil, _ validators: ResponseValidator...
    ) async throws -> RequestError {
        let session = log.session(configuration) { _, _ in answer }
        let request = await session.request(url, headers: accept.map { ["Accept": $0] } ?? [:])
        for validator in validators { request.validate(using: validator) }
        return try #require(await request.serializingData().response.error)
    }

    private func answer(_ status: Int = 200, _ contentType: String? = "text/plain") -> StubAnswer {
        .response(status, headers: contentType.map { ["Content-Type": $0] } ?? [:], chunks: [Data("body".utf8)])
    }

    // MARK: Responses

    @Test("An unacceptable content type, and the acceptable ones in alphabetical order")
    func contentType() async throws {
        let error = try await error(answer(200, "Image/PNG;x=y"), .contentType(["text/z", "text/a", " b/c"]))
        #expect(error.message.contains("image/png"))
        #expect(error.message.contains("b/c, text/a, text/z"))
        let weighted = try await self.error(
            answer(200, nil), accept: "x/y;q=0, Text/HTML;q=0.9;level=1, a/b", .standard)
        #expect(weighted.message == "the response names no content type; expected a/b, text/html")
    }

    @Test(
        "The acceptable status codes, as ranges",
        arguments: [([204, 200, 205], "200, 204 to 205"), ([], "none"), (Array(200..<300), "200 to 299")])
    func status(acceptable: [Int], text: String) async throws {
        #expect(try await error(answer(404), .status(acceptable)).message.hasSuffix("; expected \(text)"))
    }

    @Test("An unknown content coding, and the option that disables decoding")
    func coding() async throws {
        let error = try await error(.response(headers: ["Content-Encoding": "compress"], chunks: [Data("body".utf8)]))
        #expect(error.description.contains("\"compress\""))
        #expect(error.description.contains("options.decodesContent"))
    }

    @Test("At most the beginning of a coding's name")
    func longCoding() {
        for name in ["aws-chunked", "gzip;q=1", String(repeating: "x", count: 10_000)] {
            let error = #expect(throws: RequestError.self) {
                _ = try ContentDecoder(codings: ["gzip", name], limits: DecodingLimits())
            }
            #expect(error?.message.contains(name.prefix(40)) == true)
            #expect(error?.message.count ?? 0 < 250)
        }
    }

    @Test("The option for a redirect from https to http, and the option for the size of bodies")
    func options() async throws {
        let downgrade = try await error(.redirect(307, to: "http://h/b"), from: "https://h/a")
        #expect(downgrade.message.contains("options.allowsInsecureRedirects"))
        let small = SessionConfiguration { $0.options.maximumBodySize = 3 }
        #expect(try await error(answer(), configuration: small).message.contains("maximumBodySize"))
    }

    // MARK: Requests

    @Test("A refused field by its name, and never by its value")
    func field() async throws {
        let repeated = HTTPHeaders([
            HTTPHeader(name: "X-Key", value: "s3cret"), HTTPHeader(name: "Authorization", value: "s3cret"),
            HTTPHeader(name: "authorization", value: "b"),
        ])
        let error = try #require(
            await log.session().request("http://h/", headers: repeated).serializingData().response.error)
        #expect(error.message.contains("Authorization") && !error.message.contains("s3cret"))
        let coded = await log.session().request("http://h/", method: .post, headers: ["Transfer-Encoding": "gzip"]) {
            $0.body = .data(Data("four".utf8))
        }
        #expect(await coded.serializingData().response.error?.message.contains("Transfer-Encoding") == true)
    }

    @Test("The session's base URL, if it is invalid")
    func baseURL() async throws {
        let session = log.session(SessionConfiguration { $0.baseURL = "no base" })
        let error = try #require(await session.request("foo").serializingData().response.error)
        #expect(error.message.hasPrefix("the session's baseURL: Invalid URL"))
        #expect(error.message.hasSuffix("The URL is \"no base\"."))
    }

    @Test("The option that sends a request without a credential")
    func credential() async throws {
        let tokens = BearerTokens(nil, for: "http://h") { _, _ in throw ForeignError() }
        let session = log.session(interceptor: .authentication(tokens))
        let error = try #require(await session.request("http://h/").serializingData().response.error)
        #expect(error.message.contains("usesCredentials"))
    }

    @Test("Not the value of an invalid cookie")
    func cookie() throws {
        let error = try #require(throws: RequestError.self) {
            try Cookie(name: "a", value: "s3cret;2", domain: "h.com")
        }
        #expect(!error.message.contains("s3cret"))
    }

    // MARK: Files and bodies

    @Test("The missing folder of a download, and the path of a changed file")
    func files() async throws {
        let folder = try TemporaryFolder()
        let target = folder["one"].appendingPathComponent("a")
        let request = await log.session().download("http://h/", to: .file(target))
        let missing = try #require(await request.serializingFile().response.error)
        #expect(missing.message.contains("its folder \(folder["one"].path) does not exist"))
        let body = try TransportBody.file(folder.write([UInt8].pattern(10)))
        try folder.write([UInt8].pattern(11))
        let changed = try await #require(throws: TransportError.self) { try await body.pulled() }
        #expect(changed.message.contains(folder["file"].path))
    }

    @Test("The declared length of a body, and the error of its sequence")
    func bodies() async throws {
        let short = TransportBody.sequence(Pieces(elements: [[UInt8].pattern(5)]), length: 10)
        let wrong = try await #require(throws: TransportError.self) { try await short.pulled() }
        #expect(wrong.message.contains("10 bytes"))
        let failing = TransportBody.sequence(Pieces(elements: [[UInt8].pattern(5)], error: ForeignError()))
        let thrown = try await #require(throws: TransportError.self) { try await failing.pulled() }
        #expect(thrown.message == "the body's sequence failed: a foreign error")
    }

    // MARK: Retries

    @Test("The error of a retrier beside the original one, and the reason of a refusal")
    func retries() async throws {
        func error(_ result: RetryResult, _ body: TransportBody = .none) async throws -> RequestError {
            let session = log.session(interceptor: Interceptor(retry: { _, _, _ in result })) { _, _ in
                .text("why", status: 401)
            }
            let request = await session.request("http://h/p", method: .post) { $0.body = body }.validate()
            return try #require(await request.serializingData().response.error)
        }
        let failed = try await error(.doNotRetryWithError(ForeignError(description: "no token")))
        #expect("\(failed)".contains("no token"))
        let both = try #require(failed.underlying as? RetryFailed)
        #expect("\(both)".contains("no token") && "\(both)".contains("401"))
        let refused = try await error(.doNotRetryWithError(RetryRefusal("closed for today")))
        #expect("\(refused)".contains("closed for today"))
        let once = try await error(.retry, .onceOnly)
        let original = try #require(once.underlying as? RequestError)
        #expect("\(once)".contains(original.message) && "\(once)".contains("only once"))
    }
}
