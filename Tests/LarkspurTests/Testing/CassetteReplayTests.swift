import Larkspur
import LarkspurInsight
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTesting

@Suite("Challenges and digests of cassettes", .limited)
struct CassetteReplayTests {
    // MARK: Challenges

    enum Scheme: CaseIterable, Sendable {
        case basic, digest, staleDigest, bearer

        /// A server that answers only requests with a credential of the scheme.
        func answer(_ request: TransportRequest) -> StubAnswer {
            let sent = request["Authorization"] ?? ""
            let (isAccepted, challenge): (Bool, String) =
                switch self {
                case .basic: (sent.hasPrefix("Basic "), #"Basic realm="Admin, \"all\"", charset="UTF-8""#)
                case .digest: (sent.hasPrefix("Digest "), Self.digest("n0nce-1"))
                case .staleDigest:
                    sent.isEmpty
                        ? (false, Self.digest("n0nce-1"))
                        : (sent.contains("n0nce-2"), Self.digest("n0nce-2") + ", stale=true")
                case .bearer:
                    (
                        sent == "Bearer n0w",
                        #"Bearer realm="api", error="invalid_token", error_description="0ld is over""#
                    )
                }
            guard !isAccepted else { return .text("in") }
            return .response(
                401, headers: ["WWW-Authenticate": challenge, "www-authenticate": "Negotiate dG9rZW4="],
                chunks: [Data("who?".utf8)])
        }

        private static func digest(_ nonce: String) -> String {
            #"Digest realm="a", nonce="\#(nonce)", opaque="0paque", qop="auth", algorithm=SHA-256"#
        }

        /// The first field of a recorded challenge.
        var shown: String {
            switch self {
            case .basic: #"Basic realm="Admin, \"all\"", charset=UTF-8"#
            case .digest, .staleDigest:
                #"Digest realm="a", nonce="REDACTED-043e2eaf", opaque="REDACTED", qop="auth", algorithm=SHA-256"#
            case .bearer: #"Bearer realm="api", error="invalid_token", error_description="REDACTED""#
            }
        }

        func session(over transport: any Transport) throws -> Session {
            let store = CredentialStore()
            try store.set(Credential(username: "ada", password: "s3cret"), for: "http://h/")
            let configuration = SessionConfiguration {
                $0.credentials = store
                $0.validation = [.standard]
            }
            guard self == .bearer else { return Session(configuration: configuration, transport: transport) }
            let tokens = BearerTokens(BearerToken("0ld")) { _, _ in BearerToken("n0w") }
            return Session(configuration: configuration, transport: transport, interceptor: tokens)
        }
    }

