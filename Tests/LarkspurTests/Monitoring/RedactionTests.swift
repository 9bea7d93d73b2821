import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Redaction and cURL", .limited)
struct RedactionTests {
    private func request(_ url: String = "https://h/p", _ change: (inout OutgoingRequest) -> Void = { _ in }) throws
        -> OutgoingRequest
    {
        var request = OutgoingRequest(url: try RequestURL(url))
        change(&request)
        return request
    }

    @Test(
        "Of a challenge, the scheme and the harmless parameters are shown; different nonces stay different",
        arguments: [
            (#"Basic realm="a, b", charset="UTF-8""#, #"Basic realm="a, b", charset=UTF-8"#),
            (
                #"digest realm=a, nonce="1", opaque="o", stale=TRUE, domain="/x?token=s""#,
                #"digest realm="a", nonce="REDACTED-6b86b273", opaque="REDACTED", stale=TRUE, "#
                    + #"domain="/x?token=REDACTED""#
            ),
            (#"Digest nonce="2", realm="\"q\\""#, #"Digest nonce="REDACTED-d4735e3a", realm="\"q\\""#),
            ("Negotiate, NTLM TlRMTVNTUAAC", "Negotiate, NTLM REDACTED"),
            (
                "Bearer scope=read, error=invalid_token, token=x",
                #"Bearer scope="read", error="invalid_token", token="REDACTED""#
            ),
            ("s3cret", "REDACTED"), ("s3cret a=b, Basic realm=a", #"REDACTED, Basic realm="a""#), ("", "REDACTED"),
            (#"Basic realm="unended"#, "Basic"),
        ])
    func challenges(value: String, shown: String) {
        for name in ["WWW-Authenticate", "proxy-authenticate"] {
            #expect(Redaction.standard.value(of: HTTPHeader(name: name, value: value)) == shown)
            #expect(Redaction.none.value(of: HTTPHeader(name: name, value: value)) == value)
        }
        var strict = Redaction.standard
        strict.names.insert("WWW-Authenticate")
        #expect(strict.value(of: HTTPHeader(name: "www-authenticate", value: value)) == "REDACTED")
        let marked = HTTPHeader(name: "WWW-Authenticate", value: value, isSecret: true)
        #expect(Redaction.standard.value(of: marked) == "REDACTED")
    }

    @Test("A value that had no secret is searched again by other rules, and if it only looks the same")
    func recurringValues() {
        func shown(_ redaction: Redaction, _ value: String) -> String {
            redaction.value(of: HTTPHeader(name: "X-List", value: value))
        }
        var redaction = Redaction.standard
        for _ in 0..<2 { #expect(shown(redaction, "/a;salary=1;b=2?c=3") == "/a;salary=1;b=2?c=3") }
        redaction.names.insert("salary")
        for _ in 0..<2 { #expect(shown(redaction, "/a;salary=1;b=2?c=3") == "/a;salary=REDACTED;b=2?c=3") }
        // The Greek question mark is another scalar than the semicolon, and equal to it as a string.
        for _ in 0..<2 { #expect(shown(redaction, "/a\u{37E}pin=1;b=2") == "/a\u{37E}pin=1;b=2") }
        #expect(shown(redaction, "/a;pin=1;b=2") == "/a;pin=REDACTED;b=2")
        for number in 0..<1_000 { #expect(shown(redaction, "/a;b=\(number)") == "/a;b=\(number)") }
    }

    @Test(
        "Names of secrets are hidden in every spelling",
        arguments: [
            "Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "X-Api-Key", "api_key", "apiKey",
            "access_token",
            "X-Amz-Security-Token", "X-Amz-Signature", "PASSWORD", "new_password", "client_secret", "sessionId", "sid",
            "pwd", "key", "code", "private_key", "pass", "cvv", "X-Auth", "X-Auth-Key", "Ocp-Apim-Subscription-Key",
            "access_key", "AccessKeyId", "x-functions-key", "code_verifier", "client_assertion", "SAMLResponse",
            "X-Amz-Server-Side-Encryption-Customer-Key", "DD-APPLICATION-KEY", "api.key", "card[pin]", "pin[]", "a.otp",
        ])
    func hidden(name: String) {
        #expect(Redaction.standard.hides(name))
        #expect(!Redaction.none.hides(name))
    }

    @Test(
        "Other names are shown",
        arguments: ["Accept", "Content-Type", "id", "page", "keyword", "side", "codec", "name", "", "[]", "card[name]"])
    func shown(name: String) {
        #expect(!Redaction.standard.hides(name))
    }

    @Test(
        "In a field with a URL only the secrets are replaced",
        arguments: [
            ("https://h/cb?state=1&code=s3cret", "https://h/cb?state=1&code=REDACTED"),
            ("/cb?a=1#access_token=s3cret&b=2", "/cb?a=1#access_token=REDACTED&b=2"),
            ("#token=s3cret", "#token=REDACTED"), ("https://u:s3cret@h/p?a=1", "https://h/p?a=1"),
            ("HTTPS://H/%7Ep?a=b#c", "HTTPS://H/%7Ep?a=b#c"), ("what? #1", "what? #1"), ("u@h?x", "u@h?x"),
            ("//u:s3cret@h/p?a=1", "//REDACTED@h/p?a=1"), ("app://u:s3cret@h/p", "app://h/p"),
            ("<https://u:s3cret@h/>; rel=next", "<https://REDACTED@h/>; rel=next"),
            ("/a?next=%2Fcb%3Ftoken%3Ds3cret&b=1", "/a?next=REDACTED&b=1"),
            ("https://h/a?next=%2Fcb%3Fpage%3D1", "https://h/a?next=%2Fcb%3Fpage%3D1"),
        ])
    func references(value: String, shown: String) throws {
        let request = try request { $0.headers = [HTTPHeader(name: "Referer", value: value)] }
        #expect(request.cURLDescription().contains("-H 'Referer: \(shown)'"))
        #expect(request.cURLDescription(redacting: .none).contains(value))
    }

    @Test("Names can be added in any spelling")
    func added() {
        var redaction = Redaction.standard
        redaction.names.insert("Tax-ID")
        redaction.fragments.insert("Account_No")
        #expect(redaction.hides("taxId") && redaction.hides("my-account-no-2"))
    }

    @Test("A request hides all its secrets, and shows them on demand")
    func secrets() throws {
        let bodies: [(String, String)] = [
            ("application/json", #"{"user": "ada", "password": "s3cret1", "deep": [{"token": "s3cret2", "n": 1.50}]}"#),
            ("application/x-www-form-urlencoded", "user=ada&pass%77ord=s3cret1&token=s3cret2"),
        ]
        for (type, body) in bodies {
            let request = try request("https://us3r:s3cret3@h/p?a=1&access_token=s3cret4&b=2") {
                $0.method = .post
                $0.headers = [
                    .contentType(type), HTTPHeader(name: "Cookie", value: "s3cret5"),
                    HTTPHeader(name: "X-Api-Key", value: "s3cret6"),
                ]
                $0.body = .data(Data(body.utf8))
            }
            let text = request.cURLDescription()
            #expect(!text.contains("s3cret") && !text.contains("us3r"))
            #expect(text.contains("ada") && text.contains("a=1&access_token=REDACTED&b=2"))
            #expect(text.contains("Authorization: Basic REDACTED"))
            let whole = request.cURLDescription(redacting: .none)
            for number in 1...6 where number != 3 { #expect(whole.contains("s3cret\(number)")) }
            #expect(whole.contains(HTTPHeader.authorization(username: "us3r", password: "s3cret3").value))
        }
    }

    @Test(
        "A body of unknown form is hidden if it contains the name of a secret",
        arguments: [
            ("text/plain", "password=hunter2"), ("text/xml", "<password>hunter2</password>"),
            ("application/x-ndjson", "{\"access_token\":\"hunter2\"}\n{\"a\":1}"),
            ("application/json", "{\"api-key\": \"hunter2\",}"), (nil, "X-Api-Key: hunter2"),
            ("multipart/form-data", "--b\nContent-Disposition: form-data; name=\"password\"\n\nhunter2\n--b--"),
            ("multipart/form-data; boundary=c", "name=\"password\" hunter2"),
        ] as [(String?, String)])
    func unreadable(type: String?, body: String) throws {
        let request = try request {
            $0.method = .post
            if let type { $0.headers = [.contentType(type)] }
            $0.body = .data(Data(body.utf8))
        }
        #expect(!request.cURLDescription().contains("hunter2"))
        #expect(request.cURLDescription(redacting: .none).contains("hunter2"))
    }

    @Test("JSON is redacted whatever its type, and harmless text is shown")
    func untyped() throws {
        var request = try request {
            $0.method = .post
            $0.body = .data(Data(#"{"user": "ada", "password": "hunter2"}"#.utf8))
        }
        #expect(request.cURLDescription().contains(#"{"user":"ada","password":"REDACTED"}"#))
        request.body = .data(Data("just some words".utf8))
        #expect(request.cURLDescription().contains("just some words"))
    }

    @Test(
        "Each of several members with the same key is redacted, also inside a string",
        arguments: [
            #"{"password":"hunter2","password":"b"}"#, #"{"password":"a","password":"hunter2"}"#,
            #"{"password":"hunter2","password":true}"#, #"{"a":{"password":"hunter2"},"a":1}"#,
            #"{"a":1,"a":[{"token":"hunter2"}],"a":2}"#, #"{"pass\u0077ord":"hunter2","password":null}"#,
            #"{"name":"password","value":"hunter2","name":"b"}"#, #"[{"a":"x?token=hunter2","a":1}]"#,
            #"{"text":"{\"a\":{\"password\":\"hunter2\"},\"a\":1}"}"#,
        ])
    func duplicateKeys(body: String) {
        for type in ["application/json", nil] {
            let shown = String(decoding: Redaction.standard.body(Data(body.utf8), type: type), as: UTF8.self)
            #expect(!shown.contains("hunter2") && shown.contains("REDACTED"))
            #expect(
                BodyPreview(redaction: .standard, limit: 1_000).lines(of: Data(body.utf8), type: type)
                    .allSatisfy { !$0.contains("hunter2") })
        }
        let many = body.hasPrefix("[") ? body : "{" + (0..<20).map { #""k\#($0)":1,"# }.joined() + body.dropFirst()
        #expect(
            !String(decoding: Redaction.standard.body(Data(many.utf8), type: nil), as: UTF8.self).contains("hunter2"))
        #expect(Redaction.standard.body(Data(#"{"a":1,"a":2}"#.utf8), type: nil) == Data(#"{"a":1,"a":2}"#.utf8))
    }

    @Test("Redacted JSON keeps all its members, in order")
    func keptDuplicates() {
        let body = Data(#"{"a":1,"password":"x","a":{"b":2,"b":3},"password":"y"}"#.utf8)
        let shown = #"{"a":1,"password":"REDACTED","a":{"b":2,"b":3},"password":"REDACTED"}"#
        #expect(Redaction.standard.body(body, type: "application/json") == Data(shown.utf8))
    }

    @Test("A property list's secrets are not shown in Base64 either")
    func propertyList() throws {
        var request = try request { $0.method = .post }
        try PropertyListParameterEncoder(format: .binary).encode(["password": "hunter2"], into: &request)
        let data = try #require(request.body.length)
        #expect(request.cURLDescription().contains("REDACTED (\(data) bytes)"))
    }

    @Test(
        "A secret in a form is hidden within other keys, and with any separator after a name or a pair",
        arguments: [
            "card[pin]=s3", "login%5Bpwd%5D=s3", "pin[]=s3", "pin[0]=s3", "user.pin=s3", "token=\u{301}s3",
            "a=1&\u{301}token=s3",
        ])
    func nested(form: String) throws {
        let request = try request {
            $0.method = .post
            $0.headers = [.contentType("application/x-www-form-urlencoded")]
            $0.body = .data(Data(form.utf8))
        }
        #expect(!request.cURLDescription().unicodeScalars.contains("3"))
        #expect(request.cURLDescription().contains("=REDACTED"))
    }

    @Test("A secret in a query is hidden if its replacement makes the URL too long, and the fragment is removed")
    func longQuery() throws {
        let url = "http://h/?token=s3cret&a=" + String(repeating: "x", count: 65_490) + "#token=s3cret"
        let text = try request(url).cURLDescription()
        #expect(!text.contains("s3cret"))
        #expect(text.contains("http://h/?token=REDACTED&a=x"))
    }

    /// Returns the bytes that a command writes in Base64.
    private func decoded(_ command: String) throws -> Data {
        let words = command.split(separator: "'")
        try #require(words.first == "echo ")
        return try #require(Data(base64Encoded: String(words[1])))
    }

    @Test("Secrets in a multipart form are hidden, and everything else is shown", arguments: ["b", "a b"])
    func parts(boundary: String) throws {
        var (form, expected) = (MultipartFormData(boundary: boundary), MultipartFormData(boundary: boundary))
        for (name, text) in [("user", "Ada"), ("password", "s3cret"), ("card[pin]", "s3\r\n\r\ncret"), ("n", "")] {
            form.append(text, name: name)
            expected.append(text.hasPrefix("s3") ? Redaction.replacement : text, name: name)
        }
        for (name, fileName) in [("token", "t"), ("file", "token.bin")] {
            let data = Data([0, 0xFF])
            let shown = name == "token" ? Data(Redaction.replacement.utf8) : data
            form.append(data, name: name, fileName: fileName, mimeType: "a/b")
            expected.append(shown, name: name, fileName: fileName, mimeType: "a/b")
        }
        var (sent, shown) = (try request(), try request())
        try sent.setBody(form)
        try shown.setBody(expected)
        #expect(try decoded(sent.cURLDescription()) == decoded(shown.cURLDescription(redacting: .none)))
    }

    @Test("Forms that are not UTF-8, and forms without content, are shown unchanged")
    func oddForms() throws {
        let samples: [(String, [UInt8])] = [
            ("application/x-www-form-urlencoded", [0x61, 0x3D, 0xFC]),
            ("multipart/form-data; boundary=b", Array("--b\r\n--b".utf8)),
            ("multipart/form-data; boundary=b", Array("--b--\r\n".utf8)),
        ]
        for (type, bytes) in samples {
            let request = try request {
                $0.method = .post
                $0.headers = [.contentType(type)]
                $0.body = .data(Data(bytes))
            }
            #expect(try decoded(request.cURLDescription()) == Data(bytes))
        }
    }

    @Test(
        "A quote with a combining mark does not end its string",
        arguments: ["\u{301}", "\u{200D}", "\u{FE0F}"])
    func markedQuote(mark: String) throws {
        let request = try request {
            $0.method = .post
            $0.headers.add(name: "X", value: "a'\(mark) b")
            $0.body = .data(Data("'\(mark); touch owned '".utf8))
        }
        let command = Array(request.cURLDescription().unicodeScalars)
        for word in ["-H 'X: a'\\''\(mark) b'", "--data-raw ''\\''\(mark); touch owned '\\'''"] {
            #expect(command.contains(Array(word.unicodeScalars)))
        }
    }

    @Test("A body without secrets is not changed")
    func harmless() throws {
        let body = #"{ "user" : "ada",  "n":1.50 }"#
        let request = try request {
            $0.method = .put
            $0.headers = [.contentType("application/json")]
            $0.body = .data(Data(body.utf8))
        }
        #expect(request.cURLDescription().contains("--data-raw '\(body)'"))
    }

    @Test(
        "The cURL text is a comment before the request is built, and then the last request; the handler gets each attempt"
    )
    func ofRequests() async throws {
        let log = TransportLog()
        let session = log.session { _, number in number == 1 ? .text("", status: 503) : .text("ok") }
        let told = Journal()
        let request = await session.request("http://h/a?q=it's").validate()
            .adapt(using: .adapter { request, state in request.headers["Attempt"] = "\(state.attempt)" })
            .retry(using: .retrier { _, _, _ in .retry })
            .cURLDescription { told.note($0) }
        #expect(request.cURLDescription() == "# request \(request.id) is not built yet")
        _ = try await request.serializingData().value
        let expected = (1...2).map {
            "curl \\\n    -H 'Attempt: \($0)' \\\n    -H 'Accept:' \\\n    -H 'User-Agent:' \\\n    'http://h/a?q=it'\\''s'"
        }
        #expect(told.lines == expected)
        #expect(request.cURLDescription() == expected[1])
    }

    @Test("URLs in JSON, and JSON in the parts of a form, hide their secrets")
    func values() throws {
        let json = Data(#"{"next":"https://h/?page=2&token=s3cret","links":["//u:s3cret@h/"],"why":"what? a=1"}"#.utf8)
        let shown = #"{"next":"https://h/?page=2&token=REDACTED","links":["//REDACTED@h/"],"why":"what? a=1"}"#
        #expect(try command(json, "application/json").contains(shown))
        var form = MultipartFormData(boundary: "b")
        form.append(json, name: "meta", mimeType: "application/json")
        form.append("password=s3cret", name: "note")
        var request = try request()
        try request.setBody(form)
        let text = String(decoding: try decoded(request.cURLDescription()), as: UTF8.self)
        #expect(text.contains(shown) && !text.contains("s3cret"))
    }

    @Test("A combining mark after a delimiter of a URL does not hide the delimiter", arguments: ["?", "#", "&", ";"])
    func combiningMarks(delimiter: String) {
        let path = delimiter == "&" ? "/p?a=1" : "/p"
        let location = HTTPHeader(name: "Location", value: "\(path)\(delimiter)\u{301}token=s3cret")
        #expect(!Redaction.standard.value(of: location).contains("s3cret"))
    }

    private func command(_ body: Data, _ type: String) throws -> String {
        try request {
            $0.method = .post
            $0.headers = [.contentType(type)]
            $0.body = .data(body)
        }.cURLDescription()
    }
}
