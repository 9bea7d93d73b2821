import Larkspur
import LarkspurTesting

extension Fault {
    /// Invalid heads, and valid heads in an unusual form.
    static let heads: [Fault] = [
        Fault("garbage", .garbage, .failure(.protocolViolation)),
        Fault("another protocol", raw: "SSH-2.0-OpenSSH_9.2\r\n", .failure(.protocolViolation)),
        Fault(
            "an unknown future version", raw: "HTTP/7.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            .failure(.protocolViolation)
        ),
        Fault(
            "a status that is not a number", raw: "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
            .failure(.protocolViolation)),
        Fault(
            "a status of two digits", raw: "HTTP/1.1 99 OK\r\nContent-Length: 0\r\n\r\n", .failure(.protocolViolation)),
        Fault(
            "a status of four digits", raw: "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
            .failure(.protocolViolation)),
        Fault("a head without a status line", raw: "Content-Length: 0\r\n\r\n", .failure(.protocolViolation)),
        Fault("HTTP/0.9", raw: "just the text", .failure(.protocolViolation)),

        Fault("no reason phrase", raw: "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", .response("ok")),
        Fault("no reason phrase nor space", raw: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", .response("ok")),
        Fault(
            "no space after the colon", raw: "HTTP/1.1 200 OK\r\nX-A:1\r\nContent-Length:2\r\n\r\nok",
            .response("ok", fields: ["X-A: 1", "Content-Length: 2"])),
        Fault(
            "an unknown status", raw: "HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nok", .response("ok", status: 799)),
        Fault(
            "line ends of LF only", raw: "HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 2\n\nok",
            .response("ok", fields: ["X-A: 1", "Content-Length: 2"])),
        Fault(
            "folded lines", raw: "HTTP/1.1 200 OK\r\nX-A: 1,\r\n  2\r\n\t3\r\nContent-Length: 2\r\n\r\nok",
            .response("ok", fields: ["X-A: 1, 2 3", "Content-Length: 2"])),
        Fault(
            "a line without a colon", raw: "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nok",
            .failure(.protocolViolation)),
        Fault(
            "fields in Latin-1",
            MockResponse([
                .raw(Data(Array("HTTP/1.1 200 OK\r\nX-A: gr".utf8) + [0xFC])),
                .raw(Data("n\r\nContent-Length: 2\r\n\r\nok".utf8)),
            ]), .response("ok", fields: ["X-A: grün", "Content-Length: 2"])),
        Fault(
            "CR in a field", raw: "HTTP/1.1 200 OK\r\nX-A: a\rContent-Length: 9\r\nContent-Length: 2\r\n\r\nok",
            .response("ok")),
        Fault(
            "a blank line before the status line", raw: "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            .failure(.protocolViolation)),
        Fault(
            "a folded line before the first field", raw: "HTTP/1.1 200 OK\r\n X-A: 1\r\nContent-Length: 2\r\n\r\nok",
            .failure(.protocolViolation)),
        Fault(
            "NUL in a field", raw: "HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 2\r\n\r\nok",
            .failure(.protocolViolation)),
        Fault(
            "NUL in the status line", raw: "HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n",
            .failure(.protocolViolation)),
        Fault(
            "HTTP/1.0 without a length", raw: "HTTP/1.0 200 OK\r\n\r\nto the end", .response("to the end")),
    ]

    /// Closes and floods before the head is complete.
    static let brokenHeads: [Fault] = [
        Fault("a close before the head", MockResponse([.close]), .failure(.connectionLost)),
        Fault("a close in the status line", raw: "HTTP/1.1 20", .failure([.connectionLost, .protocolViolation])),
        Fault("a close after the status line", raw: "HTTP/1.1 200 OK\r\n", .failure(.connectionLost)),
        Fault("a close in a field", raw: "HTTP/1.1 200 OK\r\nContent-Le", .failure(.connectionLost)),
        Fault(
            "a close before the blank line", raw: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", .failure(.connectionLost)),
        Fault("a close after an interim head", raw: "HTTP/1.1 103 Early Hints\r\n\r\n", .failure(.connectionLost)),
        Fault("a reset before the head", MockResponse([.reset]), .failure(.connectionLost)),
        Fault("a reset in the head", raw: "HTTP/1.1 200 OK\r\nA", then: .reset, outcome: .failure(.connectionLost)),

        Fault(
            "a head of short lines without end", raw: "HTTP/1.1 200 OK\r\n", then: .endless("a:\r\n"),
            outcome: .failure(.protocolViolation)),
        Fault(
            "a head without end", raw: "HTTP/1.1 200 OK\r\n", then: .endless("X-More: and more\r\n"),
            outcome: .failure(.protocolViolation)),
        Fault(
            "a field without end", raw: "HTTP/1.1 200 OK\r\nX-More: ", then: .endless("more"),
            outcome: .failure(.protocolViolation)),
        Fault(
            "a status line without end", raw: "HTTP/1.1 200 O", then: .endless("K"),
            outcome: .failure(.protocolViolation)),
        Fault("no line at all, without end", MockResponse([.endless("x")]), .failure(.protocolViolation)),
        Fault(
            "interim heads without end", MockResponse([.endless("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")]),
            .failure(.protocolViolation)),
        Fault(
            "a thousand interim heads",
            MockResponse(Array(repeating: .interim(103), count: 1_000) + MockResponse.text("ok").steps),
            .failure(.protocolViolation)),
        Fault(
            "interim heads that are too large together",
            MockResponse(
                Array(repeating: .interim(103, ["Link": String(repeating: "x", count: 8_000)]), count: 60)
                    + MockResponse.text("ok").steps),
            .failure(.protocolViolation)),
        Fault(
            "ten interim heads",
            MockResponse(Array(repeating: .interim(103), count: 10) + MockResponse.text("ok").steps),
            .response("ok")),
    ]
}
