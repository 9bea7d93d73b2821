import Larkspur
import LarkspurTesting

// The failures of a response, and how a program distinguishes them: by one error type, which contains the server's
// decoded error body.

struct User: Decodable, Sendable {
    var name: String
}

@main
struct TypedErrors {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.validation = [.standard]  // for every request of the session
            })
        for path in ["ada", "poor", "missing", "garbled", "empty", "cut"] {
            do {
                let task = await session.request("users/\(segment: path)")
                    .serializingDecodable(User.self, failure: APIProblem.self)
                print("\(path): hello,", try await task.value.name)
            } catch let error as RequestError {
                print("\(path):", explain(error))
            }
        }
        let gone = await session.request("http://127.0.0.1:1/").serializingData().response
        if let error = gone.error { print("nobody there:", explain(error)) }
        await server.stop()
    }

    /// Returns an explanation, checking the most specific cause first.
    static func explain(_ error: RequestError) -> String {
        if let problem = error.failure(as: APIProblem.self) {
            return "\(problem), balance \(problem.extensions["balance"]?.number?.description ?? "unknown")"
        }
        if let status = error.statusCode, error.isValidation {
            return "status \(status), \(String(decoding: error.responseData ?? Data(), as: UTF8.self))"
        }
        if error.isSerialization { return "not what was expected, \(error.code)" }
        if error.isConnectivity { return "the network, \(error.code)" }
        return "\(error)"
    }

    /// Answers each path like a real server.
    static func serve(_ server: MockServer) {
        server.on("GET", "/users/ada", .json(#"{"name": "Ada"}"#))
        server.on(
            "GET", "/users/poor",
            .text(
                #"{"title": "No credit", "detail": "30 needed", "balance": 12.50}"#, status: 403,
                contentType: "application/problem+json"))
        server.on("GET", "/users/missing", .text("no such user", status: 404))
        server.on("GET", "/users/garbled", .json(#"{"nome": "Ada"}"#))
        server.on("GET", "/users/empty", .text(""))
        server.on("GET", "/users/cut", .json(#"{"name": "Ada"}"#).truncated(after: 4))
    }
}
