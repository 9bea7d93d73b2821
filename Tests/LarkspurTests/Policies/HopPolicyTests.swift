import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The rules alone: heads and requests in, a verdict out.
@Suite("The hop policy", .limited)
struct HopPolicyTests {
    private static let contentFields = [
        "Content-Type", "content-length", "Content-Encoding", "Content-Language", "Transfer-Encoding",
    ]

    private func request(
        _ method: HTTPMethod = .get, _ url: String = "http://h/a", headers: HTTPHeaders = [:],
        body: TransportBody = .none, redirects: RequestOptions.Redirects? = nil
    ) throws -> OutgoingRequest {
        var request = OutgoingRequest(method: method, url: try RequestURL(url), headers: headers, body: body)
        if let redirects { request.options.redirects = redirects }
        return request
    }

    private func hop(_ request: OutgoingRequest, _ status: Int, location: String?) -> Hop {
        let fields = location.map { [HTTPHeader(name: "location", value: $0)] } ?? []
        return Hop(request: request, head: ResponseHead(status: status, fields: fields))
    }

    private func followed(_ request: OutgoingRequest, _ status: Int = 302, to location: String = "/b")
        -> OutgoingRequest?
    {
        if case .follow(let next, _) = HopPolicy.verdict(on: [hop(request, status, location: location)]) {
            next
        } else {
            nil
        }
    }

    private func failure(_ hops: Hop...) -> RequestError? { failure(hops) }

    private func failure(_ hops: [Hop]) -> RequestError? {
        switch HopPolicy.verdict(on: hops) {
        case .refuse(let error), .fail(let error): error
        case .deliver, .follow: nil
        }
    }

    private func isDelivered(_ hop: Hop) -> Bool {
        if case .deliver = HopPolicy.verdict(on: [hop]) { true } else { false }
    }

