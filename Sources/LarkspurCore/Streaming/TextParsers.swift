/// A parser of lines of UTF-8 text that end with `\n` or `\r\n`. A carriage return in another place is part of the
/// line.
///
/// Empty lines are included. The last line needs no line end. If the stream ends with a line end, the parser adds no
/// empty line after it.
public struct LineParser: StreamParser {
    /// The default maximum length of a line: 16 MiB.
    public static let defaultMaximumLength = 16 << 20

    private var splitter: LineSplitter

    /// Creates a parser.
    ///
    /// - Parameter maximumLength: The maximum length of a line in bytes; longer lines fail with `.messageTooLarge`.
    public init(maximumLength: Int = defaultMaximumLength) {
        splitter = LineSplitter(limit: maximumLength)
    }

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> String? {
        try splitter.next(in: &bytes) { String(decoding: $0, as: UTF8.self) }
    }

    public mutating func end() throws -> String? {
        try splitter.end { String(decoding: $0, as: UTF8.self) }
    }
}

/// A parser that returns text as it arrives. The parser keeps up to three bytes at the end of a chunk for the next
/// chunk, so that no character is split.
///
/// Bytes that are not UTF-8 become U+FFFD. The texts together equal the text of all chunks together.
public struct TextParser: StreamParser {
    /// The first bytes of a character whose other bytes have not arrived yet.
    private var beginning: [UInt8] = []

    /// Creates a parser.
    public init() {}

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) -> String? {
        guard !bytes.isEmpty else { return nil }
        let chunk = bytes.take(bytes.count)
        guard !beginning.isEmpty else { return text(of: chunk) }
        return (beginning + chunk).withUnsafeBytes { text(of: $0) }
    }

    public mutating func end() -> String? {
        defer { beginning = [] }
        return beginning.isEmpty ? nil : String(decoding: beginning, as: UTF8.self)
    }

    private mutating func text(of bytes: UnsafeRawBufferPointer) -> String? {
        var bytes = bytes
        let whole = bytes.take(bytes.count - Self.unfinished(bytes))
        beginning = Array(bytes)
        return whole.isEmpty ? nil : String(decoding: whole, as: UTF8.self)
    }

    /// Returns the number of bytes at the end that may be the beginning of a character.
    private static func unfinished(_ bytes: UnsafeRawBufferPointer) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return index + 1 < length ? index + 1 : 0
        }
        return 0
    }
}

/// A splitter of bytes into lines that end with `\n` or `\r\n`. It returns the lines without their line ends.
struct LineSplitter: Sendable {
    private var remainder: Remainder

    init(limit: Int) { remainder = Remainder(limit: limit) }

    mutating func next<Line>(
        in bytes: inout UnsafeRawBufferPointer, _ read: (UnsafeRawBufferPointer) -> Line
    ) throws -> Line? {
        guard let end = bytes.firstIndex(ofByte: 0x0A) else {
            try remainder.keep(&bytes)
            return nil
        }
        let last = bytes.take(end)
        _ = bytes.take(1)
        if remainder.isWhole(last) { return read(Self.withoutReturn(last)) }
        return try remainder.completed(with: last).withUnsafeBytes { read(Self.withoutReturn($0)) }
    }

    mutating func end<Line>(_ read: (UnsafeRawBufferPointer) -> Line) throws -> Line? {
        guard !remainder.isEmpty else { return nil }
        return try remainder.completed(with: UnsafeRawBufferPointer(start: nil, count: 0)).withUnsafeBytes(read)
    }

    private static func withoutReturn(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        line.last == 0x0D ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
    }
}
