import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// An exchange and its exact log text.
struct LogExample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var level = LogMonitor.Level.basic
    var hasColors = false
    var bodyLimit = 4_000
    var request = Self.request()
    var answers: [StubAnswer]
    let text: String

    static func request(_ method: HTTPMethod = .get, _ body: String? = nil, _ headers: HTTPHeaders = [:])
        -> OutgoingRequest?
    {
        try? OutgoingRequest(
            "http://h/a?page=2", method: method, headers: headers, body: body.map { .data(Data($0.utf8)) } ?? .none)
    }
}

extension LogExample {
    static let lines = [
        LogExample(
            testDescription: "success", answers: [.text("hello")], text: "#1 GET http://h/a?page=2 → 200, 5 B\n"),
        LogExample(
            testDescription: "a body sent", request: request(.post, "hello"), answers: [.response(204)],
            text: "#1 POST http://h/a?page=2 → 204, 5 B sent\n"),
        LogExample(
            testDescription: "redirect", answers: [.redirect(to: "/b"), .text("x")],
            text: "#1 GET http://h/b → 200, 1 redirect, 1 B\n"),
        LogExample(
            testDescription: "retries", answers: [.failure(.connectionLost), .text("", status: 503), .text("x")],
            text: "#1 GET http://h/a?page=2 → 200, 2 retries, 1 B, 2.00 s\n"),
        LogExample(
            testDescription: "refused by a validator", answers: [.text("no", status: 404)],
            text:
                "#1 GET http://h/a?page=2 → 404, Not Found, 2 B\n"
        ),
        LogExample(
            testDescription: "failure", answers: [.failure(.unreachable)],
            text: "#1 GET http://h/a?page=2 → sending failed: unreachable\n"),
        LogExample(
            testDescription: "an error of several lines, and escapes",
            answers: [StubAnswer([.fail(TransportError(.unreachable, "a\u{1B}[31m\nb"))])],
            text: "#1 GET http://h/a?page=2 → sending failed: a\\u{1B}[31m b (unreachable)\n"),
        LogExample(
            testDescription: "colours", hasColors: true, answers: [.text("x", status: 500)],
            text:
                "#1 GET http://h/a?page=2 → \u{1B}[31m500\u{1B}[0m, \u{1B}[31mInternal Server Error\u{1B}[0m, 1 B\n"
        ),
    ]

