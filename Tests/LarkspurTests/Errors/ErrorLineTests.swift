import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// The lines that a user reads after a mistake or a fault: the failure, its place, and a remedy.
@Suite("The lines of errors", .limited)
struct ErrorLineTests {
    private struct User: Decodable, Sendable { let name: String }

    private let log = TransportLog()

    /// A mistake, or a fault of the server, with the way to make it.
    struct Mistake: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The parts of the line, in order.
        let parts: [String]
        let make: @Sendable () async throws -> RequestError?

        init(
            _ what: String, _ parts: String...,
            by make: @escaping @Sendable (TransportLog) async throws -> RequestError?
        ) {
            (testDescription, self.parts, self.make) = (what, parts, { try await make(TransportLog()) })
        }
    }

    private static func failing(_ code: TransportError.Code, _ message: String = "the reason") -> StubAnswer {
        StubAnswer([.fail(TransportError(code, message))])
    }

    // MARK: What failed

    static let openings: [Mistake] = [
        Mistake("a wrong checksum", "receiving the response failed: the file's checksum is ") { log in
            let folder = try TemporaryFolder()
            return await log.session().download(
                "http://h/a", to: folder["a"], options: [.checksum(.sha256, String(repeating: "0", count: 64))]
            ).serializingFile().response.error
        },
        Mistake("a damaged gzip body", "receiving the response failed: ") { log in
            let session = log.session { _, _ in
                .response(headers: ["Content-Encoding": "gzip"], chunks: [Data("no gzip".utf8)])
            }
            return await session.request("http://h/").serializingData().response.error
        },
        Mistake("a truncated body", "receiving the response failed: the reason") { log in
            await log.session { _, _ in failing(.truncated) }.request("http://h/").serializingData().response.error
        },
        Mistake("a miss of the cache alone", "the request was not sent: the cache has no response") { log in
            let session = log.session(SessionConfiguration { $0.cache = .inMemory(limit: 1 << 20) })
            return await session.request("http://h/").cachePolicy(.onlyCached).serializingData().response.error
        },
        Mistake("an open circuit", "the request was not sent: http://h has failed too often", "next one is tried in") {
            log in
            let configuration = SessionConfiguration { $0.circuitBreaker = CircuitBreaker(minimumCount: 1) }
            let session = log.session(configuration) { _, _ in failing(.connectionRefused) }
            _ = await session.request("http://h/").serializingData().response
            return await session.request("http://h/").serializingData().response.error
        },
        Mistake("a redirect loop", "following a redirect failed: the server redirects in a circle") { log in
            let session = log.session { _, _ in .redirect(302, to: "/a") }
            return await session.request("http://h/a").serializingData().response.error
        },
        Mistake("a connection that is refused", "sending failed: the reason") { log in
            await log.session { _, _ in failing(.connectionRefused) }.request("http://h/").serializingData().response
                .error
        },
    ]

    // MARK: Where

    static let places: [Mistake] = [
        Mistake("a request after a failed one of its group", "was not sent", "[POST http://h/b]") { log in
            let session = log.session { _, _ in failing(.connectionRefused) }
            let (a, b) = (await session.request("http://h/a"), await session.request("http://h/b?q", method: .post))
            let group = RequestGroup(session)
            try group.add(a)
            try group.add(b, after: [a])
            try? await group.run()
            return await b.serializingData().response.error
        },
        Mistake("two requests of a group that wait for each other", "GET http://h/a would wait", ": GET http://h/b") {
            log in
            let session = log.session()
            let (a, b) = (await session.request("http://h/a"), await session.request("http://h/b"))
            let group = RequestGroup(session)
            try group.add(a)
            try group.add(b, after: [a])
            do { try group.add(a, after: [b]) } catch { return error as? RequestError }
            return nil
        },
        Mistake("a request of an invalidated session", "the session was invalidated", "[GET http://h/v1/a]") { log in
            let session = log.session(SessionConfiguration { $0.baseURL = "http://h/v1" })
            await session.invalidate()
            return await session.request("a?key=secret").serializingData().response.error
        },
        Mistake("a line break in a field's value", "X-Note contains a line break") { log in
            await log.session().request("http://h/", headers: ["X-Note": "a\nb"]).serializingData().response.error
        },
        Mistake("a colon in a field's name", "the name of a header field has \":\" after \"X-Note\"") { log in
            await log.session().request("http://h/", headers: ["X-Note: s3cret": "a"]).serializingData().response.error
        },
        Mistake("an empty name", "the name of a header field is empty") { log in
            await log.session().request("http://h/", headers: ["": "a"]).serializingData().response.error
        },
        Mistake("a space in a method", "the method has \" \" after \"GET\"") { log in
            await log.session().request("http://h/", method: HTTPMethod(rawValue: "GET /")).serializingData().response
                .error
        },
    ]

    // MARK: What to do

    static let cures: [Mistake] = [
        Mistake("an unknown authority", "the reason", "; if you trust the authority that issued the certificate") {
            log in
            await log.session { _, _ in failing(.unknownIssuer) }.request("https://h/").serializingData().response.error
        },
        Mistake("a certificate for another host", "the reason", "; use a host name of the certificate") { log in
            await log.session { _, _ in failing(.wrongHost) }.request("https://h/").serializingData().response.error
        },
        Mistake("an expired certificate", "the reason", "; renew the server's certificate, or correct the clock") {
            log in
            await log.session { _, _ in failing(.certificateExpired) }.request("https://h/").serializingData().response
                .error
        },
        Mistake("a proxy that wants a password", "the reason", "; give the proxy's URL a user and a password") { log in
            await log.session { _, _ in failing(.proxyUnauthorized) }.request("https://h/").serializingData().response
                .error
        },
        Mistake("a file that exists", "exists already", "; the download option .removePreviousFile replaces it") {
            log in
            let folder = try TemporaryFolder()
            try folder.write([1], to: "a")
            return await log.session().download("http://h/a", to: folder["a"]).serializingFile().response.error
        },
        Mistake("a full disk", "receiving the response failed: the disk is full: ", "; free space there") { log in
            let failing = ClosureMiddleware { _, _ in
                errno = ENOSPC
                throw RequestError.system("written", "/data/film")
            }
            return await log.session().download("http://h/a").middleware(failing).serializingFile().response.error
        },
        Mistake("a missing folder", "does not exist; create it, or use the download option .createIntermediate") {
            log in
            let folder = try TemporaryFolder()
            let file = folder["none"].appendingPathComponent("a")
            return await log.session().download("http://h/a", to: file).serializingFile().response.error
        },
        Mistake("a relative URL without a base", "It has no scheme", "configuration has a baseURL") { log in
            await log.session().request("users/7").serializingData().response.error
        },
        Mistake("a host and a port without a scheme", "scheme is localhost (if that is a host, write http://") { log in
            await log.session().request("localhost:8080/users").serializingData().response.error
        },
        Mistake("a missing credential", "status 401", "; the request had no Authorization field") { log in
            await log.session { _, _ in .response(401) }.request("http://h/").validate().serializingData().response
                .error
        },
        Mistake("a refused password", "status 401", "; the server refused the credentials of the request") { log in
            let session = log.session { _, _ in .response(401) }
            return await session.request("http://ada:x@h/").validate().serializingData().response.error
        },
        Mistake("a WebSocket at the URL of a page", "with status 200 (OK) instead of 101; the URL is probably not") {
            log in
            let session = log.session { _, _ in .text("<html>", contentType: "text/html") }
            do { for try await _ in await session.webSocket("ws://h/").messages {} } catch {
                return error as? RequestError
            }
            return nil
        },
    ]

    #if os(Linux)
        /// Mistakes about what a server speaks, over libcurl.
        static let protocols: [Mistake] = [
            Mistake("HTTP/2 at a server of HTTP/1.1", "; HTTP/2 was required without negotiation", "use .negotiated") {
                _ in
                let server = try MockServer()
                let request = await Session().request(server.url + "/") { $0.options.httpVersion = .http2 }
                return await request.serializingData().response.error
            },
            Mistake("https at a port for plain text", "does not speak TLS on this port", "or a URL with http://") { _ in
                let server = try MockServer()
                let url = server.url.replacing("http://", with: "https://") + "/"
                return await Session().request(url).serializingData().response.error
            },
            Mistake("http at a port for TLS", "is not HTTP", "; if the server expects TLS on this port, use a URL") {
                _ in
                // The alert of TLS about a record that is not TLS: protocol_version.
                let server = try MockServer { _ in .raw("\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{46}") }
                return await Session().request(server.url + "/").serializingData().response.error
            },
        ]
    #else
        static let protocols: [Mistake] = []
    #endif

    // MARK: The body of a refused response

    private static func refused(_ answer: StubAnswer, headers: HTTPHeaders = [:]) async -> RequestError? {
        await TransportLog().session { _, _ in answer }.request("http://h/", headers: headers).validate()
            .serializingData().response.error
    }

    static let bodies: [Mistake] = [
        Mistake("an explanation in JSON", "; the body (application/json, 24 B) is \"{\"error\":\"no such user\"}\" [") {
            _ in await refused(.json(#"{"error":"no such user"}"#, status: 404))
        },
        Mistake("an error page", "; the body (text/html, ", ") is \"<html> <title>Bad gateway</title>", "…\" [GET") {
            _ in
            let page = "<html>\n <title>Bad gateway</title>" + String(repeating: "x", count: 2_000)
            return await refused(.text(page, status: 502, contentType: "text/html; charset=utf-8"))
        },
        Mistake("bytes that are not text", "; the body (image/png, 4 B) [GET") { _ in
            await refused(
                .response(500, headers: ["Content-Type": "image/png"], chunks: [Data([0, 1, 2, 3])]))
        },
        Mistake("a large body", "; the body (text/plain, 70.0 kB) [GET") { _ in
            await refused(.text(String(repeating: "x", count: 70_000), status: 500))
        },
        Mistake("no body", "expected 200 to 299 [GET") { _ in await refused(.response(500)) },
    ]

    @Test("A line has its parts, in order", arguments: openings + places + cures + protocols + bodies)
    func line(mistake: Mistake) async throws {
        let line = "\(try #require(try await mistake.make()))"
        var rest = line[...]
        for part in mistake.parts {
            guard let place = rest.range(of: part) else {
                Issue.record("no \"\(part)\" in order: \(line)")
                return
            }
            rest = rest[place.upperBound...]
        }
        #expect(!line.contains { $0.isNewline } && !line.contains("s3cret"))
    }

    @Test("The body of a refused response is shown without secrets, also those of the request")
    func secrets() async throws {
        let named = try #require(await Self.refused(.json(#"{"password":"hunter2","id":7}"#, status: 400)))
        #expect(!"\(named)".contains("hunter2") && "\(named)".contains("\"id\":7"))
        let marked = HTTPHeaders([HTTPHeader(name: "X-Mine", value: "hunter2", isSecret: true)])
        let echoed = try #require(await Self.refused(.json(#"{"X-Mine":"hunter2"}"#, status: 400), headers: marked))
        #expect(!"\(echoed)".contains("hunter2"))
        let session = log.session { _, _ in .json(#"{"error":"no user hunter2 & co"}"#, status: 404) }
        let query = await session.request("http://h/?name=hunter2%20%26%20co").validate().serializingData().response
        #expect("\(try #require(query.error))".contains("no user REDACTED"))
        let plain = try #require(await Self.refused(.text("hunter2", status: 500)))
        #expect(!"\(plain)".contains("hunter2") && "\(plain)".contains("; the body (text/plain, 7 B)"))
        let page = StubAnswer.text("<p>a\u{1B}[31m", status: 400, contentType: "text/html")
        let escape = try #require(await Self.refused(page))
        #expect("\(escape)".contains("\\u{1B}") && !"\(escape)".contains("\u{1B}"))
    }

    @Test("What a server explains in its own problem takes the place of the body")
    func problem() async throws {
        let answer = StubAnswer.text(
            #"{"title":"No credit"}"#, status: 403, contentType: "application/problem+json")
        let request = await log.session { _, _ in answer }.request("http://h/").validate()
        let error = await request.serializingDecodable(User.self, failure: APIProblem.self).response.error
        let line = "\(try #require(error))"
        #expect(line.contains("the server says: No credit") && !line.contains("the body ("))
    }

    @Test("A type is named without an article")
    func typeName() async throws {
        let session = log.session { _, _ in .json("{}") }
        let error = await session.request("http://h/").serializingDecodable([User].self).response.error
        #expect(error?.message.hasPrefix("the body cannot be decoded as Array<User>: ") == true, "\(error as Any)")
    }

    @Test("Measured times have at most three digits after the point")
    func durations() {
        #expect("\(Duration.nanoseconds(9_989_320_592).readable)" == "9.989 seconds")
        #expect("\(Duration.seconds(5).readable)" == "5.0 seconds")
        #expect(Duration.microseconds(300).readable == .microseconds(300))
        #expect(Duration.seconds(Int64.max).readable == .seconds(Int64.max))
    }
}
