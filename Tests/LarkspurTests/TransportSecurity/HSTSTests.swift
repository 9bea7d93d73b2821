import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Strict-Transport-Security", .limited)
struct HSTSHeaderTests {
    @Test(
        "The value is read by the rules of RFC 6797",
        arguments: [
            ("max-age=31536000", HSTSHeader(maxAge: 31_536_000)),
            ("max-age=1;includeSubDomains", HSTSHeader(maxAge: 1, includesSubdomains: true)),
            (" MAX-AGE = \"7\" ; INCLUDESUBDOMAINS ;; preload", HSTSHeader(maxAge: 7, includesSubdomains: true)),
            ("other=\"a;max-age=1\"; max-age=0", HSTSHeader(maxAge: 0)),
            ("max-age=99999999999999999999", HSTSHeader(maxAge: HSTSHeader.longestLife)),
            ("", nil), ("includeSubDomains", nil), ("max-age", nil), ("max-age=", nil), ("max-age=-1", nil),
            ("max-age=1.5", nil), ("max-age=1; max-age=1", nil), ("max-age=1; x; X", nil),
            ("max-age=1; includeSubDomains=1", nil), ("max-age=1; =x", nil), ("max age=1", nil), ("max-age='1'", nil),
        ] as [(String, HSTSHeader?)])
    func value(_ value: String, expected: HSTSHeader?) {
        #expect(HSTSHeader(value) == expected)
    }
}

@Suite("HSTS store", .limited)
struct HSTSStoreTests {
    private let clock = MovedClock()

    private func head(_ values: String...) -> ResponseHead {
        ResponseHead(status: 200, fields: values.map { HTTPHeader(name: "strict-transport-security", value: $0) })
    }

    @Test("A host counts with its own entry, a subdomain with that of a parent that includes subdomains")
    func subdomains() {
        let store = HSTSStore(
            [
                .init("Own.Example.", expires: .distantFuture),
                .init("all.example", includesSubdomains: true, expires: .distantFuture),
            ], clock: clock.wall)
        for host in ["own.example", "OWN.EXAMPLE", "own.example.", "all.example", "a.all.example", "b.a.all.example"] {
            #expect(store.requiresTLS(host), "\(host)")
        }
        for host in ["a.own.example", "xall.example", "example", "", "."] {
            #expect(!store.requiresTLS(host), "\(host)")
        }
    }

    @Test("An entry counts until it expires; max-age=0 removes it")
    func expiry() throws {
        let store = HSTSStore(clock: clock.wall)
        let url = try RequestURL("https://a.example/")
        store.learn(from: head("max-age=60", "max-age=1"), of: url)
        clock.advance(by: 59)
        #expect(store.requiresTLS("a.example"))
        clock.advance(by: 1)
        #expect(!store.requiresTLS("a.example"))
        #expect(store.all.isEmpty)
        store.learn(from: head("max-age=60"), of: url)
        store.learn(from: head("max-age=0"), of: url)
        #expect(!store.requiresTLS("a.example"))
    }

    @Test(
        "Nothing is learnt over plain text, from IP addresses, or from an invalid field",
        arguments: [
            ("http://a.example/", "max-age=60"), ("https://127.0.0.1/", "max-age=60"), ("https://[::1]/", "max-age=60"),
            ("https://a.example/", "max-age=x"),
        ])
    func notLearnt(url: String, value: String) throws {
        let store = HSTSStore()
        store.learn(from: head(value), of: try RequestURL(url))
        #expect(store.all.isEmpty)
    }

    @Test("Only the scheme of a URL changes: a port, the path, the query, user and secrets stay")
    func secured() throws {
        let store = HSTSStore([.init("a.example", expires: .distantFuture)])
        for (text, expected) in [
            ("http://a.example/", "https://a.example/"), ("http://a.example:80/", "https://a.example/"),
            ("http://a.example:8080/x?y#z", "https://a.example:8080/x?y#z"),
            ("http://a.example:443/", "https://a.example/"), ("https://a.example/", "https://a.example/"),
            ("http://b.example/", "http://b.example/"), ("ftp://a.example/", "ftp://a.example/"),
        ] {
            #expect(try store.secured(try RequestURL(text)).text == expected)
        }
        let user = try store.secured(try RequestURL("http://me:pass@a.example/"))
        #expect((user.user, user.password) == ("me", "pass"))
        let verbatim = try store.secured(try RequestURL(verbatim: "http://a.example/a/../b"))
        #expect(verbatim.text == "https://a.example/a/../b")
    }