    /// Computed, because the leak check reports static arrays of such values.
    static var blocks: [LogExample] {
        [
            LogExample(
                testDescription: "header fields, their secrets hidden", level: .headers,
                request: request(.get, nil, ["Accept": "a/b", "Authorization": "Bearer s3cret"]),
                answers: [.response(headers: ["Set-Cookie": "a=s3cret", "X": "\u{1B}[2J"], chunks: [Data("x".utf8)])],
                text: """
                    #1 GET http://h/a?page=2 → 200, 1 B
                      > Accept: a/b
                      > Authorization: Bearer REDACTED
                      < HTTP/1.1 200
                      < Set-Cookie: REDACTED
                      < X: \\u{1B}[2J

                    """),
            LogExample(
                testDescription: "every hop and attempt", level: .headers,
                answers: [.text("no", status: 503), .redirect(to: "/b"), .text("x")],
                text: """
                    #1 GET http://h/b → 200, 1 retry, 1 redirect, 1 B, 1.00 s
                      GET http://h/a?page=2 → 503
                      again after 1.00 s: Service Unavailable
                      GET http://h/a?page=2 → 302
                      < HTTP/1.1 200
                      < Content-Type: text/plain

                    """),
            LogExample(
                testDescription: "JSON", level: .body,
                request: request(
                    .post, #"{"name":"Ada","pin":1,"tags":[1,2.5]}"#, ["Content-Type": "application/json"]),
                answers: [.json(#"[{"token":"s3cret","id":7}]"#)],
                text: """
                    #1 POST http://h/a?page=2 → 200, 37 B sent, 27 B
                      > Content-Type: application/json
                      >
                      > {
                      >   "name": "Ada",
                      >   "pin": "REDACTED",
                      >   "tags": [
                      >     1,
                      >     2.5
                      >   ]
                      > }
                      < HTTP/1.1 200
                      < Content-Type: application/json
                      <
                      < [
                      <   {
                      <     "token": "REDACTED",
                      <     "id": 7
                      <   }
                      < ]

                    """),
            LogExample(
                testDescription: "form, and text with line ends and tabs", level: .body,
                request: request(
                    .post, "name=Ada+L&pin=1&b%0A=%1B", ["Content-Type": "application/x-www-form-urlencoded"]),
                answers: [.text("a\r\n\tb\u{202E}\u{7}\n")],
                text: """
                    #1 POST http://h/a?page=2 → 200, 25 B sent, 10 B
                      > Content-Type: application/x-www-form-urlencoded
                      >
                      > name = Ada L
                      > pin = REDACTED
                      > b\\n = \\u{1B}
                      < HTTP/1.1 200
                      < Content-Type: text/plain
                      <
                      < a
                      <     b\\u{202E}\\u{07}
                      <

                    """),
            LogExample(
                testDescription: "more than the limit", level: .body, bodyLimit: 4, answers: [.text("äöüabcdef")],
                text: """
                    #1 GET http://h/a?page=2 → 200, 12 B
                      < HTTP/1.1 200
                      < Content-Type: text/plain
                      <
                      < äöüa
                      < … 5 B more

                    """),
            LogExample(
                testDescription: "no text", level: .body, answers: [.text("abc", contentType: "image/png")],
                text: """
                    #1 GET http://h/a?page=2 → 200, 3 B
                      < HTTP/1.1 200
                      < Content-Type: image/png
                      <
                      < (image/png, 3 B)

                    """),
            LogExample(
                testDescription: "JSON that is none, in which a secret could not be found", level: .body,
                answers: [.json(#"{"pin": "1234", "#)],
                text: """
                    #1 GET http://h/a?page=2 → 200, 16 B
                      < HTTP/1.1 200
                      < Content-Type: application/json
                      <
                      < (application/json, 16 B)

                    """),
            LogExample(
                testDescription: "text in which something has a secret's name", level: .body,
                answers: [.text("<a><Pin >1234</pin></a>", contentType: "text/xml")],
                text: """
                    #1 GET http://h/a?page=2 → 200, 23 B
                      < HTTP/1.1 200
                      < Content-Type: text/xml
                      <
                      < REDACTED (23 bytes)

                    """),
            LogExample(
                testDescription: "the body of a failure", level: .body, answers: [.text("gone", status: 410)],
                text: """
                    #1 GET http://h/a?page=2 → 410, Gone, 4 B
                      < HTTP/1.1 410
                      < Content-Type: text/plain
                      <
                      < gone

                    """),
        ]
    }
}

@Suite("The text of the log", .limited)
struct LogFormatTests {
    /// Returns the log of one request with these answers. Transient failures are retried after a second.
    private func log(of example: LogExample) async throws -> String {
        let answers = example.answers
        let hops = Counter()
        let clock = LeapingClock()
        let session = Session(
            configuration: SessionConfiguration {
                $0.headers = [:]
                $0.validation = [.status(200..<300)]
                $0.clock = clock
            },
            transport: StubTransport { _ in answers[min(hops.increment(), answers.count) - 1] },
            interceptor: .retrier { _, _, error in
                error.statusCode == 503 || error.code == .connectionLost ? .retryAfter(.seconds(1)) : .doNotRetry
            })
        let request = await session.request(try #require(example.request))
        let exchange = await request.serializingData().response.exchange
        return LogFormat(
            level: example.level, redaction: .standard, bodyLimit: example.bodyLimit, hasColors: example.hasColors
        ).block(about: exchange, of: request.id)
    }

    @Test("A line has the outcome of a request", arguments: LogExample.lines)
    func lines(example: LogExample) async throws {
        let text = try await log(of: example)
        #expect(text == example.text)
    }

    @Test("A block has the request and the response, without secrets", arguments: LogExample.blocks)
    func blocks(example: LogExample) async throws {
        let text = try await log(of: example)
        #expect(text == example.text)
    }

    @Test("Large JSON is not indented, and of larger JSON only the size is shown", arguments: [16, 64, 512])
    func large(kilobytes: Int) {
        let json = "[" + String(repeating: "1,", count: kilobytes * 512 - 2) + "1]"
        let lines = BodyPreview(redaction: .standard, limit: 5).lines(of: Data(json.utf8), type: "application/json")
        switch kilobytes {
        case 16: #expect(lines.prefix(2) == ["[", "  1"])
        case 64: #expect(lines == ["[1,1,", "… 65.5 kB more"])
        default: #expect(lines == ["(application/json, 524.2 kB)"])
        }
    }

    @Test("A line has the time of the transport and the bytes on the network")
    func measured() throws {
        var metrics = TransportMetrics()
        (metrics.queued, metrics.total) = (.milliseconds(1), .microseconds(12_345))
        (metrics.requestBodyBytes, metrics.responseBodyBytes) = (2_000, 1_234_567)
        let request = try OutgoingRequest("http://u:s3cret@h/#s3cret")
        let hop = Hop(request: request, head: ResponseHead(status: 200), metrics: metrics)
        var last = Attempt()
        (last.request, last.delay) = (request, .seconds(2))
        last.append(hop)
        let past = CompletedExchange.Past(last: last)
        let exchange = CompletedExchange(hop: hop, data: Data(count: 2_000_000), attempts: 1, past: past)
        let format = LogFormat(level: .basic, redaction: .standard, bodyLimit: 0)
        #expect(
            format.block(about: exchange, of: RequestID(2))
                == "#2 GET http://h/ → 200, 2.0 kB sent, 1.2 MB (2.0 MB decoded), 2.01 s\n")
    }

    @Test(
        "Sizes and durations are short",
        arguments: [
            (999, "999 B"), (1_000, "1.0 kB"), (999_999, "999.9 kB"), (1_000_000, "1.0 MB"), (2_345_678_901, "2.3 GB"),
            (.max, "18.4 EB"),
        ] as [(UInt64, String)])
    func sizes(count: UInt64, text: String) {
        #expect(count.byteText == text)
    }

    @Test(arguments: [
        (Duration.microseconds(49), "0.0 ms"), (.microseconds(999_999), "999.9 ms"), (.seconds(1), "1.00 s"),
        (.milliseconds(61_055), "61.05 s"),
        (.seconds(Int64.max), "10000000000000.00 s"),
    ])
    func durations(duration: Duration, text: String) {
        #expect(duration.brief == text)
    }
}
