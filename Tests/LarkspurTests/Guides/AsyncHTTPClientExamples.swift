import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Coming from AsyncHTTPClient", word for word.

private struct NewUser: Encodable, Sendable { let name: String }
private struct User: Decodable, Sendable { let name: String }

@Suite("The guide \"Coming from AsyncHTTPClient\"", .limited)
struct AsyncHTTPClientExamples {
    private let log = TransportLog()
    private let folder: TemporaryFolder
    private let session: Session

    init() throws {
        folder = try TemporaryFolder()
        session = log.session { request, _ in
            request.method == "GET" && request.url.path == "/log" ? .text("one\ntwo\n") : .json(#"{"name": "Ada"}"#)
        }
    }

    @Sendable private static func lines() -> AsyncStream<Data> {
        AsyncStream { pieces in
            pieces.yield(Data("line\n".utf8))
            pieces.finish()
        }
    }

    @Test("Values are read and sent")
    func values() async throws {
        let user = try await session.request("https://api.example.com/users/7")
            .validate()
            .timeout(.total(.seconds(30)))
            .serializingDecodable(User.self).value
        #expect(user.name == "Ada")
        let small = await session.request("https://api.example.com/users") {
            $0.options.maximumBodySize = 1 << 20
        }
        _ = try await small.serializingData().value
        #expect(small.request?.options.maximumBodySize == 1 << 20)
        let created = try await session.request(
            "https://api.example.com/users", method: .post,
            parameters: NewUser(name: "Ada"), encoder: .json
        )
        .validate().serializingDecodable(User.self).value
        #expect(created.name == "Ada")
        #expect(log.requests.last?.text == #"{"name":"Ada"}"#)
    }

    @Test("Bodies are streamed, to the server, from it, and to files")
    func bodies() async throws {
        let lines = Self.lines
        let upload = await session.upload(
            .sequence { lines() }, to: "https://api.example.com/log"
        ).validate()
        for await progress in upload.uploadProgress {
            print(progress.completed)
        }
        let reply = try await upload.serializingJSON().value
        #expect(reply["name"] == "Ada")
        let film = folder["film.mp4"]
        let download = await session.download(
            "https://example.com/film.mp4", to: .file(film))
        let place = try await download.validate().serializingFile().value
        #expect(place == film)
        let log = await session.streamRequest("https://api.example.com/log")
        for try await line in log.lines { print(line) }
        #expect(self.log.requests.map(\.url.path) == ["/log", "/film.mp4", "/log"])
        #expect(self.log.requests.map(\.body.length) == [nil, 0, 0])
    }

    @Test("Tokens, retries, pins, cookies")
    func policies() async throws {
        let (secret, saved) = ("secret", BearerToken("token"))
        func authenticating() -> Session {
            let client = OAuth2Client(
                tokenURL: "https://id.example.com/token", clientID: "shop",
                clientSecret: secret)
            let api = Session(
                configuration: SessionConfiguration { $0.validation = [.standard] },
                interceptor: .authentication(
                    BearerTokens(
                        saved, for: "https://api.example.com", renewedBy: client)))
            return api
        }
        let api = Session(configuration: authenticating().configuration, transport: log.transport())
        _ = try await api.request("https://api.example.com/users/7").serializingData().value
        #expect(log.requests.last?["Authorization"] == "Bearer token")
        func patience() -> Session {
            let patient = Session(
                configuration: SessionConfiguration {
                    $0.validation = [.standard]
                    $0.options.timeouts.total = .seconds(30)
                },
                interceptor: .retry(limit: 3))
            return patient
        }
        #expect(patience().configuration.options.timeouts.total == .seconds(30))
        func pin(_ current: PublicKeyPin, _ spare: PublicKeyPin) -> Session {
            let trust = ServerTrustManager(
                evaluators: ["*.example.com": .pinnedKeys(current, spare)])
            let pinned = Session(
                configuration: SessionConfiguration { $0.serverTrust = trust })
            return pinned
        }
        let pinOfZeros = try PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        #expect(try pin(pinOfZeros, pinOfZeros).configuration.serverTrust?.evaluator(for: "a.example.com") != nil)
        let stateless = Session(
            configuration: SessionConfiguration { $0.cookieJar = nil })
        #expect(stateless.cookieJar == nil)
    }

    #if os(Linux)
        @Test("A transport has the settings of connections")
        func connections() async throws {
            // swift-format-ignore
            func tune(_ authority: [UInt8]) -> Session {
                let transport = CurlTransport(configuration: .init {
                    $0.maximumConnectionsPerHost = 8
                    $0.idleLifetime = .seconds(60)
                    $0.certificateAuthorities = .systemAnd(pem: authority)
                    $0.hosts["docker"] = .unixSocket(path: "/var/run/docker.sock")
                })
                let tuned = Session(transport: transport)
                return tuned
            }
            #expect(await tune([]).requests.isEmpty)
        }
    #endif

    @Test("A cancelled task cancels its request, and a stub needs no network")
    func cancellation() async throws {
        let session = Session(configuration: .bare, transport: HeldTransport())
        let task = Task {
            try await session.request("https://api.example.com/users/7")
                .serializingDecodable(User.self).value
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        @Sendable func wait() async throws {
            try await NetworkMonitor.shared.whenReachable(host: "api.example.com")
        }
        _ = wait  // not called: it would look up the name
        let offline = Session(
            transport: StubTransport { _ in .json(#"{"name": "Ada"}"#) })
        #expect(try await offline.request("http://h/").serializingDecodable(User.self).value.name == "Ada")
    }
}
