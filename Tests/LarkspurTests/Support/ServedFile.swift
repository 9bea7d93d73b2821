import Larkspur
import LarkspurTesting

/// A file on a server that supports ranges, whose answers a stub returns.
struct ServedFile: Sendable {
    var bytes = MockResponse.pattern(from: 0, count: 100_000)
    /// The header fields with the validators of the file: its entity tag or its date.
    var fields: HTTPHeaders = ["ETag": "\"one\""]
    /// The number of body bytes after which the connection is lost.
    var cut: Int?
    /// Whether the server ignores `If-Range`.
    var ignoresIfRange = false

    private static let chunk = 8 * 1024

    func answer(to request: TransportRequest) -> StubAnswer {
        guard let start = start(for: request) else { return response(200, [:], from: 0) }
        guard start < bytes.count else { return .response(416, headers: ["Content-Range": "bytes */\(bytes.count)"]) }
        return response(206, ["Content-Range": "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"], from: start)
    }

    /// Returns the start of the requested range; nil if the whole file has to be sent.
    private func start(for request: TransportRequest) -> Int? {
        guard let range = request["Range"], range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
        let condition = request["If-Range"]
        guard ignoresIfRange || [fields["ETag"], fields["Last-Modified"]].contains(condition) else { return nil }
        return Int(range.dropFirst(6).dropLast())
    }

    private func response(_ status: Int, _ range: HTTPHeaders, from start: Int) -> StubAnswer {
        var headers = fields
        for field in range { headers.add(field) }
        headers.add(name: "Content-Length", value: "\(bytes.count - start)")
        let sent = bytes[start..<min(bytes.count, start + (cut ?? bytes.count))]
        let chunks = stride(from: sent.startIndex, to: sent.endIndex, by: Self.chunk).map {
            Data(sent[$0..<min($0 + Self.chunk, sent.endIndex)])
        }
        var answer = StubAnswer.response(status, headers: headers, chunks: chunks)
        if cut != nil { answer.steps.append(.fail(TransportError(.connectionLost))) }
        return answer
    }
}
