import Larkspur
import LarkspurTesting

extension Fault {
    private static func head(_ fields: String...) -> String {
        "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    private static let chunked = head("Transfer-Encoding: chunked")

    /// Bodies whose end is declared wrongly, twice, or not at all.
    static let framings: [Fault] = [
        Fault(
            "two lengths that differ", raw: head("Content-Length: 2", "Content-Length: 3") + "okk",
            .failure(.protocolViolation)),
        Fault("a list of lengths that differ", raw: head("Content-Length: 2, 3") + "okk", .failure(.protocolViolation)),
        Fault("the same length twice", raw: head("Content-Length: 2", "Content-Length: 2") + "ok", .response("ok")),
        Fault("a negative length", raw: head("Content-Length: -2") + "ok", .failure(.protocolViolation)),
        Fault("a length with a sign", raw: head("Content-Length: +2") + "ok", .failure(.protocolViolation)),
        Fault("a length that is not a number", raw: head("Content-Length: two") + "ok", .failure(.protocolViolation)),
        Fault(
            "a length with trailing characters", raw: head("Content-Length: 2x") + "ok", .failure(.protocolViolation)),
        Fault("an empty length", raw: head("Content-Length:") + "ok", .failure(.protocolViolation)),
        Fault(
            "a length beyond 64 bits", raw: head("Content-Length: 99999999999999999999") + "ok",
            .failure([.protocolViolation, .truncated])),
        Fault(
            "a length and chunks",
            raw: head("Content-Length: 3", "Transfer-Encoding: chunked") + "2\r\nok\r\n0\r\n\r\n", .response("ok")),
        Fault(
            "chunks and a length",
            raw: head("Transfer-Encoding: chunked", "Content-Length: 3") + "2\r\nok\r\n0\r\n\r\n", .response("ok")),
        Fault(
            "chunked declared twice",
            raw: head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "2\r\nok\r\n0\r\n\r\n",
            .response("ok")),
        Fault(
            "a space before the colon", raw: head("Content-Length : 2") + "ok and more", .failure(.protocolViolation)),
        Fault(
            "a length on two lines", raw: head("Content-Length: 2", " 3") + "ok", .failure(.protocolViolation)),
        Fault(
            "another protocol without a request for it",
            raw: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nxx", then: .stall,
            outcome: .failure(.protocolViolation)),
        Fault("more than was declared", raw: head("Content-Length: 2") + "ok and more", .response("ok")),
        Fault(
            "a second response without a request",
            raw: head("Content-Length: 2") + "ok" + head("Content-Length: 4") + "evil",
            outcome: .response("ok")),
        Fault(
            "a body in a response that cannot have one",
            raw: "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil",
            outcome: .response("", status: 204)),
        Fault(
            "a body after a 304", raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil",
            outcome: .response("", status: 304)),
        Fault("a body for HEAD", raw: head("Content-Length: 4") + "evil", outcome: .response("")).method(
            "HEAD"),
        Fault("neither length nor chunks", raw: head("X-A: 1") + "to the end", .response("to the end")),
    ]

    static let chunks: [Fault] = [
        Fault(
            "a chunk size that is not a number", raw: chunked + "zz\r\nok\r\n0\r\n\r\n", .failure(.protocolViolation)),
        Fault("a negative chunk size", raw: chunked + "-2\r\nok\r\n0\r\n\r\n", .failure(.protocolViolation)),
        Fault("an empty chunk size", raw: chunked + "\r\nok\r\n0\r\n\r\n", .failure(.protocolViolation)),
        Fault("a chunk size beyond 64 bits", raw: chunked + "FFFFFFFFFFFFFFFFF\r\nok", .failure(.protocolViolation)),
        Fault(
            "the largest chunk size", raw: chunked + "FFFFFFFFFFFFFFFF\r\nok",
            .failure([.protocolViolation, .truncated])),
        Fault("a huge chunk size", raw: chunked + "7FFFFFFFFFFFFFFF\r\nok", .failure(.truncated)),
        Fault("a chunk size without end", raw: chunked, then: .endless("0"), outcome: .failure(.protocolViolation)),
        Fault("a chunk longer than its size", raw: chunked + "2\r\nokay\r\n0\r\n\r\n", .failure(.protocolViolation)),
        Fault("chunks with extensions", raw: chunked + "1;a=b\r\no\r\n1 ; c\r\nk\r\n0;d\r\n\r\n", .response("ok")),
        Fault("chunk sizes with zeros before", raw: chunked + "0002\r\nok\r\n000\r\n\r\n", .response("ok")),
        Fault(
            "trailers", raw: chunked + "2\r\nok\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n",
            .response("ok", fields: ["Transfer-Encoding: chunked"])),
        Fault(
            "trailers without end", raw: chunked + "2\r\nok\r\n0\r\n", then: .endless("t:\r\n"),
            outcome: .failure(.protocolViolation)),
        Fault(
            "trailers of a megabyte",
            raw: chunked + "2\r\nok\r\n0\r\n" + String(repeating: "X-T: 0123456789\r\n", count: 60_000) + "\r\n",
            .failure(.protocolViolation)),
        Fault(
            "a trailer of a megabyte",
            raw: chunked + "2\r\nok\r\n0\r\nX-T: " + String(repeating: "1", count: 1 << 20) + "\r\n\r\n",
            .failure(.protocolViolation)),
        Fault(
            "a trailer without end", raw: chunked + "2\r\nok\r\n0\r\nX-T: ", then: .endless("1"),
            outcome: .failure(.protocolViolation)),
        Fault(
            "NUL in a trailer", raw: chunked + "2\r\nok\r\n0\r\nX-T: a\0b\r\n\r\n", .failure(.protocolViolation)),
        Fault(
            "NUL in the name of a trailer", raw: chunked + "2\r\nok\r\n0\r\nX: 1\r\nX\0T: 1\r\n\r\n",
            .failure(.protocolViolation)),
        Fault(
            "a trailer without a colon", raw: chunked + "2\r\nok\r\n0\r\nX-T\r\n\r\n",
            .response("ok", or: .protocolViolation)),
        Fault(
            "a trailer that continues nothing", raw: chunked + "2\r\nok\r\n0\r\n X-T: 1\r\n\r\n",
            .response("ok", or: .protocolViolation)),
        Fault("a close before the first chunk", raw: chunked, .failure(.truncated)),
        Fault("a close in a chunk size", raw: chunked + "2\r\nok\r\n1", .failure(.truncated)),
        Fault("a close in a chunk", raw: chunked + "9\r\nok", .failure(.truncated)),
        Fault("a close between chunks", raw: chunked + "2\r\nok\r\n", .failure(.truncated)),
        Fault("a close in the trailers", raw: chunked + "2\r\nok\r\n0\r\nX-T", .failure(.truncated)),
        Fault("a close before the trailers' end", raw: chunked + "2\r\nok\r\n0\r\n", .failure(.truncated)),
    ]

    /// Ends and stalls during a body.
    static let ends: [Fault] = [
        Fault("a close before the body", .text("text").truncated(after: 0), .failure(.truncated)),
        Fault("a close in the body", .text("text").truncated(after: 3), .failure(.truncated)),
        Fault("a close in a large body", .bytes(count: 3_000_000).truncated(after: 2_999_999), .failure(.truncated)),
        Fault("a reset in the body", .text("text").truncated(after: 2, by: .reset), .failure(.connectionLost)),
        Fault(
            "a reset in a large body", .bytes(count: 3_000_000).truncated(after: 2_000_000, by: .reset),
            .failure(.connectionLost)),
        Fault("a reset in a chunk", raw: chunked + "9\r\nok", then: .reset, outcome: .failure(.connectionLost)),
        Fault("a reset of a body without length", raw: head() + "ok", then: .reset, outcome: .failure(.connectionLost)),

        Fault("a stall before the head", .stall, .failure(.timedOut)).within(\.firstByte),
        Fault("a stall in the status line", raw: "HTTP/1.1 2", then: .stall, outcome: .failure(.timedOut)).within(
            \.firstByte),
        Fault("a stall in the head", raw: "HTTP/1.1 200 OK\r\nX-A", then: .stall, outcome: .failure(.timedOut)).within(
            \.firstByte),
        Fault("a stall after an interim head", MockResponse([.interim(103), .stall]), .failure(.timedOut)).within(
            \.firstByte),
        Fault("a stall before the body", .text("text").truncated(after: 0, by: .stall), .failure(.timedOut)).within(
            \.idle),
        Fault("a stall in the body", .text("text").truncated(after: 2, by: .stall), .failure(.timedOut)).within(\.idle),
        Fault("a stall in a chunk size", raw: chunked + "2\r\nok\r\n1", then: .stall, outcome: .failure(.timedOut))
            .within(\.idle),
        Fault("a stall before the last chunk", raw: chunked + "2\r\nok\r\n", then: .stall, outcome: .failure(.timedOut))
            .within(\.idle),
        Fault(
            "a head that drips past its time",
            MockResponse([.raw(Data("HTTP/1.1 200 OK\r\nX-A: ".utf8)), .endless("a")])
                .dripping(every: .milliseconds(10)),
            .failure(.timedOut)
        ).within(\.firstByte),
        Fault(
            "a body that drips past its time",
            MockResponse([.raw(Data(head("Content-Length: 9000000000").utf8)), .endless("text")])
                .dripping(bytes: 100, every: .milliseconds(1)),
            .failure(.timedOut)
        ).within(\.total),
        Fault(
            "a response that drips in time", .text("text").dripping(bytes: 3, every: .milliseconds(1)),
            .response("text")
        ).within(\.idle),
    ]

    /// A body that exceeds all buffers between client and server.
    private static let large = TransportBody.data(Data(repeating: 7, count: 64_000_000))

    /// Peers that do not read the request's body.
    static let uploads: [Fault] = [
        Fault("a peer that does not read the body", .stall, .failure(.timedOut)).method(
            "POST", large, reading: .upTo(0)
        ).within(\.idle),
        Fault("a peer that stops reading the body", .stall, .failure(.timedOut)).method(
            "POST", large, reading: .upTo(1_000_000)
        ).within(\.idle),
        Fault("a reset while the body is sent", MockResponse([.reset]), .failure(.connectionLost)).method(
            "POST", large, reading: .upTo(0)),
        Fault(
            "an answer before the body was read", .text("too large", status: 413),
            .response("too large", status: 413, or: .connectionLost)
        )
        .method("POST", large, reading: .upTo(0)),
    ]

    static let all = heads + brokenHeads + framings + transferCodings + chunks + ends + uploads
}