    @Test("A URL that is too long for another byte is refused, and not sent without TLS")
    func tooLong() throws {
        let store = HSTSStore([.init("a.example", expires: .distantFuture)])
        let path = String(repeating: "x", count: 65_535 - "http://a.example/".utf8.count)
        let error = #expect(throws: RequestError.self) { try store.secured(try RequestURL("http://a.example/" + path)) }
        #expect(error?.code == .invalidURL)
    }

    @Test("If there are too many hosts, those of the domain with the most hosts are removed, which expire first")
    func limit() {
        let store = HSTSStore(clock: clock.wall)
        let now = clock.wall.now
        store.set(.init("other.test", expires: now.addingTimeInterval(1)))
        for number in 1...HSTSStore.limit {
            store.set(.init("h\(number).example.com", expires: now.addingTimeInterval(Double(number + 1))))
        }
        #expect(store.all.count == HSTSStore.limit / 2 + 1)
        #expect(store.requiresTLS("other.test"))
        #expect(!store.requiresTLS("h\(HSTSStore.limit / 2).example.com"))
        #expect(store.requiresTLS("h\(HSTSStore.limit).example.com"))
    }

    @Test("An entry is not changed for a field that says nearly the same")
    func unchanged() throws {
        let store = HSTSStore(clock: clock.wall)
        let url = try RequestURL("https://a.example/")
        store.learn(from: head("max-age=1000"), of: url)
        let before = store.all
        clock.advance(by: 9)
        store.learn(from: head("max-age=1000"), of: url)
        #expect(store.all == before)
        clock.advance(by: 2)
        store.learn(from: head("max-age=1000"), of: url)
        #expect(store.all != before)
        store.learn(from: head("max-age=1000; includeSubDomains"), of: url)
        #expect(store.requiresTLS("b.a.example"))
    }

    @Test("The next store reads the hosts of the file, which only its owner can read")
    func file() async throws {
        let folder = try TemporaryFolder()
        let file = folder["hosts.json"]
        let store = try HSTSStore(file: file, clock: clock.wall)
        store.learn(from: head("max-age=60; includeSubDomains"), of: try RequestURL("https://a.example/"))
        try await store.save()
        let again = try HSTSStore(file: file, clock: clock.wall)
        #expect(again.all == store.all)
        #expect(again.requiresTLS("b.a.example"))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        again.removeAll()
        try await again.save()
        #expect(try HSTSStore(file: file, clock: clock.wall).all.isEmpty)
    }

