import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to background transfers, word for word.

@Suite("The guide to background transfers", .limited)
struct BackgroundExamples {
    private let folder: TemporaryFolder
    private let url = "https://api.example.com/films/7"

    init() throws { folder = try TemporaryFolder() }

    /// Takes the place of the initializer in the examples: another folder, and no network.
    private func BackgroundTransfers(
        identifier: String, configuration: SessionConfiguration = .bare, interceptor: (any RequestInterceptor)? = nil
    ) throws -> Larkspur.BackgroundTransfers {
        try .init(
            identifier: "\(identifier).\(UUID())", configuration: configuration, interceptor: interceptor,
            folder: folder["records"],
            transport: StubTransport { request in
                let tus: HTTPHeaders = ["Location": "/files/1", "Upload-Offset": "4", "Tus-Resumable": "1.0.0"]
                return request.method == "GET" ? .text("film") : .response(201, headers: tus)
            })
    }

    @Test("A download is awaited, or its result is processed before it is forgotten")
    func download() async throws {
        let place = folder["film"]
        let transfers = try BackgroundTransfers(identifier: "com.example.films")
        let film = try await transfers.download(
            url, to: .file(place), tag: "film 7")
        let response = try await film.value
        #expect(response.fileURL == place)
        for await restored in transfers.restored {
            print(restored.tag ?? "no tag", restored.state)
            let response = try await restored.value
            print(response.fileURL?.path ?? "an upload")
        }
    }

    @Test("A result can be processed before it is forgotten")
    func result() async throws {
        func store(_ response: BackgroundTransfer.Response) throws { #expect(response.head.status == 200) }
        let tokens = BearerTokens(BearerToken("token")) { token, _ in token }
        let configuration = SessionConfiguration.bare
        let transfers = try BackgroundTransfers(
            identifier: "com.example.films", configuration: configuration,
            interceptor: .authentication(tokens))
        let film = try await transfers.download(url, to: .file(folder["film"]))
        switch await film.result {
        case .success(let response): try store(response)
        case .failure(let error): print(error)
        }
        await film.remove()
        #expect(film.state == .succeeded)
    }

    @Test("An upload may be resumable")
    func upload() async throws {
        let file = try folder.write("text".utf8, to: "photo.png")
        let transfers = try BackgroundTransfers(identifier: "com.example.films")
        let photo = try await transfers.upload(
            file: file, to: "https://api.example.com/photos", resumable: .tus)
        #expect(try await photo.value.head.status == 201)
    }
}

@Suite("The guide to background transfers: options", .limited)
struct BackgroundOptionExamples {
    @Test("The system has its conditions")
    func options() {
        let options = BackgroundTransfers.Options {
            $0.isDiscretionary = true
            $0.allowsCellularAccess = false
        }
        #expect(options.isDiscretionary && !options.allowsCellularAccess)
    }
}
