import Larkspur
import LarkspurTesting

// The main job in one file, offline: a stub stands in for the network, everything above it is the real thing.

struct User: Codable, Sendable {
    var id: Int?
    var name: String
}

@main
struct Quickstart {
    static func main() async throws {
        let recorder = EventRecorder()
        let session = Session(transport: server, eventMonitors: [recorder])

        // A GET, its body as JSON
        let joke = try await session.request("https://api.example.com/joke").serializingJSON().value
        print("joke:", joke["setup"].string ?? "", joke["punchline"].string ?? "")

        // A typed POST, validated
        let user =
            try await session
            .request("https://api.example.com/users", method: .post, parameters: User(name: "Ada"), encoder: .json)
            .validate()
            .serializingDecodable(User.self)
            .value
        print("created:", user.name, "with id", user.id ?? 0)

        // A retry: the server is busy at first. Each attempt is adapted anew
        let busy = await session.request("https://api.example.com/busy").validate()
            .adapt(using: .adapter { request, state in request.headers["Attempt"] = "\(state.attempt)" })
            .retry(
                using: .retrier { request, session, error in
                    guard error.statusCode == 503, request.retryCount < 3 else { return .doNotRetry }
                    return .retryAfter(within: .milliseconds(10) ... .milliseconds(20), for: session)
                })
        print("busy:", try await busy.serializingString().value, "after", busy.attempts.count, "attempts")

        // A late serializer: the same bytes, no second exchange
        print("again:", try await busy.serializingData().value.count, "bytes")

        // What goes wrong is in the response, with its stage
        let missing = await session.request("https://api.example.com/missing").validate().serializingString().response
        if let error = missing.error { print("error:", error) }

        // Everything that happened to the retried request, in order
        await recorder.wait { events in events.count { $0.name == "finish" } == 4 }
        print("events:", recorder.names(of: busy).joined(separator: " "))
    }

    /// Answers each path as a server would.
    static let server = StubTransport { request in
        switch (request.method, request.url.path) {
        case ("GET", "/joke"): return .json(#"{"setup": "Why did the request wait?", "punchline": "It had a retry."}"#)
        case ("POST", "/users"): return .json(#"{"id": 7, "name": "Ada"}"#, status: 201)
        case ("GET", "/busy"):
            let attempt = request.fields.first { $0.name == "Attempt" }?.value
            return attempt == "3" ? .text("ready") : .text("busy", status: 503)
        default: return .text("not here", status: 404)
        }
    }
}