    @Test("A recorded challenge is played and answered, and its secrets are not recorded", arguments: Scheme.allCases)
    func challenges(scheme: Scheme) async throws {
        let folder = try TemporaryFolder()
        let file = folder["challenge.har"]
        let recording = Cassette(recordingTo: file, from: StubTransport { scheme.answer($0) })
        let recorded = try scheme.session(over: recording)
        #expect(try await recorded.request("http://h/").serializingString().value == "in")
        try await recording.finish()

        let text = try String(contentsOf: file, encoding: .utf8)
        for secret in ["n0nce", "0paque", "0ld", "n0w", "dG9rZW4"] { #expect(!text.contains(secret), "\(secret)") }
        let entries = try HARArchive(contentsOf: file).entries
        #expect(entries.count == (scheme == .staleDigest ? 3 : 2))
        #expect(entries[0].response.headers.values(for: "WWW-Authenticate") == [scheme.shown, "Negotiate REDACTED"])

        let cassette = try Cassette(har: file, order: .recorded)
        let played = try scheme.session(over: cassette)
        let response = await played.request("http://h/").serializingString().response
        #expect(response.value == "in", "\(response.error?.message ?? "")")
        #expect(cassette.unplayed.isEmpty)
    }

    // MARK: Digests

    private static let gzip = Data(CodedBody.gzip.bytes)
    private static let sha256 = DigestAlgorithm.sha256

    private static func value(_ body: Data, _ algorithm: DigestAlgorithm = sha256) -> String {
        algorithm.value(of: Array(algorithm.digest(of: body)))
    }

    /// A response, and whether its digest fits.
    struct Answer: Sendable {
        let headers: HTTPHeaders
        let body: Data
        var trailers: HTTPHeaders?
        var isValid = true
    }

    private static let secret = Data(#"{"password": "s3cret", "name": "Ada"}"#.utf8)
    private static let answers = [
        Answer(
            headers: [
                "Content-Encoding": "gzip", "Content-Digest": "\(value(gzip)), \(value(gzip, .sha512)), md5=:AAAA:",
                "Repr-Digest": value(gzip), "Content-MD5": "AAAA",
            ], body: gzip),
        Answer(headers: ["Content-Encoding": "gzip"], body: gzip, trailers: ["Content-Digest": value(gzip)]),
        Answer(headers: ["Content-Type": "application/json", "Content-Digest": value(secret)], body: secret),
        Answer(
            headers: ["Content-Encoding": "identity", "Content-Digest": value(Data("x".utf8))], body: Data("x".utf8)),
        Answer(headers: ["Content-Digest": value(Data("y".utf8))], body: Data("x".utf8), isValid: false),
    ]

    @Test("A digest fits the body that is played, also if the recorded body is decoded or redacted", arguments: answers)
    func digests(answer: Answer) async throws {
        let folder = try TemporaryFolder()
        let file = folder["digest.har"]
        let fields = answer.headers.map { HTTPHeader(name: $0.name, value: $0.value) }
        var steps: [StubAnswer.Step] = [.head(ResponseHead(status: 200, fields: fields)), .body(answer.body)]
        if let trailers = answer.trailers { steps.append(.trailers(trailers)) }
        let server = StubAnswer(steps)
        func response(_ transport: any Transport) async -> DataResponse<Data> {
            await Session(transport: transport).request("http://h/") { $0.options.decodesContent = false }
                .validate(using: .contentDigest).serializingData().response
        }
        let recording = Cassette(recordingTo: file, from: StubTransport { _ in server })
        #expect(await response(recording).error?.code == (answer.isValid ? nil : .checksumMismatch))
        try await recording.finish()
        let played = await response(try Cassette(har: file))
        #expect(played.error?.code == (answer.isValid ? nil : .checksumMismatch), "\(played.error?.message ?? "")")
        #expect(played.head?["Content-MD5"] == nil)
    }

    // MARK: Two threads

    @Test("A hop is recorded if two threads resume its task at once")
    func resumedTwice() async throws {
        let recording = CassetteRecording(
            InstantTransport(), file: nil, replacesFile: false, bodyLimit: 0, redaction: .none)
        let request = TransportRequest(url: try RequestURL("http://h/"))
        let tasks = (1...2_000).map {
            recording.task(for: request, id: TransportTaskID($0), delegate: IgnoringDelegate())
        }
        let arrived = Protected(0)
        await withCheckedContinuation { (end: CheckedContinuation<Void, Never>) in
            let running = Protected(2)
            for _ in 0..<2 {
                SystemThread.start("resumes") {
                    for (index, task) in tasks.enumerated() {
                        arrived.withLock { $0 += 1 }
                        while arrived.withLock({ $0 }) < 2 * index + 2 { sched_yield() }
                        task.resume()
                    }
                    let isLast = running.withLock { count in
                        count -= 1
                        return count == 0
                    }
                    if isLast { end.resume() }
                }
            }
        }
        #expect(recording.entries.count == tasks.count)
    }
}

/// A transport whose hops end when they are resumed.
private final class InstantTransport: Transport {
    let capabilities = TransportCapabilities.all

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        InstantTask(id, delegate)
    }

    func invalidate() {}
}

private final class InstantTask: TransportTask {
    let id: TransportTaskID
    private let delegate: Protected<(any TransportDelegate)?>

    init(_ id: TransportTaskID, _ delegate: any TransportDelegate) {
        (self.id, self.delegate) = (id, Protected(delegate))
    }

    func resume() { delegate.withLock { $0.take() }?.received(.completed(nil), for: id) }
    func suspend() {}
    func cancel() {}
    func allow(upTo position: UInt64) {}
}
