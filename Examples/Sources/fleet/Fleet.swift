import Foundation
import Larkspur
import LarkspurFleet
import LarkspurTesting

// Four processes share an expired token: one of them refreshes it, the others wait, and all orders succeed. Together they
// can send a hundred orders in an hour.

@main
struct Fleet {
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["FLEET_FOLDER"], let url = environment["FLEET_SERVER"] {
            return try await work(in: URL(fileURLWithPath: folder), url)
        }
        let server = try MockServer()
        serve(server)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await tokens(in: folder).save(
            BearerToken("expired", refreshToken: "first", renewalDate: .distantPast))

        let workers = try (1...4).map { _ in try startWorker(folder, server.url) }
        for worker in workers {
            let output = try worker.output.fileHandleForReading.readToEnd() ?? Data()
            worker.process.waitUntilExit()
            print("worker:", String(decoding: output, as: UTF8.self), terminator: "")
        }
        print("tokens asked for:", server.requests.count { $0.path == "/token" })
        print("orders served:", server.requests.count { $0.headers["Authorization"] == "Bearer token 1" })
        let stored = try Data(contentsOf: folder.appendingPathComponent("value/token"))
        print("the file shows the token:", stored.range(of: Data("token 1".utf8)) != nil)
        await server.stop()
    }

    static func tokens(in folder: URL) throws -> SharedTokens {
        // A real program reads its key from a safe place.
        let key = try SealingKey([UInt8](repeating: 42, count: 32), id: "2026")
        return SharedTokens(try FileStore(folder: folder), name: "token", sealedBy: key)
    }

    static func work(in folder: URL, _ url: String) async throws {
        let client = OAuth2Client(tokenURL: url + "/token", clientID: "shop", clientSecret: "s3cret")
        let limiter = SharedRateLimiter(
            try FileStore(folder: folder), name: "orders", 100, per: .seconds(3_600), ifStoreFails: .failClosed,
            where: { $0.url.path == "/order" })
        let session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = url
                $0.validation = [.standard]
                $0.admissions = [limiter]
            }, interceptor: .authentication(BearerTokens(shared: try tokens(in: folder), renewedBy: client)))
        for _ in 1...10 { _ = try await session.request("order").serializingData().value }
        print("ten orders")
    }

    static func startWorker(_ folder: URL, _ url: String) throws -> (process: Process, output: Pipe) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["FLEET_FOLDER": folder.path, "FLEET_SERVER": url]) { $1 }
        process.standardOutput = output
        try process.run()
        return (process, output)
    }

    /// Issues one token for the refresh token `first`, and takes orders with that token.
    static func serve(_ server: MockServer) {
        server.on("POST", "/token") { request in
            String(decoding: request.body, as: UTF8.self).contains("refresh_token=first")
                ? .json(#"{"access_token": "token 1", "token_type": "Bearer", "expires_in": 3600}"#)
                : .json(#"{"error": "invalid_grant"}"#, status: 400)
        }
        server.on("GET", "/order") { request in
            request.headers["Authorization"] == "Bearer token 1" ? .json("1") : .text("", status: 401)
        }
    }
}
