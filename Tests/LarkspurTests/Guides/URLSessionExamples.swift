import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Coming from URLSession", word for word.

private struct NewUser: Encodable, Sendable { let name: String }
private struct User: Decodable, Sendable { let name: String }

@Suite("The guide \"Coming from URLSession\"", .limited)
struct URLSessionExamples {
    private let log = TransportLog()
    private let folder: TemporaryFolder
    private let session: Session

    init() throws {
        folder = try TemporaryFolder()
        session = log.session { request, _ in
            switch request.url.path {
            case "/login": .redirect(to: "/elsewhere")
            case "/log": .text("one\ntwo\n")
            default: .json(#"{"name": "Ada"}"#)
            }
        }
    }

    @Test("Values are read and sent")
    func values() async throws {
        let user = try await session.request("https://api.example.com/users/7")
            .validate()
            .serializingDecodable(User.self).value
        #expect(user.name == "Ada")
        let url = try #require(URL(string: "https://api.example.com/users/8"))
        var urlRequest = URLRequest(url: url)
        urlRequest.setValue("2", forHTTPHeaderField: "X-Version")
        let data = try await session.request(urlRequest).serializingData().value
        #expect(!data.isEmpty)
        let created = try await session.request(
            "https://api.example.com/users", method: .post,
            parameters: NewUser(name: "Ada"), encoder: .json
        )
        .validate().serializingDecodable(User.self).value
        #expect(created.name == "Ada")
        #expect(log.requests.map(\.method) == ["GET", "GET", "POST"])
        #expect(log.requests[1]["X-Version"] == "2")
        #expect(log.requests[2].text == #"{"name":"Ada"}"#)
    }

    @Test("Files are sent and received")
    func files() async throws {
        let file = try folder.write("text".utf8, to: "film.mp4")
        let upload = await session.upload(
            file, to: "https://api.example.com/films"
        ).validate()
        for await progress in upload.uploadProgress {
            print(progress.fraction ?? 0)
        }
        let reply = try await upload.serializingJSON().value
        #expect(reply["name"] == "Ada")
        let film = folder["other.mp4"]
        let download = await session.download(
            "https://example.com/film.mp4", to: .file(film))
        let place = try await download.validate().serializingFile().value
        #expect(place == film)
        if let record = await download.cancelProducingResumeRecord() {
            let rest = await session.download(resuming: record, to: .file(film))
            try await print(rest.serializingFile().value)
        }
        let log = await session.streamRequest("https://api.example.com/log")
        for try await line in log.lines { print(line) }
        #expect(self.log.requests.map(\.url.path) == ["/films", "/film.mp4", "/log"])
    }

    @Test("A credential answers a challenge, and a failure is retried")
    func policies() async throws {
        let password = "word"
        func knowing() throws -> Session {
            let credentials = CredentialStore()
            try credentials.set(
                Credential(username: "ada", password: password),
                for: "https://api.example.com")
            let known = Session(
                configuration: SessionConfiguration {
                    $0.credentials = credentials
                })
            return known
        }
        let asking = log.transport { request, _ in
            if request["Authorization"] != nil { return .text("ok") }
            return .response(401, headers: ["WWW-Authenticate": #"Basic realm="a""#])
        }
        let known = Session(configuration: try knowing().configuration, transport: asking)
        let answered = await known.request("https://api.example.com/me").serializingString().response
        #expect(answered.value == "ok" && log.count == 2)
        func patience() -> Session {
            let patient = Session(
                configuration: SessionConfiguration {
                    $0.validation = [.standard]
                    $0.options.timeouts.total = .seconds(60)
                },
                interceptor: .composed(
                    .whenReachable(within: .seconds(30)), .retry(limit: 3)))
            return patient
        }
        #expect(patience().configuration.interceptors.count == 1)
        func pin(_ current: PublicKeyPin, _ spare: PublicKeyPin) -> Session {
            let trust = ServerTrustManager(
                evaluators: ["*.example.com": .pinnedKeys(current, spare)])
            let pinned = Session(
                configuration: SessionConfiguration { $0.serverTrust = trust })
            return pinned
        }
        let pinOfZeros = try PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        #expect(try pin(pinOfZeros, pinOfZeros).configuration.serverTrust?.evaluator(for: "a.example.com") != nil)
        let login = await session.request("https://api.example.com/login")
            .redirect(using: .doNotFollow)
        #expect(await login.serializingData().response.head?.status == 302)
    }

    @Test("A cancelled task cancels its request")
    func cancellation() async throws {
        let session = Session(configuration: .bare, transport: HeldTransport())
        let task = Task {
            try await session.request("https://api.example.com/users/7")
                .serializingDecodable(User.self).value
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A session with a jar has its cookies, and one with a stub needs no network")
    func rest() async throws {
        func remember(in folder: URL) throws -> Session {
            let jar = try CookieJar(
                file: folder.appendingPathComponent("cookies.json"))
            jar.setCookies(of: .shared)
            let remembering = Session(
                configuration: SessionConfiguration { $0.cookieJar = jar })
            return remembering
        }
        @Sendable func watch() async {
            for await status in NetworkMonitor.shared.changes {
                print(status.isReachable ? "online" : "offline")
            }
        }
        _ = remember  // not called: the storage of the process belongs to the system
        let watching = Task { await watch() }
        watching.cancel()
        await watching.value
        let offline = Session(
            transport: StubTransport { _ in .json(#"{"name": "Ada"}"#) })
        #expect(try await offline.request("http://h/").serializingDecodable(User.self).value.name == "Ada")
    }
}
