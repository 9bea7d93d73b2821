import Larkspur
import LarkspurTesting

// The main features in one file, offline: the server runs on the loopback interface, everything else is real.

struct User: Codable, Sendable {
    var id: Int?
    var name: String
}

@main
struct Quickstart {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let recorder = EventRecorder()
        let session = Session(eventMonitors: [recorder])

        // A GET, its body as JSON
        let joke = try await session.request(server.url + "/joke").serializingJSON().value
        print("joke:", joke["setup"].string ?? "", joke["punchline"].string ?? "")

        // A typed POST, validated
        let user =
            try await session
            .request(server.url + "/users", method: .post, parameters: User(name: "Ada"), encoder: .json)
            .validate()
            .serializingDecodable(User.self)
            .value
        print("created:", user.name, "with id", user.id ?? 0)

        // A retry: the server is busy at first. Each attempt is adapted again
        let busy = await session.request(server.url + "/busy").validate()
            .adapt(using: .adapter { request, state in request.headers["Attempt"] = "\(state.attempt)" })
            .retry(
                using: .retrier { request, session, error in
                    guard error.statusCode == 503, request.retryCount < 3 else { return .doNotRetry }
                    return .retryAfter(within: .milliseconds(10) ... .milliseconds(20), for: session)
                })
        print("busy:", try await busy.serializingString().value, "after", busy.attempts.count, "attempts")

        // A late serializer: the same bytes, no second exchange
        print("again:", try await busy.serializingData().value.count, "bytes")

        // A failure is in the response, with its stage
        let missing = await session.request(server.url + "/missing").validate().serializingString().response
        if let error = missing.error { print("error:", error.code, error.statusCode ?? 0) }

        // All events of the retried request, in order
        await recorder.wait { events in events.count { $0.name == "finish" } == 4 }
        for name in recorder.names(of: busy) { print("log:", busy.id, name) }
        await server.stop()
    }

    /// Answers each path like a real server.
    static func serve(_ server: MockServer) {
        server.on("GET", "/joke") { _ in
            .json(#"{"setup": "Why did the request wait?", "punchline": "It had a retry."}"#)
        }
        server.on("POST", "/users") { request in
            let name = try JSON(data: request.body)["name"].string ?? ""
            return .json(#"{"id": 7, "name": "\#(name)"}"#, status: 201)
        }
        server.on("GET", "/busy") { request in
            request.headers["Attempt"] == "3" ? .text("ready") : .text("busy", status: 503)
        }
    }
}
