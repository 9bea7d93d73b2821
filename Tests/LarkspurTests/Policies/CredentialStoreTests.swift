import Larkspur
import LarkspurTesting
import TestSupport
import Testing

private let ada = Credential(username: "ada", password: "s3cret")
private let eve = Credential(username: "eve", password: "pa55")

private func basic(_ credential: Credential) -> String {
    "Basic " + Data("\(credential.username):\(credential.password)".utf8).base64EncodedString()
}

@Suite("Credentials of sessions", .limited)
struct CredentialStoreTests {
    private let log = TransportLog()
    private let store = CredentialStore()

    /// A server that lets one user into each folder, the longest that fits, and tells others the folder's realm.
    private func session(
        _ folders: [String: (realm: String, user: Credential)],
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration.bare
        configuration.credentials = store
        change(&configuration)
        return log.session(configuration) { request, _ in Self.answer(request, folders) }
    }

    private static func answer(
        _ request: TransportRequest, _ folders: [String: (realm: String, user: Credential)]
    ) -> StubAnswer {
        let fits = folders.filter { request.url.text.hasPrefix($0.key) }
        guard let (realm, user) = fits.max(by: { $0.key.count < $1.key.count })?.value,
            request["Authorization"] != basic(user)
        else { return .text("in") }
        return .response(401, headers: ["WWW-Authenticate": "Basic realm=\"\(realm)\""], chunks: [Data("who?".utf8)])
    }

    private var sent: [String?] {
        log.requests.map { request in
            [ada, eve].first { request["Authorization"] == basic($0) }?.username ?? request["Authorization"]
        }
    }

    /// The statuses of answers to GETs, one after the other.
    private func statuses(_ session: Session, _ urls: String...) async -> [Int?] {
        var statuses: [Int?] = []
        for url in urls { statuses.append(await session.request(url).serializingData().response.head?.status) }
        return statuses
    }

    @Test("A challenge is answered, and later requests to the folder and what is below bring the credential unasked")
    func folders() async throws {
        try store.set(ada, for: "https://h/anything?at#all")
        let session = session(["https://h/": ("a", ada)])
        let urls = ["/docs/x", "/docs/", "/docs/deep/er?q=/", "/docsx/", "/docs", "/", "/other"]
        for url in urls { #expect(await statuses(session, "https://h" + url) == [200]) }
        // From /docs on nothing was known but /docs/ and /docsx/; it taught the root, and so everything.
        #expect(sent == [nil, "ada", "ada", "ada", nil, "ada", nil, "ada", "ada", "ada"])
    }

    @Test("A preemptive credential is sent before a challenge, to its origin only, until it is refused or replaced")
    func preemptive() async throws {
        try store.set(ada, for: "https://h", preemptively: true)
        let session = session(["https://h/a": ("a", ada), "https://h/e": ("e", eve)])
        #expect(
            await statuses(session, "https://h/a/", "https://h:81/", "http://h/", "https://h/x") == [
                200, 200, 200, 200,
            ])
        #expect(sent == ["ada", nil, nil, "ada"])
        let own = await session.request("https://h/a/", headers: ["authorization": "mine"]).serializingData().response
        #expect(own.head?.status == 401 && sent.last == "mine")
        #expect(await statuses(session, "https://h/e/", "https://h/x") == [401, 200])
        #expect(sent.suffix(2) == ["ada", nil])
        try store.set(eve, for: "https://h", realm: "e", preemptively: true)
        #expect(await statuses(session, "https://h/e/", "https://h/a/") == [200, 200])
        #expect(sent.suffix(3) == ["eve", "eve", "ada"])
        try store.set(nil, for: "https://h", realm: "e")
        #expect(await statuses(session, "https://h/x") == [200])
        #expect(sent.last == .some(nil))
    }

    @Test("A refused preemptive credential is not sent again after another realm's credential is set")
    func refusedPreemptive() async throws {
        try store.set(ada, for: "https://h", realm: "a", preemptively: true)
        let session = session(["https://h/e": ("e", eve)])
        #expect(await statuses(session, "https://h/e/") == [401])
        #expect(sent == ["ada"])
        try store.set(eve, for: "https://h", realm: "e")
        #expect(await statuses(session, "https://h/x") == [200])
        #expect(sent.last == .some(nil))
    }

