import Larkspur

extension HARArchive {
    /// The archive as a JSON document.
    public var data: Data {
        var writer = HARWriter()
        writer.raw(HARWriter.beginning)
        for (index, entry) in entries.enumerated() {
            writer.raw(index == 0 ? "" : ",\n")
            writer.entry(HARRecord(entry: entry))
            writer.raw("\n")
        }
        writer.raw(HARWriter.end)
        return Data(writer.bytes)
    }

    /// Writes the archive to a file. An existing file is replaced.
    public func write(to file: URL) throws(RequestError) {
        do { try data.write(to: file, options: .atomic) } catch {
            let reason = HARFile.reason(of: error)
            throw RequestError(
                .fileUnwritable, "the archive \(file.path) cannot be written: \(reason)", underlying: error)
        }
    }
}

/// The bytes of an archive.
///
/// It writes bytes, and builds no values of JSON: a recorder writes an entry for each request of a busy session.
struct HARWriter: ~Copyable {
    /// The text of an archive without entries is `beginning + end`.
    static let beginning = """
        {"log":{"version":"1.2","creator":{"name":"Larkspur","version":"1"},"entries":[

        """
    static let end = "]}}\n"

    private var buffer = ByteBuffer(capacity: 4_096)
    /// Whether the next member or element is the first of its object or array.
    private var isFirst = true

    /// A copy of the written bytes.
    var bytes: [UInt8] { buffer.bytes }

    mutating func raw(_ text: String) { buffer.append(text) }

    /// Returns the array of these fields.
    static func json(of fields: HTTPHeaders) -> [UInt8] {
        var writer = HARWriter()
        writer.elements(fields) { $0.field($1) }
        return writer.bytes
    }

    // MARK: Structure

    private mutating func begin(_ bracket: Unicode.Scalar) {
        buffer.append(UInt8(ascii: bracket))
        isFirst = true
    }

    private mutating func end(_ bracket: Unicode.Scalar) {
        buffer.append(UInt8(ascii: bracket))
        isFirst = false
    }

