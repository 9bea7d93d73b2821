import Larkspur
import LarkspurTesting

// Control of redirects: the rules that always apply, a handler for a whole session, and a handler for one request.

/// Follows redirects only to known hosts, and prints them.
struct KnownHosts: RedirectHandler {
    let names: Set<String>

    func answer(to redirect: Redirect) async throws -> RedirectAnswer {
        let next = try redirect.proposal
        guard names.contains(next.url.host.map(String.init) ?? "") else { throw Unknown(host: next.url.host ?? "") }
        print("  \(redirect.head.status): \(redirect.request.method) -> \(next.method) \(next.url.path)")
        return .follow
    }

    struct Unknown: Error, CustomStringConvertible {
        let host: Substring
        var description: String { "\(host) is none of the hosts that are known" }
    }
}

@main
struct RedirectPolicy {
    static func main() async throws {
        let server = try MockServer()
        server.on(nil, "/old", .redirect(307, to: "/form"))
        server.on(nil, "/form", .redirect(303, to: "/thanks"))
        server.on(nil, "/thanks", .text("thank you"))
        server.on(nil, "/partner", .redirect(to: "http://partner.example/"))
        server.on(nil, "/mirror", .redirect(to: "http://localhost:\(server.port)/mirrored"))
        server.on(nil, "/mirrored") { .text($0.headers["Authorization"] ?? "no token") }
        server.on(nil, "/login", .redirect(to: "shop://callback?code=42"))

        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.headers.update(.authorization(bearerToken: "t"))
                $0.redirectHandler = KnownHosts(names: ["127.0.0.1", "localhost"])
                $0.options.redirects = .follow(limit: 5)
            })
        for path in ["old", "partner", "mirror", "login"] {
            print("\(path):")
            let request = await session.request(path, method: path == "old" ? .post : .get)
            let response = await request.serializingString().response
            for hop in response.redirects { print("  came from \(hop.request.url.path)") }
            print("  \(response.value ?? response.error?.message ?? "")")
        }

        // A login ends at an address of the app itself: the app needs the redirect and not its target.
        let login = await session.request("login").redirect(using: .doNotFollow)
        print("login, not followed:", await login.serializingData().response.head?["Location"] ?? "nowhere")

        // A handler gives the token to a trusted host; without it the token never goes to another origin.
        let trusting = Redirector.modify { request, redirect in
            request.headers["Authorization"] = redirect.request.headers["Authorization"]
        }
        let mirror = await session.request("mirror").redirect(using: trusting)
        print("mirror, trusted:", try await mirror.serializingString().value)
        await server.stop()
    }
}
