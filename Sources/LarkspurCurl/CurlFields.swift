internal import CLarkspur

/// The request's header fields as the list that libcurl reads. The transfer reuses the memory for its next request.
struct CurlFields: ~Copyable {
    private var lines = UnsafeMutableBufferPointer<clarkspur_line>.allocate(capacity: 16)
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_024, alignment: 1)
    private var lineCount = 0
    private var byteCount = 0
    /// Whether `join(_:)` may append further fields to the last line.
    private var isOpen = false
    /// The fields that the list was made from, if their request has no body. If the next request has the same fields,
    /// which is frequent, the list is used again.
    private var written: (fields: [HTTPHeader], handedOver: Bool, alternative: CurlAlternatives.Endpoint?)?

    deinit {
        lines.deallocate()
        bytes.deallocate()
    }

    /// Writes the fields and returns them as a list, which is valid until the next call.
    ///
    /// `Content-Length` and `Transfer-Encoding` are skipped, because the transport itself decides how the body is
    /// framed. The list has further entries, which keep libcurl from adding fields of its own.
    ///
    /// - Parameters:
    ///   - handedOver: Whether a proxy receives the request itself, without a tunnel.
    ///   - alternative: The alternative to which the request is sent, and which the field `Alt-Used` names.
    mutating func set(
        _ request: TransportRequest, handedOver: Bool, alternative: CurlAlternatives.Endpoint?
    ) -> UnsafePointer<clarkspur_line>? {
        let tellsLength = ["POST", "PUT", "PATCH"].contains(request.method)
        let isPlain = request.body.length == 0 && !tellsLength
        if isPlain, let written, written.handedOver == handedOver, written.alternative == alternative,
            written.fields.isIdentical(to: request.fields)
        {
            return first
        }
        written = isPlain ? (request.fields, handedOver, alternative) : nil
        let used = alternative?.authority
        reserve(request.fields, used)
        var accepts = false
        var expects = false
        var hasType = false
        for field in request.fields {
            switch field.name.utf8.count {
            case 14 where Self.isSame(field.name, "content-length"): continue
            case 17 where Self.isSame(field.name, "transfer-encoding"): continue
            case 6 where Self.isSame(field.name, "accept"):
                accepts = true
                add(field.name, field.value)
                isOpen = !field.value.isEmpty
                continue
            case 6 where Self.isSame(field.name, "expect"): expects = true
            case 12 where Self.isSame(field.name, "content-type"): hasType = true
            case 10 where joins(field, "user-agent"), 15 where joins(field, "accept-encoding"),
                15 where joins(field, "accept-language"):
                join(field)
                continue
            default: break
            }
            add(field.name, field.value)
        }
        if let used { add("Alt-Used", used) }
        if !accepts { add("Accept", nil) }
        if handedOver { add("Proxy-Connection", nil) }
        switch request.body.length {
        case 0? where tellsLength: add("Content-Length", "0")
        case 0?: break
        default:
            if !expects { add("Expect", nil) }
            if !hasType { add("Content-Type", nil) }
        }
        if lineCount > 0 { lines[lineCount - 1].next = nil }
        return first
    }

    private var first: UnsafePointer<clarkspur_line>? { lineCount > 0 ? UnsafePointer(lines.baseAddress) : nil }

    private mutating func reserve(_ fields: [HTTPHeader], _ alternative: String?) {
        (lineCount, byteCount, isOpen) = (0, 0, false)
        let own = 6
        if lines.count < fields.count + own {
            lines.deallocate()
            lines = .allocate(capacity: 2 * (fields.count + own))
        }
        let size = fields.reduce(80 + (alternative?.utf8.count ?? 0)) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 5
        }
        if bytes.count < size {
            bytes.deallocate()
            bytes = .allocate(byteCount: 2 * size, alignment: 1)
        }
    }

    /// Appends a line `Name: value`. For an empty value, libcurl expects `Name;`. If the value is nil, the line is
    /// `Name:`, which keeps libcurl from sending the field.
    private mutating func add(_ name: String, _ value: String?) {
        guard let start = bytes.baseAddress.map({ $0 + byteCount }) else { return }
        isOpen = false
        append(name)
        append(value == nil ? ":" : value == "" ? ";" : ": ")
        if let value { append(value) }
        append("\0")
        lines[lineCount] = clarkspur_line(text: start.assumingMemoryBound(to: CChar.self), next: nil)
        if lineCount > 0, let base = lines.baseAddress { lines[lineCount - 1].next = base + lineCount }
        lineCount += 1
    }

    private func joins(_ field: HTTPHeader, _ name: StaticString) -> Bool {
        isOpen && !field.value.isEmpty && Self.isSame(field.name, name)
    }

    /// Appends the field to the last line, after a CRLF. libcurl searches every line for the names that it knows, so
    /// fewer lines save time.
    ///
    /// The joined fields have no meaning for libcurl: it sends their text unchanged, and for HTTP/2 splits the line
    /// again. Fields are joined only to the line of `Accept`, because libcurl sends that line unchanged. Newer versions
    /// rewrite the lines of some other fields, such as `Connection`.
    private mutating func join(_ field: HTTPHeader) {
        byteCount -= 1
        for text in ["\r\n", field.name, ": ", field.value, "\0"] { append(text) }
    }

    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            UnsafeMutableRawBufferPointer(rebasing: bytes[byteCount...]).copyMemory(from: UnsafeRawBufferPointer(utf8))
            byteCount += utf8.count
        }
    }

    private static func isSame(_ name: String, _ lowercased: StaticString) -> Bool {
        lowercased.withUTF8Buffer { other in zip(name.utf8, other).allSatisfy { $0 | 0x20 == $1 | 0x20 } }
    }
}
