/// The transfer codings that a response's `Transfer-Encoding` fields list, read line by line.
///
/// libcurl or `CurlChunks` decodes `chunked`. The framework decodes `gzip` and `deflate`. Every other coding is
/// refused, because a body that is still encoded must not be delivered as the content.
struct CurlTransferCodings {
    /// Whether the last coding is `chunked`.
    private(set) var isChunked = false
    /// Whether the value of a `Transfer-Encoding` line begins with `chunked`. If so, every version of libcurl decodes
    /// the chunks.
    private var hasLineOfChunks = false
    /// Whether `Transfer-Encoding` lists `gzip` or `deflate`, with or without `chunked` after it.
    private(set) var isCompressed = false

    /// Whether libcurl passes on the body without decoding its chunks. From 8.7 on, libcurl ignores a
    /// `Transfer-Encoding` line that begins with another coding than `chunked`. Older versions look for `chunked`
    /// everywhere in the line.
    var leavesChunks: Bool { isChunked && !hasLineOfChunks && CurlLibrary.current.readsFirstCodingOnly }

    private static let name = "Transfer-Encoding"

    /// Reads a line of the head. Returns true if the line is a `Transfer-Encoding` field.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) throws(TransportError) -> Bool {
        let length = Self.name.utf8.count
        guard let bytes = line.baseAddress, line.count > length, strncasecmp(bytes, Self.name, length) == 0,
            [0x3A, 0x20, 0x09].contains(bytes[length])
        else { return false }
        // With a space before the colon, libcurl ignores the field, but other recipients may use it.
        guard bytes[length] == 0x3A else {
            throw Self.violation("the response's Transfer-Encoding has a space before its colon")
        }
        if Self.isChunked(line[(length + 1)...]) {
            (isChunked, hasLineOfChunks) = (true, true)
            return true
        }
        let codings = line[(length + 1)...].split { $0 == UInt8(ascii: ",") }.map(Self.trimmed).filter { !$0.isEmpty }
        for (index, coding) in codings.enumerated() { try add(coding, isFirst: index == 0) }
        return true
    }

    private mutating func add(_ coding: String, isFirst: Bool) throws(TransportError) {
        switch coding.lowercased() {
        case "chunked":
            isChunked = true
            if isFirst { hasLineOfChunks = true }
        case "identity": break
        case "gzip", "x-gzip", "deflate":
            guard !isChunked else {
                throw Self.violation("the response has a transfer coding after chunked, which has to be the last one")
            }
            isCompressed = true
        default:
            throw TransportError(
                .unsupportedCoding,
                "the response has the transfer coding \(coding.prefix(40).debugDescription), which cannot be undone; "
                    + "gzip, deflate and chunked can be",
                phase: .receiving)
        }
    }

    /// Returns whether the field's value is only `chunked`, which is by far the most frequent value.
    private static func isChunked(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let name: StaticString = "chunked"
        let value = bytes.drop { $0 <= 0x20 }
        guard value.count >= name.utf8CodeUnitCount else { return false }
        let isSame = name.withUTF8Buffer { name in zip(value, name).allSatisfy { $0 | 0x20 == $1 } }
        return isSame && value.dropFirst(name.utf8CodeUnitCount).allSatisfy { $0 <= 0x20 }
    }

    private static func trimmed(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        var bytes = bytes.drop { $0 <= 0x20 }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func violation(_ message: String) -> TransportError {
        TransportError(.protocolViolation, message, phase: .receiving)
    }
}
