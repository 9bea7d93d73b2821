import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of "Coming from AFNetworking", word for word.

@Suite("The guide \"Coming from AFNetworking\"", .limited)
struct AFNetworkingExamples {
    private let log = TransportLog()
    private let recorder = EventRecorder()
    private let folder: TemporaryFolder
    private let session: Session

    init() throws {
        folder = try TemporaryFolder()
        let transport = log.transport { _, _ in .json(#"{"name": "Ada"}"#) }
        session = Session(configuration: .bare, transport: transport, eventMonitors: [recorder])
    }

    @Test("JSON is read and sent")
    func values() async throws {
        let api = session.extending {
            $0.baseURL = "https://api.example.com/v1"
            $0.validation = [.standard]
        }
        let user = try await api.request("users/7").serializingJSON().value
        print(user["name"].string ?? "")
        #expect(user["name"] == "Ada")
        let request = await api.request("users/7")
        request.responseJSON { response in
            switch response.result {
            case .success(let user): print(user["name"].string ?? "")
            case .failure(let error): print(error.statusCode ?? 0, error)
            }
        }
        await recorder.wait { events in events.count { $0.name == "finish" } == 2 }
        // swift-format-ignore
        let created = try await api.request(
            "users", method: .post, parameters: ["name": "Ada"], encoder: .json
        ).serializingJSON().value
        #expect(created["name"] == "Ada")
        #expect(log.requests.map(\.url.path) == ["/v1/users/7", "/v1/users/7", "/v1/users"])
        #expect(log.requests[2].text == #"{"name":"Ada"}"#)
    }

    @Test("Files are sent and received")
    func files() async throws {
        let api = session.extending { $0.baseURL = "https://api.example.com" }
        let file = try folder.write("text".utf8, to: "photo.png")
        let upload = await api.upload(
            multipart: { form in
                form.append("Ada", name: "author")
                form.append(file, name: "photo")
            }, to: "photos")
        upload.uploadProgress { progress in print(progress.fraction ?? 0) }
        let reply = try await upload.serializingJSON().value
        #expect(reply["name"] == "Ada")
        let film = folder["film.mp4"]
        let download = await session.download(
            "https://example.com/film.mp4", to: .file(film),
            options: [.removePreviousFile])
        let place = try await download.validate().serializingFile().value
        #expect(place == film)
        if let record = await download.cancelProducingResumeRecord() {
            let rest = await session.download(resuming: record, to: .file(film))
            try await print(rest.serializingFile().value)
        }
        #expect(log.requests.map(\.url.path) == ["/photos", "/film.mp4"])
    }

    @Test("A credential is sent to its origin alone")
    func credentials() async throws {
        let password = "word"
        func knowing() throws -> Session {
            let credentials = CredentialStore()
            try credentials.set(
                Credential(username: "ada", password: password),
                for: "https://api.example.com", preemptively: true)
            let known = Session(
                configuration: SessionConfiguration {
                    $0.credentials = credentials
                })
            return known
        }
        let known = Session(configuration: try knowing().configuration, transport: log.transport())
        _ = try await known.request("https://api.example.com/").serializingData().value
        _ = try await known.request("https://other.example.com/").serializingData().value
        let basic = HTTPHeader.authorization(username: "ada", password: "word").value
        #expect(log.requests.map { $0["Authorization"] } == [basic, nil])
    }

    @Test("Retries, pins, the network's status, cancelling")
    func policies() async throws {
        func patience() -> Session {
            let patient = Session(
                configuration: SessionConfiguration { $0.validation = [.standard] },
                interceptor: .composed(.whenReachable(), .retry(limit: 3)))
            return patient
        }
        #expect(patience().configuration.interceptors.count == 1)
        func identified(_ identity: ClientIdentity) -> Session {
            let identified = Session(
                configuration: SessionConfiguration {
                    $0.clientIdentities = ClientIdentities(
                        ["*.example.com": identity])
                })
            return identified
        }
        #expect(identified(ClientIdentity(pkcs12: [], password: "")).configuration.clientIdentities != nil)
        let (vault, folder) = (Vault(), FileManager.default.temporaryDirectory)
        var configuration = SessionConfiguration()
        configuration.clientIdentities = ClientIdentities { host in
            try host.hasSuffix(".internal") ? vault.identity(of: host) : nil
        }
        configuration.responseGates = [
            { head in head["X-Maintenance"] == nil ? .allow : .cancel }
        ]
        configuration.downloadDestination = .suggested(in: folder)
        #expect(configuration.responseGates.count == 1)
        func pin(_ bytes: [UInt8]) throws -> Session {
            // swift-format-ignore
            let trust = ServerTrustManager(evaluators: [
                "api.example.com": .pinnedCertificates([try Certificate(bytes)])
            ])
            let pinned = Session(
                configuration: SessionConfiguration { $0.serverTrust = trust })
            return pinned
        }
        #expect(throws: RequestError.self) { try pin([0]) }
        @Sendable func watch() async {
            for await status in NetworkMonitor.shared.changes {
                print(status.isReachable, status.interfaces.contains(.cellular))
            }
        }
        let watching = Task { await watch() }
        watching.cancel()
        await watching.value
        let request = await session.request("https://api.example.com/users/7")
        request.cancel()
        await session.cancelAllRequests()
        #expect(await request.serializingData().response.error?.isCancelled == true)
        let offline = Session(
            transport: StubTransport { _ in .json(#"{"name": "Ada"}"#) })
        #expect(try await offline.request("http://h/").serializingJSON().value["name"] == "Ada")
    }
}

private struct Vault: Sendable {
    func identity(of host: String) throws -> ClientIdentity? { throw ForeignError() }
}
