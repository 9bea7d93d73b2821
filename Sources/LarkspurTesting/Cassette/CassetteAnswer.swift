import Larkspur
import LarkspurInsight

/// The answer that an entry of a cassette gives.
struct CassetteAnswer: Sendable {
    private static let pieceSize = 16 << 10
    /// The number of pieces over which the recorded time of a body is spread.
    private static let pieceLimit = 64

    private let entry: HARArchive.Entry
    private let number: Int
    private let matching: Cassette.Matching
    private let redaction: Redaction
    /// The factor of recorded times; 0 for none.
    private let factor: Double

    init(
        _ entry: HARArchive.Entry, number: Int, _ matching: Cassette.Matching, _ redaction: Redaction,
        timing factor: Double
    ) {
        (self.entry, self.number, self.matching, self.redaction) = (entry, number, matching, redaction)
        self.factor = factor
    }

    func steps(answering request: TransportRequest) -> StubAnswer {
        if let lack = lack(request) {
            let text = "entry \(number) of the cassette cannot be played: \(lack)"
            return StubAnswer([.fail(TransportError(.notRecorded, text))])
        }
        let timings = entry.timings
        let delay = [timings.blocked, timings.dns, timings.connect, timings.send, timings.wait]
            .reduce(Duration.zero) { $0 + ($1 ?? .zero) }
        if entry.response.status == 101, request.upgrades {
            return delayed(webSocket(answering: request), by: delay)
        }
        var steps: [StubAnswer.Step] = []
        if entry.response.status >= 100 {
            steps.append(.head(head(request)))
            steps += body(request)
            if let trailers = entry.response.trailers {
                let digests = digests(request)
                let fields = trailers.filter { Self.isName($0.name) }.compactMap { field in
                    digests.value(of: field).map { HTTPHeader(name: field.name, value: Self.line($0)) }
                }
                steps.append(.trailers(HTTPHeaders(fields)))
            }
        }
        if let error = entry.error ?? (entry.response.status < 100 ? "" : nil) {
            steps.append(.fail(Self.failure(error)))
        }
        return delayed(StubAnswer(steps), by: delay)
    }

    /// Returns why the entry cannot be played; nil if it can.
    private func lack(_ request: TransportRequest) -> String? {
        let body = entry.response.body
        if entry.response.status == 101, !request.upgrades { return "it is that of an upgraded connection" }
        guard entry.error == nil, !isBodiless(request), entry.response.status >= 200 else { return nil }
        let isComplete = body.bytes.map { body.comment == nil || $0.count >= body.size ?? 0 } ?? (body.size ?? 0 == 0)
        return isComplete ? nil : body.comment ?? "the archive does not have the body"
    }

    private func isBodiless(_ request: TransportRequest) -> Bool {
        request.method == "HEAD" || [204, 304].contains(entry.response.status)
    }

    /// A wait, even of no time, would let another thread deliver the events.
    private func delayed(_ answer: StubAnswer, by delay: Duration) -> StubAnswer {
        let delay = scaled(delay)
        return delay > .zero ? answer.after(delay) : answer
    }

    private func scaled(_ duration: Duration) -> Duration { factor == 0 ? .zero : duration * factor }

    // MARK: The response

    /// Returns the head. Fields that describe the body on the wire are replaced, because the archive has the decoded
    /// body.
    private func head(_ request: TransportRequest) -> ResponseHead {
        var fields: [HTTPHeader] = []
        var isLengthKnown = false
        let digests = digests(request)
        for field in entry.response.headers where Self.isName(field.name) {
            switch field.name.lowercased() {
            case "content-encoding" where request.method != "HEAD", "transfer-encoding": continue
            case "content-length" where request.method != "HEAD":
                isLengthKnown = true
            case "content-type":
                let value = Self.line(Self.withCharacterSet(field.value, of: bytes))
                fields.append(HTTPHeader(name: field.name, value: value))
            default:
                guard let played = digests.value(of: field) else { continue }
                // Browsers write several fields of one name as one, with line breaks.
                let values = played.split(whereSeparator: \.isNewline)
                for value in values.isEmpty ? [""] : values {
                    fields.append(HTTPHeader(name: field.name, value: Self.line(value)))
                }
            }
        }
        let response = entry.response
        if (300..<400).contains(response.status), !response.redirectURL.isEmpty, response.headers["Location"] == nil {
            fields.append(HTTPHeader(name: "Location", value: Self.line(response.redirectURL)))
        }
        if isLengthKnown, !isBodiless(request), entry.error == nil {
            fields.append(HTTPHeader(name: "Content-Length", value: "\(bytes.count)"))
        }
        let version = response.version.isEmpty ? "HTTP/1.1" : response.version
        return ResponseHead(status: response.status, version: version, fields: fields)
    }

    private func digests(_ request: TransportRequest) -> CassetteDigests {
        let type = entry.response.headers["Content-Type"] ?? ""
        return CassetteDigests(
            entry.response, isReencoded: Self.withCharacterSet(type, of: bytes) != type,
            hasBody: !isBodiless(request) && entry.error == nil)
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
    }

