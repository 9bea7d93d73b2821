import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guides to security, trust, redirects, cookies and connections, word for word.

@Suite("The guides to security", .limited)
struct SecurityExamples {
    private let log = TransportLog()
    private let folder: TemporaryFolder
    private let url = "https://api.example.com/a"

    init() throws { folder = try TemporaryFolder() }

    @Test("Confidential names, size limits and secrets can be set")
    func limits() async throws {
        var configuration = SessionConfiguration.bare
        configuration.options.confidentialHeaders = ["X-Tenant-Seal"]
        let session = log.session(configuration) { _, _ in .text("ok") }
        let request = await session.request("https://example.com/feed") {
            $0.options.maximumBodySize = 10 << 20
        }
        _ = try await request.serializingData().value
        #expect(request.request?.options.maximumBodySize == 10 << 20)
        #expect(request.request?.options.confidentialHeaders == ["X-Tenant-Seal"])
        var redaction = Redaction.standard
        redaction.names.insert("salary")
        print(request.cURLDescription(redacting: redaction))
        #expect(redaction.hides("SALARY"))
    }

    @Test("Hosts of a store are reached over TLS")
    func hsts() async throws {
        let file = folder["hosts.json"]
        let strict = Session(
            configuration: SessionConfiguration { $0.hsts = HSTSStore() })
        #expect(strict.configuration.hsts != nil)
        let hosts = try HSTSStore(file: file)
        hosts.set(
            .init(
                "example.com", includesSubdomains: true,
                expires: .distantFuture))
        let session = Session(
            configuration: SessionConfiguration { $0.hsts = hosts })
        #expect(try hosts.secured(try RequestURL("http://www.example.com/")).text == "https://www.example.com/")
        #expect(session.configuration.hsts === hosts)
        try await hosts.save()
    }

    @Test("Pins are set for hosts, other settings for a transport")
    func trust() async throws {
        let (current, spare) = (String(repeating: "A", count: 43) + "=", String(repeating: "B", count: 42) + "A=")
        func make() throws -> Session {
            // swift-format-ignore
            let trust = ServerTrustManager(evaluators: [
                "api.example.com": .pinnedKeys(
                    try PublicKeyPin("sha256/\(current)"),
                    try PublicKeyPin("sha256/\(spare)")),
                "**.example.com": .default,
            ])
            let session = Session(
                configuration: SessionConfiguration { $0.serverTrust = trust })
            return session
        }
        func repin(_ session: Session) -> ServerTrustManager? {
            session.forgetTrustVerdicts(for: "api.example.com")
            return session.configuration.serverTrust
        }
        let manager = try repin(make())
        #expect(try manager?.evaluator(for: "www.example.com") is DefaultTrustEvaluator)
        #if os(Linux)
            func identified(_ bytes: [UInt8], _ password: String) -> Session {
                // swift-format-ignore
                let transport = CurlTransport(configuration: .init {
                    $0.identity = ClientIdentity(pkcs12: bytes, password: password)
                    $0.requiresStapledStatus = true
                })
                let session = Session(transport: transport)
                return session
            }
            let response = await identified([0], "word").request("https://127.0.0.1:1").serializingData().response
            #expect(response.error?.code == .connectionRefused)  // the identity is for who answers
        #endif
    }

    @Test("Pins come from a folder of certificates")
    func folderOfPins() throws {
        let folder = folder["pins"]
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Data(Certificate.own).write(to: folder.appendingPathComponent("own.cer"))
        // swift-format-ignore
        func make() throws -> ServerTrustManager {
            let certificates = try Certificate.all(inFolder: folder)
            let pinned = ServerTrustManager(evaluators: [
                "api.example.com": .pinnedKeys(of: certificates),
                "self-signed.example.com": PinnedCertificatesTrustEvaluator(
                    certificates, performDefaultValidation: false),
            ])
            return pinned
        }
        #expect(try make().evaluator(for: "api.example.com") is PinnedKeysTrustEvaluator)
    }

