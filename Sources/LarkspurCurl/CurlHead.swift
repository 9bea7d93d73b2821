import LarkspurTransport

/// Collects the lines of a response's head, as they come, and knows when it is whole.
///
/// libcurl gives interim heads and trailers through the same callback; it does not bound how many lines there are, nor
/// does it fail when the connection ends among them.
struct CurlHead {
    enum Progress {
        case more
        case head(ResponseHead)
        case broken(TransportError)
    }

    private enum Place { case statusLine, fields, over }

    /// More than any server needs, and less than a hostile one can hurt with.
    static let limit = 300 * 1_024
    static let interimLimit = 64

    private var place = Place.statusLine
    private var status = 0
    private var version = ""
    private var fields: [UInt8] = []
    private var size = 0
    private var interims = 0
    private var contentLength: [UInt8]?

    /// Whether the final head has come.
    var isWhole: Bool { place == .over }

    /// Whether anything has.
    var hasBegun: Bool { size > 0 }

    var isHTTP2: Bool { version == "HTTP/2" }

    /// As ALPN names it.
    var protocolName: String? {
        switch version {
        case "": nil
        case "HTTP/2": "h2"
        case "HTTP/1.1": "http/1.1"
        default: version.lowercased()
        }
    }

    /// The next line, its end included.
    mutating func add(_ line: UnsafeBufferPointer<UInt8>) -> Progress {
        if place == .over { return .more }  // a trailer
        size += line.count
        guard size <= Self.limit else { return .broken(Self.violation("the response's head has no end")) }
        guard !line.contains(0) else { return .broken(Self.violation("the response's head has a NUL byte")) }
        switch place {
        case .statusLine:
            readStatus(line)
            place = .fields
        case .fields:
            if line.first == 0x0D || line.first == 0x0A { return end() }
            if let fault = readLength(line) { return .broken(fault) }
            fields.append(contentsOf: line)
        case .over: break
        }
        return .more
    }

    private mutating func end() -> Progress {
        guard status >= 200 || status == 101 else {
            interims += 1
            guard interims <= Self.interimLimit else {
                return .broken(Self.violation("the peer sends interim responses without end"))
            }
            fields.removeAll(keepingCapacity: true)
            contentLength = nil
            place = .statusLine
            return .more
        }
        place = .over
        defer { fields = [] }
        return .head(ResponseHead(status: status, version: version, rawFields: fields))
    }

    /// `HTTP/1.1 200 OK`: libcurl has checked the line, so digits are where they belong.
    private mutating func readStatus(_ line: UnsafeBufferPointer<UInt8>) {
        let space = line.firstIndex(of: 0x20) ?? line.endIndex
        version = Self.version(line[..<space])
        status = line[space...].drop { $0 == 0x20 }.prefix { (0x30...0x39).contains($0) }.prefix(3)
            .reduce(0) { $0 * 10 + Int($1 - 0x30) }
        fields.reserveCapacity(256)
    }

    private static func version(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        if bytes.elementsEqual("HTTP/1.1".utf8) { return "HTTP/1.1" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Two lengths that differ: whoever picks one of them may see the body end elsewhere than the peer does.
    private mutating func readLength(_ line: UnsafeBufferPointer<UInt8>) -> TransportError? {
        guard line.count > 15, line[0] | 0x20 == 0x63, line[14] == 0x3A || line[14] == 0x20,
            zip(line, "content-length".utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
        else { return nil }
        let value = line[14...].filter { !" \t:\r\n".utf8.contains($0) }
        if let contentLength, contentLength != value {
            return Self.violation("the response declares two different lengths")
        }
        contentLength = value
        return nil
    }

    private static func violation(_ message: String) -> TransportError {
        TransportError(.protocolViolation, message, phase: .receiving)
    }
}
