import Larkspur
import LarkspurTesting
import TestSupport
import Testing

private struct User: Codable, Sendable, Equatable {
    var name: String
}

extension Endpoint where Response == [User] {
    fileprivate static func people(page: Int) -> Self { Endpoint(.get, "users?all=1", query: ["page": page]) }
}

extension Endpoint where Response == User {
    fileprivate static func create(_ user: User) -> Self { Endpoint(.post, "users", body: .json(user)) }
}

extension Endpoint where Response == Void {
    fileprivate static func delete(_ id: Int) -> Self { Endpoint(.delete, "users/\(id)", headers: ["If-Match": "*"]) }
}

@Suite("Endpoints", .limited)
struct EndpointTests {
    private let log = TransportLog()

    private func session(_ answer: StubAnswer) -> Session {
        let configuration = SessionConfiguration {
            $0.baseURL = "http://h/v1"
            $0.headers = [:]
        }
        return log.session(configuration) { _, _ in answer }
    }

    @Test("An endpoint is sent below the session's base, with its query, fields and body, and read as its type")
    func typed() async throws {
        #expect(try await session(.json(#"[{"name": "Ada"}]"#)).send(.people(page: 2)) == [User(name: "Ada")])
        #expect(try await session(.json(#"{"name": "Bob"}"#)).send(.create(User(name: "Bob"))) == User(name: "Bob"))
        try await session(.response(204)).send(.delete(7))
        #expect(
            log.requests.map { "\($0.method) \($0.url.text)" } == [
                "GET http://h/v1/users?all=1&page=2", "POST http://h/v1/users", "DELETE http://h/v1/users/7",
            ])
        #expect(log.requests.map(\.text) == ["", #"{"name":"Bob"}"#, ""])
        #expect(log.requests.map { $0["If-Match"] } == [nil, nil, "*"])
    }

    @Test("Data, text, JSON and a serializer of one's own read the answer as it is")
    func raw() async throws {
        let session = session(.json(" [1.0]"))
        #expect(try await session.send(Endpoint<Data>(.get, "x")) == Data(" [1.0]".utf8))
        #expect(try await session.send(Endpoint<String>(.get, "x")) == " [1.0]")
        #expect(try await session.send(Endpoint<JSON>(.get, "x"))[0].double == 1)
        #expect(try await session.send(Endpoint(.get, "x", serializer: .decodable(of: [Int].self))) == [1])
    }

    @Test("A status that is not a success is thrown, with the server's words")
    func failure() async throws {
        let session = session(.text("no such user", status: 404))
        let error = try await #require(throws: RequestError.self) { try await session.send(.delete(7)) }
        #expect(error.statusCode == 404)
        #expect(error.responseData == Data("no such user".utf8))
        let request = await session.request(.people(page: 1))
        #expect(await request.serializingString().response.error?.isValidation == true)
    }

    @Test("A timeout of the request counts more than the endpoint's, and the endpoint's more than the session's")
    func timeouts() async throws {
        let session = log.session(
            SessionConfiguration {
                $0.baseURL = "http://h/v1"
                $0.options.timeouts.connect = .seconds(1)
                $0.options.timeouts.firstByte = .seconds(2)
                $0.options.timeouts.idle = .seconds(3)
            }
        ) { _, _ in .response() }
        var endpoint = Endpoint<Void>(.get, "x")
        endpoint.options.timeouts.firstByte = .seconds(20)
        endpoint.options.timeouts.idle = .seconds(30)
        _ = await session.request(endpoint).timeout(.idle(.seconds(300))).serializingData().response
        let timeouts = try #require(log.requests.last).timeouts
        #expect([timeouts.connect, timeouts.firstByte, timeouts.idle] == [.seconds(1), .seconds(20), .seconds(300)])
    }

    @Test("Contents: form, encoded, multipart, file, body")
    func contents() async throws {
        let session = session(.response())
        let contents: [RequestContent] = [
            .form(["a": "b c"]), .encoded(["a": 1], by: .json), .body(.data(Data("x".utf8)), type: "a/b"),
        ]
        for content in contents { try await session.send(Endpoint<Void>(.post, "x", body: content)) }
        #expect(log.requests.map(\.text) == ["a=b%20c", #"{"a":1}"#, "x"])
        #expect(
            log.requests.map { $0["Content-Type"] } == [
                "application/x-www-form-urlencoded; charset=utf-8", "application/json", "a/b",
            ])
        try await session.send(Endpoint<Void>(.post, "x", body: .multipart { $0.append("1", name: "n") }))
        #expect(log.requests.last?["Content-Type"]?.hasPrefix("multipart/form-data") == true)
        let missing = Endpoint<Void>(.post, "x", body: .file(URL(fileURLWithPath: "/nonexistent")))
        let error = try await #require(throws: RequestError.self) { try await session.send(missing) }
        #expect(error.code == .fileMissing)
    }
}
