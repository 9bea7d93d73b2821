import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The request fields by which stored responses of one URL are kept apart, although the server does not say so.
@Suite("The users whose responses a cache keeps apart", .limited)
struct CacheUserTests {
    private let folder: TemporaryFolder
    private let log = TransportLog()

    init() throws { folder = try TemporaryFolder() }

    enum Place: CaseIterable {
        case memory, disk
    }

    /// Returns a session with a cache, and a server that counts its responses.
    private func session(_ place: Place, _ fields: HTTPHeaders = [:]) -> Session {
        var configuration = SessionConfiguration.bare
        configuration.cache = place == .memory ? .inMemory() : .onDisk(at: folder.url)
        return log.session(configuration) { _, number in .fresh("\(number)", fields) }
    }

    private func get(_ session: Session, _ fields: HTTPHeaders = [:]) async -> String? {
        await session.request("http://h/", headers: fields).serializingString().response.value
    }

    @Test(
        "A response is served only for the cookies of its request, also if it does not vary and sets none",
        arguments: Place.allCases, ["max-age=60", "private, max-age=60", "max-age=60, must-revalidate"])
    func cookies(place: Place, control: String) async {
        let session = session(place, ["Cache-Control": control])
        let requests: [(HTTPHeaders, String)] = [
            (["Cookie": "s=a"], "1"), (["Cookie": "s=b"], "2"), ([:], "3"), (["Cookie": ""], "4"),
            (["cookie": "s=a"], "1"), (["Cookie": "s=b"], "2"), ([:], "3"), (["Cookie": "s=c"], "5"), ([:], "3"),
        ]
        for (fields, expected) in requests { #expect(await get(session, fields) == expected) }
    }

    @Test(
        "A public response is served to everyone, whatever its request's cookies",
        arguments: Place.allCases, [["Cookie": "s=a"], [:]] as [HTTPHeaders])
    func publicResponse(place: Place, first: HTTPHeaders) async {
        let session = session(place, ["Cache-Control": "public, max-age=60"])
        for fields in [first, ["Cookie": "s=b"], [:], ["Cookie": "s=a"]] {
            #expect(await get(session, fields) == "1")
        }
    }

    @Test("A public response that sets a cookie is for the cookies of its request", arguments: Place.allCases)
    func publicCookie(place: Place) async {
        let session = session(place, ["Cache-Control": "public, max-age=60", "Set-Cookie": "a=b"])
        for (cookie, expected) in [("s=a", "1"), ("s=b", "2"), ("s=a", "1")] {
            #expect(await get(session, ["Cookie": cookie]) == expected)
        }
    }

    @Test("A response that varies is also for the cookies of its request", arguments: Place.allCases)
    func varying(place: Place) async {
        let session = session(place, ["Vary": "Accept-Language"])
        let requests: [(HTTPHeaders, String)] = [
            (["Accept-Language": "en"], "1"), (["Accept-Language": "en", "Cookie": "s=a"], "2"),
            (["Accept-Language": "de", "Cookie": "s=a"], "3"), (["Accept-Language": "en"], "1"),
            (["Accept-Language": "en", "Cookie": "s=a"], "2"), (["Accept-Language": "en", "Cookie": "s=b"], "4"),
        ]
        for (fields, expected) in requests { #expect(await get(session, fields) == expected) }
    }

    @Test("A validation that takes `public` away keeps users apart from then on", arguments: Place.allCases)
    func noLongerPublic(place: Place) async {
        var configuration = SessionConfiguration.bare
        configuration.cache = place == .memory ? .inMemory() : .onDisk(at: folder.url)
        let session = log.session(configuration) { request, number in
            let control = number == 1 ? "public, max-age=0" : "max-age=60"
            guard request["If-None-Match"] == nil else {
                return .response(304, headers: ["ETag": "\"1\"", "Cache-Control": control])
            }
            return .fresh("\(number)", ["ETag": "\"\(number)\"", "Cache-Control": control])
        }
        #expect(await get(session) == "1")
        #expect(await get(session, ["Cookie": "s=a"]) == "1", "the server has said so to this user")
        #expect(await get(session, ["Cookie": "s=a"]) == "1")
        #expect(log.count == 2)
        #expect(await get(session, ["Cookie": "s=b"]) == "3")
    }

    @Test("A handler can make a stored response public only if that serves it to no other user")
    func handler() async {
        var configuration = SessionConfiguration.bare
        configuration.cache = .inMemory()
        configuration.cachedResponseHandler = .modify { response in
            let control = HTTPHeader(name: "Cache-Control", value: "public, max-age=60")
            let fields = response.head.fields.filter { $0.name != "Cache-Control" }
            response.head = ResponseHead(status: response.head.status, fields: fields + [control])
        }
        let session = log.session(configuration) { _, number in .fresh("\(number)") }
        #expect(await get(session) == "1")
        #expect(await get(session, ["Cookie": "s=a"]) == "2")
        #expect(await get(session, ["Cookie": "s=b"]) == "3")
        #expect(await get(session) == "1")
        #expect(await get(session, ["Cookie": "s=a"]) == "2")
    }

    @Test(
        "A response is served only for the same credential, whatever the field's name and the response's directives",
        arguments: Place.allCases, ["DPoP", "dpop", "X-API-Key", "X-Auth-Token", "Proxy-Authorization", "X-Session-Id"])
    func credentials(place: Place, name: String) async {
        let session = session(place, ["Cache-Control": "public, max-age=60"])
        let requests: [(HTTPHeaders, String)] = [
            ([name: "a"], "1"), ([name: "b"], "2"), ([:], "3"), ([name: "a"], "1"), ([name: "b"], "2"), ([:], "3"),
        ]
        for (fields, expected) in requests { #expect(await get(session, fields) == expected) }
    }

    @Test("A field that is marked as secret is a credential, also if it has a frequent name", arguments: Place.allCases)
    func marked(place: Place) async {
        let session = session(place)
        for (value, expected) in [("a", "1"), ("b", "2"), ("a", "1")] {
            let fields = HTTPHeaders([HTTPHeader(name: "Accept", value: value, isSecret: true)])
            #expect(await get(session, fields) == expected)
        }
    }

    @Test("A response is served only for the same Host", arguments: Place.allCases)
    func hosts(place: Place) async {
        let session = session(place, ["Cache-Control": "public, max-age=60"])
        let requests: [(HTTPHeaders, String)] = [
            ([:], "1"), (["Host": "a"], "2"), (["Host": "b"], "3"), (["host": "A"], "2"), (["Host": "a:80"], "2"),
            (["Host": "a:81"], "4"), (["Host": "h"], "1"), (["Host": "H:80"], "1"), (["Host": "b"], "3"), ([:], "1"),
        ]
        for (fields, expected) in requests { #expect(await get(session, fields) == expected, "\(fields)") }
    }

    @Test("Equal requests of different users at the same time do not share a response, and do not wait for each other")
    func concurrentUsers() async throws {
        let clock = ManualClock()
        var configuration = SessionConfiguration.bare
        configuration.cache = .inMemory()
        let log = log
        let stub = StubTransport(clock: clock) { request in
            var answer = StubAnswer.fresh(request["Cookie"] ?? "none")
            answer.steps.insert(.wait(.seconds(1)), at: 0)
            _ = log
            return answer
        }
        let session = Session(configuration: configuration, transport: stub)
        let cookies = ["s=a", "s=b", nil]
        try await withThrowingTaskGroup(of: (String?, String?).self) { group in
            for cookie in cookies {
                group.addTask {
                    (cookie, await get(session, cookie.map { ["Cookie": $0] } ?? [:]))
                }
            }
            await clock.waitForSleepers(3)
            clock.advance(by: .seconds(1))
            for try await (cookie, value) in group { #expect(value == cookie ?? "none") }
        }
    }
}
