import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The method, the body and the fields of redirected requests, as tables. They are written by hand from RFC 9110,
/// section 15.4, and from the rules that keep credentials secret.
@Suite("Parts of redirected requests", .limited)
struct RedirectMatrixTests {
    private let log = TransportLog()

    /// The method of the next request. A minus: without its body.
    private static let methods = """
        status GET  HEAD POST PUT  DELETE PATCH
        301    GET  HEAD GET- PUT  DELETE PATCH
        302    GET  HEAD GET- PUT  DELETE PATCH
        303    GET- HEAD GET- GET- GET-   GET-
        307    GET  HEAD POST PUT  DELETE PATCH
        308    GET  HEAD POST PUT  DELETE PATCH
        """

    /// Where a field goes along: `+` it does, `-` it does not, `b` it does if the body does.
    private static let fields = """
        field               same port host scheme
        Authorization       +    -    -    -
        Cookie              +    -    -    -
        Proxy-Authorization +    -    -    -
        Host                +    -    -    -
        X-Api-Key           +    -    -    -
        X-Auth-Token        +    -    -    -
        X-CSRF-Token        +    -    -    -
        X-Session-Id        +    -    -    -
        DPoP                +    -    -    -
        X-Seal              +    -    -    -
        X-Other             +    +    +    +
        Accept              +    +    +    +
        Accept-Encoding     +    +    +    +
        User-Agent          +    +    +    +
        Referer             +    +    +    +
        If-None-Match       +    +    +    +
        Range               +    +    +    +
        Content-Type        b    b    b    b
        Content-Encoding    b    b    b    b
        Content-Language    b    b    b    b
        Content-Location    b    b    b    b
        Content-Digest      b    b    b    b
        Content-Length      b    b    b    b
        Digest              b    b    b    b
        Repr-Digest         b    b    b    b
        Last-Modified       b    b    b    b
        Trailer             b    b    b    b
        Expect              b    b    b    b
        """

    private static let places = [
        "same": "http://h/b", "port": "http://h:81/b", "host": "http://other/b", "scheme": "https://h/b",
    ]

    /// The cells of a table by row and column.
    private static func cells(_ table: String) -> [String: [String: String]] {
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return Dictionary(
            uniqueKeysWithValues: lines.dropFirst().map { line in
                (line[0], Dictionary(uniqueKeysWithValues: zip(lines[0].dropFirst(), line.dropFirst())))
            })
    }

    enum Body: CaseIterable { case none, replayable, onceOnly }

    private func request(_ method: String, _ body: Body) throws -> OutgoingRequest {
        var request = OutgoingRequest(method: HTTPMethod(rawValue: method), url: try RequestURL("http://h/a"))
        for name in Self.cells(Self.fields).keys.sorted() { request.headers.add(name: name, value: "v") }
        request.headers["Host"] = "alias"
        switch body {
        case .none: break
        case .replayable: request.body = .data(Data("body".utf8))
        case .onceOnly: request.body = .onceOnly
        }
        request.headers["Content-Length"] = "\(request.body.length ?? 0)"
        request.options.allowsBodyInGET = true
        request.options.confidentialHeaders = ["x-seal"]
        return request
    }

    @Test(
        "Method, body and fields are those of the tables", arguments: [301, 302, 303, 307, 308],
        ["same", "port", "host", "scheme"])
    func matrix(status: Int, place: String) async throws {
        let location = try #require(Self.places[place])
        let methods = try #require(Self.cells(Self.methods)["\(status)"])
        #expect(methods.count == 6)
        for (method, next) in methods {
            for body in Body.allCases {
                try await check(
                    method, body, status, location, next, Self.cells(Self.fields).compactMapValues { $0[place] })
            }
        }
    }

    private func check(
        _ method: String, _ body: Body, _ status: Int, _ location: String, _ next: String, _ fields: [String: String]
    ) async throws {
        let row: Comment = "\(method) \(body), \(status) to \(location)"
        let log = TransportLog()
        let session = log.session { _, number in number == 1 ? .redirect(status, to: location) : .text("ok") }
        let response = await session.request(try request(method, body)).serializingData().response
        let keepsBody = !next.hasSuffix("-")
        if body == .onceOnly, keepsBody {
            #expect(response.error?.code == .bodyNotReplayable, row)
            #expect(log.count == 1, row)
            return
        }
        #expect(response.error == nil, row)
        let sent = try #require(log.requests.last)
        #expect(log.count == 2 && sent.url.text == location, row)
        #expect(sent.method == (keepsBody ? next : String(next.dropLast())), row)
        #expect(sent.text == (keepsBody && body == .replayable ? "body" : ""), row)
        let expected = fields.filter { $0.value == "+" || $0.value == "b" && keepsBody }
        #expect(Set(sent.fields.map(\.name)) == Set(expected.keys), row)
    }