    @Test("A credential that is set for one realm leaves the preemptive one of another realm alone")
    func preemptiveRealms() async throws {
        try store.set(ada, for: "https://h", realm: "a", preemptively: true)
        try store.set(ada, for: "https://h", realm: "b")
        try store.set(nil, for: "https://h", realm: "c", preemptively: true)
        #expect(await statuses(session([:]), "https://h/x") == [200])
        #expect(sent == ["ada"])
    }

    @Test("A credential whose characters Basic cannot carry is refused when it is set")
    func characters() throws {
        for (username, password) in [("a:b", "p"), ("a\nb", "p"), ("a", "p\u{7F}")] {
            let credential = Credential(username: username, password: password)
            let error = #expect(throws: RequestError.self) { try store.set(credential, for: "https://h") }
            #expect(error?.code == .invalidCredential)
        }
    }

    @Test("The answered 401 reaches neither validators nor serializers, and the attempt has both hops")
    func hidden() async throws {
        try store.set(ada, for: "https://h")
        let request = await session(["https://h/": ("a", ada)]).request("https://h/x").validate()
        #expect(try await request.serializingString().value == "in")
        #expect(request.attempts.map { $0.hops.map { $0.head?.status } } == [[401, 200]])
    }

    @Test("Each realm gets its own credential, also below a folder that another one is known for")
    func realms() async throws {
        try store.set(ada, for: "https://h", realm: "a")
        try store.set(eve, for: "https://h", realm: "b")
        let session = session(["https://h/": ("a", ada), "https://h/b/": ("b", eve), "https://h/c/": ("c", eve)])
        #expect(
            await statuses(session, "https://h/x", "https://h/b/x", "https://h/b/y", "https://h/x") == [
                200, 200, 200, 200,
            ])
        #expect(sent == [nil, "ada", "ada", "eve", "eve", nil, "ada"])
        // The store has no credential for the third realm.
        #expect(await statuses(session, "https://h/c/x") == [401])
        #expect(sent.suffix(1) == ["ada"])
    }

    @Test("A realm's own credential comes before the one for all realms")
    func nearest() async throws {
        try store.set(eve, for: "https://h")
        try store.set(ada, for: "https://h", realm: "a")
        let session = session(["https://h/a/": ("a", ada), "https://h/b/": ("b", eve)])
        #expect(await statuses(session, "https://h/a/", "https://h/b/") == [200, 200])
        #expect(sent == [nil, "ada", nil, "eve"])
    }

    @Test("Each of two challenges with a credential is answered once")
    func both() async throws {
        try store.set(ada, for: "https://h", realm: "a")
        try store.set(eve, for: "https://h", realm: "b")
        let fields: HTTPHeaders = ["WWW-Authenticate": "Basic realm=a, Basic realm=b"]
        let session = log.session(SessionConfiguration { $0.credentials = store }) { _, _ in
            .response(401, headers: fields)
        }
        #expect(await statuses(session, "https://h/") == [401])
        #expect(sent == [nil, "ada", "eve"])
    }

    @Test("A wrong password is sent once for a request, and is never sent unasked")
    func wrong() async throws {
        try store.set(eve, for: "https://h")
        let session = session(["https://h/": ("a", ada)])
        let error = await session.request("https://h/").validate().serializingData().response.error
        #expect(error?.statusCode == 401 && error?.responseData == Data("who?".utf8))
        #expect(await statuses(session, "https://h/") == [401])
        #expect(sent == [nil, "eve", nil, "eve"])
    }

    @Test("A credential that is refused after it was accepted is not repeated, and can be changed for the next request")
    func changed() async throws {
        let users = Protected(ada)
        try store.set(ada, for: "https://h")
        let session = log.session(SessionConfiguration { $0.credentials = store }) { request, _ in
            Self.answer(request, ["https://h/": ("a", users.withLock { $0 })])
        }
        #expect(await statuses(session, "https://h/", "https://h/") == [200, 200])
        users.withLock { $0 = eve }
        #expect(await statuses(session, "https://h/", "https://h/") == [401, 401])
        try store.set(eve, for: "https://h")
        #expect(await statuses(session, "https://h/", "https://h/") == [200, 200])
        #expect(sent == [nil, "ada", "ada", "ada", nil, "ada", nil, "eve", "eve"])
        try store.set(nil, for: "https://h")
        #expect(await statuses(session, "https://h/") == [401])
        try store.set(eve, for: "https://h")
        store.removeAll()
        #expect(await statuses(session, "https://h/") == [401])
        #expect(sent.suffix(2) == [nil, nil])
    }

    @Test(
        "Another origin is not given it: scheme, host and port must be right",
        arguments: ["http://h/", "https://h:444/", "https://sub.h/", "https://other/"])
    func origins(url: String) async throws {
        try store.set(ada, for: "https://h")
        let session = session(["https://h/": ("a", ada), url: ("a", ada)])
        #expect(await statuses(session, "https://h/", url) == [200, 401])
        #expect(sent == [nil, "ada", nil])
    }

    @Test("A redirect takes it along where it was accepted, to other origins never; those have their own")
    func redirects() async throws {
        try store.set(ada, for: "https://h")
        try store.set(eve, for: "https://other")
        let locations = ["/a/1": "/a/2", "/a/2": "/b", "/b": "https://other/c", "/c": "https://third/d"]
        let session = log.session(SessionConfiguration { $0.credentials = store }) { request, _ in
            let folders = [
                "https://h/a/": ("a", ada), "https://other/": ("o", eve), "https://third/": ("t", ada),
            ]
            let answer = Self.answer(request, folders)
            guard case .head(let head) = answer.steps[0], head.status == 200,
                let location = locations[String(request.url.path)]
            else { return answer }
            return .redirect(to: location)
        }
        #expect(await statuses(session, "https://h/a/1") == [401])
        #expect(sent == [nil, "ada", "ada", nil, nil, "eve", nil])
        #expect(log.requests.map(\.url.host) == ["h", "h", "h", "h", "other", "other", "third"])
    }

    @Test("A request's own credentials are not replaced")
    func own() async throws {
        try store.set(ada, for: "https://h")
        let session = session(["https://h/": ("a", ada)])
        #expect(await statuses(session, "https://h/") == [200])
        let field = await session.request("https://h/", headers: ["Authorization": "Bearer t"])
        #expect(await field.serializingData().response.head?.status == 401)
        #expect(await statuses(session, "https://eve:pa55@h/") == [401])
        let own = await session.request("https://h/").authenticate(with: eve)
        #expect(await own.serializingData().response.head?.status == 401)
        #expect(sent == [nil, "ada", "Bearer t", "eve", nil, "eve"])
        #expect(await statuses(session, "https://h/") == [200])
        #expect(sent.last == "ada")
    }

    @Test("Requests, and sessions, can do without")
    func switchedOff() async throws {
        try store.set(ada, for: "https://h")
        let folders = ["https://h/": ("a", ada)]
        let request = await session(folders).request("https://h/") { $0.options.usesCredentials = false }
        #expect(await request.serializingData().response.head?.status == 401)
        let off = session(folders) { $0.options.usesCredentials = false }
        #expect(await statuses(off, "https://h/") == [401])
        let on = await off.request("https://h/") { $0.options.usesCredentials = true }
        #expect(await on.serializingData().response.head?.status == 200)
        #expect(sent == [nil, nil, nil, "ada"])
    }

    @Test("A child shares the store, and what is known of folders")
    func child() async throws {
        try store.set(ada, for: "https://h")
        let parent = session(["https://h/": ("a", ada)])
        #expect(await statuses(parent, "https://h/") == [200])
        #expect(await statuses(parent.extending { _ in }, "https://h/") == [200])
        #expect(sent == [nil, "ada", "ada"])
    }

    @Test("A retried attempt, and another next of a middleware, bring it where it was accepted")
    func again() async throws {
        try store.set(ada, for: "https://h")
        let twice = ClosureMiddleware { exchange, next in
            _ = try await next(exchange)
            return try await next(exchange)
        }
        let session = log.session(SessionConfiguration { $0.credentials = store }) { request, number in
            number == 2 ? .text("", status: 503) : Self.answer(request, ["https://h/": ("a", ada)])
        }
        let request = await session.request("https://h/").validate()
            .retry(using: .retrier { _, _, error in error.statusCode == 503 ? .retry : .doNotRetry })
        #expect(try await request.serializingString().value == "in")
        #expect(sent == [nil, "ada", "ada"])
        let through = await session.request("https://h/").middleware(twice)
        #expect(try await through.serializingString().value == "in")
        #expect(sent == [nil, "ada", "ada", "ada", "ada"])
    }

    @Test("A body that can be sent only once is answered for by its 401, and goes where the credential is known")
    func onceOnly() async throws {
        try store.set(ada, for: "https://h")
        let session = session(["https://h/": ("a", ada)])
        let first = await session.upload(.onceOnly, to: "https://h/").serializingData().response
        #expect(first.head?.status == 401)
        #expect(await statuses(session, "https://h/") == [200])
        let second = await session.upload(.onceOnly, to: "https://h/").serializingData().response
        #expect(second.head?.status == 200)
        #expect(sent == [nil, nil, "ada", "ada"])
    }

    @Test("A stream is challenged as any other request")
    func stream() async throws {
        try store.set(ada, for: "https://h")
        var bytes = Data()
        for try await chunk in await session(["https://h/": ("a", ada)]).streamRequest("https://h/").bytes {
            bytes += chunk
        }
        #expect(bytes == Data("in".utf8))
    }

    @Test("An invalid origin, and a credential that Basic cannot send, are refused when they are set")
    func invalid() throws {
        for origin in ["", "h", "ftp://h/", "https://"] {
            let error = #expect(throws: RequestError.self) { try store.set(ada, for: origin) }
            #expect(error?.code == .invalidURL)
        }
        let error = #expect(throws: RequestError.self) {
            try store.set(Credential(username: "a:da", password: "s3cret"), for: "https://h")
        }
        #expect(error?.code == .invalidCredential)
    }

    @Test("Neither names nor passwords show in descriptions")
    func secrets() async throws {
        try store.set(ada, for: "https://h", realm: "a")
        let session = session(["https://h/": ("a", eve)])
        let request = await session.request("https://h/").validate()
        let response = await request.serializingString().response
        var shown =
            "\(store) \(String(reflecting: store)) \(request) \(response.debugDescription) \(request.cURLDescription())"
        dump(store, to: &shown)
        dump(session.configuration, to: &shown)
        dump(request.attempts.map { $0.hops.map(\.request.options) }, to: &shown)
        #expect(sent == [nil, "ada"])
        #expect(shown.contains("CredentialStore(1 credentials)"))
        for secret in ["ada", "s3cret", Data("ada:s3cret".utf8).base64EncodedString()] {
            #expect(!shown.contains(secret), "\(secret)")
        }
    }

    @Test("A hundred requests at once are answered each for itself, and those after them at once")
    func concurrent() async throws {
        let server = try MockServer { request in
            request.headers["Authorization"] == basic(ada)
                ? .text("in") : .response(401, headers: ["WWW-Authenticate": "Basic realm=a"])
        }
        try store.set(ada, for: server.url)
        let session = Session(configuration: SessionConfiguration { $0.credentials = store })
        for round in 0..<2 {
            let before = server.requests.count
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        try await session.request(server.url + "/x/\(number)").validate().serializingString().value
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(texts == Array(repeating: "in", count: 100))
            let count = server.requests.count - before
            #expect(round == 0 ? (101...200).contains(count) : count == 100)
        }
    }

    @Test("So many folders are known of an origin, and the oldest is forgotten first")
    func bounded() async throws {
        try store.set(ada, for: "https://h")
        let session = session(["https://h/": ("a", ada)])
        for number in 0..<65 { #expect(await statuses(session, "https://h/\(number)/") == [200]) }
        #expect(sent.count == 130)
        #expect(await statuses(session, "https://h/64/", "https://h/1/", "https://h/0/") == [200, 200, 200])
        #expect(sent.suffix(4) == ["ada", "ada", nil, "ada"])
    }
}
