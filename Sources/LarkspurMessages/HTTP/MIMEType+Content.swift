extension MIMEType {
    /// The number of bytes that `ofContent` examines.
    static let contentLimit = 512

    /// Returns the type of the content, detected from its first bytes; `application/octet-stream` if no type is
    /// detected.
    package static func ofContent(_ content: some Collection<UInt8>) -> String {
        let bytes = Array(content.prefix(contentLimit))
        return binary(bytes) ?? text(bytes, isWhole: content.count <= contentLimit) ?? "application/octet-stream"
    }

    private static func binary(_ bytes: [UInt8]) -> String? {
        func has(_ sign: String, at start: Int = 0) -> Bool {
            bytes.dropFirst(start).starts(with: sign.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        }
        if has("\u{89}PNG\r\n\u{1A}\n") { return "image/png" }
        if has("\u{FF}\u{D8}\u{FF}") { return "image/jpeg" }
        if has("GIF87a") || has("GIF89a") { return "image/gif" }
        if has("RIFF"), has("WEBP", at: 8) { return "image/webp" }
        if has("RIFF"), has("WAVE", at: 8) { return "audio/wav" }
        if has("II*\0") || has("MM\0*") { return "image/tiff" }
        if has("%PDF-") { return "application/pdf" }
        if has("PK\u{3}\u{4}") || has("PK\u{5}\u{6}") { return "application/zip" }
        if has("\u{1F}\u{8B}\u{8}") { return "application/gzip" }
        if has("\u{28}\u{B5}\u{2F}\u{FD}") { return "application/zstd" }
        if has("ftyp", at: 4) {
            return has("heic", at: 8) ? "image/heic" : has("avif", at: 8) ? "image/avif" : "video/mp4"
        }
        if has("OggS\0") { return "audio/ogg" }
        if has("fLaC") { return "audio/flac" }
        if has("ID3") { return "audio/mpeg" }
        // An MPEG layer III frame without an ID3 tag: eleven set bits, then the version and the layer.
        if bytes.count > 1, bytes[0] == 0xFF, [0xFA, 0xFB, 0xF2, 0xF3].contains(bytes[1]) { return "audio/mpeg" }
        if has("SQLite format 3\0") { return "application/vnd.sqlite3" }
        return nil
    }

    /// Returns the type of a text, detected from its beginning; nil if the bytes are not UTF-8 or have control
    /// characters.
    private static func text(_ bytes: [UInt8], isWhole: Bool) -> String? {
        var bytes = bytes[...]
        if bytes.starts(with: ByteOrderMark.utf8) { bytes = bytes.dropFirst(3) }
        // The examined bytes may end within a character. The bytes of such an incomplete character are removed.
        if !isWhole, let last = bytes.lastIndex(where: { $0 & 0xC0 != 0x80 }), bytes[last] >= 0xC0 {
            bytes = bytes[..<last]
        }
        let allowed: Set<UInt8> = [0x09, 0x0A, 0x0C, 0x0D, 0x1B]
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || allowed.contains($0) }),
            let text = String(bytes: bytes, encoding: .utf8)
        else { return nil }
        let start = text.drop(while: \.isWhitespace).prefix(15).lowercased()
        if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return "text/html" }
        if start.hasPrefix("<?xml") { return "application/xml" }
        if start.hasPrefix("<svg") { return "image/svg+xml" }
        return isJSON(bytes, text, isWhole: isWhole) ? "application/json" : "text/plain"
    }

    /// Returns whether the text is JSON. A complete text is parsed. If only the beginning of a longer text is examined,
    /// it must begin like a JSON object.
    private static func isJSON(_ bytes: ArraySlice<UInt8>, _ text: String, isWhole: Bool) -> Bool {
        let start = text.filter { !$0.isWhitespace }.prefix(2)
        guard start.hasPrefix("{") || start.hasPrefix("[") else { return false }
        return isWhole ? (try? JSON(data: Data(bytes))) != nil : start == "{\""
    }
}

extension ReadableFile {
    /// The first bytes of the file, enough to detect its type. Empty if reading fails; in this case sending the file
    /// reports the error.
    var beginning: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: MIMEType.contentLimit + 1) { buffer, count in
            count = (try? read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))) ?? 0
        }
    }
}
