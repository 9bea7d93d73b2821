import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Coming from Alamofire", word for word.

private struct NewUser: Encodable, Sendable { let name: String }
private struct User: Decodable, Sendable { let name: String }

extension Endpoint where Response == User {
    static func user(_ id: Int) -> Self {
        Endpoint(.get, "users/\(id)")
    }
}

struct Signed: RequestAdapter {
    let key: String

    func adapt(
        _ request: inout OutgoingRequest,
        using state: RequestAdapterState
    ) async throws {
        request.headers["X-Signature"] =
            "\(request.method) \(request.url.path) \(key)"
    }
}

struct Patient: RequestRetrier {
    func retry(
        _ request: any Request, for session: Session,
        dueTo error: RequestError
    ) async -> RetryResult {
        guard error.statusCode == 503, request.retryCount < 3 else {
            return .doNotRetry
        }
        return .retryAfter(.seconds(2))
    }
}

@Suite("The guide \"Coming from Alamofire\"", .limited)
struct AlamofireExamples {
    private let log = TransportLog()
    private let recorder = EventRecorder()
    private let folder: TemporaryFolder
    private let session: Session

    init() throws {
        folder = try TemporaryFolder()
        let transport = log.transport { request, _ in
            switch request.url.path {
            case "/users": .json(#"[{"name": "Ada"}]"#)
            case "/login": .redirect(to: "/elsewhere")
            case "/log": .text("one\ntwo\n")
            case "/renew": .json(#"{"accessToken": "new"}"#)
            default: .json(#"{"name": "Ada"}"#)
            }
        }
        session = Session(configuration: .bare, transport: transport, eventMonitors: [recorder])
    }

    @Test("A value, and a closure for one")
    func values() async throws {
        let user = try await session.request("https://api.example.com/users/7")
            .validate()
            .serializingDecodable(User.self).value
        #expect(user.name == "Ada")
        let request = await session.request("https://api.example.com/users/7")
        request.validate().responseDecodable(of: User.self) { response in
            switch response.result {
            case .success(let user): print(user.name)
            case .failure(let error): print(error)
            }
        }
        await recorder.wait { events in events.count { $0.name == "finish" } == 2 }
        let api = session.extending { $0.baseURL = "https://api.example.com" }
        let seven = try await api.send(.user(7))
        #expect(seven.name == "Ada")
    }

    @Test("Parameters, headers and validators")
    func parts() async throws {
        let found = await session.request(
            "https://api.example.com/users",
            parameters: ["page": 1, "all": true])
        let made = await session.request(
            "https://api.example.com/users", method: .post,
            parameters: NewUser(name: "Ada"), encoder: .json)
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: .noBrackets, spaceEncoding: .plusReplaced)
        let list = await session.request(
            "https://api.example.com/users", parameters: ["id": [7, 8]],
            encoder: .urlEncodedForm(encoder: encoder))
        let token = "secret"
        let headers: HTTPHeaders = [
            .authorization(bearerToken: token), .accept("application/json"),
        ]
        let mine = await session.request(
            "https://api.example.com/me", headers: headers)
        let checked = await session.request("https://api.example.com/users/7")
            .validate(statusCode: [200, 304])
            .validate { exchange in
                if exchange.data?.isEmpty != false {
                    throw RequestError(.emptyBody, "a user has a body")
                }
            }
        for request in [found, made, list, mine, checked] { _ = try await request.serializingData().value }
        #expect(log.requests[0].url.target == "/users?page=1&all=1")
        #expect(log.requests[1].text == #"{"name":"Ada"}"#)
        #expect(log.requests[2].url.target == "/users?id=7&id=8")
        #expect(log.requests[3]["Authorization"] == "Bearer secret")
        let shown = await session.request(
            "https://api.example.com/me", headers: headers
        )
        .cURLDescription { command in print(command) }
        _ = try await shown.serializingData().value
        #expect(!shown.cURLDescription().contains("secret"))
    }

    @Test("A dictionary of any values, and a retrier")
    func dictionaryAndRetrier() async throws {
        let (name, age) = ("Ada", 36)
        let fields: [String: any Sendable] = ["name": name, "age": age]
        let parameters = try JSON(fields)
        let saved = await session.request(
            "https://api.example.com/users", method: .post,
            parameters: parameters, encoder: .json)
        _ = try await saved.serializingData().value
        #expect(log.requests.last?.text == #"{"age":36,"name":"Ada"}"#)

        let clock = ManualClock()
        let busy = TransportLog().transport { _, number in number == 1 ? .response(503) : .text("ok") }
        let patient = Session(
            configuration: SessionConfiguration {
                $0.clock = clock
                $0.validation = [.standard]
            }, transport: busy)
        async let text = patient.request("http://h/").retry(using: Patient()).serializingString().value
        await clock.waitForSleepers()
        clock.advance(by: .seconds(2))
        #expect(try await text == "ok")
    }

    @Test("Uploads and forms")
    func uploads() async throws {
        let (data, file) = (Data("text".utf8), try folder.write("text".utf8, to: "photo.png"))
        let note = await session.upload(
            data, to: "https://api.example.com/notes/7", method: .put)
        let film = await session.upload(
            file, to: "https://api.example.com/films")
        let form = await session.upload(
            multipart: { form in
                form.append("Ada", name: "author")
                form.append(file, name: "photo")
            }, to: "https://api.example.com/photos")
        for request in [note, film, form] { _ = try await request.serializingData().value }
        #expect(log.requests.map(\.method) == ["PUT", "POST", "POST"])
        #expect(log.requests[2]["Content-Type"]?.hasPrefix("multipart/form-data") == true)
    }

    @Test("Downloads, gone on with")
    func downloads() async throws {
        let film = folder["new/film.mp4"]
        let download = await session.download(
            "https://example.com/film.mp4", to: .file(film),
            options: [.removePreviousFile, .createIntermediateDirectories])
        let place = try await download.serializingFile().value
        #expect(place == film)
        if let record = await download.cancelProducingResumeRecord() {
            let rest = await session.download(resuming: record, to: .file(film))
            try await print(rest.serializingFile().value)
        }
        let large = await session.download("https://example.com/film.mp4")
        for await progress in large.downloadProgress {
            print(progress.completed, progress.total ?? 0)
        }
        try FileManager.default.removeItem(at: await large.serializingFile().value)
    }

    @Test("Interceptors, tokens, redirects")
    func interceptors() async throws {
        let key = "key"
        let signed = await session.request("https://api.example.com/orders")
            .adapt(using: Signed(key: key))
        _ = try await signed.serializingData().value
        #expect(log.requests.last?["X-Signature"] == "GET /orders key")
        func sides() -> [Session] {
            let one = Session(interceptor: .adapter(Signed(key: key)))
            // swift-format-ignore
            let both = Session(
                configuration: .validated,
                interceptor: Interceptor(
                    adapters: [Signed(key: key)], retriers: [Patient()]))
            return [one, both]
        }
        #expect(sides().map(\.configuration.interceptors.count) == [1, 1])
        func patience() -> Session {
            let patient = Session(
                configuration: SessionConfiguration { $0.validation = [.standard] },
                interceptor: .retry(limit: 3))
            return patient
        }
        #expect(patience().configuration.interceptors.count == 1)
        let homebound: OfflineRetrier = .whenReachable(
            within: .seconds(60), prohibitedInterfaces: [.cellular])
        #expect(homebound.prohibitedInterfaces == [.cellular])

        let login = await session.request("https://api.example.com/login")
            .redirect(using: .doNotFollow)
        #expect(await login.serializingData().response.head?.status == 302)

        let saved = BearerToken("old", refreshToken: "more", renewalDate: .distantPast)
        let tokens = BearerTokens(
            saved, for: "https://api.example.com"
        ) { old, session in
            try await session.request(
                "https://id.example.com/renew",
                parameters: ["token": old.refreshToken ?? ""]
            )
            .validate().serializingDecodable(BearerToken.self).value
        }
        let request = await session.request("https://api.example.com/me", interceptor: .authentication(tokens))
        _ = try await request.serializingData().value
        #expect(log.requests.suffix(2).map(\.url.path) == ["/renew", "/me"])
        #expect(log.requests.last?["Authorization"] == "Bearer new")
    }

    @Test("Monitors, trust, streams, requests under way")
    func rest() async throws {
        let monitor = ClosureEventMonitor { request, event in
            if case .finish(let error) = event {
                print(request.description, error ?? "done")
            }
        }
        func watch() -> Session {
            let watched = Session(
                eventMonitors: [monitor, LogMonitor(level: .headers)])
            return watched
        }
        #expect(watch().configuration.eventMonitors.count == 2)
        func pin(_ current: PublicKeyPin, _ spare: PublicKeyPin) -> Session {
            let trust = ServerTrustManager(
                evaluators: ["*.example.com": .pinnedKeys(current, spare)])
            let pinned = Session(
                configuration: SessionConfiguration { $0.serverTrust = trust })
            return pinned
        }
        let pinOfZeros = try PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        #expect(try pin(pinOfZeros, pinOfZeros).configuration.serverTrust?.evaluator(for: "a.example.com") != nil)
        let log = await session.streamRequest("https://api.example.com/log")
        for try await line in log.lines { print(line) }
        for request in await session.requests {
            print(request.id, request.description)
        }
        await session.cancelAllRequests()
        #expect(await session.requests.isEmpty)
    }
}
