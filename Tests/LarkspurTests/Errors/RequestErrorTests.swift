import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("RequestError", .limited)
struct RequestErrorTests {
    private let log = TransportLog()

    @Test(
        "A failure of the transport has the same code as the request's error",
        arguments: [
            (TransportError.Code.cancelled, RequestError.Code.cancelled), (.unavailable, .transportUnavailable),
            (.nameLookup, .nameLookup), (.connectionRefused, .connectionRefused), (.unreachable, .unreachable),
            (.proxyFailed, .proxyFailed), (.proxyUnauthorized, .proxyUnauthorized),
            (.connectionLost, .connectionLost), (.timedOut, .timedOut), (.handshake, .handshake),
            (.tlsVersion, .tlsVersion), (.notTLS, .notTLS), (.invalidIdentity, .invalidIdentity),
            (.untrusted, .untrusted),
            (.certificateExpired, .certificateExpired), (.certificateNotYetValid, .certificateNotYetValid),
            (.unknownIssuer, .unknownIssuer), (.selfSigned, .selfSigned), (.certificateRevoked, .certificateRevoked),
            (.certificateStatusUnknown, .certificateStatusUnknown), (.pinMismatch, .pinMismatch),
            (.wrongHost, .wrongHost), (.protocolViolation, .protocolViolation), (.truncated, .truncated),
            (.contentTooLarge, .contentTooLarge), (.bodyFailed, .bodyFailed),
            (.bodyNotReplayable, .bodyNotReplayable),
        ])
    func transportCodes(inTransport: TransportError.Code, inRequest: RequestError.Code) async throws {
        let session = Session(transport: StubTransport { _ in .failure(inTransport) })
        let error = try #require(await session.request("http://h/").serializingData().response.error)
        #expect(error.code == inRequest)
        #expect(error.stage == .sending || inRequest == .cancelled)
    }

    /// Ways for a request to fail, each at another point.
    enum Failure: String, CaseIterable, Sendable {
        case badURL, badMethod, badField, encoding, modifier, adapter, transport, redirect, redirectLoop
        case status, contentType, validator, json, decoding, empty, text, retrier, cancel
    }

    private static let secrets = ["us3r", "p4ss", "s3cret", "t0ken"]

