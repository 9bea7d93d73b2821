import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Digest", .limited)
struct DigestTests {
    private let log = TransportLog()

    private static func head(_ challenges: String...) -> ResponseHead {
        ResponseHead(status: 401, fields: challenges.map { HTTPHeader(name: "WWW-Authenticate", value: $0) })
    }

    private static func parameters(of request: TransportRequest?) -> AuthenticationChallenge {
        AuthenticationChallenge.parse([request?["Authorization"] ?? ""]).first ?? AuthenticationChallenge("none")
    }

    // MARK: Answers

    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var challenge: String
        var user = DigestUser(name: "Mufasa", password: "Circle of Life")
        var protection: DigestChallenge.Protection? = .head
        var method = "GET"
        var target = "/dir/index.html"
        var body = ""
        var clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        var count = 1
        var response: String
        var username = #"username="Mufasa""#
        var testDescription: String { name }
    }

    private static let rfc7616 =
        #"realm="http-auth@example.org", qop="auth, auth-int", "#
        + #"nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
    private static let utf8 =
        #"realm="api@example.org", qop="auth", algorithm=SHA-512-256, charset=UTF-8, "#
        + #"nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS""#

    /// RFC 7616, section 3.9, the second example with its erratum 4897; RFC 2617, section 3.5; and, for what they leave
    /// out, values computed by another implementation of the hashes.
    static let vectors = [
        Vector(
            name: "RFC 7616, MD5", challenge: rfc7616 + ", algorithm=MD5", response: "8ca523f5e9506fed4657c9700eebdbec"),
        Vector(
            name: "RFC 7616, SHA-256", challenge: rfc7616 + ", algorithm=SHA-256",
            response: "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        Vector(
            name: "RFC 7616, SHA-512-256, hidden user", challenge: utf8 + ", userhash=true", user: jason,
            target: "/doe.json", clientNonce: jasonNonce,
            response: "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5",
            username: #"username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b""#),
        Vector(
            name: "RFC 7616, SHA-512-256, user in UTF-8", challenge: utf8, user: jason, target: "/doe.json",
            clientNonce: jasonNonce, response: "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5",
            username: "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"),
        Vector(
            name: "RFC 2617", challenge: rfc2617, user: DigestUser(name: "Mufasa", password: "Circle Of Life"),
            clientNonce: "0a4f113b", response: "6629fae49393a05397450978507c4ef1"),
        Vector(
            name: "without qop", challenge: #"realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#,
            user: DigestUser(name: "Mufasa", password: "Circle Of Life"), protection: nil,
            response: "670fd8c2df070c60b045671b8b24ff02"),
        Vector(
            name: "SHA-256-sess, the body too, the second use", challenge: rfc7616 + ", algorithm=SHA-256-sess",
            protection: .whole, method: "POST", body: "v=0\r\n", count: 2,
            response: "ebb847863e9551f906b6d948f296c0fa6974396676503a5b0b0b6c5ba5733204"),
        Vector(
            name: "MD5-sess without qop", challenge: #"realm="r", nonce="n", algorithm=MD5-sess"#, protection: nil,
            response: "9facaec72ad1945f95e05dddd1499435"),
    ]
    // The last two characters of the name are composed of two scalars each; they are hashed as one.
    private static let jason = DigestUser(name: "Ja\u{308}søn Doe", password: "Secret, or not?")
    private static let jasonNonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v"
    private static let rfc2617 =
        #"realm="testrealm@host.com", qop="auth,auth-int", "#
        + #"nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41""#

    @Test("Answers are those of the standards' examples", arguments: vectors)
    func answers(vector: Vector) throws {
        let challenge = try #require(DigestChallenge.strongest(in: Self.head("Digest " + vector.challenge)))
        let answer = DigestAnswer(
            challenge: challenge, protection: vector.protection, method: vector.method, target: vector.target,
            bodyHash: StreamingHash.hexadecimal(vector.body, challenge.algorithm.hash), clientNonce: vector.clientNonce,
            count: vector.count)
        #expect(answer.response(for: vector.user) == vector.response)
        let field = answer.field(for: vector.user)
        #expect(field.hasPrefix("Digest \(vector.username), "))
        let parameters = try #require(AuthenticationChallenge.parse([field]).first)
        #expect(parameters["response"] == vector.response)
        #expect(parameters["nonce"] == challenge.nonce)
        #expect(parameters["realm"] == challenge.realm)
        #expect(parameters["opaque"] == challenge.opaque)
        #expect(parameters["uri"] == vector.target)
        #expect(parameters["qop"] == vector.protection?.rawValue)
        #expect(parameters["nc"] == vector.protection.map { _ in "0000000\(vector.count)" })
        #expect((parameters["algorithm"] != nil) == vector.challenge.contains("algorithm="))
        #expect((parameters["cnonce"] != nil) == (vector.protection != nil || challenge.algorithm.isSession))
    }

    // MARK: Challenges

    @Test(
        "The strongest known challenge is answered, and the first one of equal strength",
        arguments: [
            (["Digest realm=r, nonce=1", "Digest realm=r, nonce=2, algorithm=SHA-256"], "2"),
            (["Basic realm=r, Digest realm=r, nonce=1, algorithm=SHA-512-256, Digest realm=r, nonce=2"], "1"),
            (["Digest realm=r, nonce=1, algorithm=SHA-1, Digest realm=r, nonce=2, algorithm=md5-SESS"], "2"),
            (["Digest realm=a, nonce=1, algorithm=SHA-256", "Digest realm=b, nonce=2, algorithm=SHA-256-sess"], "1"),
            (["Digest realm=r, nonce=1, qop=\"auth-conf\""], nil), (["Digest realm=r"], nil), (["Digest nonce=1"], nil),
            (["Basic realm=r, nonce=1"], nil), ([], nil),
            (["Digest realm=\"r\u{1}\", nonce=1", "Digest realm=r, nonce=\"\t\"", "Digest realm=r, nonce=3"], "3"),
        ])
    func strongest(fields: [String], nonce: String?) {
        let head = ResponseHead(status: 401, fields: fields.map { HTTPHeader(name: "WWW-Authenticate", value: $0) })
        #expect(DigestChallenge.strongest(in: head)?.nonce == nonce)
    }

    @Test("No bytes that a server sends upset the reading of a challenge", arguments: 0..<8)
    func noise(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array(#"Digest ="\,nonce= a\#té"#)
        for _ in 0..<rounds(200, nightly: 2_000) {
            let text = String(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? " " })
            for challenge in AuthenticationChallenge.parse([text]) { #expect(!challenge.scheme.isEmpty) }
        }
        #expect(AuthenticationChallenge.parse([String(repeating: "a=\"", count: 100_000)]).isEmpty)
    }

    // MARK: On the way

    /// Answers as a server that knows the user u and the password p, with one nonce after another: each is good for so
    /// many uses. A use is judged by its number, which must be the next, and by its hash.
    private final class Server: Sendable {
        private let box = Protected((nonces: 1, uses: 0))
        let lives: Int
        let saysStale: Bool
        let options: String

        init(lives: Int = .max, saysStale: Bool = true, options: String = #"qop="auth", algorithm=SHA-256"#) {
            self.lives = lives
            self.saysStale = saysStale
            self.options = options
        }

        func answer(_ request: TransportRequest, body: String = "") -> StubAnswer {
            let given = DigestTests.parameters(of: request)
            return box.withLock { box in
                let number = given["nc"].flatMap { Int($0, radix: 16) } ?? 0
                let isCurrent = given["nonce"] == "nonce \(box.nonces)"
                if isCurrent, number == box.uses + 1, number <= lives, isRight(given, request, body) {
                    box.uses += 1
                    return .text("ok")
                }
                let isStale = saysStale && (given["nonce"] != nil && !isCurrent || number > lives)
                if isStale || isCurrent || number > lives { box = (box.nonces + 1, 0) }
                let challenge = #"Digest realm="r", nonce="nonce \#(box.nonces)", \#(options), stale=\#(isStale)"#
                return .response(401, headers: ["WWW-Authenticate": challenge])
            }
        }

        private func isRight(_ given: AuthenticationChallenge, _ request: TransportRequest, _ body: String) -> Bool {
            let head = DigestTests.head(#"Digest realm="r", nonce="\#(given["nonce"] ?? "")", \#(options)"#)
            guard let challenge = DigestChallenge.strongest(in: head) else { return false }
            let answer = DigestAnswer(
                challenge: challenge, protection: given["qop"].flatMap(DigestChallenge.Protection.init),
                method: request.method, target: String(request.url.target),
                bodyHash: StreamingHash.hexadecimal(body, challenge.algorithm.hash), clientNonce: given["cnonce"] ?? "",
                count: Int(given["nc"] ?? "", radix: 16) ?? 0)
            return answer.response(for: DigestUser(name: "u", password: "p")) == given["response"]
        }
    }

    private func session(_ server: Server, password: String = "p") -> Session {
        log.session(.validating, interceptor: .digest(username: "u", password: password)) { request, _ in
            server.answer(request)
        }
    }

    @Test("The first request learns the challenge, the next answer it at once, each with the next number")
    func reuse() async throws {
        let session = session(Server())
        for path in ["a", "b?c=d", "e"] {
            #expect(try await session.request("http://h/\(path)").serializingString().value == "ok")
        }
        #expect(log.requests.map { Self.parameters(of: $0)["nc"] } == [nil, "00000001", "00000002", "00000003"])
        #expect(Self.parameters(of: log.requests[2])["uri"] == "/b?c=d")
    }

    @Test("A stale nonce is replaced by the server's next one, and the request is repeated")
    func stale() async throws {
        let session = session(Server(lives: 2))
        for _ in 1...4 { #expect(try await session.request("http://h/").serializingString().value == "ok") }
        let numbers = log.requests.map { Self.parameters(of: $0)["nc"]?.last.map(String.init) ?? "-" }
        #expect(numbers == ["-", "1", "2", "3", "1", "2"])
    }

    @Test("A wrong password is asked about once, and the refusal stands", arguments: [true, false])
    func wrongPassword(saysStale: Bool) async throws {
        let session = session(Server(saysStale: saysStale), password: "wrong")
        for count in [2, 4] {
            let error = await session.request("http://h/").serializingData().response.error
            #expect(error?.statusCode == 401)
            #expect(log.count == count)
        }
    }

    @Test("A server that calls every nonce stale is no endless loop")
    func alwaysStale() async throws {
        let session = session(Server(lives: 0))
        #expect(await session.request("http://h/").serializingData().response.error?.statusCode == 401)
        #expect(log.count == 4)
    }

    @Test("A server whose nonce never changes is not asked again with the same answer")
    func constantNonce() async throws {
        let session = log.session(.validating, interceptor: .digest(username: "u", password: "p")) { _, _ in
            .response(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth", stale=true"#])
        }
        #expect(await session.request("http://h/").serializingData().response.error?.statusCode == 401)
        #expect(log.count == 2)
    }

    @Test("Parallel requests share a nonce and never a number")
    func parallel() async throws {
        let session = log.session(.validating, interceptor: .digest(username: "u", password: "p")) { request, _ in
            request["Authorization"] == nil
                ? .response(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
                : .text("ok")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask { _ = try await session.request("http://h/").serializingString().value }
            }
            try await group.waitForAll()
        }
        let numbers = log.requests.compactMap { Self.parameters(of: $0)["nc"] }
        #expect(numbers.count == 200)
        #expect(Set(numbers).count == 200)
    }

    @Test("A challenge that comes again late goes on with its numbers")
    func lateChallenge() async throws {
        let clock = ManualClock()
        let transport = StubTransport(clock: clock) { request in
            guard request["Authorization"] == nil else { return .text(Self.parameters(of: request)["nc"] ?? "") }
            let refusal = StubAnswer.response(
                401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
            return request.url.path == "/late" ? refusal.after(.seconds(5)) : refusal
        }
        let session = Session(
            configuration: .validating, transport: transport, interceptor: .digest(username: "u", password: "p"))
        let late = await session.request("http://h/late").serializingString()
        await clock.waitForSleepers()
        #expect(try await session.request("http://h/early").serializingString().value == "00000001")
        clock.advance(by: .seconds(5))
        #expect(try await late.value == "00000002")
    }

    // MARK: Bodies

    /// A body, and whether it can be hashed before it is sent.
    enum BodyKind: CaseIterable, Sendable {
        case none, data, file, sequence, onceOnly
    }

    @Test("Where the server wants the body protected, its hash is in the answer", arguments: BodyKind.allCases)
    func bodies(kind: BodyKind) async throws {
        let text = kind == .none ? "" : String(repeating: "text of a body\n", count: 10_000)
        let folder = try TemporaryFolder()
        let file = try folder.write(text.utf8)
        let body: TransportBody =
            switch kind {
            case .none: .none
            case .data: .data(Data(text.utf8))
            case .file: try .file(file)
            case .sequence: .sequence { Pieces(elements: [Data(text.utf8)]) }
            case .onceOnly: .onceOnly
            }
        let server = Server(options: #"qop="auth-int", algorithm=SHA-256"#)
        let digest = DigestAuthentication(username: "u", password: "p")
        let session = log.session(.validating, interceptor: digest) { request, _ in
            server.answer(request, body: request.method == "POST" ? text : "")
        }
        _ = await session.request("http://h/").serializingData().response  // learns the challenge
        let response = await session.request(try OutgoingRequest("http://h/", method: .post, body: body))
            .serializingString().response
        #expect(response.value == (kind == .onceOnly ? nil : "ok"))
        #expect(response.error?.code == (kind == .onceOnly ? .bodyNotReplayable : nil))
    }

    @Test(
        "The body is protected where that is all that is offered, or where it is wished and possible",
        arguments: [
            ("auth", true, "auth"), ("auth-int", false, "auth-int"), ("auth, auth-int", false, "auth"),
            ("auth,auth-int", true, "auth-int"), ("auth-int,token", false, "auth-int"),
        ])
    func choice(offer: String, isWished: Bool, chosen: String) async throws {
        let server = Server(options: "qop=\"\(offer)\"")
        let digest = DigestAuthentication(username: "u", password: "p", protectsBodies: isWished)
        let session = log.session(.validating, interceptor: digest) { request, _ in server.answer(request) }
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        #expect(Self.parameters(of: log.requests.last)["qop"] == chosen)
    }
}
