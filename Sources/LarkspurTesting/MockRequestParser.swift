import Larkspur

/// A state machine that parses requests from the bytes of a connection.
struct MockRequestParser {
    enum Found {
        /// More bytes are needed.
        case nothing
        /// The head of a request. The caller now sets `reading`, which decides how the body is read.
        case head(MockRequest)
        /// The request with the part of its body that `reading` includes.
        case request(MockRequest)
        case broken(String)
    }

    private enum Stage {
        case requestLine, fields
        case body(left: UInt64), chunkSize, chunk(left: UInt64), chunkEnd, trailers
        case whole, stopped, broken
    }

    private static let longestHead = 256 * 1024

    var reading = MockBodyReading.kept
    private var input: [UInt8] = []
    private var start = 0
    private var stage = Stage.requestLine
    private var rawFields: [UInt8] = []
    private var request = MockRequest(method: "", target: "", version: "", headers: [:])

    var buffered: Int { input.count - start }

    /// Whether bytes that the server will never read may remain on the connection.
    var leavesInputUnread: Bool {
        switch stage {
        case .stopped, .broken: true
        case .requestLine, .fields, .body, .chunkSize, .chunk, .chunkEnd, .trailers, .whole: false
        }
    }

    mutating func append(_ bytes: some Collection<UInt8>) {
        input.removeFirst(start)
        start = 0
        input.append(contentsOf: bytes)
    }

    /// Returns the bytes after the request, which belong to another protocol.
    mutating func takeRest() -> Data {
        defer { (input, start) = ([], 0) }
        return Data(input[start...])
    }

    /// Returns the bytes of the body that were read since the last call.
    mutating func takeBody() -> Data {
        defer { request.body = Data() }
        return request.body
    }

    mutating func next() -> Found {
        do {
            while true {
                if let found = try step() { return found }
            }
        } catch {
            stage = .broken
            return .broken(error.reason)
        }
    }

    private struct Malformed: Error { let reason: String }

    /// Parses one piece of a request. Returns nil if the caller should parse the next piece at once.
    private mutating func step() throws(Malformed) -> Found? {
        switch stage {
        case .requestLine:
            guard let line = try takeLine() else { return .nothing }
            if !line.isEmpty { try readRequestLine(line) }
            return nil
        case .fields:
            guard let line = try takeLine() else { return .nothing }
            if line.isEmpty { return .head(try endHead()) }
            return try readField(line)
        case .body(let left):
            guard let left = take(left) else { return end(.stopped) }
            return left == 0 ? end(.whole) : more(.body(left: left))
        case .chunkSize:
            if hasEnough { return end(.stopped) }
            guard let line = try takeLine() else { return .nothing }
            let word = String(decoding: line.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
            let digits = word.trimmingSpaces
            // Swift's integer parser would accept a sign.
            guard digits.first?.isHexDigit == true, let size = UInt64(digits, radix: 16) else {
                throw Malformed(reason: "the chunk size \(digits) is not a number")
            }
            stage = size == 0 ? .trailers : .chunk(left: size)
            return nil
        case .chunk(let left):
            guard let left = take(left) else { return end(.stopped) }
            if left > 0 { return more(.chunk(left: left)) }
            stage = .chunkEnd
            return nil
        case .chunkEnd:
            guard let line = try takeLine() else { return .nothing }
            guard line.isEmpty else { throw Malformed(reason: "a chunk is longer than its size") }
            stage = .chunkSize
            return nil
        case .trailers:
            guard let line = try takeLine() else { return .nothing }
            if line.isEmpty {
                request.trailers = HTTPHeaders(ResponseHead(status: 0, rawFields: rawFields).fields)
                return end(.whole)
            }
            return try readField(line)
        case .whole:
            stage = .requestLine
            return nil
        case .stopped, .broken: return .nothing
        }
    }

    private mutating func readRequestLine(_ line: ArraySlice<UInt8>) throws(Malformed) {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, words[2].starts(with: "HTTP/1.".utf8),
            words.allSatisfy({ word in !word.isEmpty && word.allSatisfy { $0 > 0x20 && $0 != 0x7F } })
        else { throw Malformed(reason: "the first line is not a request line") }
        let texts = words.map { String(decoding: $0, as: UTF8.self) }
        request = MockRequest(method: texts[0], target: texts[1], version: texts[2], headers: [:])
        rawFields = []
        stage = .fields
    }

    private mutating func readField(_ line: ArraySlice<UInt8>) throws(Malformed) -> Found? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !line.contains(0)
        else { throw Malformed(reason: "a line of the head is not a header field") }
        rawFields += line
        rawFields += "\r\n".utf8
        if rawFields.count > Self.longestHead { throw Malformed(reason: "the head is too long") }
        return nil
    }

    private mutating func endHead() throws(Malformed) -> MockRequest {
        let fields = ResponseHead(status: 0, rawFields: rawFields)  // parses field lines of requests as well
        request.headers = HTTPHeaders(fields.fields)
        rawFields = []  // from here on, those of the trailers
        let codings = request.headers.values(for: "Transfer-Encoding").map { $0.lowercased() }
        let lengths = request.headers.values(for: "Content-Length")
        if codings == ["chunked"], lengths.isEmpty {
            stage = .chunkSize
        } else if codings.isEmpty, let length = lengths.isEmpty ? 0 : fields.contentLength {
            stage = .body(left: length)
        } else {
            throw Malformed(reason: "the Content-Length or Transfer-Encoding of the body is invalid")
        }
        return request
    }

    /// Takes the available body bytes and returns how many bytes are still missing; nil if the rest must stay unread.
    private mutating func take(_ left: UInt64) -> UInt64? {
        if left > 0, hasEnough { return nil }
        let count = Int(min(left, UInt64(buffered)))
        if case .counted = reading {} else { request.body.append(contentsOf: input[start..<(start + count)]) }
        request.bodyCount += UInt64(count)
        start += count
        return left - UInt64(count)
    }

    /// Moves to the next stage of the body, and asks for more bytes if none are available.
    private mutating func more(_ next: Stage) -> Found? {
        stage = next
        return buffered == 0 && !hasEnough ? .nothing : nil
    }

    private var hasEnough: Bool {
        if case .upTo(let limit) = reading { request.bodyCount >= limit } else { false }
    }

    private mutating func end(_ stage: Stage) -> Found {
        self.stage = stage
        return .request(request)
    }

    /// Returns the next line without its end, or nil if the line is incomplete.
    private mutating func takeLine() throws(Malformed) -> ArraySlice<UInt8>? {
        guard let end = input[start...].firstIndex(of: UInt8(ascii: "\n")) else {
            if buffered > Self.longestHead { throw Malformed(reason: "a line is too long") }
            return nil
        }
        let line = input[start..<end]
        start = end + 1
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }
}
