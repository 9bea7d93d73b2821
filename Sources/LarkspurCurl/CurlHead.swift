/// A parser of a response's head. libcurl passes on the head line by line.
///
/// The lines of interim heads and of trailers arrive through the same callback. libcurl does not limit the number of
/// lines. It also does not fail if the connection ends between two lines.
struct CurlHead {
    enum Progress {
        case more
        /// The head of an interim response other than 100.
        case information(ResponseHead)
        case head(ResponseHead)
        case broken(TransportError)
    }

    private enum Part { case statusLine, fields, over }

    /// The maximum size in bytes of all heads and trailers of a response. No server needs more, and a hostile server
    /// can do no harm with this size.
    static let limit = 300 * 1_024
    /// The number of bytes that each line counts in addition to its own length, as in HTTP/2. It limits the number of
    /// short lines, because libcurl's work for each line grows with the number of lines.
    static let weightOfLine = 32
    static let interimLimit = 64

    private var part = Part.statusLine
    private var status = 0
    private var version = ""
    private var fields: [UInt8]
    private var size = 0
    private var interims = 0
    private(set) var contentLength: Int64?
    /// The lines of the fields after the body.
    private(set) var trailers: [UInt8] = []
    /// Whether this parser refuses a field without a colon, because this version of libcurl accepts such a field.
    let checksFields: Bool
    private(set) var codings = CurlTransferCodings()
    /// Whether the previous line belongs to a field that says where the body ends.
    private var isAfterFraming = false

    /// - Parameters:
    ///   - room: An empty array whose memory the fields use.
    ///   - checksFields: Whether the parser refuses fields without a colon.
    init(room: [UInt8] = [], checksFields: Bool = false) {
        fields = room
        self.checksFields = checksFields
    }

    /// Whether the final head is complete.
    var isWhole: Bool { part == .over }

    var hasBegun: Bool { size > 0 }

    /// Whether the current head has a field.
    var hasFields: Bool { !fields.isEmpty }

    var isHTTP2: Bool { version == "HTTP/2" }
    var isHTTP3: Bool { version == "HTTP/3" }
    var isHTTP1: Bool { version == "HTTP/1.1" || version == "HTTP/1.0" }

    /// The protocol's name in ALPN.
    var protocolName: String? {
        switch version {
        case "": nil
        case "HTTP/2": "h2"
        case "HTTP/3": "h3"
        case "HTTP/1.1": "http/1.1"
        default: version.lowercased()
        }
    }

    /// Adds the next line, including its line end.
    mutating func add(_ line: UnsafeBufferPointer<UInt8>) -> Progress {
        size += line.count + Self.weightOfLine
        guard size <= Self.limit else { return .broken(Self.violation("the response's head or trailers have no end")) }
        guard let bytes = line.baseAddress else { return .more }
        guard memchr(bytes, 0, line.count) == nil else {
            return .broken(Self.violation("the response's head or trailers have a NUL byte"))
        }
        if part == .over {
            if bytes[0] != 0x0D, bytes[0] != 0x0A { trailers.append(contentsOf: line) }
            return .more
        }
        if part == .statusLine {
            guard readStatus(line) else {
                return .broken(Self.violation("the response does not begin with a status line of HTTP"))
            }
            part = .fields
            return .more
        }
        if bytes[0] == 0x0D || bytes[0] == 0x0A { return end() }
        if fields.isEmpty, Self.isContinuation(bytes[0]) { return .broken(Self.continuesNothing) }
        if checksFields, !Self.isBlank(bytes[0]), memchr(bytes, 0x3A, line.count) == nil {
            return .broken(Self.violation("the response's head has a line without a colon"))
        }
        do { try readFraming(line, bytes[0]) } catch { return .broken(error) }
        fields.append(contentsOf: line)
        return .more
    }

    /// Reads the line if its field says where the body ends. A continuation line of such a field is refused, because
    /// recipients disagree about its meaning.
    private mutating func readFraming(
        _ line: UnsafeBufferPointer<UInt8>, _ first: UInt8
    ) throws(TransportError) {
        switch first {
        case UInt8(ascii: "c"), UInt8(ascii: "C"): isAfterFraming = try readLength(line)
        case UInt8(ascii: "t"), UInt8(ascii: "T"): isAfterFraming = try codings.read(line)
        case 0x20, 0x09:
            guard !isAfterFraming else {
                throw Self.violation("the response continues its Content-Length or Transfer-Encoding on another line")
            }
        default: isAfterFraming = false
        }
    }

    private mutating func end() -> Progress {
        guard status >= 200 || status == 101 else {
            interims += 1
            guard interims <= Self.interimLimit else {
                return .broken(Self.violation("the peer sent too many interim responses"))
            }
            defer { fields.removeAll(keepingCapacity: true) }
            contentLength = nil
            codings = CurlTransferCodings()
            part = .statusLine
            if status == 100 { return .more }
            return .information(ResponseHead(status: status, version: version, rawFields: fields))
        }
        guard !codings.isCompressed || contentLength == nil else {
            return .broken(Self.violation("the response has a Content-Length and a compressed Transfer-Encoding"))
        }
        part = .over
        defer { fields = [] }
        return .head(ResponseHead(status: status, version: version, rawFields: fields))
    }

    /// Reads a line such as `HTTP/1.1 200 OK`. Returns false if the HTTP version is unknown or the status has not three
    /// digits. Some versions of libcurl pass on such lines.
    private mutating func readStatus(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
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
        guard status >= 100, index == line.count || Self.isBlank(line[index]) else { return false }
        return switch version {
        case "HTTP/1.1", "HTTP/2", "HTTP/1.0", "HTTP/3": true
        default: false
        }
    }

    /// Reads a `Content-Length` field. Each length must be a plain number, and repeated lengths must be equal (RFC
    /// 9112, section 6.3). libcurl accepts other text and uses the first digits in it. It may then end the body at
    /// another position than the peer.
    private mutating func readLength(_ line: UnsafeBufferPointer<UInt8>) throws(TransportError) -> Bool {
        let name = "Content-Length"
        guard let bytes = line.baseAddress, line.count > name.utf8.count,
            strncasecmp(bytes, name, name.utf8.count) == 0, [0x3A, 0x20, 0x09].contains(bytes[name.utf8.count]),
            var comma = line.firstIndex(of: 0x3A)
        else { return false }
        // With a space before the colon, libcurl ignores the field, but other recipients may use it.
        guard bytes[name.utf8.count] == 0x3A else {
            throw Self.violation("the response's Content-Length has a space before its colon")
        }
        while comma < line.endIndex {
            let part = line[(comma + 1)...].prefix { $0 != 0x2C }
            guard let length = Self.number(part), contentLength == nil || contentLength == length else {
                throw Self.violation("the response's Content-Length is not a number, or has two different values")
            }
            contentLength = length
            comma = part.endIndex
        }
        return true
    }

    private static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        let text = bytes.drop(while: isBlank)
        let digits = text.prefix { (0x30...0x39).contains($0) }
        guard (1...18).contains(digits.count), text[digits.endIndex...].allSatisfy(isBlank) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    static var continuesNothing: TransportError {
        violation("the response's head continues a field before the first one")
    }

    /// Returns whether a line with this first byte continues the previous field, as older versions of HTTP allowed.
    static func isContinuation(_ first: UInt8) -> Bool { first == 0x20 || first == 0x09 }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }

    private static func violation(_ message: String) -> TransportError {
        TransportError(.protocolViolation, message, phase: .receiving)
    }
}
