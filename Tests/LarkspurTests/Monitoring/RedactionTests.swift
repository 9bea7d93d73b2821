import Larkspur
import LarkspurTesting
import Testing

@Suite("Redaction and cURL", .timeLimit(.minutes(1)))
struct RedactionTests {
    private func request(_ url: String = "https://h/p", _ change: (inout OutgoingRequest) -> Void = { _ in }) throws
        -> OutgoingRequest
    {
        var request = OutgoingRequest(url: try RequestURL(url))
        change(&request)
        return request
    }

    @Test(
        "Names that sound like secrets are hidden, however they are written",
        arguments: [
            "Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "X-Api-Key", "api_key", "apiKey",
            "access_token",
            "X-Amz-Security-Token", "X-Amz-Signature", "PASSWORD", "new_password", "client_secret", "sessionId", "sid",
            "pwd", "key", "code", "private_key",
        ])
    func hidden(name: String) {
        #expect(Redaction.standard.hides(name))
        #expect(!Redaction.none.hides(name))
    }

    @Test(
        "Other names are shown",
        arguments: ["Accept", "Content-Type", "id", "page", "keyword", "side", "codec", "name", ""])
    func shown(name: String) {
        #expect(!Redaction.standard.hides(name))
    }

    @Test("Names can be added, in any spelling")
    func added() {
        var redaction = Redaction.standard
        redaction.names.insert("Tax-ID")
        redaction.fragments.insert("Account_No")
        #expect(redaction.hides("taxId") && redaction.hides("my-account-no-2"))
    }

    @Test("A request full of secrets shows none of them, and all of them when asked to")
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
        "A body that nobody can take apart is not shown if the name of a secret stands in it",
        arguments: [
            ("text/plain", "password=hunter2"), ("text/xml", "<password>hunter2</password>"),
            ("application/x-ndjson", "{\"access_token\":\"hunter2\"}\n{\"a\":1}"),
            ("application/json", "{\"api-key\": \"hunter2\",}"), (nil, "X-Api-Key: hunter2"),
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

    @Test("JSON is taken apart whatever its type, and harmless text is shown")
    func untyped() throws {
        var request = try request {
            $0.method = .post
            $0.body = .data(Data(#"{"user": "ada", "password": "hunter2"}"#.utf8))
        }
        #expect(request.cURLDescription().contains(#"{"user":"ada","password":"REDACTED"}"#))
        request.body = .data(Data("just some words".utf8))
        #expect(request.cURLDescription().contains("just some words"))
    }

    @Test("A property list's secrets are not shown in Base64 either")
    func propertyList() throws {
        var request = try request { $0.method = .post }
        try PropertyListParameterEncoder(format: .binary).encode(["password": "hunter2"], into: &request)
        guard case .data(let data) = request.body else { return #expect(Bool(false)) }
        #expect(!request.cURLDescription().contains(data.base64EncodedString().prefix(20)))
        "A quote with a mark over it does not end the word that it stands in",
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

    @Test("A body without secrets stays as it is, to the last space")
    func harmless() throws {
        let body = #"{ "user" : "ada",  "n":1.50 }"#
        let request = try request {
            $0.method = .put
            $0.headers = [.contentType("application/json")]
            $0.body = .data(Data(body.utf8))
        }
        #expect(request.cURLDescription().contains("--data-raw '\(body)'"))
    }

    @Test("Before a request is built there is nothing to show; afterwards what was sent last; and each attempt is told")
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
}
