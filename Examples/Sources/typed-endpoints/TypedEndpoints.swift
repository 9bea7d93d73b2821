import Larkspur
import LarkspurTesting

// The endpoints of a server, declared once as values, and sessions that share connections and differ in their headers.

struct User: Codable, Sendable {
    var id: Int
    var name: String
}

extension Endpoint where Response == [User] {
    static func users(page: Int) -> Self { Endpoint(.get, "users", query: ["page": page]) }
}

extension Endpoint where Response == User {
    static func user(_ id: Int) -> Self { Endpoint(.get, "users/\(id)") }
    static func create(name: String) -> Self { Endpoint(.post, "users", body: .json(["name": name])) }
}

extension Endpoint where Response == Void {
    static func delete(_ id: Int) -> Self { Endpoint(.delete, "users/\(id)") }
}

@main
struct TypedEndpoints {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url + "/v1" })

        print("users:", try await session.send(.users(page: 2)).map(\.name))
        print("created:", try await session.send(.create(name: "Grace")).id)

        // An error status is thrown, with the decoded error body
        do {
            _ = try await session.send(.user(99))
        } catch let error as RequestError {
            print("error:", error.statusCode ?? 0, String(decoding: error.responseData ?? Data(), as: UTF8.self))
        }

        // A child session has the parent's configuration, connections and caches, and changes some options
        let admin = session.extending { $0.headers.update(.authorization(bearerToken: "s3cret")) }
        try await admin.send(.delete(7))
        print("deleted by:", server.requests.last?.headers["Authorization"] ?? "nobody")

        // The same endpoint as a request, to show what it sends; secrets are hidden
        let request = await admin.request(.users(page: 3)).adapt(
            using: .adapter { request, _ in
                request.headers = HTTPHeaders(request.headers.filter { $0.name == "Authorization" })
            })
        _ = await request.serializingData().response
        print(request.cURLDescription().replacing(server.url, with: "http://server"))
        print("connections:", server.log.connectionsAccepted)
        await server.stop()
    }

    /// Answers each path like a real server.
    static func serve(_ server: MockServer) {
        server.on("GET", "/v1/users") { request in
            .json(request.query == "page=2" ? #"[{"id": 7, "name": "Ada"}, {"id": 8, "name": "Bob"}]"# : "[]")
        }
        server.on("GET", "/v1/users/99") { _ in .text("no such user", status: 404) }
        server.on("POST", "/v1/users") { request in
            let name = try JSON(data: request.body)["name"].string ?? ""
            return .json(#"{"id": 9, "name": "\#(name)"}"#, status: 201)
        }
        server.on("DELETE", "/v1/users/7") { _ in .text("", status: 204) }
    }
}
