import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The examples of the README, word for word: they compile and work as described.
@Suite("The README", .limited)
struct ReadmeTests {
    struct NewUser: Encodable, Sendable { let name: String }
    struct User: Decodable, Sendable { let name: String }

    let transport = StubTransport { request in
        request.url.path == "/joke" ? .json(#"{"setup": "knock"}"#) : .json(#"{"name": "Ada"}"#)
    }

    @Test("A session needs no parameters, and a file for further authorities")
    func sessions() async throws {
        func plain() async {
            let session = Session()
            #expect(await session.requests.isEmpty)
        }
        await plain()
        #if os(Linux)
            var configuration = CurlTransport.Configuration()
            configuration.certificateAuthorities = .file(path: "company-ca.pem")
            let session = Session(transport: CurlTransport(configuration: configuration))
            #expect(
                await session.request("http://127.0.0.1:1").serializingData().response.error?.isConnectivity == true)
        #endif
    }

    @Test("The server and the transport for tests send the given responses")
    func testing() async throws {
        let server = try MockServer()
        server.on("GET", "/joke") { request in .json(#"{"setup": "knock"}"#) }
        let offline = Session(
            transport: StubTransport { _ in .json(#"{"setup": "knock"}"#) })
        #expect(try await offline.request("https://api.example.com/joke").serializingJSON().value["setup"] == "knock")
        #if os(Linux)
            #expect(try await Session().request(server.url + "/joke").serializingJSON().value["setup"] == "knock")
        #endif
    }

    @Test("The first two examples work")
    func mainJob() async throws {
        let session = Session(transport: transport)
        func first() async throws {
            let session = Session(configuration: .validated)
            let url = "https://api.example.com/users/7"
            let user = try await session.request(url).serializingJSON().value
            print(user["name"].string ?? "")
        }

        // swift-format-ignore
        let user = try await session
            .request(
                "https://api.example.com/users", method: .post,
                parameters: NewUser(name: "Ada"), encoder: .json
            )
            .validate()
            .serializingDecodable(User.self)
            .value
        #expect(user.name == "Ada")
    }

    @Test("The upload sends its form, and reports its progress")
    func upload() async throws {
        let photo = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).png")
        try Data(count: 100_000).write(to: photo)
        defer { try? FileManager.default.removeItem(at: photo) }
        let session = Session(transport: transport)
        // swift-format-ignore
        let upload = await session.upload(
            multipart: { form in
                form.append("Ada", name: "author")
                // A file is read while it is sent.
                form.append(photo, name: "photo")
            }, to: "https://api.example.com/photos"
        ).validate()
        for await progress in upload.uploadProgress { print(progress.fraction ?? 0) }
        let reply = try await upload.serializingJSON().value
        #expect(reply["name"] == "Ada")
    }

    @Test("The event stream returns its events")
    func events() async throws {
        let connections = Counter()
        let session = Session(
            transport: StubTransport { _ in
                guard connections.increment() == 1 else { return .response(204) }
                return .text("data: knock\nretry: 1\n\n", contentType: "text/event-stream")
            })
        let stream = await session.streamRequest("https://api.example.com/events")
        for try await event in stream.serverSentEvents() {
            print(event.event, event.data)
        }
        #expect(connections.value == 2)
    }

    @Test("The tokens are added to requests to their origin")
    func authentication() async throws {
        let (secret, saved) = ("secret", BearerToken("token"))
        func make() -> Session {
            let client = OAuth2Client(
                tokenURL: "https://id.example.com/token", clientID: "shop",
                clientSecret: secret)
            let tokens = BearerTokens(
                saved, for: "https://api.example.com", renewedBy: client)
            // swift-format-ignore
            let session = Session(
                configuration: SessionConfiguration { $0.validation = [.standard] },
                interceptor: .authentication(tokens))
            return session
        }
        let session = Session(configuration: make().configuration, transport: transport)
        let request = await session.request("https://api.example.com/users/7")
        _ = try await request.serializingData().value
        #expect(request.request?.headers["Authorization"] == "Bearer token")
    }
}

@Suite("The source itself", .limited)
struct SourceTests {
    @Test(
        "R6: only locks, objects that a transport confines, and wrappers of thread-safe values have unchecked sendability"
    )
    func unchecked() throws {
        let places = [
            "Protected.swift", "CurlLoop.swift", "SharedProgress.swift", "SubscriberBox.swift", "BoundBody.swift",
            "Guarded.swift", "FileWatch.swift", "DecodedImage.swift",
        ]
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        var read = 0
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            read += 1
            let text = try String(contentsOf: file, encoding: .utf8)
            let isUnchecked = text.contains("@unchecked Sendable") || text.contains("nonisolated(unsafe)")
            #expect(isUnchecked == places.contains(file.lastPathComponent), "\(file.lastPathComponent)")
        }
        #expect(read > 40)
    }
}