    /// Returns the value of a field without line ends, which would begin another field, and other control characters.
    private static func line(_ text: some StringProtocol) -> String {
        String(text.map { $0.isASCIIControl ? " " : $0 })
    }

    private var bytes: Data { entry.response.body.bytes ?? Data() }

    private func body(_ request: TransportRequest) -> [StubAnswer.Step] {
        guard !isBodiless(request), !bytes.isEmpty else { return [] }
        let duration = scaled(entry.timings.receive ?? .zero)
        let size = duration == .zero ? Self.pieceSize * 4 : max(Self.pieceSize, bytes.count / Self.pieceLimit + 1)
        let count = (bytes.count + size - 1) / size
        var steps: [StubAnswer.Step] = []
        var rest = bytes
        while !rest.isEmpty {
            if duration > .zero { steps.append(.wait(duration / count)) }
            steps.append(.body(Data(rest.prefix(size))))
            rest = rest.dropFirst(size)
        }
        return steps
    }

    /// Returns the content type with UTF-8 as its character set, if the body is a text in UTF-8. Archives have texts as
    /// Unicode, whatever their encoding was.
    private static func withCharacterSet(_ type: String, of bytes: Data) -> String {
        guard let named = type.parameters["charset"], named.lowercased() != "utf-8",
            bytes.contains(where: { $0 >= 0x80 }), String(data: bytes, encoding: .utf8) != nil
        else { return type }
        return type.replacing(named, with: "utf-8")
    }

    // MARK: WebSockets

    private func webSocket(answering request: TransportRequest) -> StubAnswer {
        let chosen = entry.response.headers["Sec-WebSocket-Protocol"].map { [$0] } ?? []
        return .webSocket(answering: request, protocols: chosen, compression: nil) { socket in
            var sent = socket.messages.makeAsyncIterator()
            for (number, message) in entry.messages.enumerated() {
                guard message.isSent else {
                    try send(message, number, over: socket)
                    continue
                }
                guard let next = await sent.next() else { return }
                if matching.readsBodies, !isSame(next, message) {
                    throw CassetteMismatch(description: "message \(number) of the WebSocket differs")
                }
            }
        }
    }

    private func send(_ message: HARArchive.Message, _ number: Int, over socket: MockWebSocket) throws {
        guard let bytes = message.bytes, bytes.count >= message.size else {
            throw CassetteMismatch(description: "the archive does not have message \(number) of the WebSocket")
        }
        if message.isText { socket.send(String(decoding: bytes, as: UTF8.self)) } else { socket.send(bytes) }
    }

    private func isSame(_ message: WebSocketMessage, _ recorded: HARArchive.Message) -> Bool {
        let bytes =
            switch message {
            case .text(let text): Data(text.utf8)
            case .data(let data): data
            }
        switch matching.body {
        case .ignored: return true
        case .matched(let matches): return matches(bytes, HARArchive.Body(recorded.bytes, size: recorded.size))
        case .equal: return CassetteBody.areEqual(bytes, nil, recorded.bytes ?? Data(), nil, redaction)
        }
    }

    // MARK: Failures

    /// Returns the error for the text of an entry's error, which ends with a code in parentheses, or is Chrome's.
    static func failure(_ text: String) -> TransportError {
        if let match = text.wholeMatch(of: /(.*) \(([a-z][a-zA-Z]+)( while [a-z ]+)?\)/) {
            let code = TransportError.Code(rawValue: String(match.output.2))
            if code == .cancelled || code == .invalidated { return lost("the recorded hop was \(code.rawValue)") }
            return TransportError(code, String(match.output.1))
        }
        // An error without a message is its code alone.
        if let match = text.wholeMatch(of: /([a-z][a-zA-Z]+)( while [a-z ]+)?/) {
            return failure(" (\(match.output.1))")
        }
        for (names, code) in chromeCodes where names.contains(where: text.contains) {
            return TransportError(code, "the recorded hop failed: \(text)")
        }
        return lost(text.isEmpty ? "the recorded hop has no response" : "the recorded hop failed: \(text)")
    }

    private static func lost(_ text: String) -> TransportError { TransportError(.connectionLost, text) }

    private static let chromeCodes: [([String], TransportError.Code)] = [
        (["ERR_NAME_"], .nameLookup), (["ERR_CONNECTION_REFUSED"], .connectionRefused), (["TIMED_OUT"], .timedOut),
        (["ERR_INTERNET_DISCONNECTED", "ERR_ADDRESS_UNREACHABLE", "ERR_NETWORK_"], .unreachable),
        (["ERR_CERT_"], .untrusted), (["ERR_SSL_"], .handshake), (["ERR_HTTP2_", "ERR_INVALID_"], .protocolViolation),
    ]
}

/// The reason why a WebSocket of a cassette ends.
private struct CassetteMismatch: Error, CustomStringConvertible {
    let description: String
}

extension Character {
    fileprivate var isASCIIControl: Bool { asciiValue.map { $0 < 0x20 || $0 == 0x7F } ?? false }
}