    private struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws { throw ForeignError(description: "two\nlines\r\nor three") }
    }

    /// Returns the error of a request that fails in this way and has secrets everywhere.
    private func error(_ failure: Failure) async throws -> RequestError {
        try #require(await request(failure).serializingFailing(failure))
    }

    private func request(_ failure: Failure) async -> DataRequest {
        let foreign = ForeignError(description: "two\nlines\r\nor three")
        let location: String? =
            switch failure {
            case .redirect: "ftp://us3r:p4ss@other/?q=s3cret"
            case .redirectLoop: "?q=s3cret"
            default: nil
            }
        let session = log.session(
            SessionConfiguration { $0.headers = ["X-Key": "t0ken", "Cookie": "c=t0ken"] },
            interceptor: Interceptor(
                adapt: { request, _ in
                    if failure == .adapter { throw foreign }
                    if failure == .badMethod { request.method = "G T" }
                    if failure == .badField { request.headers["X-Bad"] = "t0ken\n" }
                }, retry: { _, _, _ in failure == .retrier ? .doNotRetryWithError(foreign) : .doNotRetry })
        ) { _, _ in
            if failure == .transport || failure == .retrier { return .failure(.connectionRefused) }
            if failure == .cancel { return StubAnswer([.stall]) }
            if let location { return .redirect(to: location) }
            return failure == .empty ? .response() : .text("s3cret", status: failure == .status ? 500 : 200)
        }
        let url = failure == .badURL ? "http://us3r:p4ss@a b/?q=s3cret" : "http://us3r:p4ss@h/path?q=s3cret#s3cret"
        let request =
            failure == .encoding
            ? await session.request(url, parameters: Failing())
            : await session.request(url) { _ in if failure == .modifier { throw foreign } }
        switch failure {
        case .status: return request.validate()
        case .contentType: return request.validate(contentType: ["a/b"])
        case .validator: return request.validate { _ in throw foreign }
        default: return request
        }
    }

    // MARK: Descriptions

    @Test("A description is one line that begins with the stage, or with the redirect", arguments: Failure.allCases)
    func oneLine(failure: Failure) async throws {
        let error = try await error(failure)
        #expect(!error.description.isEmpty)
        #expect(!error.description.contains { $0.isNewline }, "\(error)")
        #expect(!error.message.contains { $0.isNewline }, "\(error.message)")
        let sentence = try #require(error.errorDescription)
        #expect(error.localizedDescription == sentence && !sentence.contains { $0.isNewline })
        guard failure != .cancel else { return }
        let stage = try #require(error.stage)
        let isOfRedirect = [.redirect, .redirectLoop].contains(failure)
        let opening = isOfRedirect ? "following a redirect failed: " : "\(stage.rawValue) failed: "
        #expect(error.description.hasPrefix(opening))
    }

    @Test("No description shows a query, a user, a password or a field's value", arguments: Failure.allCases)
    func noSecrets(failure: Failure) async throws {
        let error = try await error(failure)
        for text in [
            error.description, error.message, String(reflecting: error), error.url?.description ?? "",
            error.localizedDescription, error.failureReason ?? "", "\(error as NSError)",
        ] {
            for secret in Self.secrets where text != error.url?.description || secret != "s3cret" {
                #expect(!text.contains(secret), "\(text)")
            }
        }
        #expect(error.url?.user == nil)
    }

    @Test("A description has the method, origin, path, status and attempt, if they are known")
    func facts() async throws {
        let session = log.session { _, _ in .response(503) }
        let request = await session.request("https://h:8443/a/b?c", method: .delete).validate()
        request.retry(using: Interceptor(retry: { request, _, _ in request.retryCount < 1 ? .retry : .doNotRetry }))
        let error = try #require(await request.serializingData().response.error)
        let expected =
            "validating failed: the server answered with status 503 (Service Unavailable); expected 200 to 299 "
            + "[DELETE https://h:8443/a/b, status 503, attempt 2]"
        #expect(error.description == expected)
    }

    @Test("A custom error without context has a description of one line too")
    func ownError() {
        let code = RequestError.Code(rawValue: "mine")
        #expect(RequestError(code, "my words").description == "the request failed: my words")
        #expect(RequestError(code, "").description == "the request failed: mine")
        #expect(RequestError(code, "my\nwords").description == "the request failed: my words")
        #expect(RequestError(.identifierInUse, "my words").description == "the background transfer failed: my words")
        #expect("\(code)" == "mine")
    }

    // MARK: Codes and stages

    @Test(
        "The code and the stage say what failed and where",
        arguments: [
            (Failure.badURL, RequestError.Code.invalidURL, RequestError.Stage.building),
            (.badMethod, .invalidRequest, .building), (.badField, .invalidRequest, .building),
            (.encoding, .encodingFailed, .building), (.modifier, .requestCreationFailed, .building),
            (.adapter, .adaptationFailed, .adapting), (.transport, .connectionRefused, .sending),
            (.redirect, .redirectRefused, .sending), (.redirectLoop, .redirectLoop, .sending),
            (.status, .unacceptableStatus, .validating), (.contentType, .unacceptableContentType, .validating),
            (.validator, .validationFailed, .validating), (.json, .invalidJSON, .serializing),
            (.decoding, .decodingFailed, .serializing), (.empty, .emptyBody, .serializing),
            (.text, .invalidText, .serializing), (.retrier, .retryFailed, .retrying),
        ])
    func codes(failure: Failure, code: RequestError.Code, stage: RequestError.Stage) async throws {
        let error = try await error(failure)
        #expect(error.code == code)
        #expect(error.stage == stage)
        #expect(error.isValidation == (stage == .validating))
        #expect(error.isSerialization == (stage == .serializing))
        #expect(!error.isCancelled)
    }

    @Test("The underlying error is the original one", arguments: [Failure.encoding, .modifier, .adapter, .validator])
    func underlying(failure: Failure) async throws {
        #expect(try await error(failure).underlying is ForeignError)
    }

    @Test(
        "A transport's failure keeps its code, its message and the original error",
        arguments: [
            (TransportError.Code.nameLookup, RequestError.Code.nameLookup, true),
            (.connectionRefused, .connectionRefused, true), (.unreachable, .unreachable, true),
            (.connectionLost, .connectionLost, true), (.timedOut, .timedOut, true), (.handshake, .handshake, true),
            (.notTLS, .notTLS, false),
            (.untrusted, .untrusted, false), (.protocolViolation, .protocolViolation, false),
            (.truncated, .truncated, true), (.bodyFailed, .bodyFailed, false),
            (.bodyNotReplayable, .bodyNotReplayable, false), (.unavailable, .transportUnavailable, false),
            (.other, RequestError.Code(rawValue: "other"), false),
            (TransportError.Code(rawValue: "further"), RequestError.Code(rawValue: "further"), false),
        ])
    func transport(code: TransportError.Code, expected: RequestError.Code, isConnectivity: Bool) async throws {
        let failure = TransportError(code, "in these words", phase: .connecting, underlying: ForeignError())
        let session = log.session { _, _ in StubAnswer([.fail(failure)]) }
        let request = await session.request("http://h/")
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == expected)
        #expect(error.stage == .sending)
        #expect(error.message.contains("in these words") && error.message.contains("connecting"))
        let underlying = try #require(error.underlying as? TransportError)
        #expect(underlying.code == code && underlying.underlying is ForeignError)
        #expect(error.isConnectivity == isConnectivity)
        #expect(error.isTimeout == (code == .timedOut))
        #expect(error.isTrust == (code == .untrusted))
        #expect(!error.isCancelled && !error.isValidation && !error.isSerialization)
        #expect(request.attempts.first?.hops.first?.error?.code == code)
    }

    @Test("The error of a cancelled request differs from all others")
    func cancelled() async throws {
        let error = try await error(.cancel)
        #expect(error.isCancelled)
        #expect(error.code == .cancelled)
        #expect(!error.isConnectivity && !error.isTimeout && !error.isTrust && !error.isValidation)
    }

    // MARK: Context

    @Test(
        "A failure after the response has the request, URL, status, head and body",
        arguments: [Failure.status, .contentType, .validator, .json, .decoding, .text])
    func context(failure: Failure) async throws {
        let request = await request(failure)
        let error = try #require(await request.serializingFailing(failure))
        #expect(error.requestID == request.id)
        #expect(error.url?.text == "http://h/path?q=s3cret#s3cret")
        #expect(error.statusCode == (failure == .status ? 500 : 200))
        #expect(error.responseHead?["Content-Type"] == "text/plain")
        #expect(error.responseData == Data("s3cret".utf8))
        #expect(error.attempts == 1)
    }

    @Test(
        "A failure before the response has the request and the attempt, and no response",
        arguments: [Failure.badURL, .badField, .encoding, .adapter, .transport])
    func contextBeforeResponse(failure: Failure) async throws {
        let request = await request(failure)
        let error = try #require(await request.serializingFailing(failure))
        #expect(error.requestID == request.id)
        #expect(error.attempts == 1)
        #expect(error.statusCode == nil && error.responseHead == nil && error.responseData == nil)
        #expect(error.url?.text == (failure == .badURL ? nil : "http://h/path?q=s3cret#s3cret"))
    }

    @Test("An incomplete body is kept with the failure")
    func partialBody() async throws {
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Length", value: "10")])
        let session = log.session { _, _ in StubAnswer([.head(head), .body(Data("12345".utf8))]) }
        let error = try #require(await session.request("http://h/").serializingData().response.error)
        #expect(error.code == .truncated)
        #expect(error.statusCode == 200)
        #expect(error.responseData == Data("12345".utf8))
    }

    @Test("The context is that of the last attempt and the last hop")
    func lastAttempt() async throws {
        let session = log.session { _, number in
            number == 1 ? .failure(.timedOut) : number == 2 ? .redirect(to: "https://other/b") : .response(404)
        }
        let request = await session.request("http://h/a").validate()
        request.retry(using: Interceptor(retry: { _, _, error in error.isTimeout ? .retry : .doNotRetry }))
        let error = try #require(await request.serializingData().response.error)
        #expect(error.attempts == 2)
        #expect(error.url?.text == "https://other/b")
        #expect(error.statusCode == 404)
        #expect(request.error?.statusCode == 404)
    }

    @Test("A failure before the response has the same error in request, attempt and response")
    func sameError() async throws {
        let request = await request(.transport)
        let response = await request.serializingData().response
        #expect(response.error?.code == .connectionRefused)
        #expect(request.error?.code == .connectionRefused)
        #expect(request.attempts.map { $0.error?.code } == [.connectionRefused])
        #expect(response.exchange.error?.code == .connectionRefused)
        #expect(response.description.hasPrefix("failure: sending failed: "))
    }

    @Test("A failure before sending names its request, without user, password and query")
    func unsent() async throws {
        let session = TransportLog().session()
        let url = "http://us3r:p4ss@h/p?q=s3cret"
        let requests = [
            await session.request(url, method: .put) { _ in throw ForeignError() },
            await session.request(url, method: .put, parameters: Failing(), encoder: .json),
            await session.request(url, method: .put).adapt(using: .adapter { _, _ in throw ForeignError() }),
            await session.request(url, method: .put, headers: ["X": "\r\n"]),
        ]
        for request in requests {
            let error = try #require(await request.serializingData().response.error)
            #expect(error.url?.text == "http://h/p?q=s3cret" && error.url?.user == nil)
            #expect("\(error)".hasSuffix("[PUT http://h/p]"), "\(error)")
        }
    }
}

extension DataRequest {
    /// Returns the error of the serializer that matches the failure.
    fileprivate func serializingFailing(_ failure: RequestErrorTests.Failure) async -> RequestError? {
        switch failure {
        case .json, .empty: return await serializingJSON().response.error
        case .decoding: return await serializingDecodable([Int].self).response.error
        case .text: return await serializingString(encoding: .utf32).response.error
        case .cancel:
            let task = serializingData()
            cancel()
            return await task.response.error
        default: return await serializingData().response.error
        }
    }
}
