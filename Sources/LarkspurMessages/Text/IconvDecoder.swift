internal import CLarkspur

/// A decoder that converts text from one encoding to UTF-8 with the system's iconv.
struct IconvDecoder: ~Copyable {
    /// Returns the size of the output buffer for an input of `count` bytes. The output of a short input fits
    /// completely; the output of a long input is produced in several parts.
    private static func roomCount(for count: Int) -> Int { min(16 * 1_024, 32 + 3 * count) }

    private let decoder: UnsafeMutableRawPointer

    /// Creates a decoder. Returns nil if the system's iconv does not support the encoding. On Linux, the encoding's
    /// module may not be installed.
    init?(_ encoding: String) {
        guard let decoder = clarkspur_text_open(encoding) else { return nil }
        self.decoder = decoder
    }

    deinit { clarkspur_text_close(decoder) }

    /// Decodes the bytes and appends their text in UTF-8. Returns false if the bytes are not text in the encoding.
    func decode(_ bytes: UnsafeRawBufferPointer, into text: inout [UInt8]) -> Bool {
        var step = clarkspur_text_step()
        step.input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        step.input_count = bytes.count
        return withUnsafeTemporaryAllocation(byteCount: Self.roomCount(for: bytes.count), alignment: 1) { room in
            while true {
                step.output = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                step.output_count = room.count
                let state = clarkspur_text_decode(decoder, &step)
                text.append(contentsOf: room[..<(room.count - step.output_count)])
                guard state == clarkspur_text_is_full else { return state == clarkspur_text_ended }
            }
        }
    }
}
