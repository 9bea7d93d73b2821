/// A decoder of the transfer coding `chunked` (RFC 9112, section 7.1), for bodies whose chunks libcurl does not decode.
///
/// The decoder accepts the same input as libcurl: a bare LF as line end, chunk extensions and trailers. It drops
/// extensions.
struct CurlChunks {
    private enum Part { case size, sizeLineEnd, data, dataEnd, trailerStart, trailer, over, broken }

    /// The maximum number of bytes without content in a row: size lines, line ends and trailers.
    private static let limitOfLines = 300 * 1_024
    /// The maximum number of hexadecimal digits in a size that fits into `Int`.
    private static let limitOfDigits = 16

    private var part = Part.size
    private var size = 0
    private var digits = 0
    private var bytesOfLines = 0
    /// The lines of the fields after the last chunk.
    private(set) var trailers: [UInt8] = []

    /// Whether the last chunk and its trailers have arrived.
    var isOver: Bool { part == .over }

    /// Whether the bytes break the format of chunks.
    var isBroken: Bool { part == .broken }

    /// Returns the next piece of content; nil if `bytes` has no further content. Removes the returned piece, and the
    /// bytes before that piece, from `bytes`.
    mutating func next(in bytes: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        while let byte = bytes.first, part != .over, part != .broken {
            if part == .data {
                let content = UnsafeRawBufferPointer(rebasing: bytes.prefix(size))
                bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(content.count))
                size -= content.count
                bytesOfLines = 0
                if size == 0 { part = .dataEnd }
                return content
            }
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
            bytesOfLines += 1
            part = bytesOfLines > Self.limitOfLines ? .broken : follow(byte)
        }
        return nil
    }

    private mutating func follow(_ byte: UInt8) -> Part {
        let isLineEnd = byte == UInt8(ascii: "\n")
        if byte == 0, part == .trailerStart || part == .trailer { return .broken }
        switch part {
        case .size:
            if let digit = Self.digit(byte) { return add(digit) }
            guard digits > 0 else { return .broken }
            return isLineEnd ? endSize() : .sizeLineEnd
        case .sizeLineEnd: return isLineEnd ? endSize() : .sizeLineEnd
        case .dataEnd: return isLineEnd ? .size : byte == UInt8(ascii: "\r") ? .dataEnd : .broken
        case .trailerStart:
            if isLineEnd { return .over }
            if byte == UInt8(ascii: "\r") { return .trailerStart }
            trailers.append(byte)
            return .trailer
        case .trailer:
            trailers.append(byte)
            return isLineEnd ? .trailerStart : .trailer
        case .data, .over, .broken: return part
        }
    }

    private mutating func add(_ digit: Int) -> Part {
        digits += 1
        let (shifted, overflows) = size.multipliedReportingOverflow(by: 16)
        guard digits <= Self.limitOfDigits, !overflows, shifted <= .max - digit else { return .broken }
        size = shifted + digit
        return .size
    }

    private mutating func endSize() -> Part {
        digits = 0
        return size == 0 ? .trailerStart : .data
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte - 0x30)
        case 0x41...0x46: Int(byte - 0x41) + 10
        case 0x61...0x66: Int(byte - 0x61) + 10
        default: nil
        }
    }
}
