import Larkspur
import LarkspurTesting
import LarkspurXML

// Uses the small build over a server of its own, and fails if a result is not the expected one.

@main
struct Check {
    struct Item: Codable, Sendable, Equatable {
        let id: Int
        let name: String
    }

    nonisolated(unsafe) static var failures = 0

    static func main() async throws {
        try await checkLaziness()
        let server = try MockServer()
        serve(server)
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })
        try await checkData(session)
        try await checkText(session)
        try await checkFiles(session, server)
        try await checkStreams(session)
        try await checkWebSocket(session)
        await server.stop()
        if failures > 0 { exit(1) }
    }

    @MainActor
    static func expect(_ condition: Bool, _ what: String) {
        print(condition ? "ok:" : "FAILED:", what)
        if !condition { failures += 1 }
    }

    /// Checks that a session without a request has started no thread and loaded neither libcurl nor certificates.
    static func checkLaziness() async throws {
        let before = System.threads
        let session = Session(
            transport: CurlTransport(configuration: .init { $0.certificateAuthorities = .file(path: "missing.pem") }))
        let request = await session.request("http://127.0.0.1:9/")
        await expect(request.status == .initialized, "a request starts later")
        // Swift's pool has started threads of its own for the session's actor.
        await expect(
            System.threads.subtracting(before).allSatisfy { !$0.hasPrefix("larkspur") }, "no thread is started")
        // The default value of `Accept-Encoding` names the content codings that the system can decode, so a session loads
        // the libraries of zlib, Brotli and Zstandard.
        let libraries = ["libcurl", "libssl", "libcrypto", "libpsl", "libidn2", "libunistring"]
        await expect(
            System.loaded(libraries).isEmpty,
            "neither libcurl nor its libraries are loaded: \(System.loaded(libraries))")
        await expect(
            System.loaded(["libFoundation.so", "FoundationNetworking", "ICU"]).isEmpty, "Foundation is not there")

        let server = try MockServer()
        server.on("GET", "/", .text("hello"))
        let text = await session.request(server.url + "/").serializingString().response
        // The file of certificate authorities does not exist.
        await expect(text.value == "hello", "no certificate is read without TLS")
        await server.stop()
    }

    static func serve(_ server: MockServer) {
        server.on("GET", "/items") { _ in .json(#"[{"id": 1, "name": "first"}, {"id": 2, "name": "second"}]"#) }
        server.on("POST", "/echo") { request in
            MockResponse([
                .head(ResponseHead(status: 200, fields: [HTTPHeader(name: "Content-Type", value: "application/json")])),
                .body(request.body),
            ])
        }
        server.on("GET", "/login") { _ in
            MockResponse([
                .head(ResponseHead(status: 200, fields: [HTTPHeader(name: "Set-Cookie", value: "user=ada; Path=/")])),
                .body(Data("in".utf8)),
            ])
        }
        server.on("GET", "/cookies") { .text($0.headers["Cookie"] ?? "none") }
        server.on("GET", "/latin") { _ in
            MockResponse([
                .head(
                    ResponseHead(
                        status: 200, fields: [HTTPHeader(name: "Content-Type", value: "text/plain; charset=iso-8859-2")]
                    )),
                .body(Data([0xB1, 0x65])),
            ])
        }
        server.on("GET", "/large") { _ in .bytes(count: 3 << 20) }
        server.on("GET", "/lines") { _ in .text("one\ntwo\nthree\n") }
        server.on("GET", "/xml") { _ in .text("<a><b>text</b></a>", contentType: "application/xml") }
        server.webSocket("/socket") { socket in
            for await message in socket.messages { socket.send(message) }
        }
    }
}
