import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Getting started", word for word.

private struct User: Codable, Sendable {
    let id: Int
    let name: String
}

extension Endpoint where Response == [User] {
    static func users(page: Int) -> Self {
        Endpoint(.get, "users", query: ["page": page])
    }
}

extension Endpoint where Response == User {
    static func create(_ user: User) -> Self {
        Endpoint(.post, "users", body: .json(user))
    }
}

extension Endpoint where Response == Void {
    static func remove(_ id: Int) -> Self {
        Endpoint(.delete, "users/\(id)")
    }
}

@Suite("The guide \"Getting started\"", .limited)
struct GettingStartedExamples {
    private let log = TransportLog()

    private var stub: StubTransport {
        log.transport { request, _ in
            switch request.url.path {
            case "/v1/users/0": .text(#"{"title": "nobody"}"#, status: 404, contentType: "application/problem+json")
            case "/v1/users" where request.method == "GET": .json(#"[{"id": 7, "name": "Ada"}]"#)
            default: .json(#"{"id": 7, "name": "Ada", "setup": "knock"}"#)
            }
        }
    }

    /// Returns the session of the guide, over a stub.
    private func api() -> Session {
        func make() -> Session {
            let session = Session(
                configuration: SessionConfiguration {
                    $0.baseURL = "https://api.example.com/v1"
                    $0.validation = [.standard]
                    $0.options.timeouts.total = .seconds(30)
                },
                interceptor: .retry(limit: 3),
                eventMonitors: [LogMonitor(level: .basic)])
            return session
        }
        var configuration = make().configuration
        #expect(configuration.eventMonitors.count == 1)
        configuration.eventMonitors = []
        return Session(configuration: configuration, transport: stub)
    }

    @Test("A first request needs only a session")
    func first() async throws {
        func firstOfAll() async throws {
            let session = Session()
            let joke = try await session.request("https://api.example.com/joke")
                .validate().serializingJSON().value
            print(joke["setup"].string ?? "")
        }
        let session = Session(transport: stub)
        #expect(try await session.request("https://api.example.com/joke").serializingJSON().value["setup"] == "knock")
    }

    @Test("Values are sent and received below the base URL")
    func values() async throws {
        let session = api()
        let user = try await session.request("users/7")
            .serializingDecodable(User.self).value
        let users = await session.request(
            "users", parameters: ["page": 1, "all": true])
        let page = try await users.serializingDecodable([User].self).value
        #expect(user.name == page.first?.name)

        let ada = User(id: 8, name: "Ada")
        let created = try await session.request(
            "users", method: .post, parameters: ada, encoder: .json
        )
        .serializingDecodable(User.self).value
        #expect(created.id == 7)

        let name = "a/b?"
        let found = try await session.request("users/\(segment: name)")
            .serializingDecodable(User.self).value
        #expect(found.id == 7)
        let targets = ["/v1/users/7", "/v1/users?page=1&all=1", "/v1/users", "/v1/users/a%2Fb%3F"]
        #expect(log.requests.map { String($0.url.target) } == targets)
        #expect(log.requests[2].text == #"{"id":8,"name":"Ada"}"# || log.requests[2].text == #"{"name":"Ada","id":8}"#)
    }

    @Test("A literal accepts variables of different types")
    func mixedParameters() async throws {
        let session = api()
        let (name, age, city, zip) = ("Ada", 36, "London", 1_234)
        let added = try await session.request(
            "users", method: .post,
            parameters: [
                "name": name, "age": age,
                "address": ["city": city, "zip": zip] as MixedParameters,
            ],
            encoder: .json
        ).serializingDecodable(User.self).value
        #expect(added.id == 7)
        let body = try JSON(text: try #require(log.requests.last?.text))
        #expect(body["name"] == "Ada" && body["age"] == 36 && body["address"]["zip"] == 1_234)
    }

    @Test("Endpoints are sent by a session, and a session with other settings has the same ones")
    func endpoints() async throws {
        let session = api()
        let first = try await session.send(.users(page: 1))
        let grace = try await session.send(.create(User(id: 9, name: "Grace")))
        try await session.send(.remove(9))
        #expect(first.map(\.id) == [7] && grace.id == 7)
        let targets = ["GET /v1/users?page=1", "POST /v1/users", "DELETE /v1/users/9"]
        #expect(log.requests.map { "\($0.method) \($0.url.target)" } == targets)

        let token = "secret"
        let admin = session.extending {
            $0.baseURL = "https://admin.example.com/v1"
            $0.headers.update(.authorization(bearerToken: token))
        }
        _ = try await admin.send(.users(page: 1))
        #expect(log.requests.last?["Authorization"] == "Bearer secret")
        #expect(log.requests.last?.url.host == "admin.example.com")
    }

    @Test("An endpoint is validated in every session, and a response without a body has a type")
    func validatedEndpoints() async throws {
        let session = log.session(SessionConfiguration { $0.baseURL = "http://h/" }) { request, _ in
            .response(request.method == "DELETE" ? 204 : 500)
        }
        let error = await #expect(throws: RequestError.self) { try await session.send(.users(page: 1)) }
        #expect(error?.statusCode == 500)
        let request = await session.request("http://h/users/9", method: .delete)
        #expect(try await request.serializingDecodable(Empty.self).value == Empty())
        #expect(try await request.serializingDecodable(User?.self).value == nil)
    }

    @Test("A signed URL is sent byte for byte")
    func signedURL() async throws {
        let session = api()
        let signed = try RequestURL(
            verbatim: "https://files.example.com/a%2fb?signature=c%2B%7e")
        let bytes = try await session.request(signed).serializingData().value
        #expect(!bytes.isEmpty)
        #expect(log.requests.map(\.url.text) == ["https://files.example.com/a%2fb?signature=c%2B%7e"])
    }

    @Test("A failure has the server's text")
    func failures() async throws {
        let session = api()
        do {
            let user = try await session.request("users/0")
                .serializingDecodable(User.self, failure: APIProblem.self).value
            print(user.name)
        } catch let error as RequestError where error.statusCode == 404 {
            let problem = error.failure(as: APIProblem.self)
            print(problem?.title ?? "there is no user with this number")
            #expect(error.failure(as: APIProblem.self)?.title == "nobody")
        }
        do {
            let user = try await session.request("users/0")
                .serializingDecodable(User.self, failure: APIProblem.self).value
            print(user.name)
        } catch let error as RequestError where error.statusCode == 404 {
            let problem = error.failure(as: APIProblem.self)
            print(problem?.title ?? "there is no user with this number")
        } catch let error as RequestError where error.isConnectivity {
            print("try again when there is a network: \(error)")
        }
        let response = await session.request("users/7")
            .serializingDecodable(User.self).response
        print(
            response.head?.status ?? 0, response.duration,
            response.attempts.count)
        #expect(response.attempts.count == 1)
    }

    @Test("Serializers share one exchange")
    func several() async throws {
        let session = api()
        let request = await session.request("users/7")
        request.responseDecodable(of: User.self) { response in
            print(response.value?.name ?? "", response.error ?? "")
        }
        let text = try await request.serializingString().value
        #expect(text.contains("Ada"))
        #expect(log.count == 1)
    }
}
