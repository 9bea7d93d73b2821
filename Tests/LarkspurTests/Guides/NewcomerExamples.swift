import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Code of several guides that a newcomer needs in the first hour, word for word.
@Suite("Guides: what a newcomer needs first", .limited)
struct NewcomerExamples {
    private let log = TransportLog()

    @Test("A token is made of its text, for an origin in a variable")
    func tokens() async throws {
        let (text, refresh, base) = ("text", "refresh", "https://api.example.com")
        let client = OAuth2Client(tokenURL: "https://id.example.com/token", clientID: "shop", clientSecret: "secret")
        let saved = BearerToken(text)
        // swift-format-ignore
        let complete = BearerToken(
            text, refreshToken: refresh, renewalDate: Date() + 3_000)
        let tokens = BearerTokens(complete, for: base, renewedBy: client)
        let key: any RequestInterceptor = .apiKey(text, for: "\(base)/v1")
        #expect(saved.accessToken == "text" && !complete.requiresRefresh)
        let session = log.session(interceptor: .composed(.authentication(tokens), key))
        for host in ["api", "other"] {
            _ = try await session.request("https://\(host).example.com/").serializingData().value
        }
        #expect(log.requests.map { $0["Authorization"] } == ["Bearer text", nil])
        #expect(log.requests.map { $0["X-API-Key"] } == ["text", nil])
    }

    @Test("A dictionary of Any is a body")
    func dictionary() async throws {
        let (name, tags) = ("Ada", ["a"])
        let api = log.session { _, _ in .json("{}") }.extending { $0.baseURL = "https://api.example.com" }
        let fields: [String: Any] = ["name": name, "tags": tags]
        // swift-format-ignore
        let saved = try await api.request(
            "users", method: .post, parameters: JSON(foundation: fields),
            encoder: .json
        ).serializingJSON().value
        #expect(saved == [:])
        #expect(log.requests.last?.text == #"{"name":"Ada","tags":["a"]}"#)
    }

    @Test("A query is beside a body")
    func queries() async throws {
        let session = log.session().extending { $0.baseURL = "https://api.example.com" }
        let listed = await session.request(
            "users", query: ["page": 2, "all": true])
        // swift-format-ignore
        let noted = await session.request(
            "users", method: .post, query: ["notify": true],
            body: .text("Ada"))
        for request in [listed, noted] { _ = try await request.serializingData().value }
        #expect(log.requests.map(\.url.query) == ["page=2&all=1", "notify=1"])
        #expect(log.requests.map(\.text) == ["", "Ada"])
    }

    @Test("Codes take the place of Foundation's errors")
    func codes() async throws {
        let session = log.session { _, _ in .failure(.nameLookup) }.extending { $0.baseURL = "https://api.example.com" }
        do {
            _ = try await session.request("users/7").serializingData().value
        } catch let error as RequestError where error.code == .timedOut {
            print("too slow")
        } catch let error as RequestError where error.code == .nameLookup {
            print("no such host")
        }
        #expect(log.count == 1 && "\(TransportError.Code.nameLookup)" == "nameLookup")
    }

    @Test("A downloaded file is checked before it is in place")
    func files() async throws {
        let folder = try TemporaryFolder()
        let (session, url, place) = (log.session { _, _ in .text("PK") }, "https://api.example.com/a", folder["a"])
        // swift-format-ignore
        let checked = await session.download(url, to: place).validate()
            .validateFile { file, exchange in
                guard try Data(contentsOf: file).starts(with: Data("PK".utf8)) else {
                    throw RequestError(.decodingFailed, "the file is not an archive")
                }
            }
        #expect(try await checked.serializingFile().value == place)
    }

    @Test("A stream has a head")
    func stream() async throws {
        let session = log.session { _, _ in .text("body") }
        let url = "https://api.example.com/log"
        let stream = await session.streamRequest(url).validate()
        let response = try await stream.response()
        print(response.statusCode, response.headers["Content-Type"] ?? "")
        for try await chunk in response.bytes { print(chunk.count) }
        #expect(response.statusCode == 200 && log.count == 1)
    }
}
