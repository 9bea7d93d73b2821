internal import CLarkspur

/// The request's header fields as the list that libcurl reads: memory that the transfer keeps and uses again.
struct CurlFields: ~Copyable {
    private var lines = UnsafeMutableBufferPointer<clarkspur_line>.allocate(capacity: 16)
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_024, alignment: 1)
    private var lineCount = 0
    private var byteCount = 0
    /// Whether others may be joined to the last line.
    private var isOpen = false
    /// What is written there, if it is a request's without a body: the next one may well have the same fields.
    private var written: (fields: [HeaderField], handedOver: Bool)?

    deinit {
        lines.deallocate()
        bytes.deallocate()
    }

    /// Writes the fields anew; valid until the next call. How the body ends is the transport's to say, and what libcurl would
    /// add by itself it is told to leave out.
    ///
    /// - Parameter handedOver: Whether the request goes to a proxy as it is.
    mutating func set(_ request: TransportRequest, handedOver: Bool) -> UnsafePointer<clarkspur_line>? {
        let tellsLength = ["POST", "PUT", "PATCH"].contains(request.method)
        let isPlain = request.body.length == 0 && !tellsLength
        if isPlain, let written, written.handedOver == handedOver, written.fields.isIdentical(to: request.fields) {
            return first
        }
        written = isPlain ? (request.fields, handedOver) : nil
        reserve(request.fields)
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

    private mutating func reserve(_ fields: [HeaderField]) {
        (lineCount, byteCount, isOpen) = (0, 0, false)
        let own = 5
        if lines.count < fields.count + own {
            lines.deallocate()
            lines = .allocate(capacity: 2 * (fields.count + own))
        }
        let size = fields.reduce(64) { $0 + $1.name.utf8.count + $1.value.utf8.count + 5 }
        if bytes.count < size {
            bytes.deallocate()
            bytes = .allocate(byteCount: 2 * size, alignment: 1)
        }
    }

    /// `Name: value`, or in libcurl's language `Name;` for an empty value and `Name:` for none at all.
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

    private func joins(_ field: HeaderField, _ name: StaticString) -> Bool {
        isOpen && !field.value.isEmpty && Self.isSame(field.name, name)
    }

    /// Writes the field behind the last line, as part of it, so that libcurl has fewer to look through for each name that
    /// it knows. These mean nothing to it: it passes them on, and takes them apart again where that has to be. Only behind
    /// `Accept`, which it passes on as it is: of others, such as `Connection`, newer versions write the line anew.
    private mutating func join(_ field: HeaderField) {
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
