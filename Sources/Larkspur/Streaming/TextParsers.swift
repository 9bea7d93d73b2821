/// Lines of UTF-8 text that end with `\n` or `\r\n`; a carriage return elsewhere belongs to its line.
///
/// Empty lines count. A last line needs no end, and after an end there is no further, empty line.
public struct LineParser: StreamParser {
    /// How long a line may be unless one says otherwise: 16 MiB.
    public static let defaultMaximumLength = 16 << 20

    private var splitter: LineSplitter

    /// - Parameter maximumLength: In bytes; a longer line is a `.messageTooLarge`.
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

/// Text as it comes, cut where the chunks end or up to three bytes before, so that no character's bytes are torn apart.
///
/// Bytes that are not UTF-8 become U+FFFD. The texts, joined, are what the whole would have been at once.
public struct TextParser: StreamParser {
    /// The beginning of a character whose other bytes are still to come.
    private var beginning: [UInt8] = []

    /// A parser at the beginning of a text.
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

    /// How many bytes at the end may be the beginning of a character.
    private static func unfinished(_ bytes: UnsafeRawBufferPointer) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return index + 1 < length ? index + 1 : 0
        }
        return 0
    }
}

/// Lines that end with `\n` or `\r\n`, read without their ends.
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