    @Test("No field is added that names the page one comes from")
    func referer() async throws {
        let session = log.session(SessionConfiguration()) { _, number in
            number < 4 ? .redirect([307, 302, 303][number - 1], to: "http://h\(number)/") : .text("ok")
        }
        _ = try await session.request("https://user:pw@h/secret?token=1", method: .post) {
            $0.options.allowsInsecureRedirects = true
        }.serializingData().value
        #expect(log.count == 4)
        for request in log.requests { #expect(request["Referer"] == nil && request["Origin"] == nil) }
    }

    // MARK: From https to http

    @Test(
        "A redirect from https to http is refused unless the session or the request allows it",
        arguments: ["http://h/b", "http://other/b", "http://h:443/b", "HTTP://h/b"])
    func downgrade(location: String) async throws {
        let answer = StubAnswer.redirect(307, to: location)
        func session(_ allows: Bool?) -> Session {
            let configuration = SessionConfiguration { $0.options.allowsInsecureRedirects = allows }
            return log.session(configuration) { request, _ in request.url.isHTTPS ? answer : .text("ok") }
        }
        let error = await session(nil).request("https://h/a").serializingData().response.error
        #expect(error?.code == .redirectRefused && error?.statusCode == 307)
        #expect(log.count == 1)
        #expect(await session(true).request("https://h/a").serializingString().response.value == "ok")
        let allowing = await session(false).request("https://h/a") { $0.options.allowsInsecureRedirects = true }
        #expect(await allowing.serializingString().response.value == "ok")
        let refusing = await session(true).request("https://h/a") { $0.options.allowsInsecureRedirects = false }
        #expect(await refusing.serializingData().response.error?.code == .redirectRefused)
    }

    // MARK: Locations

    /// Against `http://h/x/y?q=1#old`.
    private static let locations: [(String, String?)] = [
        ("", "http://h/x/y?q=1#old"), ("b", "http://h/x/b#old"), ("/b", "http://h/b#old"),
        ("//other", "http://other/#old"),
        ("?r", "http://h/x/y?r#old"), ("?", "http://h/x/y?#old"), ("#f", "http://h/x/y?q=1#f"),
        ("#", "http://h/x/y?q=1#"),
        ("a b", "http://h/x/a%20b#old"), (" /b ", "http://h/b#old"), ("/ü", "http://h/%C3%BC#old"),
        ("/\u{1F600}", "http://h/%F0%9F%98%80#old"), ("http://bücher.example/", "http://xn--bcher-kva.example/#old"),
        ("\\\\evil.example/", "http://h/x/%5C%5Cevil.example/#old"),
        ("/\\evil.example", "http://h/%5Cevil.example#old"),
        ("http://h\\@evil.example/", nil), ("http://h\\evil.example/", nil), ("http:\\\\evil.example/", nil),
        ("http://user:pw@other/", "http://other/#old"), ("//user@other/b", "http://other/b#old"),
        ("http://h:80/b", "http://h/b#old"), ("http://h:65536/", nil), ("http://[::1]:81/", "http://[::1]:81/#old"),
        ("http://[::1/", nil), ("http://2130706433/", nil), ("http://h%2fevil/", nil), ("///other/b", nil), ("//", nil),
        ("../../../b", "http://h/b#old"), ("%2e%2e/b", "http://h/b#old"),
        ("/%0d%0aX:%20y", "http://h/%0D%0AX:%20y#old"),
        ("javascript:alert(1)", nil), ("data:,x", nil), ("file:///etc/passwd", nil), ("ftp://h/", nil), ("b:c", nil),
    ]

    @Test(
        "A Location leads where RFC 3986 says, or nowhere, and takes neither user nor password along",
        arguments: locations)
    func location(location: String, expected: String?) async throws {
        let session = log.session { _, number in number == 1 ? .redirect(303, to: location) : .text("ok") }
        let response = await session.request("http://h/x/y?q=1#old", method: .post).serializingData().response
        #expect(response.request?.url.text == expected ?? "http://h/x/y?q=1#old")
        #expect(response.error?.code == (expected == nil ? .redirectRefused : nil))
        #expect(log.requests.last?.url.user == nil && log.requests.last?["Authorization"] == nil)
        #expect(log.count == (expected == nil ? 1 : 2))
    }

    @Test(
        "A Location that is not UTF-8, a folded Location, and the first of two are followed",
        arguments: [
            ("/gr\u{FC}n", "/gr%C3%BCn"), ("/a\r\n b", "/a%20b"), ("/a\r\nLocation: /c", "/a"),
        ])
    func raw(line: String, target: String) async throws {
        let bytes = "Location: \(line)\r\n".unicodeScalars.map { UInt8($0.value) }
        let head = ResponseHead(status: 302, rawFields: bytes)
        let session = log.session { _, number in number == 1 ? StubAnswer([.head(head)]) : .text("ok") }
        _ = try await session.request("http://h/").serializingData().value
        #expect(log.requests.last.map { String($0.url.target) } == target)
    }
}
