import LarkspurTransport

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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
        guard let bytes = line.baseAddress, place != .over else { return .more }  // or else a trailer
        size += line.count
        guard size <= Self.limit else { return .broken(Self.violation("the response's head has no end")) }
        guard memchr(bytes, 0, line.count) == nil else {
            return .broken(Self.violation("the response's head has a NUL byte"))
        }
        if place == .statusLine {
            readStatus(line)
            place = .fields
            return .more
        }
        if bytes[0] == 0x0D || bytes[0] == 0x0A { return end() }
        if bytes[0] | 0x20 == 0x63, let fault = readLength(line) { return .broken(fault) }
        fields.append(contentsOf: line)
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
        var index = 0
        while index < line.count, line[index] != 0x20 { index += 1 }
        version = String(decoding: line[..<index], as: UTF8.self)
        while index < line.count, line[index] == 0x20 { index += 1 }
        status = 0
        while index < line.count, (0x30...0x39).contains(line[index]), status < 100 {
            status = status * 10 + Int(line[index] - 0x30)
            index += 1
        }
        fields.reserveCapacity(256)
    }

    /// Two lengths that differ: whoever picks one of them may see the body end elsewhere than the peer does.
    private mutating func readLength(_ line: UnsafeBufferPointer<UInt8>) -> TransportError? {
        let name = "Content-Length"
        guard let bytes = line.baseAddress, line.count > name.utf8.count,
            strncasecmp(bytes, name, name.utf8.count) == 0, [0x3A, 0x20, 0x09].contains(bytes[name.utf8.count])
        else { return nil }
        let value = line.dropFirst(name.utf8.count).filter { $0 > 0x20 && $0 != 0x3A }
        defer { contentLength = value }
        guard let contentLength, contentLength != value else { return nil }
        return Self.violation("the response declares two different lengths")
    }

    private static func violation(_ message: String) -> TransportError {
        TransportError(.protocolViolation, message, phase: .receiving)
    }
}