    // MARK: Method and body

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: HTTPMethod
        let next: HTTPMethod
        let keepsBody: Bool
        var testDescription: String { "\(status) \(method) -> \(next), body \(keepsBody ? "kept" : "dropped")" }
    }

    static let table: [Row] = {
        let methods: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options, .query, "PROPFIND"]
        return methods.flatMap { method in
            [301, 302, 303, 307, 308].map { status in
                let becomesGet = status == 303 ? method != .head : status < 303 && method == .post
                return Row(status: status, method: method, next: becomesGet ? .get : method, keepsBody: !becomesGet)
            }
        }
    }()

    @Test("Status and method decide the next method, and whether the body and its fields go along", arguments: table)
    func methods(row: Row) throws {
        var headers = HTTPHeaders(Self.contentFields.map { HTTPHeader(name: $0, value: "x") })
        headers.add(name: "X-Other", value: "kept")
        let first = try request(row.method, headers: headers, body: .data(Data("body".utf8)))
        let next = try #require(followed(first, row.status))
        #expect(next.method == row.next)
        #expect(next.url.text == "http://h/b")
        #expect(next.headers["X-Other"] == "kept")
        for name in Self.contentFields {
            #expect((next.headers[name] != nil) == row.keepsBody, "\(name)")
        }
        switch next.body {
        case .data(let data): #expect(row.keepsBody && data == Data("body".utf8))
        case .none: #expect(!row.keepsBody)
        case .file, .stream: Issue.record("the body became another")
        }
    }

    @Test("The pairs that clients get wrong are these")
    func namedRows() throws {
        #expect(followed(try request(.post), 301)?.method == .get)
        #expect(followed(try request(.post), 302)?.method == .get)
        #expect(followed(try request(.post), 303)?.method == .get)
        #expect(followed(try request(.post), 307)?.method == .post)
        #expect(followed(try request(.post), 308)?.method == .post)
        #expect(followed(try request(.put), 302)?.method == .put)
        #expect(followed(try request(.put), 303)?.method == .get)
        #expect(followed(try request(.head), 303)?.method == .head)
        #expect(followed(try request("post"), 302)?.method == "post")
    }

    @Test("A body that can be sent only once is refused where it would be sent again", arguments: [307, 308])
    func onceOnly(status: Int) throws {
        let error = try #require(failure(hop(try request(.post, body: .onceOnly), status, location: "/b")))
        #expect(error.code == .bodyNotReplayable)
    }

    @Test(
        "A body that can be sent only once is no obstacle where it is dropped", arguments: [301, 302, 303])
    func onceOnlyDropped(status: Int) throws {
        let next = try #require(followed(try request(.post, body: .onceOnly), status))
        guard case .none = next.body else {
            Issue.record("\(next.body)")
            return
        }
    }

    @Test("A file and a replayable stream are sent again", arguments: [307, 308])
    func replayable(status: Int) throws {
        let file = try request(.put, body: .file(path: "/f", length: 9))
        guard case .file("/f", 9, nil)? = followed(file, status)?.body else {
            Issue.record()
            return
        }
        let open = { @Sendable () -> any TransportBodyStream in preconditionFailure("the policy opens no stream") }
        let source = TransportBodySource(length: nil, isReplayable: true, open: open)
        guard case .stream? = followed(try request(.put, body: .stream(source)), status)?.body else {
            Issue.record()
            return
        }
    }

    // MARK: Credentials

    @Test(
        "Credentials go along within an origin and never across",
        arguments: [
            ("/b", true), ("http://h/b", true), ("HTTP://H:80/b", true), ("//h/b", true), ("?q", true),
            ("https://h/b", false), ("http://h:81/b", false), ("http://other/b", false), ("http://sub.h/b", false),
            ("//other/b", false), ("http://h.evil.example/", false), ("http://h@evil.example/", false),
            ("https://h:80/", false),
        ])
    func credentials(location: String, areKept: Bool) throws {
        let names = ["authorization", "Cookie", "COOKIE", "Proxy-Authorization"]
        var headers = HTTPHeaders(names.map { HTTPHeader(name: $0, value: "secret") })
        headers.add(name: "X-Other", value: "1")
        for status in [301, 302, 303, 307, 308] {
            let next = try #require(followed(try request(.post, headers: headers), status, to: location))
            #expect(next.headers.map(\.name) == (areKept ? names : []) + ["X-Other"], "\(status)")
        }
    }

    @Test("Credentials that were dropped do not come back with the first origin")
    func noReturn() throws {
        let first = try request(.get, "http://h/a", headers: ["Authorization": "secret"])
        let second = try #require(followed(first, to: "http://other/"))
        let third = try #require(followed(second, to: "http://h/c"))
        #expect(third.headers.isEmpty)
    }

    @Test("A Host field of the old target is not sent to the new one")
    func host() throws {
        #expect(followed(try request(headers: ["Host": "h"]), to: "http://other/")?.headers.isEmpty == true)
    }

    @Test("The fields that go along keep order and repeats")
    func order() throws {
        let headers: HTTPHeaders = ["B": "1", "Content-Type": "x", "a": "2", "Cookie": "c", "B": "3"]
        let next = try #require(followed(try request(.post, headers: headers), 303, to: "http://other/"))
        #expect(next.headers.map(\.description) == ["B: 1", "a: 2", "B: 3"])
    }

    @Test("User and password in a Location are dropped")
    func userInfo() throws {
        let next = try #require(followed(try request(), to: "http://user:pw@h/b"))
        #expect(next.url == (try RequestURL("http://h/b")))
        #expect(next.url.user == nil)
        #expect(next.headers.isEmpty)
    }

    // MARK: Targets

    @Test(
        "A Location is resolved against the URL that was asked",
        arguments: [
            ("b", "http://h:81/x/b"), ("/b", "http://h:81/b"), ("../b", "http://h:81/b"), ("./", "http://h:81/x/"),
            ("?r=2", "http://h:81/x/y?r=2"), ("//other/b", "http://other/b"), ("https://h/", "https://h/"),
            ("b?c=d e", "http://h:81/x/b?c=d%20e"), ("/ü", "http://h:81/%C3%BC"), ("/%c3%bc", "http://h:81/%C3%BC"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"), ("/a//b", "http://h:81/a//b"),
        ])
    func relative(location: String, expected: String) throws {
        #expect(followed(try request(.get, "http://h:81/x/y?q=1"), to: location)?.url.text == expected)
    }

    @Test("A fragment is inherited unless the Location has one of its own")
    func fragment() throws {
        let first = try request(.get, "http://h/a#old")
        #expect(followed(first, to: "/b")?.url.text == "http://h/b#old")
        #expect(followed(first, to: "/b#new")?.url.text == "http://h/b#new")
        #expect(followed(first, to: "http://other/b?q")?.url.text == "http://other/b?q#old")
        #expect(followed(try request(), to: "/b#new")?.url.text == "http://h/b#new")
    }

    @Test(
        "A Location that is not http or https with a host is refused",
        arguments: [
            "ftp://h/", "file:///etc/passwd", "data:text/plain,x", "javascript:alert(1)", "mailto:a@b", "ws://h/",
            "gopher://h/", "http:g", "http://", "http://127.1/", "http://h:99999/", "http://a b/", "//", "http://[::1/",
        ])
    func refusedLocation(location: String) throws {
        let error = try #require(failure(hop(try request(), 302, location: location)))
        #expect(error.code == .redirectRefused)
    }

    // MARK: Ends

    @Test(
        "A response that is no redirect is delivered, with or without a Location",
        arguments: [200, 201, 204, 300, 304, 305, 306, 309, 400, 401, 404, 500])
    func otherStatus(status: Int) throws {
        #expect(isDelivered(hop(try request(), status, location: "/b")))
    }

    @Test("A redirect without a Location is delivered", arguments: [301, 302, 303, 307, 308])
    func noLocation(status: Int) throws {
        let hop = hop(try request(), status, location: nil)
        #expect(isDelivered(hop))
        #expect(!HopPolicy.isAnswered(try #require(hop.head), to: hop.request))
    }

    @Test("With options.redirects = .deliver every redirect is delivered", arguments: [301, 302, 303, 307, 308])
    func deliver(status: Int) throws {
        let hop = hop(try request(redirects: .deliver), status, location: "/b")
        #expect(isDelivered(hop))
        let head = try #require(hop.head)
        #expect(!HopPolicy.isAnswered(head, to: hop.request))
        #expect(HopPolicy.isAnswered(head, to: try request()))
    }

    @Test("A server that knows no expectations gets the request without one, once, if its body can be had again")
    func unknownExpectation() throws {
        var expecting = try request(.put, body: .file(path: "/f", length: 9))
        expecting.headers.add(name: "expect", value: "100-continue")
        expecting.options.expectsContinueFrom = 1
        let next = try #require(followed(expecting, 417))
        #expect(next.headers["Expect"] == nil && next.options.expectsContinueFrom == nil)
        #expect(next.url == expecting.url && next.method == .put && next.body.length == 9)
        #expect(isDelivered(hop(next, 417, location: nil)))
        expecting.body = .onceOnly
        #expect(isDelivered(hop(expecting, 417, location: nil)))
    }

    @Test("A hop without a head, or no hop, is nothing to follow")
    func noHead() throws {
        #expect(isDelivered(Hop(request: try request(), error: TransportError(.connectionLost))))
        guard case .deliver = HopPolicy.verdict(on: []) else {
            Issue.record()
            return
        }
    }

    @Test("As many redirects are followed as the limit says, 20 if it says nothing", arguments: [0, 1, 3, nil])
    func limit(limit: Int?) throws {
        let redirects = limit.map { RequestOptions.Redirects.follow(limit: $0) }
        var hops: [Hop] = []
        for number in 0..<(limit ?? 20) {
            hops.append(
                hop(try request(.get, "http://h/\(number)", redirects: redirects), 302, location: "/\(number + 1)"))
            guard case .follow = HopPolicy.verdict(on: hops) else {
                Issue.record("\(hops.count)")
                return
            }
        }
        hops.append(hop(try request(.get, "http://h/last", redirects: redirects), 302, location: "/more"))
        #expect(failure(hops)?.code == .tooManyRedirects)
    }

    @Test(
        "A redirect back to a request of the attempt is a loop",
        arguments: [
            ("http://h/a", true), ("/b", true), ("", true), ("#f", true), ("http://H:80/a#x", true), ("/a?q", false),
            ("http://h:81/a", false), ("https://h/a", false), ("/A", false),
        ])
    func loop(location: String, isLoop: Bool) throws {
        let hops = [
            hop(try request(.get, "http://h/a"), 302, location: "/b"),
            hop(try request(.get, "http://h/b"), 302, location: location),
        ]
        #expect((failure(hops)?.code == .redirectLoop) == isLoop)
    }

    @Test("A loop's error does not show the query")
    func loopMessage() throws {
        let error = failure(hop(try request(.get, "http://h/a?token=s3cret"), 302, location: "/a?token=s3cret"))
        #expect(error?.code == .redirectLoop)
        #expect(error?.description.contains("s3cret") == false)
        #expect(error?.description.contains("http://h/a") == true)
    }

    @Test("The same URL with another method is no loop: a form that leads to its own page")
    func postRedirectGet() throws {
        #expect(followed(try request(.post, "http://h/a"), 303, to: "/a")?.method == .get)
        #expect(failure(hop(try request(.post, "http://h/a"), 307, location: "/a"))?.code == .redirectLoop)
    }
}