    #if os(Linux)
        @Test("Routes are set for a transport")
        func connections() async throws {
            // swift-format-ignore
            func make() throws -> Session {
                let proxies = try Proxies(
                    Proxy("http://user:secret@proxy.example.com:3128"),
                    except: ["internal.example.com", "10.0.0.0/8"])
                let transport = CurlTransport(configuration: .init {
                    $0.proxies = proxies
                    $0.hosts["docker"] = .unixSocket(path: "/var/run/docker.sock")
                })
                let session = Session(transport: transport)
                return session
            }
            #expect(try await make().requests.isEmpty)
        }

        @Test("Limits are set for a transport's connections")
        func limitsOfConnections() async throws {
            // swift-format-ignore
            func make() -> Session {
                let transport = CurlTransport(configuration: .init {
                    $0.maximumConnectionsPerHost = 16
                    $0.idleLifetime = .seconds(20)
                })
                let session = Session(transport: transport)
                return session
            }
            #expect(await make().requests.isEmpty)
        }
    #endif

    @Test("Redirects are limited, delivered, or left to a handler")
    func redirects() async throws {
        var configuration = SessionConfiguration.bare
        configuration.options.redirects = .follow(limit: 5)
        configuration.redirectHandler = Redirector { redirect in
            try redirect.proposal.url.host == "api.example.com"
                ? .follow : .doNotFollow
        }
        let session = log.session(configuration) { request, _ in
            request.url.path == "/b" ? .text("ok") : .redirect(to: "https://api.example.com/b")
        }
        let login = await session.request(url) {
            $0.options.redirects = .deliver
        }
        let request = await session.request(url).redirect(using: .doNotFollow)
        // swift-format-ignore
        let marked = await session.request(url).redirect(
            using: .modify { request, _ in
                request.headers["X-Redirected"] = "yes"
            })
        let plain = await session.request(url)
        var statuses: [Int?] = []
        for request in [login, request, marked, plain] {
            statuses.append(await request.serializingData().response.head?.status)
        }
        #expect(statuses == [302, 302, 200, 200])
        #expect(marked.request?.headers["X-Redirected"] == "yes")
    }

    @Test("Cookies are stored, shared, disabled, read and saved")
    func cookies() async throws {
        func first(_ login: JSON) async throws {
            let session = Session()
            // swift-format-ignore
            let answer = await session.request(
                "https://example.com/login", method: .post, parameters: login)
            _ = try await answer.serializingData().value

            // swift-format-ignore
            // This request has the cookie of the login.
            let inbox = await session.request("https://example.com/inbox")
            _ = try await inbox.serializingJSON().value
        }
        func jarOfAFile(_ folder: URL) async throws -> Session {
            let jar = try CookieJar(
                file: folder.appendingPathComponent("cookies.json"))
            let session = Session(
                configuration: SessionConfiguration { $0.cookieJar = jar })

            try await jar.save()
            return session
        }
        let jar = try #require(try await jarOfAFile(folder.url).cookieJar)
        // The jar of all sessions with this configuration.
        let shared = SessionConfiguration { $0.cookieJar = jar }
        let without = SessionConfiguration { $0.cookieJar = nil }  // no cookies
        #expect(without.cookieJar == nil)
        let session = log.session(shared)
        let theme = try Cookie(
            name: "theme", value: "dark", domain: "example.com", isHostOnly: false)
        session.cookieJar?.set(theme)
        let request = await session.request(url) {
            $0.options.usesCookieJar = false
        }
        _ = try await request.serializingData().value
        _ = try await session.request(url).serializingData().value
        #expect(log.requests.map { $0["Cookie"] } == [nil, "theme=dark"])
        func look() throws {
            let home = try RequestURL("https://example.com/")
            print(session.cookieJar?.cookies(for: home) ?? [])
            let theme = try Cookie(
                name: "theme", value: "dark", domain: "example.com",
                isHostOnly: false)
            session.cookieJar?.set(theme)
            session.cookieJar?.removeAll { $0.domain == "example.com" }
        }
        try look()
        #expect(jar.all.isEmpty)
        try await jar.save()
    }
}
