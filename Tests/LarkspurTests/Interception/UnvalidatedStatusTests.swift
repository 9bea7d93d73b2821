import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// A program that forgets validation learns that its retrier, its tokens and its downloads do nothing about errors.
@Suite("Remarks about statuses that are not validated", .limited)
struct UnvalidatedStatusTests {
    private let recorder = EventRecorder()

    private func session(
        _ status: Int, _ interceptor: (any RequestInterceptor)? = nil,
        configure: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration.bare
        configure(&configuration)
        return Session(
            configuration: configuration, transport: StubTransport { _ in .text("sorry", status: status) },
            interceptor: interceptor, eventMonitors: [recorder])
    }

    /// The remarks about the requests so far, which have finished.
    private func remarks(of session: Session) async -> [Advice] {
        await recorder.receiveAllEvents()
        return recorder.events.compactMap { if case .advise(let advice) = $0 { advice } else { nil } }
    }

    private struct Patient: RequestRetrier {
        func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
            .doNotRetry
        }
    }

    /// Interceptors, each with a status and the name of the interceptor that expects it; nil if none expects it.
    static let cases: [(interceptor: any RequestInterceptor, status: Int, name: String?)] = [
        (.retry(limit: 3), 503, "RetryPolicy"), (.retry(limit: 3), 404, nil), (.retry(limit: 0), 503, nil),
        (.retry(limit: 3), 200, nil), (.retrier(Patient()), 500, "Interceptor"), (.retrier(Patient()), 404, nil),
        (.authentication(BearerTokens(BearerToken("t")) { old, _ in old }), 401, "AuthenticationInterceptor"),
        (.authentication(BearerTokens(BearerToken("t")) { old, _ in old }), 500, nil),
        (.digest(username: "u", password: "p"), 401, "DigestAuthentication"), (.apiKey("k"), 401, nil),
        (.whenReachable(), 503, nil), (.compressing(.gzip), 503, nil), (Interceptor(adapt: { _, _ in }), 503, nil),
        (.composed(.apiKey("k"), .composed(.retry())), 503, "RetryPolicy"),
    ]

    @Test("A retrier that was not asked about its status is named", arguments: cases.indices)
    func retriers(index: Int) async throws {
        let (interceptor, status, name) = Self.cases[index]
        let session = session(status, interceptor)
        _ = try await session.request("http://h/a?key=s3cret").serializingString().value
        let remarks = await remarks(of: session)
        #expect(remarks.map(\.kind) == (name == nil ? [] : [.unvalidatedRetry]))
        guard let name, let text = remarks.first?.description else { return }
        #expect(text.hasPrefix("GET http://h/a was answered with the status \(status) ("), "\(text)")
        #expect(text.contains("\(name) was not asked") && text.contains(".validate()") && text.contains("validated"))
        #expect(!text.contains("s3cret"))
    }

    @Test("Of each kind there is one remark in a session")
    func once() async throws {
        let session = session(503, .retry())
        for _ in 0..<3 { _ = try await session.request("http://h/").serializingString().value }
        #expect(await remarks(of: session).count == 1)
    }

    @Test("A download that saves the body of an error says so, without a retrier too")
    func download() async throws {
        let folder = try TemporaryFolder()
        let session = session(404)
        let file = try await session.download("http://h/film", to: .file(folder["film"])).serializingFile().value
        #expect(try String(contentsOf: file, encoding: .utf8) == "sorry")
        let remarks = await remarks(of: session)
        #expect(remarks.map(\.kind) == [.unvalidatedDownload])
        #expect(remarks.first?.description.contains("the body of the error is the downloaded file") == true)
    }

    @Test("Any validator of the session or the request prevents the remark")
    func validated() async throws {
        let validating = session(503, .retry(limit: 1, backoff: .init(scale: .milliseconds(1), jitter: .none))) {
            $0.validation = [.standard]
        }
        #expect(await validating.request("http://h/").serializingString().response.error?.statusCode == 503)
        let accepting = session(503, .retry()) { $0.validation = [.anyStatus] }
        #expect(try await accepting.request("http://h/").serializingString().value == "sorry")
        let own = session(503, .retry())
        #expect(try await own.request("http://h/").validate(using: .anyStatus).serializingString().value == "sorry")
        for session in [validating, accepting, own] { #expect(await remarks(of: session).isEmpty) }
    }

    @Test("The log has the remark")
    func log() async throws {
        let lines = Journal()
        let monitor = LogMonitor(to: LogSink { lines.note($0) })
        let session = Session(
            configuration: .bare, transport: StubTransport { _ in .text("sorry", status: 503) },
            interceptor: .retry(), eventMonitors: [monitor])
        _ = try await session.request("http://h/a").serializingString().value
        await poll { lines.lines.contains { $0.hasPrefix("#1 GET http://h/a was answered with the status 503") } }
        await poll { lines.lines.contains { $0.hasPrefix("#1 GET http://h/a → 503") } }
    }

    #if DEBUG
        @Test("A debug build writes the remark to the standard error, once in a process")
        func standardError() async throws {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                for _ in 0..<2 {
                    let session = Session(
                        transport: StubTransport { _ in .text("sorry", status: 503) }, interceptor: .retry())
                    _ = try await session.request("http://h/a").serializingString().value
                }
            }
            let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(text.components(separatedBy: "Larkspur: GET http://h/a was answered").count == 2, "\(text)")
        }
    #endif

    @Test("The configuration `validated` makes an error status an error")
    func validatedConfiguration() async {
        let plain = Session(configuration: .validated, transport: StubTransport { _ in .text("sorry", status: 404) })
        #expect(await plain.request("http://h/").serializingString().response.error?.code == .unacceptableStatus)
        let based = Session(
            configuration: .validated { $0.baseURL = "http://h/v1" },
            transport: StubTransport { request in .text(request.url.text, status: 500) })
        let error = await based.request("a").serializingString().response.error
        #expect(error?.url?.text == "http://h/v1/a" && error?.statusCode == 500)
    }
}