    private mutating func separate() {
        if !isFirst { buffer.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    private mutating func key(_ key: StaticString) {
        separate()
        buffer.append(UInt8(ascii: "\""))
        key.withUTF8Buffer { buffer.append($0) }
        buffer.append(UInt8(ascii: "\""))
        buffer.append(UInt8(ascii: ":"))
    }

    private mutating func object(_ name: StaticString, _ members: (inout HARWriter) -> Void) {
        key(name)
        begin("{")
        members(&self)
        end("}")
    }

    private mutating func array<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ members: (inout HARWriter, Element) -> Void
    ) {
        key(name)
        self.elements(elements, members)
    }

    private mutating func elements<Element>(
        _ elements: some Sequence<Element>, _ members: (inout HARWriter, Element) -> Void
    ) {
        begin("[")
        for element in elements {
            separate()
            begin("{")
            members(&self, element)
            end("}")
        }
        end("]")
    }

    // MARK: Values

    private mutating func member(_ name: StaticString, _ text: String) {
        key(name)
        string(text)
    }

    private mutating func member(_ name: StaticString, _ text: String?) {
        if let text { member(name, text) }
    }

    private mutating func member(_ name: StaticString, _ number: Int) {
        key(name)
        buffer.append(number)
    }

    private mutating func member(_ name: StaticString, milliseconds time: Duration?) {
        key(name)
        guard let time, time >= .zero else { return raw("-1") }
        let (seconds, attoseconds) = time.components
        fraction(min(seconds, 1 << 40) * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    /// Writes a number of thousandths.
    private mutating func fraction(_ thousandths: Int64) {
        buffer.append(Int(thousandths / 1_000))
        let rest = Int(thousandths % 1_000)
        guard rest != 0 else { return }
        buffer.append(UInt8(ascii: "."))
        if rest < 100 { buffer.append(UInt8(ascii: "0")) }
        if rest < 10 { buffer.append(UInt8(ascii: "0")) }
        buffer.append(rest)
    }

    private mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string($0) }
    }

    /// Writes the bytes of a text in quotes.
    private mutating func string(_ utf8: UnsafeBufferPointer<UInt8>) {
        buffer.append(UInt8(ascii: "\""))
        var start = 0
        var index = 0
        while true {
            index = Self.nextEscaped(in: utf8, from: index)
            guard index < utf8.count else { break }
            buffer.append(UnsafeBufferPointer(rebasing: utf8[start..<index]))
            escape(utf8[index])
            index += 1
            start = index
        }
        buffer.append(UnsafeBufferPointer(rebasing: utf8[start...]))
        buffer.append(UInt8(ascii: "\""))
    }

    /// Returns the index of the next byte that has to be escaped, or the number of bytes.
    private static func nextEscaped(in utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var index = start
        let bytes = UnsafeRawBufferPointer(utf8)
        // Most texts have no such byte, so eight bytes are searched at a time. The highest bit of a byte of `found` is
        // set if the byte has to be escaped. It may also be set in a byte after such a byte.
        let ones: UInt64 = 0x0101_0101_0101_0101
        while index + 8 <= utf8.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let (quote, backslash, delete) = (word ^ (0x22 &* ones), word ^ (0x5C &* ones), word ^ (0x7F &* ones))
            var found = (word &- 0x20 &* ones) & ~word
            found |= (quote &- ones) & ~quote
            found |= (backslash &- ones) & ~backslash
            found |= (delete &- ones) & ~delete
            if found & (0x80 &* ones) != 0 { break }
            index += 8
        }
        while index < utf8.count, !isEscaped(utf8[index]) { index += 1 }
        return index
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private mutating func escape(_ byte: UInt8) {
        buffer.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer.append(byte)
        case UInt8(ascii: "\n"): buffer.append(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): buffer.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): buffer.append(UInt8(ascii: "t"))
        default:
            raw("u00")
            for digit in [byte >> 4, byte & 15] {
                buffer.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }

    // MARK: Parts

    mutating func entry(_ record: HARRecord) {
        let entry = record.entry
        begin("{")
        member("startedDateTime", HARDate.text(of: entry.startedAt))
        member("time", milliseconds: entry.time)
        object("request") { $0.request(entry.request, record.requestFields) }
        object("response") { $0.response(entry.response, record.responseFields) }
        object("cache") { _ in }
        object("timings") { $0.timings(entry.timings) }
        member("serverIPAddress", entry.serverAddress)
        member("_request", entry.requestID)
        if let attempt = entry.attempt { member("_attempt", attempt) }
        if let hop = entry.hop { member("_hop", hop) }
        member("_cache", entry.cacheOutcome)
        member("_resourceType", entry.resourceType)
        member("_error", entry.error)
        if let trailers = entry.response.trailers { fields("_trailers", trailers, nil) }
        if !entry.messages.isEmpty { array("_webSocketMessages", entry.messages) { $0.message($1) } }
        end("}")
    }

    private mutating func request(_ request: HARArchive.Request, _ written: [UInt8]?) {
        member("method", request.method)
        member("url", request.url)
        member("httpVersion", request.version)
        cookies(request.cookies)
        fields("headers", request.headers, written)
        array("queryString", HARFormFields.ofQuery(in: request.url)) { $0.field($1) }
        member("headersSize", -1)
        member("bodySize", request.bodySize ?? -1)
        guard let body = request.body else { return }
        object("postData") { writer in
            writer.member("mimeType", body.mimeType)
            writer.array("params", body.fields) { $0.field($1) }
            writer.content(body, "_encoding")
            // HAR 1.2 requires the text.
            if body.bytes == nil { writer.member("text", "") }
            if body.size != body.bytes?.count, let size = body.size { writer.member("_size", size) }
        }
    }

    private mutating func response(_ response: HARArchive.Response, _ written: [UInt8]?) {
        member("status", response.status)
        member("statusText", response.statusText)
        member("httpVersion", response.version)
        cookies(response.cookies)
        fields("headers", response.headers, written)
        object("content") { writer in
            let body = response.body
            let size = body.size ?? body.bytes?.count ?? -1
            writer.member("size", size)
            writer.member("mimeType", body.mimeType.isEmpty ? "x-unknown" : body.mimeType)
            if let wireSize = response.bodySize, wireSize >= 0, size >= 0, wireSize != size, body.comment == nil {
                writer.member("compression", size - wireSize)
            }
            writer.content(body, "encoding")
        }
        member("redirectURL", response.redirectURL)
        member("headersSize", -1)
        member("bodySize", response.bodySize ?? -1)
    }

    /// Writes the bytes of a body: as text, or in base64 if they are no text.
    private mutating func content(_ body: HARArchive.Body, _ encoding: StaticString) {
        if let bytes = body.bytes {
            key("text")
            if Self.isText(bytes) {
                bytes.withUnsafeBytes { string($0.bindMemory(to: UInt8.self)) }
            } else {
                string(bytes.base64EncodedString())
                member(encoding, "base64")
            }
        }
        member("comment", body.comment)
    }

    /// Returns whether the bytes are UTF-8 without a NUL.
    private static func isText(_ bytes: Data) -> Bool {
        if bytes.withUnsafeBytes({ $0.allSatisfy { $0 > 0 && $0 < 0x80 } }) { return true }
        return !bytes.withUnsafeBytes({ $0.contains(0) }) && String(data: bytes, encoding: .utf8) != nil
    }

    private mutating func timings(_ timings: HARArchive.Timings) {
        member("blocked", milliseconds: timings.blocked)
        member("dns", milliseconds: timings.dns)
        member("connect", milliseconds: timings.connect)
        member("ssl", milliseconds: timings.tls)
        // HAR 1.2 requires these three.
        member("send", milliseconds: timings.send ?? .zero)
        member("wait", milliseconds: timings.wait ?? .zero)
        member("receive", milliseconds: timings.receive ?? .zero)
    }

    /// - Parameter written: The array of the fields, if it was written before.
    private mutating func fields(_ name: StaticString, _ fields: HTTPHeaders, _ written: [UInt8]?) {
        guard let written else { return array(name, fields) { $0.field($1) } }
        key(name)
        written.withUnsafeBufferPointer { buffer.append($0) }
    }

    private mutating func field(_ field: HTTPHeader) {
        member("name", field.name)
        member("value", field.value)
    }

    private mutating func field(_ field: HARArchive.FormField) {
        member("name", field.name)
        member("value", field.value)
        member("fileName", field.fileName)
        member("contentType", field.mimeType)
    }

    private mutating func cookies(_ cookies: [HARArchive.Cookie]) {
        array("cookies", cookies) { writer, cookie in
            writer.member("name", cookie.name)
            writer.member("value", cookie.value)
            writer.member("path", cookie.path)
            writer.member("domain", cookie.domain)
            writer.member("expires", cookie.expires.map(HARDate.text))
            for (name, isSet) in [("httpOnly", cookie.isHTTPOnly), ("secure", cookie.isSecure)]
                as [(StaticString, Bool)]
            where isSet {
                writer.key(name)
                writer.raw("true")
            }
        }
    }

    private mutating func message(_ message: HARArchive.Message) {
        member("type", message.isSent ? "send" : "receive")
        key("time")
        fraction(HARDate.milliseconds(of: message.time))
        member("opcode", message.isText ? 1 : 2)
        if let bytes = message.bytes {
            member("data", message.isText ? String(decoding: bytes, as: UTF8.self) : bytes.base64EncodedString())
        }
        if message.size != message.bytes?.count { member("_size", message.size) }
    }
}
