/// The escapes of strings.
enum JSONEscapes {
    @inline(__always)
    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        if letter < 6 { return letter + 10 }
        let digit = byte &- UInt8(ascii: "0")
        return digit < 10 ? digit : nil
    }

    /// Writes the text without its escapes, and returns the number of written bytes. The text has been checked by
    /// the parser. The output is never longer than the text.
    static func decode(_ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let start = text.baseAddress, let target = output.baseAddress else { return 0 }
        var (read, written) = (0, 0)
        while read < text.count {
            // Copies the text up to the next backslash.
            let rest = text.count - read
            let count = memchr(start + read, 0x5C, rest).map { UnsafeRawPointer($0) - UnsafeRawPointer(start + read) }
            (target + written).update(from: start + read, count: count ?? rest)
            written += count ?? rest
            read += (count ?? rest) + 1
            guard read < text.count else { break }
            let letter = text[read]
            read += 1
            if letter == UInt8(ascii: "u") {
                var scalar = unit(text, &read)
                if scalar & 0xFC00 == 0xD800 {
                    read += 2
                    scalar = 0x10000 + (scalar & 0x3FF) << 10 + (unit(text, &read) & 0x3FF)
                }
                for byte in UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter {
                    output[written] = byte
                    written += 1
                }
            } else {
                output[written] = character(of: letter)
                written += 1
            }
        }
        return written
    }

    private static func character(of letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }

    /// Returns the number that four hexadecimal digits mean.
    private static func unit(_ text: UnsafeBufferPointer<UInt8>, _ read: inout Int) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 where read < text.count {
            unit = unit << 4 | UInt32(hexadecimal(text[read]) ?? 0)
            read += 1
        }
        return unit
    }
}
