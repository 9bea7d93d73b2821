import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Secrets in descriptions", .limited)
struct ReflectionTests {
    private static let secret = "hunter2"

    private static func record<Record: Decodable>(_ text: String) -> Record? {
        try? JSONDecoder().decode(Record.self, from: Data(text.utf8))
    }

    private static let download: DownloadRecord? = record(
        #"{"url": "http://h/?token=hunter2", "partialFile": "file:///a", "validator": "\"v\"", "offset": 7}"#)

    private static let field = HTTPHeader(name: "X-Api-Key", value: secret)
    private static let url = "https://ada:hunter2@h/cart;jsessionid=hunter2?page=1&token=hunter2#id_token=hunter2"

    private static let request = (try? RequestURL(url)).map {
        OutgoingRequest(
            method: .post, url: $0, headers: [field, HTTPHeader(name: "X-Mine", value: secret, isSecret: true)],
            body: .data(Data(secret.utf8)))
    }

    private static let configurations: [any Sendable] = [
        SessionConfiguration { $0.baseURL = url },
        SessionConfiguration { $0.baseURL = URL(string: url) },
        SessionConfiguration { $0.baseURL = "ada:hunter2@host/x" },
        SessionConfiguration {
            $0.headers = [field]
            $0.interceptors = [APIKeyAuthentication(secret)]
        },
        Session(configuration: SessionConfiguration { $0.baseURL = url }),
        OAuth2Client(tokenURL: url, clientID: "shop", clientSecret: secret),
        OAuth2Client(tokenURL: "ada:hunter2@host/x", clientID: "shop"),
        Endpoint<String>(.get, url, query: ["token": secret], headers: [field]),
        CredentialScope.origins([url, "ada:hunter2@host/x"]),
        AuthenticationInterceptor(
            BearerAuthenticator { token, _ in token }, credential: BearerToken(secret, refreshToken: secret)),
        ClientIdentity(pkcs12: Array(secret.utf8), password: secret),
    ]

    private static let values: [(any Sendable)?] =
        configurations + [
            OAuth2Client(tokenURL: "http://id/token", clientID: "shop", clientSecret: secret),
            OAuth2Client.Grant.refreshToken(secret),
            APIKeyAuthentication(secret),
            DigestAuthentication(username: secret, password: secret),
            Credential(username: secret, password: secret),
            BearerToken(secret, refreshToken: secret),
            download,
            try? Cookie(name: "sid", value: secret, domain: "h.com"),
            CookieJar([(try? Cookie(name: "sid", value: secret, domain: "h.com"))].compactMap(\.self)),
            field, [field], HTTPHeaders([field]), request, request?.url, request?.url.withoutUserInfo, request?.options,
            request.map { TransportRequest(url: $0.url, fields: [field], body: $0.body) },
            ResponseHead(status: 200, fields: [field, HTTPHeader(name: "Set-Cookie", value: secret)]),
            TransportEvent.head(ResponseHead(status: 200, fields: [field])),
            request.map(RequestEvent.create), request.map(RequestEvent.redirect),
            request.map { Hop(request: $0, head: ResponseHead(status: 302, fields: [field])) },
        ]

    @Test("No description of a value with secrets shows them", arguments: values.indices)
    func descriptions(index: Int) throws {
        let value: any Sendable = try #require(Self.values[index])
        #expect(!isShown(value))
    }

    #if os(Linux)
        @Test("The description of a transport's configuration shows no secret")
        func transport() throws {
            let proxies = try Proxies(Proxy("http://ada:hunter2@proxy:3128"))
            let configuration = CurlTransport.Configuration {
                $0.proxies = proxies
                $0.identity = ClientIdentity(pkcs12: Array(Self.secret.utf8), password: Self.secret)
            }
            #expect(configuration.proxies == proxies)
            #expect(!isShown(configuration))
            #expect(!isShown(CurlTransport(configuration: configuration)))
        }
    #endif

    @Test("The descriptions of a request, its responses and its errors show no secret, before and after it is sent")
    func requests() async throws {
        let session = TransportLog().session { _, _ in
            .response(200, headers: ["Set-Cookie": "sid=hunter2"], chunks: [Data(#"{"a": "hunter2"}"#.utf8)])
        }
        let request = await session.request(Self.url, method: .post, headers: [Self.field]) {
            $0.body = .data(Data(Self.secret.utf8))
        }
        #expect(!isShown(request) && !isShown(request.handle))
        let task = request.serializingJSON()
        let response = await task.response
        #expect(response.value?["a"].string == Self.secret)
        let failed = await request.serializingDecodable([String].self).response
        #expect(failed.error != nil)
        for value: any Sendable in [
            request, request.handle, task, response, response.exchange, response.attempts, response.timeline, failed,
            failed.error,
        ] {
            #expect(!isShown(value), "\(value)")
        }
        #expect("\(response)" == "success: JSON")
    }

    @Test(
        "An error of an invalid URL shows no secret",
        arguments: [
            "ada:hunter2@host/x", "https:ada:hunter2@host/x", "https://ada:hunter2@ho st/", "//ada:hunter2@h:x",
        ])
    func errors(text: String) async throws {
        let session = TransportLog().session()
        let error = try #require(await session.request(text).serializingData().response.error)
        #expect(!isShown(error) && !isShown(error.url))
        #expect(!error.message.contains(Self.secret) && !error.localizedDescription.contains(Self.secret))
    }

    @Test("The description of an upload's record shows no secret")
    func uploadRecord() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write([1, 2, 3], to: "a.txt")
        let session = TransportLog().session { request, _ in
            request.method == "POST"
                ? .response(201, headers: ["Location": "/u?token=hunter2"])
                : .response(204, headers: ["Upload-Offset": "3"])
        }
        let upload = await session.resumableUpload(file, to: "http://h/?key=hunter2", using: .tus)
        _ = try await upload.value
        let record = try #require(upload.record)
        #expect(record.uploadURL.contains(Self.secret))
        #expect(!isShown(record))
    }

    private func isShown(_ value: any Sendable) -> Bool {
        var (printed, dumped) = ("", "")
        print(value, [value], to: &printed)
        dump(value, to: &dumped)
        return (printed + dumped + String(reflecting: value)).contains(Self.secret)
    }
}
