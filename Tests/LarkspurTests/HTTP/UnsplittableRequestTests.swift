import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Every way in which text gets into a request, with all text that must be refused. A server could take such text for
/// the end of the request, for another request, or for a part of the next one.
@Suite("Requests that cannot be split", .limited)
struct UnsplittableRequestTests {
    /// A way to put text into a request, which returns the resulting error.
    struct Entrance: Sendable, CustomTestStringConvertible {
        typealias Change = @Sendable (inout OutgoingRequest) -> Void

        let testDescription: String
        /// The number of tasks that the transport performs first.
        var earlier = 0
        let send: @Sendable (TransportLog, @escaping Change) async throws -> RequestError?

        init(
            _ name: String, earlier: Int = 0,
            _ send: @escaping @Sendable (TransportLog, @escaping Change) async throws -> RequestError?
        ) {
            (testDescription, self.earlier, self.send) = (name, earlier, send)
        }
    }

    struct Injection: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: Entrance.Change

        init(_ name: String, _ change: @escaping Entrance.Change) { (testDescription, self.change) = (name, change) }

        static func field(_ name: String, _ value: String) -> Injection {
            Injection("\(name): \(value)".debugDescription) { $0.headers.add(name: name, value: value) }
        }

        static func fields(_ fields: HTTPHeaders) -> Injection {
            Injection(fields.map(\.description).joined(separator: " and ")) { $0.headers = fields }
        }
    }

    private static let methods = [
        "", "GE T", " GET", "GET ", "GET\r\nEvil: 1", "GET\n", "G\rET", "GET\0", "GET / HTTP/1.1\r\n\r\nGET", "GET\tX",
    ]
    private static let names = [
        "", "X Y", " X", "X ", "X\t", "X\r\nEvil", "X\nY", "X\rY", "X\0", "X:", ":authority", "Ü",
    ]
    static let values = [
        "a\r\nEvil: 1", "a\nEvil: 1", "a\rEvil: 1", "a\0", "a\r\n", "\na", "a\r\n folded", "a\n\tfolded", " a", "a ",
        "\ta",
        "a\t", " ", "a\u{7F}", "a\u{B}",
    ]
    private static let framings: [Injection] = [
        .field("Transfer-Encoding", "chunked"), .field("transfer-encoding", "gzip, chunked"),
        .field("Transfer-Encoding", "identity"), .fields(["Content-Length": "4", "Transfer-Encoding": "chunked"]),
        .field("Content-Length", "5"), .field("Content-Length", "4, 4"), .field("Content-Length", "+4"),
        .field("Content-Length", "0x4"), .field("content-length", ""),
        .fields(["Content-Length": "4", "content-length": "0"]),
        .fields(["Host": "a", "host": "b"]), .fields(["Host": "a", "HOST": "a"]), .field("Host", "a b"),
        .field("Host", "a/b"), .field("Host", "user@a"), .field("Host", "a, b"), .field("Host", "a\\b"),
        .field("Host", "http://a"), .field("Host", "ü"), .fields(["Authorization": "a", "authorization": "b"]),
    ]

    static let injections =
        methods.map { method in
            Injection("the method \(method.debugDescription)") { $0.method = HTTPMethod(rawValue: method) }
        }
        + names.map { .field($0, "v") } + values.map { .field("X", $0) } + framings

    // MARK: Whole requests

    private static let url = "http://h/"
    private static let body = Data("four".utf8)

    /// The request that gets the malicious text: with a body of four bytes.
    private static func request() throws -> OutgoingRequest {
        OutgoingRequest(method: .post, url: try RequestURL(url), body: .data(body))
    }

    private static func changed(_ change: Entrance.Change) throws -> OutgoingRequest {
        var request = try request()
        change(&request)
        return request
    }

    private static func error(of request: DataRequest) async -> RequestError? {
        await request.serializingData().response.error
    }

    private static func redirecting(_ change: @escaping Entrance.Change) -> Redirector {
        Redirector { _ in .follow(try changed(change)) }
    }

    private static func redirectingSession(_ log: TransportLog, _ handler: Redirector? = nil) -> Session {
        log.session(SessionConfiguration { ($0.headers, $0.redirectHandler) = ([:], handler) }) { _, number in
            number == 1 ? .redirect(307, to: "/b") : .text("ok")
        }
    }

    static let entrances: [Entrance] = [
        Entrance("a request") { log, change in try await error(of: log.session().request(changed(change))) },
        Entrance("parts") { log, change in
            let request = try changed(change)
            let upload = await log.session().upload(body, to: url, method: request.method, headers: request.headers)
            return await upload.serializingData().response.error
        },
        Entrance("an endpoint") { log, change in
            let request = try changed(change)
            let content = RequestContent.body(.data(body))
            let endpoint = Endpoint<Data>(request.method, url, headers: request.headers, body: content)
            return await error(of: log.session().request(endpoint))
        },
        Entrance("a modifier") { log, change in
            try await error(of: log.session().request(request(), requestModifier: { change(&$0) }))
        },
        Entrance("a session's adapter") { log, change in
            let adapter = Interceptor(adapt: { request, _ in change(&request) })
            return try await error(of: log.session(interceptor: adapter).request(request()))
        },
        Entrance("a request's adapter") { log, change in
            let adapter = Interceptor(adapt: { request, _ in change(&request) })
            return try await error(of: log.session().request(request()).adapt(using: adapter))
        },
        Entrance("middleware") { log, change in
            let middleware = ClosureMiddleware { exchange, next in
                var exchange = exchange
                change(&exchange.request)
                return try await next(exchange)
            }
            return try await error(of: log.session().request(request()).middleware(middleware))
        },
        Entrance("an encoder") { log, change in
            let encoder = ClosureParameterEncoder { _, request in
                request.body = .data(body)
                change(&request)
            }
            return await error(
                of: log.session().request(url, method: .post, parameters: ["a": 1], encoder: encoder))
        },
        Entrance("a session's redirect handler", earlier: 1) { log, change in
            try await error(of: redirectingSession(log, redirecting(change)).request(request()))
        },
        Entrance("a request's redirect handler", earlier: 1) { log, change in
            try await error(of: redirectingSession(log).request(request()).redirect(using: redirecting(change)))
        },
        Entrance("a stream") { log, change in
            try await log.session().streamRequest(changed(change)).completion.error
        },
        Entrance("a download") { log, change in
            let response = try await log.session().download(changed(change)).serializingFile().response
            if let file = response.fileURL { try FileManager.default.removeItem(at: file) }
            return response.error
        },
        Entrance("an upload") { log, change in
            try await log.session().upload(body, to: changed(change)).serializingData().response.error
        },
    ]

    @Test("No text that could split a request is sent", arguments: entrances)
    func wholeRequests(entrance: Entrance) async throws {
        for injection in Self.injections {
            let log = TransportLog()
            let error = try await entrance.send(log, injection.change)
            #expect(error?.code == .invalidRequest, "\(injection.testDescription)")
            #expect(error?.description.contains { $0.isNewline || $0 == "\0" } != true, "\(injection.testDescription)")
            #expect(log.count == entrance.earlier, "\(injection.testDescription)")
        }
        let log = TransportLog()
        #expect(
            try await entrance.send(log) { $0.headers.add(name: "X", value: "v") } == nil, "a valid request is sent")
        #expect(log.requests.last?["X"] == "v" && log.count == entrance.earlier + 1)
    }

    // MARK: Texts

    /// A way in which a text gets into a request.
    struct TextEntrance: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (Session, String) async throws -> DataRequest

        init(_ name: String, _ make: @escaping @Sendable (Session, String) async throws -> DataRequest) {
            (testDescription, self.make) = (name, make)
        }
    }

    private static func adapted(_ session: Session, _ adapter: some RequestAdapter) async -> DataRequest {
        await session.request(url).adapt(using: adapter)
    }

    private static func form(_ session: Session, _ append: @escaping @Sendable (inout MultipartFormData) -> Void) async
        -> DataRequest
    {
        await session.request(url, method: .post) { request in
            var form = MultipartFormData()
            append(&form)
            try request.setBody(form)
        }
    }

    static let fieldEntrances: [TextEntrance] = [
        TextEntrance("a request's field") { await $0.request(url, headers: ["X": $1]) },
        TextEntrance("a session's field") { session, text in
            await session.extending { $0.headers = ["X": text] }.request(url)
        },
        TextEntrance("a body's type") { session, text in
            let body = RequestContent.body(.data(body), type: text)
            return await session.request(Endpoint<Data>(.post, url, body: body))
        },
        TextEntrance("a bearer token") { await $0.request(url, headers: [.authorization(bearerToken: $1)]) },
        TextEntrance("an API key") { await adapted($0, .apiKey($1)) },
        TextEntrance("the name of an API key") { await adapted($0, .apiKey("k", in: .header($1))) },
        TextEntrance("a token that is renewed") { session, text in
            let tokens = BearerTokens(BearerToken(text), for: .anywhere) { token, _ in token }
            return await session.request(url, interceptor: .authentication(tokens))
        },
    ]

    @Test("No text becomes more than its field", arguments: fieldEntrances)
    func texts(entrance: TextEntrance) async throws {
        for value in Self.values where value != " " {
            let log = TransportLog()
            let error = try await entrance.make(log.session(), value).serializingData().response.error
            // The scheme comes before the beginning of a token.
            if [" a", "\ta"].contains(value), entrance.testDescription.contains("token"), error == nil {
                #expect(log.requests.last?["Authorization"] == "Bearer \(value)")
                continue
            }
            #expect(error?.code == .invalidRequest, "\(value.debugDescription)")
            #expect(log.count == 0, "\(value.debugDescription)")
        }
    }

    static let refusing: [TextEntrance] = [
        TextEntrance("a URL") { await $0.request(url + $1) },
        TextEntrance("a URL's host") { await $0.request("http://\($1)/") },
        TextEntrance("a base URL") { session, text in await session.extending { $0.baseURL = url + text }.request("x")
        },
        TextEntrance("a relative URL") { session, text in
            await session.extending { $0.baseURL = url }.request("x" + text)
        },
        TextEntrance("a form's boundary") { session, text in
            await session.request(url, method: .post) { try $0.setBody(MultipartFormData(boundary: text)) }
        },
        TextEntrance("a part's field") { session, text in
            await form(session) { $0.append(.data(body), headers: ["X": text]) }
        },
        TextEntrance("a part's type") { session, text in
            await form(session) { $0.append(body, name: "a", fileName: "b", mimeType: text) }
        },
        TextEntrance("a user's name") {
            await $0.request(url).authenticate(username: $1, password: "", preemptively: true)
        },
        TextEntrance("a password") {
            await $0.request(url).authenticate(username: "", password: $1, preemptively: true)
        },
    ]

    @Test("No line break or NUL gets into a URL, a form's part or a credential", arguments: refusing)
    func lineEnds(entrance: TextEntrance) async throws {
        for value in Self.values where value.utf8.contains(where: { [0x00, 0x0A, 0x0D].contains($0) }) {
            let log = TransportLog()
            let error = try await entrance.make(log.session(), value).serializingData().response.error
            #expect(
                [.invalidURL, .invalidRequest, .invalidCredential].contains(error?.code), "\(value.debugDescription)")
            #expect(log.count == 0, "\(value.debugDescription)")
        }
    }

    static let escaping: [TextEntrance] = [
        TextEntrance("a segment") { await $0.request("http://h/\(segment: $1)") },
        TextEntrance("a parameter") { await $0.request(url, parameters: ["a": $1], encoder: .urlEncodedForm) },
        TextEntrance("a parameter's name") { await $0.request(url, parameters: [$1: "a"], encoder: .urlEncodedForm) },
        TextEntrance("a key in the query") { await adapted($0, .apiKey($1, in: .query("k"))) },
        TextEntrance("the name of a key in the query") { await adapted($0, .apiKey("k", in: .query($1))) },
        TextEntrance("spaces in a path") { await $0.request("http://h/a HTTP/1.1 \($1.filter { $0 == "a" })b") },
        TextEntrance("an absolute URL as a path") { await $0.request("http://h/http://evil/ HTTP/1.1 \($1.count)") },
    ]

    @Test("A request target is one word, and stays on its host", arguments: escaping)
    func targets(entrance: TextEntrance) async throws {
        for value in Self.values {
            let log = TransportLog()
            #expect(try await entrance.make(log.session(), value).serializingData().response.error == nil)
            let url = try #require(log.requests.last?.url)
            #expect(url.target.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            #expect(url.target.hasPrefix("/") && url.hostHeader == "h")
        }
    }

    @Test("The names of a form's parts cannot break a line of its headers")
    func partNames() async throws {
        for value in Self.values {
            let log = TransportLog()
            let request = await Self.form(log.session()) { $0.append(Self.body, name: value, fileName: value) }
            let error = await request.serializingData().response.error
            guard !value.contains("\0") else {
                #expect(error?.code == .invalidRequest && log.count == 0)
                continue
            }
            let text = try #require(log.requests.last?.text)
            let header = text.prefix(upTo: try #require(text.range(of: "\r\n\r\n")).lowerBound)
            #expect(header.utf8.count { $0 == 0x0A } == 2 && header.utf8.count { $0 == 0x0D } == 2, "\(header)")
        }
    }
}
