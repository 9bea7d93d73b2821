import Larkspur
import LarkspurTesting

// A token expires while many requests are in flight: one of them refreshes it, the others wait, and all succeed.

@main
struct TokenRefresh {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        let client = OAuth2Client(tokenURL: server.url + "/token", clientID: "shop", clientSecret: "s3cret")
        let tokens = BearerTokens(
            BearerToken("expired", refreshToken: "first"), for: .origins([server.url]), renewedBy: client)
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = server.url
                $0.validation = [.standard]  // which makes an error of a 401
            }, interceptor: .authentication(tokens))

        // Fifty concurrent requests; the server refuses all that have the old token
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...50 {
                group.addTask { try await session.request("orders/\(number)").serializingDecodable(Int.self).value }
            }
            var total = 0
            for try await order in group { total += order }
            return total
        }
        print("fifty orders:", total)
        print("tokens asked for:", server.requests.count { $0.path == "/token" })

        // The server refuses the refresh token: its error body comes with every failure
        tokens.credential = BearerToken("expired", refreshToken: "stolen")
        let refused = await session.request("orders/1").serializingData().response
        if let error = refused.error?.authenticationError {
            print("refused:", error.code, "because of", (error.underlying as? OAuth2Error)?.code ?? "something else")
        }

        // After a logout no request is sent
        tokens.credential = nil
        let before = server.requests.count
        let loggedOut = await session.request("orders/1").serializingData().response
        print("logged out:", loggedOut.error?.authenticationError ?? "?")
        print("sent meanwhile:", server.requests.count - before)

        // A login
        tokens.credential = BearerToken("token 1")
        print("logged in:", try await session.request("orders/7").serializingDecodable(Int.self).value)
        await server.stop()
    }

    /// Issues one token for the refresh token `first`, and serves orders, which are numbers, for that token.
    static func serve(_ server: MockServer) {
        server.on("POST", "/token") { request in
            String(decoding: request.body, as: UTF8.self).contains("refresh_token=first")
                ? .json(#"{"access_token": "token 1", "token_type": "Bearer", "expires_in": 3600}"#)
                : .json(#"{"error": "invalid_grant"}"#, status: 400)
        }
        for number in 1...50 {
            server.on("GET", "/orders/\(number)") { request in
                request.headers["Authorization"] == "Bearer token 1" ? .json("\(number)") : .text("", status: 401)
            }
        }
    }
}