    @Test("A damaged file is refused and left as it is", arguments: ["", "[]", #"{"version": 2, "hosts": []}"#])
    func damaged(content: String) throws {
        let folder = try TemporaryFolder()
        try Data(content.utf8).write(to: folder["hosts.json"])
        let error = #expect(throws: RequestError.self) { try HSTSStore(file: folder["hosts.json"]) }
        #expect(error?.code == .invalidHSTSFile)
        #expect(try Data(contentsOf: folder["hosts.json"]) == Data(content.utf8))
    }
}

@Suite("HSTS of sessions", .limited)
struct HSTSSessionTests {
    private let log = TransportLog()
    private let store = HSTSStore()

    private func session(
        _ answers: [String: StubAnswer] = [:], _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration.bare
        configuration.hsts = store
        change(&configuration)
        return log.session(configuration) { request, _ in answers[request.url.text] ?? .text("ok") }
    }

    private var sent: [String] { log.requests.map(\.url.text) }

    private static let learnt = StubAnswer.response(
        200, headers: ["Strict-Transport-Security": "max-age=60"], chunks: [Data("text".utf8)])

    @Test(
        "After a host's field over TLS, http URLs of this host are sent as https; before, and for others, they are not")
    func learnt() async throws {
        let session = session(["https://a.example/": Self.learnt, "http://a.example/": Self.learnt])
        for url in ["http://a.example/", "https://a.example/", "http://a.example/x", "http://b.example/"] {
            let request = await session.request(url)
            _ = try await request.serializingString().value
        }
        #expect(sent == ["http://a.example/", "https://a.example/", "https://a.example/x", "http://b.example/"])
    }

    @Test("A redirect to http of such a host is followed over https, also from https")
    func redirect() async throws {
        store.set(.init("a.example", expires: .distantFuture))
        let session = session([
            "https://b.example/": .response(302, headers: ["Location": "http://a.example/x"], chunks: [])
        ])
        let request = await session.request("https://b.example/")
        _ = try await request.serializingString().value
        #expect(sent == ["https://b.example/", "https://a.example/x"])
        #expect(request.attempts.last?.hops.last?.request.url.text == "https://a.example/x")
    }

    @Test("A redirect that its handler changes to http of such a host is sent over https")
    func handler() async throws {
        store.set(.init("a.example", expires: .distantFuture))
        let session = session([
            "https://b.example/": .response(302, headers: ["Location": "https://b.example/x"], chunks: [])
        ])
        let handler = Redirector { redirect in
            var request = try redirect.proposal
            request.url = try RequestURL("http://a.example/y")
            return .follow(request)
        }
        _ = try await session.request("https://b.example/").redirect(using: handler).serializingString().value
        #expect(sent == ["https://b.example/", "https://a.example/y"])
    }

    @Test("A request of middleware to http of such a host is sent over https")
    func middleware() async throws {
        store.set(.init("a.example", expires: .distantFuture))
        let session = session()
        let request = await session.request("https://b.example/").middleware(
            ClosureMiddleware { exchange, next in
                var exchange = exchange
                exchange.request.url = try RequestURL("http://a.example/")
                return try await next(exchange)
            })
        _ = try await request.serializingString().value
        #expect(sent == ["https://a.example/"])
    }

    @Test("A redirect's own field counts for the hop that follows")
    func redirectLearns() async throws {
        let session = session([
            "https://a.example/": .response(
                302,
                headers: [
                    "Strict-Transport-Security": "max-age=60; includeSubDomains", "Location": "http://b.a.example/",
                ], chunks: [])
        ])
        _ = try await session.request("https://a.example/").serializingString().value
        #expect(sent == ["https://a.example/", "https://b.a.example/"])
    }

    @Test("A request that does not use the cookie jar stores no cookie, also if its response names such a host")
    func withoutCookies() async throws {
        let jar = CookieJar()
        let answer = StubAnswer.response(
            200, headers: ["Strict-Transport-Security": "max-age=60", "Set-Cookie": "a=1"],
            chunks: [Data("text".utf8)])
        let session = session(["https://a.example/": answer]) { $0.cookieJar = jar }
        for isUsed in [false, true] {
            let request = await session.request("https://a.example/") { $0.options.usesCookieJar = isUsed }
            _ = try await request.serializingString().value
            #expect(jar.all.count == (isUsed ? 1 : 0))
        }
        #expect(store.requiresTLS("a.example"))
    }

    @Test("A cached response teaches nothing, also as a stream", arguments: [false, true])
    func cached(isStreamed: Bool) async throws {
        // More than a stream takes at once, so that the head arrives long before the end.
        let body = Data(repeating: 1, count: 4 << 20)
        let answer = StubAnswer.response(
            200,
            headers: [
                "Strict-Transport-Security": "max-age=60", "Cache-Control": "max-age=60",
                "Transfer-Encoding": "chunked",
            ],
            chunks: [body])
        let session = session(["https://a.example/": answer]) { $0.cache = .inMemory(limit: 64 << 20) }
        _ = try await session.request("https://a.example/").serializingData().value
        #expect(store.requiresTLS("a.example"))
        store.removeAll()
        if isStreamed {
            var count = 0
            for try await bytes in await session.streamRequest("https://a.example/").bytes { count += bytes.count }
            #expect(count == body.count)
        } else {
            _ = try await session.request("https://a.example/").serializingData().value
        }
        #expect(sent.count == 1)
        #expect(!store.requiresTLS("a.example"))
    }

    @Test("A WebSocket of such a host is opened over TLS")
    func webSocket() async throws {
        store.set(.init("a.example", expires: .distantFuture))
        let socket = await session().webSocket("ws://a.example/")
        _ = try? await socket.opened
        #expect(sent == ["https://a.example/"])
    }

    @Test("Nothing is learnt from a host whose certificate is not checked", arguments: [true, false])
    func disabled(isComposite: Bool) async throws {
        let evaluator: any ServerTrustEvaluating =
            isComposite ? CompositeTrustEvaluator([DisabledTrustEvaluator()]) : DisabledTrustEvaluator()
        let session = session(["https://a.example/": Self.learnt]) {
            $0.serverTrust = ServerTrustManager(evaluators: ["a.example": evaluator])
        }
        _ = try await session.request("https://a.example/").serializingString().value
        #expect(store.all.isEmpty)
    }

    @Test("Without a store, http URLs stay as they are")
    func off() async throws {
        let session = session(["https://a.example/": Self.learnt]) { $0.hsts = nil }
        for url in ["https://a.example/", "http://a.example/"] {
            _ = try await session.request(url).serializingString().value
        }
        #expect(sent == ["https://a.example/", "http://a.example/"])
    }
}
