import Larkspur
import LarkspurTesting

extension Fault {
    private static func head(_ fields: String...) -> String {
        "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    private static let ok = "2\r\nok\r\n0\r\n\r\n"
    private static let compressed = head("Transfer-Encoding: gzip, chunked")
    /// A head of a server that does not close the connection, and sends no other response over it.
    private static let lasting = head("Connection: close", "Transfer-Encoding: gzip, chunked")

    private static func reads(_ name: String, _ raw: String, then steps: MockResponse.Step...) -> Fault {
        Fault(name, MockResponse([.raw(Data(raw.utf8))] + steps + [.close]), .response("ok"))
    }

    private static func fails(
        _ name: String, _ raw: String, then steps: MockResponse.Step..., code: TransportError.Code
    ) -> Fault {
        Fault(name, MockResponse([.raw(Data(raw.utf8))] + steps + [.close]), .failure(code))
    }

    /// Transfer codings other than `chunked`. The transport decodes only `chunked`; the framework decodes gzip and
    /// deflate.
    static let transferCodings = unknownCodings + compressedBodies + compressedChunks

    private static let unknownCodings: [Fault] = [
        fails("an unknown coding", head("Transfer-Encoding: what") + ok, code: .unsupportedCoding),
        fails(
            "an unknown coding inside chunks", head("Transfer-Encoding: what, chunked") + ok, code: .unsupportedCoding),
        fails(
            "a content coding for the transfer", head("Transfer-Encoding: br, chunked") + ok, code: .unsupportedCoding),
        fails(
            "an unknown coding on a connection that stays", head("Transfer-Encoding: what"), then: .stall,
            code: .unsupportedCoding),
    ]

    private static let compressedBodies: [Fault] = [
        reads("gzip inside chunks", compressed + ok),
        reads("gzip inside chunks on a connection that stays", lasting + ok, then: .stall),
        reads("x-gzip and deflate inside chunks", head("transfer-encoding:X-GZIP ,deflate,, Chunked") + ok),
        reads(
            "gzip and chunks in two fields",
            head("Connection: close", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked") + ok,
            then: .stall),
        reads("gzip up to the end", head("Transfer-Encoding: gzip") + "ok"),
        reads(
            "identity before chunks", head("Connection: close", "Transfer-Encoding: identity, chunked") + ok,
            then: .stall),
        fails(
            "chunks after chunks and gzip", head("Transfer-Encoding: chunked, gzip, chunked") + ok,
            code: .protocolViolation),
        Fault(
            "gzip without a body", raw: "HTTP/1.1 204 No\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            .response("", status: 204)),
        Fault(
            "gzip and HEAD", raw: lasting, then: .stall, outcome: .response("")
        ).method("HEAD"),
        fails("gzip after chunks", head("Transfer-Encoding: chunked, gzip") + ok, code: .protocolViolation),
        fails(
            "gzip inside chunks, and a length", head("Transfer-Encoding: gzip, chunked", "Content-Length: 2") + ok,
            code: .protocolViolation),
        fails(
            "a length, and gzip up to the end", head("Content-Length: 2", "Transfer-Encoding: gzip") + "ok",
            code: .protocolViolation),
        fails(
            "a space before the colon of the coding", head("Transfer-Encoding : chunked") + ok,
            code: .protocolViolation),
        fails("codings on two lines", head("Transfer-Encoding: gzip,", " chunked") + ok, code: .protocolViolation),
    ]

    private static let compressedChunks: [Fault] = [
        reads(
            "gzip inside chunks with extensions and trailers",
            lasting + "1;a=b\r\no\r\n01 \nk\n0;d\r\nX-T: 1\r\nX-U: 2\r\n\r\n", then: .stall),
        fails(
            "gzip inside chunks with NUL in a trailer", compressed + "2\r\nok\r\n0\r\nX-T: a\0b\r\n\r\n",
            code: .protocolViolation),
        fails("gzip inside a broken chunk", compressed + "2\r\nokay\r\n0\r\n\r\n", code: .protocolViolation),
        fails("gzip inside chunks without size", compressed + "\r\nok\r\n", code: .protocolViolation),
        fails("gzip inside a chunk beyond 64 bits", compressed + "FFFFFFFFFFFFFFFFF\r\nok", code: .protocolViolation),
        fails("gzip inside chunks that are cut", compressed + "2\r\nok\r\n", code: .truncated),
        fails("gzip inside a chunk that is cut", compressed + "9\r\nok", code: .truncated),
        fails(
            "gzip inside chunks with endless trailers", compressed + "2\r\nok\r\n0\r\n", then: .endless("t:\r\n"),
            code: .protocolViolation),
    ]
}
