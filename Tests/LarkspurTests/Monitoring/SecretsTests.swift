import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// A request full of secrets, and all output of the library about it.
@Suite("Secrets", .limited)
struct SecretsTests {
    /// The marker that every secret contains, and nothing else.
    private static let mark = "s3cret"
    private static let basic = Data("us3r:\(mark)".utf8).base64EncodedString()

    private static let url = "https://us3r:\(mark)@h/path?page=1&access_token=\(mark)#token=\(mark)"

    private static let headers: HTTPHeaders = [
        "Cookie": "sid=\(mark)", "Proxy-Authorization": "Basic \(mark)", "X-Confidential": mark, "X-Api-Key": mark,
        "Referer": "https://h/?token=\(mark)", "X-Plain": "plain",
    ]

    private static let bodies: [(type: String, text: String)] = [
        ("application/x-www-form-urlencoded", "user=Ada&password=\(mark)&card[pin]=\(mark)"),
        ("application/json", #"{"user": "Ada", "password": "\#(mark)", "deep": {"token": ["\#(mark)"]}}"#),
        ("text/plain", "the password is \(mark)"),
    ]

    private static let answerFields: HTTPHeaders = [
        "Set-Cookie": "sid=\(mark)", "Content-Type": "application/json", "X-Confidential": mark,
        "Location": "/path2?access_token=\(mark)#id_token=\(mark)",
    ]

    enum Stage: String, CaseIterable {
        case success, building, adapting, sending, redirecting, refusing, handling, validating, serializing, middleware
        case retrying, looping, timeOut
    }

    private static func session(_ stage: Stage) -> Session {
        let body = Data(#"{"name": "Ada", "refresh_token": "\#(mark)"}"#.utf8)
        let configuration = SessionConfiguration { configuration in
            configuration.headers = ["X-Session": "plain"]
            configuration.options.confidentialHeaders = ["X-Confidential"]
            if stage == .middleware {
                configuration.middleware = [ClosureMiddleware { _, _ in throw ForeignError() }]
            }
        }
        let stub = StubTransport { request in
            let isFirst = request.url.path == "/path"
            switch stage {
            case .sending, .retrying: return .failure(.connectionLost)
            case .timeOut: return .failure(.timedOut)
            case .validating: return .response(500, headers: answerFields, chunks: [body])
            case .refusing: return .redirect(to: "app://callback?code=\(mark)#token=\(mark)")
            case .looping: return .redirect(to: "https://h/path?page=1&access_token=\(mark)#token=\(mark)")
            default: return .response(isFirst ? 307 : 200, headers: answerFields, chunks: [body])
            }
        }
        return Session(configuration: configuration, transport: stub)
    }

    private static func request(_ stage: Stage, _ body: (type: String, text: String)) async -> DataRequest {
        let retrier = Interceptor(retry: { request, _, _ in
            guard stage == .retrying else { return .doNotRetry }
            return request.retryCount == 0 ? .retry : .doNotRetryWithError(ForeignError())
        })
        let request = await session(stage).request(url, method: .post, headers: headers, interceptor: retrier) {
            $0.headers.add(.contentType(body.type))
            $0.body = .data(Data(body.text.utf8))
            if stage == .building { $0.headers.add(name: "X-Bad", value: "\(mark)\r\n") }
        }
        if stage == .adapting { request.adapt(using: .adapter { _, _ in throw ForeignError() }) }
        if stage == .redirecting {
            request.redirect(using: .modify { request, _ in request.headers["X"] = "\(mark)\n" })
        }
        if stage == .handling { request.redirect(using: Redirector { _ in throw ForeignError() }) }
        return stage == .validating ? request.validate() : request
    }

    private struct Refusing: ResponseSerializer {
        func serialize(_ exchange: CompletedExchange) throws -> JSON { throw ForeignError() }
    }

    /// Returns the texts of a value that a user or a log can see.
    private static func outputs(_ value: some Any, _ name: String) -> [(String, String)] {
        var dumped = ""
        dump(value, to: &dumped)
        return [
            (name, "\(value)"), (name + ", for debugging", String(reflecting: value)),
            (name + ", in an array", "\([value])"),
            (name + ", dumped", dumped),
        ]
    }

    @Test("No output shows a secret, at any stage", arguments: Stage.allCases)
    func hidden(stage: Stage) async throws {
        for body in Self.bodies {
            let commands = Journal()
            let recorder = EventRecorder()
            let request = await Self.request(stage, body).eventMonitor(recorder)
            request.cURLDescription { commands.note($0) }
            let response =
                stage == .serializing
                ? await request.serializingResponse(using: Refusing()).response
                : await request.serializingJSON().response
            #expect((response.error == nil) == (stage == .success), "\(response)")
            var outputs = commands.lines.map { ("a command that was told", $0) }
            outputs += [("the command", request.cURLDescription()), ("the request", "\(request)")]
            outputs += [("the request, for debugging", String(reflecting: request))]
            outputs += [("the response, for debugging", response.debugDescription)]
            if let error = response.error {
                outputs += Self.outputs(error, "the error") + [("what it says", error.localizedDescription)]
                outputs += Self.outputs(error as any Error, "any error")
                outputs += [("the response", "\(response)"), ("its message", error.message)]
                if let underlying = error.underlying { outputs += Self.outputs(underlying, "the underlying error") }
            }
            outputs += Self.outputs(request.attempts, "the attempts")
            for hop in request.attempts.flatMap(\.hops) {
                outputs += Self.outputs(hop, "a hop") + Self.outputs(hop.request, "its request")
                outputs += Self.outputs(hop.request.options, "its options")
                // Header fields alone do not have the confidential names of their request.
                var fields = hop.request.headers
                fields.remove(name: "X-Confidential")
                outputs += Self.outputs(fields, "its fields")
                if let head = hop.head { outputs += Self.outputs(head, "its head") }
            }
            if let built = request.request { outputs += Self.outputs(built, "the request that was sent last") }
            await recorder.wait { $0.contains { $0.name == "finish" } }
            outputs += recorder.events.map { ("an event", "\($0)") }
            for (name, text) in outputs {
                let isHidden = [Self.mark, Self.basic, "us3r"].allSatisfy { !text.contains($0) }
                #expect(isHidden, "\(name): \(text)")
            }
        }
    }

    @Test("The description of a response for debugging, and of a WebSocket's end, has no raw control characters")
    func controls() async throws {
        let control = "a\u{1B}[31m\u{9B}1m\u{202E}b"
        let session = Session(
            transport: StubTransport { _ in
                .response(
                    200, headers: ["X-Note": control, "Content-Type": "text/plain"],
                    chunks: [Data("one\r\n\(control)\ttwo".utf8)])
            })
        let text = await session.request("http://h/").serializingString().response
            .debugDescription
        let end = WebSocketClose(code: .normal, reason: "\(control)\nb", isClean: true, byPeer: true).description
        for output in [text, end] {
            #expect(!output.unicodeScalars.contains { ["\u{1B}", "\u{9B}", "\u{202E}", "\r"].contains($0) })
            #expect(output.contains(#"a\u{1B}[31m"#))
        }
        #expect(!end.contains("\n") && text.contains("one\n"))
    }

    @Test("Harmless values are shown, and without redaction everything")
    func shown() async throws {
        let request = await Self.request(.success, Self.bodies[1])
        let response = await request.serializingJSON().response
        let text = response.debugDescription + "\n" + request.cURLDescription()
        for part in [
            "page=1", "Ada", "X-Plain: plain", "access_token=REDACTED", "Set-Cookie: REDACTED", "Location: /path2?",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        let whole = request.cURLDescription(redacting: .none)
        #expect(whole.contains("Cookie: sid=\(Self.mark)") && whole.contains("\"\(Self.mark)\""))
        #expect(request.request?.headers.description.contains("X-Plain: plain") == true)
        #expect(request.request?.headers["X-Api-Key"] == Self.mark)
    }
}
